"""A session with one target: cases one after the other, bounded, and taken up where it ended."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.applicability import obstacle
from codemode_conformance.failures import UsageError
from codemode_conformance.running import Bench
from codemode_conformance.verdicts import Verdict

from codemode_fuzz.blackbox.findings import Found, found_in, home_of, shrunk, write
from codemode_fuzz.blackbox.making import case_of, document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from codemode_conformance.identity import Identity
    from codemode_conformance.roles import Role
    from codemode_spec import Specification

PROGRESS: Final = "progress.json"
FINDINGS: Final = "findings"
MOST_FINDINGS: Final = 40
MOST_ERRORS_IN_A_ROW: Final = 10
_EVERY: Final = 25


@dataclass(slots=True)
class Progress:
    """How far a session is: the number of the next case, verdicts so far, and seconds."""

    next: int = 0
    seconds: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked: the target by name, its role, and the limits of the session."""

    target: str
    role: str
    seed: int
    runs: int
    seconds: float


class Session:
    """Cases of a seed, put to a role that is open; `folder` keeps progress and findings."""

    def __init__(
        self,
        plan: Plan,
        role: Role,
        identity: Identity,
        specification: Specification,
        folder: Path,
    ) -> None:
        self._plan = plan
        self._role = role
        self._identity = identity
        self._bench = Bench(role, identity, specification)
        self._folder = folder
        self._errors = 0
        self.progress = _read(folder / PROGRESS)
        self.homes: dict[Path, Found] = {}

    def run(self, tell: Callable[[str], None]) -> str:
        """Put the cases; the words are why it stopped. Findings go to their folders at once."""
        started = time.monotonic()
        before = self.progress.seconds
        try:
            while self.progress.next < self._plan.runs:
                self.progress.seconds = before + time.monotonic() - started
                if time.monotonic() - started > self._plan.seconds:
                    return "the time is over"
                if len(self.homes) >= MOST_FINDINGS:
                    return f"{MOST_FINDINGS} different findings"
                if self._errors >= MOST_ERRORS_IN_A_ROW:
                    return f"{MOST_ERRORS_IN_A_ROW} errors of the adapter or the suite in a row"
                self._one(self.progress.next, tell)
                self.progress.next += 1
                if self.progress.next % _EVERY == 0:
                    self._keep()
            return "all cases were put"
        finally:
            self.progress.seconds = before + time.monotonic() - started
            self._keep()

    def put(self, made: dict[str, Any]) -> tuple[Verdict, Found | None]:
        """Put one case and judge it; unsupported where the target cannot be asked."""
        case = case_of(made)
        if obstacle(case, self._identity, self._plan.role) is not None:
            return Verdict.UNSUPPORTED, None
        verdict = self._bench.judge(case)
        return verdict.verdict, found_in(made, verdict)

    def _one(self, number: int, tell: Callable[[str], None]) -> None:
        made = document(self._plan.role, self._plan.seed, number)
        verdict, found = self.put(made)
        self.progress.verdicts[verdict] += 1
        if verdict is not Verdict.UNSUPPORTED:
            self.progress.kinds[made["id"].removeprefix("fuz.").rstrip("0123456789-")] += 1
        self._errors = self._errors + 1 if verdict is Verdict.ERROR else 0
        if found is None:
            return
        home = home_of(self._folder / FINDINGS, found)
        if home in self.homes:
            return
        self.homes[home] = found
        if not home.exists():
            smaller = shrunk(made, lambda other: self._same(other, found))
            write(home, self._plan.target, self._plan.role, smaller, found)
            tell(f"{found.verdict}: {made['title'].lower()}, {found.layer}: {home}")

    def _same(self, made: dict[str, Any], found: Found) -> bool:
        other = self.put(made)[1]
        return other is not None and other.signature == found.signature

    def _keep(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = {
            "next": self.progress.next,
            "seconds": round(self.progress.seconds, 1),
            "verdicts": dict(self.progress.verdicts),
            "kinds": dict(self.progress.kinds),
        }
        path = self._folder / PROGRESS
        # Whole or not at all, also where the session is killed.
        new = path.with_suffix(".new")
        new.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
        new.replace(path)


def _read(path: Path) -> Progress:
    if not path.exists():
        return Progress()
    try:
        kept = json.loads(path.read_bytes())
        return Progress(
            int(kept["next"]),
            float(kept["seconds"]),
            Counter(kept["verdicts"]),
            Counter(kept["kinds"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: it is no progress of a session; delete it") from error
