"""Write the generated files of vectors again."""

import sys
from pathlib import Path

from codemode_spec.vectors import generated

for name, text in generated().items():
    path = Path(__file__).with_name(f"{name}.json")
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{path}: {len(text.splitlines())} lines\n")
