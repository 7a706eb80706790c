"""Reading JSON reports that others may have written.

They are bounded and checked, and nothing of them is believed beyond what the checks allow. Fields
that a later suite adds are left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.documents import parse_json
from codemode_spec.failures import SpecificationError

from codemode_conformance import bounded
from codemode_conformance.failures import UsageError
from codemode_conformance.report.parts import ROLES
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT: Final = 1
MOST_BYTES: Final = 64 << 20
MOST_LEAD: Final = 8_192
MOST_TEXT: Final = 2_000
"""Characters of one text of a report that are kept."""

_NAME: Final = re.compile(r"[a-z0-9-]{1,64}")
_CASE: Final = re.compile(r"[a-z]{3}(\.[a-z0-9-]{1,64}){1,2}")
_REQUIREMENT: Final = re.compile(r"CM-[A-Z]{3}-[0-9]{3}")
_WORD: Final = re.compile(r"[a-z][a-z_-]{0,30}")
_LEVELS: Final = ("MUST", "SHOULD", "MAY")


@dataclass(frozen=True, slots=True)
class Layer:
    """A verdict: of one layer of one case, on one requirement."""

    case: str
    title: str
    layer: str
    requirement: str
    klass: str
    level: str
    verdict: Verdict
    reason: str
    expected: str
    observed: str


@dataclass(frozen=True, slots=True)
class Report:
    """One report, checked. `data` is the whole value; read from it only what `text` guards."""

    name: str
    version: str
    role: str
    complete: bool
    layers: tuple[Layer, ...]
    data: Mapping[str, Any]

    def text(self, *path: str) -> str:
        """A text of the report, cut; empty where there is none."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value[:MOST_TEXT] if isinstance(value, str) else ""

    def table(self, *path: str) -> dict[str, Any]:
        """An object of the report; empty where there is none."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}


def read(path: Path) -> Report:
    """The report of one role in a file; UsageError as of `read_all`."""
    found = read_all(path)
    if len(found) != 1:
        raise UsageError(f"{path}: it is of {len(found)} roles; give a report of one")
    return found[0]


def read_all(path: Path) -> list[Report]:
    """The reports in a file, one for each role that was run.

    UsageError says what is wrong with it, where, and what to do.
    """
    try:
        raw = bounded.read(path, MOST_BYTES)
        if raw is None:
            raise UsageError(f"{path}: a report is not larger than {MOST_BYTES >> 20} MiB")
        data = parse_json(raw.decode(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the path of a JSON report") from None
    except (UnicodeDecodeError, SpecificationError) as error:
        raise UsageError(f"{path}: no JSON report: {error}") from None
    reader = _Reader(path)
    if isinstance(data, dict) and ROLES in data:
        return [reader.report(part) for part in reader.parts(data)]
    return [reader.report(data)]


def paragraphs(path: Path) -> list[str]:
    """The paragraphs of a text file, which empty lines part; UsageError says what is wrong."""
    try:
        raw = bounded.read(path, MOST_LEAD)
        if raw is None:
            raise UsageError(f"{path}: at most {MOST_LEAD} bytes stand at the head of a page")
        text = raw.decode()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the path of a text file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: no text in UTF-8; give a text file") from None
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


class _Reader:
    """Checks one report; every complaint names the file and the place in it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def parts(self, data: dict[str, Any]) -> list[Any]:
        """The reports of a report of all roles."""
        found: list[Any] = self._field(data, ROLES, list, "")
        return found

    def report(self, data: Any) -> Report:
        self._one(data, dict, "")
        if data.get("format") != FORMAT:
            raise self._wrong(
                "/format", f"it is not {FORMAT}; write the report anew with this suite"
            )
        target = self._field(data, "target", dict, "")
        selection = self._field(data, "selection", dict, "")
        cases = self._field(data, "cases", list, "")
        layers = [
            layer
            for number, case in enumerate(cases)
            for layer in self._case(case, f"/cases/{number}")
        ]
        return Report(
            name=self._like(target, "name", _NAME, "/target"),
            version=self._field(target, "version", str, "/target")[:64],
            role=self._like(selection, "role", _WORD, "/selection"),
            complete=selection.get("complete") is True and data.get("interrupted") is not True,
            layers=tuple(layers),
            data=data,
        )

    def _case(self, case: Any, where: str) -> list[Layer]:
        self._one(case, dict, where)
        name = self._like(case, "id", _CASE, where)
        title = self._field(case, "title", str, where)[:MOST_TEXT]
        found = []
        for number, entry in enumerate(self._field(case, "layers", list, where)):
            place = f"{where}/layers/{number}"
            self._one(entry, dict, place)
            word = self._field(entry, "verdict", str, place)
            if word not in tuple(Verdict):
                raise self._wrong(f"{place}/verdict", "it is no verdict")
            if word == Verdict.NOT_REACHED:
                continue  # no word on the target
            level = self._field(entry, "level", str, place)
            if level not in _LEVELS:
                raise self._wrong(f"{place}/level", f"it is none of {', '.join(_LEVELS)}")
            texts = {key: entry.get(key, "") for key in ("reason", "expected", "observed")}
            for key, value in texts.items():
                self._one(value, str, f"{place}/{key}")
            found.append(
                Layer(
                    case=name,
                    title=title,
                    layer=self._like(entry, "layer", _WORD, place),
                    requirement=self._like(entry, "requirement", _REQUIREMENT, place),
                    klass=self._like(entry, "class", _WORD, place),
                    level=level,
                    verdict=Verdict(word),
                    **{key: value[:MOST_TEXT] for key, value in texts.items()},
                )
            )
        return found

    def _field(self, value: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
        if key not in value:
            raise self._wrong(where or "/", f"{key} is missing")
        return self._one(value[key], kind, f"{where}/{key}")

    def _like(self, value: Mapping[str, Any], key: str, form: re.Pattern[str], where: str) -> str:
        text: str = self._field(value, key, str, where)
        if not form.fullmatch(text):
            raise self._wrong(f"{where}/{key}", "it has another form than the suite gives it")
        return text

    def _one(self, value: Any, kind: type, where: str) -> Any:
        if not isinstance(value, kind):
            names: dict[type, str] = {dict: "an object", list: "an array", str: "a text"}
            raise self._wrong(where or "/", f"it is not {names[kind]}")
        return value

    def _wrong(self, where: str, what: str) -> UsageError:
        return UsageError(f"{self._path}: {where}: {what}; give a report of `cmconf run`")
