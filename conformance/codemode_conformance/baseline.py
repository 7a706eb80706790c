"""A baseline: failures of a target that are known, each with its kind, an issue, and an expiry.

It is strict. An entry holds only for the failure it names; one that passes, fails differently,
is expired or is about nothing that was judged makes the run red.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import LAYERS
from codemode_spec.schemas import problems

from codemode_conformance import bounded, toml
from codemode_conformance.failure_kinds import kind_of, kinds
from codemode_conformance.failures import UsageError
from codemode_conformance.verdicts import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

LASTS_DAYS: Final = 90
"""How long a new entry holds where nobody says otherwise."""

MOST_BYTES: Final = 4 << 20
_SEEN: Final = (Verdict.PASS, Verdict.FAIL, Verdict.FLAKY, Verdict.ERROR)


@dataclass(frozen=True, slots=True)
class Entry:
    """One known failure. Without a layer it stands for each failed layer of the case."""

    case: str
    reason: str
    issue: str
    expires: date
    layer: str | None = None

    @property
    def named(self) -> str:
        """Case and layer, as messages name them."""
        return f"{self.case} ({self.layer})" if self.layer else self.case


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline file, read and checked; `digest` is that of its bytes in hex."""

    file: Path
    target: str
    role: str
    entries: tuple[Entry, ...]
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """An entry that does not hold: it passes, differs, is stale, or is expired."""

    entry: Entry
    problem: str
    text: str


@dataclass(slots=True)
class Comparison:
    """A run held against a baseline, or against none."""

    baseline: Baseline | None = None
    today: date = field(default_factory=date.today)
    complaints: list[Complaint] = field(default_factory=list)

    def hold(self, entry: CaseVerdict) -> CaseVerdict:
        """The verdict with what was expected to fail as xfail or xpass; keeps the complaints."""
        known = [e for e in (self.baseline.entries if self.baseline else ()) if _of(entry, e)]
        if not known or entry.verdict is Verdict.ERROR:
            return entry
        for one in known:
            self._judge(one, entry)
        return replace(entry, layers=tuple(self._layer(layer, known) for layer in entry.layers))

    def finish(self, known_cases: Collection[str]) -> None:
        """Complain of entries about cases that the suite does not have."""
        for entry in self.baseline.entries if self.baseline else ():
            if entry.case not in known_cases:
                self._complain(entry, "stale", "the suite has no such case; remove the entry")

    def _judge(self, known: Entry, entry: CaseVerdict) -> None:
        layers = [item for item in entry.layers if known.layer in (None, item.layer)]
        failed = [item for item in layers if item.verdict is Verdict.FAIL]
        passed = [item for item in layers if item.verdict is Verdict.PASS]
        flaky = any(item.verdict is Verdict.FLAKY for item in layers)
        if known.expires < self.today:
            text = f"it expired on {known.expires}; fix it, or give it a new date"
            self._complain(known, "expired", text)
        elif failed:
            found = {kind_of(item) for item in failed}
            if found != {known.reason}:
                told = ", ".join(sorted(found))
                self._complain(known, "differs", f"expected {known.reason}, found {told}")
        elif not layers:
            self._complain(known, "stale", "the case judges no such layer; remove the entry")
        elif flaky:
            return
        elif passed and (known.layer is not None or entry.verdict is Verdict.PASS):
            self._complain(known, "passes", "it passes; remove the entry")
        else:
            self._complain(known, "stale", "it is not judged on this target; remove the entry")

    def _layer(self, layer: LayerVerdict, known: Sequence[Entry]) -> LayerVerdict:
        # An entry that names the layer goes before one that names the case alone.
        fitting = [e for e in known if e.layer == layer.layer] or [e for e in known if not e.layer]
        if not fitting or fitting[0].expires < self.today:
            return layer
        entry, seen = fitting[0], layer.finding
        if layer.verdict is Verdict.FAIL and kind_of(layer) == entry.reason:
            told = f"known: {entry.issue}, until {entry.expires}"
            reason = f"{seen.reason}; {told}" if seen.reason else told
            finding = Finding(Verdict.XFAIL, reason, seen.expected, seen.observed)
            return replace(layer, finding=finding)
        named = entry.layer is not None or kinds()[entry.reason].layer == layer.layer
        if layer.verdict is Verdict.PASS and named:
            told = f"known as {entry.reason}, {entry.issue}, and passes"
            return replace(layer, finding=Finding(Verdict.XPASS, told))
        return layer

    def _complain(self, entry: Entry, problem: str, text: str) -> None:
        self.complaints.append(Complaint(entry, problem, text))


