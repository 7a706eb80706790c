"""Frozen revisions: what a released revision promised stays, and an id means one thing for ever.

`revisions/REVISION.json` holds the digests of a revision's requirements and cases,
`revisions/index.json` the digest of each such file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import schemas
from codemode_spec.digests import digest_of
from codemode_spec.documents import fail, read_document
from codemode_spec.failures import Problem, SpecificationError
from codemode_spec.layout import list_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from codemode_spec.contents import Specification
    from codemode_spec.requirements import Requirement

FOLDER: Final = "revisions"
_INDEX: Final = "revisions/index.json"
_LEDGER: Final = "revision.json"
_NORMATIVE: Final = (
    "id",
    "klass",
    "level",
    "text",
    "roles",
    "needs",
    "alternatives",
    "codes",
    "rows",
)


def released(revision: str) -> bool:
    """Whether a revision is released: `1`, and not `1-draft.2`."""
    return "draft" not in revision


def requirement_digest(item: Requirement) -> str:
    """The digest over what a requirement asks; its reason, origin and age may be reworded."""
    asked: dict[str, Any] = {name: getattr(item, name) for name in _NORMATIVE}
    asked["untestable"] = item.untestable[0] if item.untestable else None
    return digest_of(json.loads(json.dumps(asked)))


def frozen(specification: Specification, retired: list[str]) -> dict[str, Any]:
    """The document that freezes a specification."""
    return {
        "format": 1,
        "revision": specification.revision,
        "requirements": {
            name: requirement_digest(item) for name, item in specification.requirements.items()
        },
        "cases": specification.digests,
        "cases_digest": specification.cases_digest,
        "retired": sorted(retired),
        "pending": specification.pending.count,
    }


def freeze(root: Path, specification: Specification) -> Path:
    """Write the frozen file of the current revision below `root`, and pin it in the index.

    A draft may be frozen again and again. SpecificationError for a released revision that is
    frozen with other contents, and for anything that `problems` finds besides.
    """
    folder = root / FOLDER
    path = folder / f"{specification.revision}.json"
    document = frozen(specification, read_document(root / _LEDGER, _LEDGER)["retired"])
    if released(specification.revision) and path.exists():
        if read_document(path, path.name) == document:
            return path
        where = f"{FOLDER}/{path.name}"
        reason = "this revision is released and stays; put the next draft into revision.json"
        raise SpecificationError([Problem(where, "", reason)])
    found = [*_of_ids(specification, document["retired"], _pinned(root))]
    if found:
        raise SpecificationError(found)
    index = read_document(root / _INDEX, _INDEX)
    others = [e for e in index["revisions"] if e["revision"] != specification.revision]
    entry = {"revision": specification.revision, "digest": digest_of(document)}
    index["revisions"] = sorted([*others, entry], key=lambda entry: age(entry["revision"]))
    _write(path, document)
    _write(root / _INDEX, index)
    return path


def _write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def problems(root: Traversable, specification: Specification) -> list[Problem]:
    """What breaks the promises of frozen revisions: changed files, lost ids, ids used again."""
    try:
        pinned = _pinned(root)
        retired = read_document(root / _LEDGER, _LEDGER)["retired"]
    except SpecificationError as error:
        return list(error.problems)
    return [
        *_of_ids(specification, retired, pinned),
        *_of_current(specification, pinned, frozen(specification, retired)),
    ]


def _pinned(root: Traversable) -> dict[str, Any]:
    """The frozen documents by revision, if each is as the index says (SpecificationError)."""
    index = _checked(root, _INDEX, "frozen-revisions")
    found: dict[str, Any] = {}
    faults = []
    for entry in index["revisions"]:
        name = entry["revision"]
        if name in found:
            faults.append(Problem(_INDEX, "/revisions", f"{name} stands twice; remove one"))
        file = f"{FOLDER}/{name}.json"
        document = _checked(root, file, "frozen-revision")
        if document["revision"] != name:
            faults.append(Problem(file, "/revision", f"it is not {name}"))
        if digest_of(document) != entry["digest"]:
            reason = "the file is not the one that the index pins; restore it"
            faults.append(Problem(file, "", reason))
        found[name] = document
    try:
        listed = list_folder(root / FOLDER) or ()
    except OSError as error:
        fail(FOLDER, "", error.strerror or "it cannot be read")
    there = {name for name in listed if name.endswith(".json")}
    faults += [
        Problem(f"{FOLDER}/{name}", "", "the index does not name this file")
        for name in sorted(there - {f"{name}.json" for name in found} - {"index.json"})
    ]
    if faults:
        raise SpecificationError(faults)
    return found


def _checked(root: Traversable, file: str, schema: str) -> Any:
    document = read_document(root.joinpath(*file.split("/")), file)
    found = schemas.problems(schema, document, file, strict=True)
    if found:
        raise SpecificationError(found)
    return document


def _of_ids(
    specification: Specification, retired: list[str], pinned: Mapping[str, Any]
) -> Iterator[Problem]:
    """Ids that are lost or used again; a draft promises nothing yet."""
    ids = {*specification.requirements, *specification.cases}
    for name in sorted(ids & set(retired)):
        yield Problem(_LEDGER, "/retired", f"{name} is retired and must not be used again")
    for revision, document in pinned.items():
        if not released(revision):
            continue
        held = {*document["requirements"], *document["cases"]}
        for name in sorted(held - ids - set(retired)):
            reason = f"{name} of released revision {revision} is gone; keep it or retire it here"
            yield Problem(_LEDGER, "/retired", reason)
        for name in sorted(set(document["retired"]) - set(retired)):
            reason = f"{name} was retired by revision {revision} and stays in the ledger"
            yield Problem(_LEDGER, "/retired", reason)


def _of_current(
    specification: Specification, pinned: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[Problem]:
    """The current revision is the newest, and if it is released it is what was frozen."""
    current = specification.revision
    for revision in pinned:
        if released(revision) and age(revision) > age(current):
            yield Problem(_LEDGER, "/revision", f"{current} is older than {revision}")
    if not released(current):
        return
    if current not in pinned:
        reason = f"{current} is released but not frozen; run `cmconf spec freeze`"
        yield Problem(_LEDGER, "/revision", reason)
        return
    for kind in ("requirements", "cases"):
        then = pinned[current][kind]
        for name in sorted({*then, *now[kind]}):
            if then.get(name) != now[kind].get(name):
                reason = f"revision {current} is released with another {name}; begin the next draft"
                yield Problem(_LEDGER, "/revision", reason)


def age(revision: str) -> tuple[int, bool, int]:
    """`1-draft.1` < `1-draft.2` < `1` < `2-draft.1`."""
    number, _, draft = revision.partition("-draft.")
    return int(number), released(revision), int(draft or 0)
