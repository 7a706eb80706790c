"""The specification as a folder of plain JSON, for people who vendor it."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import schemas
from codemode_spec.documents import read_document
from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.specification import load
from codemode_spec.tables import DEFAULT_PROFILE, TABLES
from codemode_spec.vectors import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec.cases import Case
    from codemode_spec.contents import Specification

MANIFEST: Final = "manifest.json"
_KIND: Final = "codemode-specification"
_FOLDERS: Final = ("profiles", "requirements", "revisions", "steps")
_README: Final = """\
# Code Mode specification, revision {revision}

Exported by `cmconf spec export`; `{manifest}` names every file with the SHA-256 of its bytes
and, for a document, its schema.

| path | what it holds |
|---|---|
| {tables} | the tables |
| `profiles/` | alternatives chosen together, and the rows that differ from `policy.json` |
| `requirements/` | numbered sentences, one file an area |
| `cases/` | expanded cases, with templates as `@{{host_result_bytes - 1}}` to fit to a target |
| `cases-filled/` | the same with the numbers of the default policy ({profile}) |
| `steps/` | what the programs of cases do, in the words of the model |
| `vectors/` | test vectors; `vectors/README.md` says how to read them |
| `revision.json`, `revisions/` | this revision, ids that are retired, and what was frozen |
| `schema/` | JSON Schema 2020-12 for all of these |

A case stands as `{{id, variant, digest, needs, requirements, edges, case}}`: `case` is its document
with the variant worked in, `needs` names every capability it needs, also those that its data
shows, `edges` the sides of rows' limits on which it stands. The digest is the SHA-256 of `case` in
`cases-filled/` as canonical JSON (RFC 8785). A program may be a text, `{{repeat, times}}`, or a
list of these. `cases_digest` of the manifest is the SHA-256 over `id digest LF` lines in the order
of ids.
"""
_SCHEMA_OF: Final = {
    "profiles": "profile",
    "requirements": "requirement",
    "cases": "exported-cases",
    "cases-filled": "exported-cases",
    "revisions": "frozen-revision",
    "steps": "steps",
}


def schema_of(path: str) -> str | None:
    """The name of the schema of an exported document; None for a schema and for text."""
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".json")
    if not name.endswith(".json") or folder == "schema":
        return None
    if folder == "vectors":
        return f"vectors-{stem}"
    if path == "revisions/index.json":
        return "frozen-revisions"
    return _SCHEMA_OF.get(folder, stem)


def export(target: Path, specification: Specification | None = None) -> int:
    """Write the shipped specification into the folder `target`; the number of files.

    An earlier export there is replaced. SpecificationError where anything else stands, and
    nothing is written then. The same specification gives the same bytes.
    """
    earlier = _earlier(target)
    contents = dict(sorted(_files(specification or load())))
    _check_places(target, contents)
    for path in earlier - contents.keys():
        _remove(target, path)
    # The manifest first: whatever interrupts the rest, it is an export that can be made again.
    for path in (MANIFEST, *contents):
        place = target.joinpath(*path.split("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents[path])
    return len(contents)


def _check_places(target: Path, contents: Mapping[str, bytes]) -> None:
    """Nothing in the folder is a link, which would lead elsewhere, or no file where one belongs."""
    for path in contents:
        place = target
        *folders, name = path.split("/")
        for part in folders:
            place /= part
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                raise _refused(place, "a folder belongs here; remove what is there")
        place /= name
        if place.is_symlink() or (place.exists() and not place.is_file()):
            raise _refused(place, "a file belongs here; remove what is there")


def _earlier(target: Path) -> set[str]:
    """The files of an export that stands in `target` already."""
    if target.is_symlink() and not target.exists():
        raise _refused(target, "it is a link to nowhere; choose another place")
    if target.exists() and not target.is_dir():
        raise _refused(target, "it is no folder; choose another place")
    if target.resolve().is_relative_to(Path(str(files(__package__))).resolve()):
        raise _refused(target, "it is inside of the specification itself; choose another place")
    if not target.exists() or not any(target.iterdir()):
        return set()
    reason = "it is not empty and holds no earlier export; choose another folder"
    marker = target / MANIFEST
    if not marker.is_file():
        raise _refused(target, reason)
    try:
        manifest = read_document(marker, MANIFEST)
    except SpecificationError:
        raise _refused(target, reason) from None
    if schemas.problems("manifest", manifest, MANIFEST):
        raise _refused(target, reason)
    return {*manifest["files"], MANIFEST}


def _refused(target: Path, reason: str) -> SpecificationError:
    return SpecificationError([Problem(str(target), "", reason)])


def _remove(target: Path, path: str) -> None:
    """Remove one file that an earlier export names, if it is really below `target`."""
    place = target.joinpath(*path.split("/"))
    if place.resolve().is_relative_to(target.resolve()) and not place.is_symlink():
        place.unlink(missing_ok=True)


def _files(specification: Specification) -> Iterator[tuple[str, bytes]]:
    found = dict(_documents(specification))
    manifest = {
        "format": 1,
        "kind": _KIND,
        "revision": specification.revision,
        "cases_digest": specification.cases_digest,
        "files": {path: _entry(path, found[path]) for path in sorted(found)},
    }
    yield from found.items()
    yield MANIFEST, _json(manifest)


def _entry(path: str, data: bytes) -> dict[str, str]:
    schema = schema_of(path)
    entry = {"sha256": hashlib.sha256(data).hexdigest()}
    return entry if schema is None else {**entry, "schema": schema}


def _documents(specification: Specification) -> Iterator[tuple[str, bytes]]:
    root = files(__package__)
    for name in (*TABLES, "revision"):
        yield f"{name}.json", (root / f"{name}.json").read_bytes()
    for folder in _FOLDERS:
        for entry in (root / folder).iterdir():
            stem, _, ending = entry.name.rpartition(".")
            if ending in ("json", "yaml"):
                yield f"{folder}/{stem}.json", _json(read_document(entry, entry.name))
    for name in schemas.schema_names():
        yield f"schema/{name}.schema.json", _json(schemas.schema(name))
    for name in (*(f"{name}.json" for name in NAMES), "README.md"):
        yield f"vectors/{name}", (root / "vectors" / name).read_bytes()
    yield from _cases(specification)
    tables = ", ".join(f"`{name}.json`" for name in TABLES)
    yield (
        "README.md",
        _README.format(
            revision=specification.revision,
            manifest=MANIFEST,
            profile=DEFAULT_PROFILE,
            tables=tables,
        ).encode(),
    )


def _cases(specification: Specification) -> Iterator[tuple[str, bytes]]:
    defaults = specification.tables.profiles[DEFAULT_PROFILE].defaults()
    areas: dict[str, list[Case]] = {}
    for case in specification.cases.values():
        areas.setdefault(case.area, []).append(case)
    for area, cases in areas.items():
        for folder, templates in (("cases", "kept"), ("cases-filled", "filled")):
            entries = [
                {
                    "id": case.id,
                    "variant": case.variant,
                    "digest": specification.digests[case.id],
                    "needs": case.needs,
                    "requirements": case.requirements,
                    "edges": case.edges,
                    "case": _without_edges(
                        case.data if templates == "kept" else case.filled(defaults)
                    ),
                }
                for case in cases
            ]
            document = {"format": 1, "area": area, "templates": templates, "cases": entries}
            yield f"{folder}/{area.lower()}.json", _json(document)


def _without_edges(case: Mapping[str, Any]) -> dict[str, Any]:
    """What is run: the digest is over this."""
    return {key: value for key, value in case.items() if key != "edges"}


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