def _of(entry: CaseVerdict, known: Entry) -> bool:
    return known.case == entry.case.id


def load(path: Path, target: str, role: str) -> Baseline:
    """The checked baseline of this file for this target and role; UsageError says why not."""
    try:
        raw = bounded.read(path, MOST_BYTES)
        if raw is None:
            raise UsageError(f"{path}: more than {MOST_BYTES} bytes; that is no baseline")
        data = tomllib.loads(raw.decode())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; check the path") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no TOML: {error}; correct that line") from None
    for problem in problems("baseline", _plain(data), str(path)):
        raise UsageError(f"{problem}; `cmconf spec schema baseline` shows the form")
    for name, there, here in (("target", data["target"], target), ("role", data["role"], role)):
        if there != here:
            raise UsageError(f"{path}: {name}: it is of {there!r}, this run is of {here!r}")
    try:
        entries = tuple(
            Entry(**{**entry, "expires": date.fromisoformat(entry["expires"])})
            for entry in _plain(data.get("expected", ()))
        )
    except ValueError as error:
        raise UsageError(f"{path}: expires: {error}; give a date such as 2026-12-31") from None
    _check(path, entries)
    return Baseline(path, target, role, entries, hashlib.sha256(raw).hexdigest())


def _check(path: Path, entries: Iterable[Entry]) -> None:
    for named, times in Counter(entry.named for entry in entries).items():
        if times > 1:
            raise UsageError(f"{path}: {named} stands {times} times; keep one entry")
    for entry in entries:
        kind = kinds().get(entry.reason)
        if kind is None:
            known = ", ".join(kinds())
            raise UsageError(f"{path}: {entry.named}: no reason {entry.reason!r}; known: {known}")
        if entry.layer not in (None, kind.layer):
            raise UsageError(
                f"{path}: {entry.named}: {entry.reason} is a failure of the layer {kind.layer}"
            )


def _plain(value: Any) -> Any:
    """The document as JSON has it: a date is a text."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def update(
    baseline: Baseline, verdicts: Iterable[CaseVerdict], issue: str | None, today: date
) -> Baseline:
    """The baseline with exactly the failures of a whole run, one entry for each failed layer.

    An entry that still holds keeps its issue and its date; others get `issue`, without which
    UsageError names them, and LASTS_DAYS from today.
    """
    old = {(entry.case, entry.layer): entry for entry in baseline.entries}
    entries, without = [], []
    for verdict in verdicts:
        for layer in verdict.layers:
            if layer.verdict is not Verdict.FAIL:
                continue
            name, kind = verdict.case.id, kind_of(layer)
            known = old.get((name, layer.layer)) or old.get((name, None))
            if known is not None and known.reason == kind:
                entries.append(replace(known, layer=layer.layer))
            elif issue is None:
                without.append(f"{name} ({layer.layer})")
            else:
                expires = today + timedelta(days=LASTS_DAYS)
                entries.append(Entry(name, kind, issue, expires, layer.layer))
    if without:
        shown = ", ".join(without[:5]) + (f" and {len(without) - 5} more" if without[5:] else "")
        raise UsageError(f"--update-baseline: new failures need --issue LINK: {shown}")
    order = {layer: number for number, layer in enumerate(LAYERS)}
    entries.sort(key=lambda entry: (entry.case, order[entry.layer or LAYERS[0]]))
    return replace(baseline, entries=tuple(entries))


def text(baseline: Baseline) -> str:
    """The file of a baseline."""
    parts = [
        "format = 1",
        f"target = {toml.string(baseline.target)}",
        f"role = {toml.string(baseline.role)}",
    ]
    for entry in baseline.entries:
        parts += ["", "[[expected]]", f"case = {toml.string(entry.case)}"]
        parts += [f"layer = {toml.string(entry.layer)}"] if entry.layer else []
        parts += [f"reason = {toml.string(entry.reason)}", f"issue = {toml.string(entry.issue)}"]
        parts += [f"expires = {entry.expires.isoformat()}"]
    return "\n".join(parts) + "\n"
