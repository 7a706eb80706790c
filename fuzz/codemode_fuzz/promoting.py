"""A finding becomes an input that is kept, and where its target has vectors, one of those."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from codemode_spec.sizes import NotAValueError, size_of
from codemode_spec.vectors import load_vectors

from codemode_fuzz import strict_text
from codemode_fuzz.replay import corpus
from codemode_fuzz.triage import INPUT

FOUND: Final = "found-"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{2,47}")
_VECTORS: Final = Path(__file__).parents[2] / "spec" / "codemode_spec" / "vectors" / "sizes.json"
_END: Final = "}\n  ]"


def promote(target: str, finding: Path, name: str) -> list[Path]:
    """Keep the input of a finding (its folder or the file) as `name`; the files that are written.

    ValueError for a name that is taken or no slug; OSError where something cannot be read.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of the form [a-z0-9-]{{3,48}}")
    data = (finding / INPUT if finding.is_dir() else finding).read_bytes()
    kept = corpus(target) / f"{FOUND}{name}.bin"
    if kept.exists():
        raise ValueError(f"{kept} is there already")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(data)
    written = [kept]
    if target == "values" and (vector := size_vector(f"found.{name}", data)) is not None:
        text = _VECTORS.read_text(encoding="utf-8")
        head, end, tail = text.rpartition(_END)
        line = json.dumps(vector, ensure_ascii=True)
        _VECTORS.write_text(f"{head}}},\n    {line}\n  ]{tail}", encoding="utf-8")
        assert end
        written.append(_VECTORS)
    return written


def size_vector(name: str, data: bytes) -> dict[str, Any] | None:
    """The vector of a text by the specification's own sizes; None where it is no plain JSON."""
    try:
        strict_text.read(data, 10_000)
        value = json.loads(data)
    except ValueError:
        return None
    vector = {"id": name, "json": data.decode()}
    try:
        return vector | {"size": size_of(value, load_vectors("sizes")["max_depth"])}
    except NotAValueError as error:
        return vector | {"refused": error.reason.value}
