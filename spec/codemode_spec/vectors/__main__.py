"""Write the generated files of vectors again."""

import sys
from pathlib import Path

from codemode_spec.vectors import write

if __name__ == "__main__":
    for written in write(Path(__file__).parent):
        sys.stdout.write(f"{written}\n")
