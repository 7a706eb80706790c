"""Probes beside the verdicts: which powers a program has, and where limits really stop it.

What is found is told in reports and never judged. The probes are data, in `probes.json`.
"""

from __future__ import annotations

import json
import time
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codemode_spec.expansion import expand

from codemode_conformance.accuracy import Measured
from codemode_conformance.applicability import obstacle
from codemode_conformance.capabilities import Power
from codemode_conformance.observation import End
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from codemode_spec import Case

    from codemode_conformance.observation import Observation
    from codemode_conformance.roles import Role
    from codemode_conformance.summary import Summary

FILE: Final = "probes.json"
MOST_SECONDS: Final = 60.0
MOST_STEPS: Final = 24
LARGEST: Final = 4
"""So many times the claim is tried before a limit is taken for absent."""

_ROLES: Final = ("engine", "server")
"""The roles in which a target runs a program."""

_EVASIONS: Final = ("the target cannot set", "the target does not support", "the adapter cannot")
"""How the reasons begin for which a target could not be asked what it declares that it can."""


class _OverError(Exception):
    """The time for probes is over, or a probe met a fault."""


@cache
def _data() -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads((files(__package__) / FILE).read_text(encoding="utf-8"))
    return found


def probe(role: Role, summary: Summary) -> None:
    """Run all probes that fit the target, and put into the summary what they found."""
    summary.powers.false_claims += _evasions(summary)
    if summary.role not in _ROLES or "javascript" not in summary.identity.languages:
        return
    _powers(role, summary)
    until = time.monotonic() + MOST_SECONDS
    for limit in _data()["limits"]:
        measured = _Limit(role, summary, limit, until).measure()
        if measured is not None:
            summary.accuracy.append(measured)


def _evasions(summary: Summary) -> Iterator[Power]:
    """What the target refused in this run although its declaration let the suite ask for it."""
    found: dict[str, list[str]] = {}
    for entry in summary.verdicts:
        reason = entry.observation.unsupported or ""
        asked = obstacle(entry.case, summary.identity, summary.role) is None
        if entry.verdict is Verdict.UNSUPPORTED and asked and reason.startswith(_EVASIONS):
            found.setdefault(reason, []).append(entry.case.id)
    for reason, cases in found.items():
        more = f" and {len(cases) - 1} more cases" if cases[1:] else ""
        yield Power(reason, f"asked by {cases[0]}{more}, which need only what is declared")


def _powers(role: Role, summary: Summary) -> None:
    powers = _data()["powers"]
    tests = ", ".join(
        f"{json.dumps(power['name'])}: test(() => {power['test']})" for power in powers
    )
    guard = "const test = (f) => { try { return !!f(); } catch { return false; } };"
    program = f"{guard}\nreturn {{ {tests} }};\n"
    case = _case("powers", program)
    if obstacle(case, summary.identity, summary.role) is not None:
        return
    seen = role.run(case).observation
    run = seen.runs[0] if seen.runs else None
    value = run.value.value if run is not None and run.end is End.VALUE else None
    if not isinstance(value, dict):
        return
    summary.powers.probed += [power["name"] for power in powers]
    declared = summary.identity.alternatives
    for power in powers:
        there = value.get(power["name"]) is True
        chosen = declared.get(power.get("alternative", ""))
        if there and (chosen is None or chosen != power.get("value")):
            said = f"; {power['alternative']} is declared as {chosen}" if chosen else ""
            summary.powers.undeclared.append(Power(power["name"], power["text"] + said))
        elif not there and chosen is not None and chosen == power.get("value"):
            name = f"{power['alternative']} = {chosen}"
            told = f"it is not so that {power['text']}"
            summary.powers.false_claims.append(Power(name, told))


