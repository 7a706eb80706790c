"""The whole specification as one JSON file, made when the package is built and checked by a digest.

It holds what the checked sources say, expanded, so that reading it needs neither YAML nor schemas.
`python -m codemode_spec.bundle` shows that a packaged bundle says what its sources say.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import asdict, fields
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.contents import Specification
from codemode_spec.expansion import expanded
from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.pending import Pending
from codemode_spec.requirements import Requirement
from codemode_spec.tables import TABLES, build_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

NAME: Final = "bundle.json"
_FORMAT: Final = 1
_HEAD: Final = b'{"sha256":"'
_DIGITS: Final = 64
_SOURCES: Final = (".json", ".yaml", ".py")
_APART: Final = (NAME, "vectors", "__pycache__")
"""What stands beside the specification and is not in the bundle."""


def build(root: Traversable | None = None) -> bytes:
    """The bundle of the sources below `root`, which are checked first (SpecificationError)."""
    from codemode_spec.specification import load  # noqa: PLC0415  a reader has no use for it

    root = root or files(__package__)
    specification = load(root)
    content = {
        "format": _FORMAT,
        "revision": specification.revision,
        "sources": sources_digest(root),
        "tables": {name: _json(root / f"{name}.json") for name in TABLES},
        "profiles": [_json(entry) for entry in _json_files(root / "profiles")],
        "requirements": [asdict(item) for item in specification.requirements.values()],
        "cases": [[case.area, case.variant, case.data] for case in specification.cases.values()],
        "digests": specification.digests,
        "pending": asdict(specification.pending),
    }
    rest = json.dumps(content, ensure_ascii=False, separators=(",", ":"))[1:].encode()
    return _HEAD + hashlib.sha256(rest).hexdigest().encode() + b'",' + rest


def load_bundle(entry: Traversable | None = None) -> Specification:
    """The specification of a bundle, by default the packaged one.

    SpecificationError for one that is missing, damaged or of another format: never half of it.
    """
    return _specification(_read(entry or files(__package__) / NAME))


def shipped() -> Specification:
    """The specification shipped with this package, as fast as can be.

    It comes from the bundle where there is one of exactly these sources, else from the sources,
    as in a checkout. A damaged bundle is a SpecificationError in any case.
    """
    root = files(__package__)
    if (root / NAME).is_file():
        content = _read(root / NAME)
        if content["sources"] == sources_digest(root):
            return _specification(content)
    from codemode_spec.specification import load  # noqa: PLC0415  most need it never

    return load(root)


def sources_digest(root: Traversable) -> str:
    """The digest over the bytes of all files from which the specification is made, in hex."""
    digest = hashlib.sha256()
    for name, entry in _sources(root, ""):
        data = entry.read_bytes()
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name in _APART:
            continue
        if entry.is_dir():
            yield from _sources(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(_SOURCES):
            yield path + entry.name, entry


def _json_files(folder: Traversable) -> list[Traversable]:
    entries = [entry for entry in folder.iterdir() if entry.name.endswith(".json")]
    return sorted(entries, key=lambda entry: entry.name)


def _json(entry: Traversable) -> Any:
    return json.loads(entry.read_text(encoding="utf-8"))


def _read(entry: Traversable) -> dict[str, Any]:
    """The content of a bundle whose digest is right."""
    try:
        data = entry.read_bytes()
    except OSError as error:
        raise _damaged(error.strerror or "it cannot be read") from None
    start = len(_HEAD) + _DIGITS
    told, rest = data[len(_HEAD) : start], data[start + len(b'",') :]
    whole = data.startswith(_HEAD) and data[start : start + 2] == b'",'
    if not whole or hashlib.sha256(rest).hexdigest().encode() != told:
        raise _damaged("its digest is wrong")
    content: dict[str, Any] = json.loads(data)
    if content.get("format") != _FORMAT:
        raise _damaged(f"its format is not {_FORMAT}")
    return content


def _damaged(reason: str) -> SpecificationError:
    advice = "install the package again, or remove the file to read the sources"
    return SpecificationError([Problem(NAME, "", f"{reason}; {advice}")])


def _specification(content: dict[str, Any]) -> Specification:
    requirements = [_requirement(entry) for entry in content["requirements"]]
    cases = [expanded(*entry) for entry in content["cases"]]
    specification = Specification(
        revision=content["revision"],
        tables=build_tables(content["tables"], content["profiles"]),
        requirements={item.id: item for item in requirements},
        cases={case.id: case for case in cases},
        pending=Pending(**_tuples(content["pending"])),
    )
    # What the property would compute from the same cases.
    vars(specification)["digests"] = content["digests"]
    return specification


def _requirement(entry: dict[str, Any]) -> Requirement:
    return Requirement(**{name.name: _tuples(entry[name.name]) for name in fields(Requirement)})


def _tuples(value: Any) -> Any:
    """A value with tuples for lists: a requirement holds no lists."""
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return value


def _main() -> int:
    """Compare the packaged bundle with its sources, and say how long each takes to read."""
    started = time.perf_counter()
    bundled = load_bundle()
    between = time.perf_counter()
    from codemode_spec.specification import load  # noqa: PLC0415  it is measured

    sources = load()
    ended = time.perf_counter()
    fresh = _read(files(__package__) / NAME)["sources"] == sources_digest(files(__package__))
    equal = bundled == sources and bundled.digests == sources.digests
    equal = equal and all(case.data == sources.cases[n].data for n, case in bundled.cases.items())
    sys.stdout.write(
        f"bundle of revision {bundled.revision}: {len(bundled.cases)} cases "
        f"{bundled.cases_digest[:16]}; {'equal to' if equal else 'NOT equal to'} its sources, "
        f"{'fresh' if fresh else 'NOT fresh'}; read in {1000 * (between - started):.0f} ms, "
        f"the sources in {1000 * (ended - between):.0f} ms\n"
    )
    return 0 if equal and fresh else 1


if __name__ == "__main__":
    sys.exit(_main())