class _Limit:
    """One row: asked at its claim and around it, until the largest number that passes is known."""

    def __init__(self, role: Role, summary: Summary, data: Mapping[str, Any], until: float) -> None:
        self._role = role
        self._summary = summary
        self._data = data
        self._until = until
        self._steps = 0

    def measure(self) -> Measured | None:
        """What was found, or None where nothing can be asked."""
        row = self._data["row"]
        entry = self._summary.effective.get(row)
        claimed = entry.get("value") if isinstance(entry, dict) else None
        if claimed is None:
            return None
        if "set" in self._data:
            return self._time(row, claimed)
        if not isinstance(claimed, int) or isinstance(claimed, bool):
            return self._told(claimed, None, "no number is claimed")
        if claimed > self._data.get("most", claimed):
            return self._told(claimed, None, "too large to be probed")
        reason = obstacle(self._at(claimed), self._summary.identity, self._summary.role)
        if reason is not None:
            return self._told(claimed, None, f"not asked: {reason}")
        try:
            observed = self._search(claimed)
        except _OverError as error:
            return self._told(claimed, None, str(error))
        note = "" if observed is not None else f"no stop up to {LARGEST} times the claim"
        return self._told(claimed, observed, note)

    def _told(self, claimed: float | str, observed: float | None, note: str) -> Measured:
        return Measured(self._data["row"], self._data["unit"], claimed, observed, note)

    def _time(self, row: str, claimed: Any) -> Measured | None:
        capabilities = self._summary.identity.capabilities
        settable = f"policy.{row}" in capabilities or "options.timeout" in capabilities
        wanted = self._data["set"] if settable else None
        if wanted is None and not (isinstance(claimed, int) and 0 < claimed <= self._data["most"]):
            return self._told(claimed, None, "too long to be probed, and it cannot be set")
        case = _case(f"limit-{row}", self._data["program"], set={row: wanted} if wanted else {})
        seen = self._role.run(case).observation
        if not seen.runs or seen.runs[0].end is not End.FAILURE:
            return self._told(wanted or claimed, None, _why(seen))
        elapsed = round(seen.runs[0].elapsed_ms, 1)
        return self._told(wanted or claimed, elapsed, "set for this probe" if wanted else "")

    def _search(self, claimed: int) -> float | None:
        """The largest number that passes, as exactly as `grain` asks; None where none stops it."""
        grain = max(1, int(claimed * self._data.get("grain", 0)))
        low, high = 0, claimed
        while self._passes(high):
            low = high
            if high >= claimed * LARGEST:
                return None
            high = high + grain if high == claimed else min(high * 2, claimed * LARGEST)
        while high - low > grain:
            middle = (low + high) // 2
            if self._passes(middle):
                low = middle
            else:
                high = middle
        return low

    def _passes(self, number: int) -> bool:
        self._steps += 1
        if self._steps > MOST_STEPS or time.monotonic() > self._until:
            raise _OverError("given up: it took too many runs or too long")
        seen = self._role.run(self._at(number)).observation
        if not seen.runs:
            raise _OverError(_why(seen))
        return seen.runs[0].end is End.VALUE

    def _at(self, number: int) -> Case:
        parts: dict[str, Any] = {"let": {"n": number}}
        operation = self._data.get("operation")
        if operation is not None:
            parts["operations"] = [{"name": "probe", "effect": "read", "behaviour": [operation]}]
            parts["needs"] = ["op.value"]
        if self._data.get("raw"):
            parts["raw"] = True
        return _case(f"limit-{self._data['row'].replace('_', '-')}", self._data["program"], **parts)


def _why(seen: Observation) -> str:
    if seen.fault is not None:
        return seen.fault.text
    if seen.unsupported is not None:
        return seen.unsupported
    return f"it ended otherwise: {seen.runs[0].end}" if seen.runs else "nothing was seen"


def _case(slug: str, program: str | Mapping[str, Any], **parts: Any) -> Case:
    """A case outside of the suite: no verdict is made of it."""
    data: dict[str, Any] = {
        "id": f"dia.probe-{slug.replace('_', '-')}",
        "title": "A probe",
        "requirements": {"outcome": "CM-TIM-001"},
        "roles": list(_ROLES),
        "program": {"javascript": program},
        "expect": [{"outcome": "any"}],
        "after": "none",
        **{name: part for name, part in parts.items() if part},
    }
    return expand("DIA", data)[0]
