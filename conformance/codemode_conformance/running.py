"""Running cases against a target and judging each, alone or with several processes at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from codemode_conformance.applicability import obstacle
from codemode_conformance.judge import Standing, judge, unasked
from codemode_conformance.observation import Observation
from codemode_conformance.repeats import joined
from codemode_conformance.verdicts import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from codemode_spec import Case, Specification

    from codemode_conformance.identity import Identity
    from codemode_conformance.roles import Role
    from codemode_conformance.verdicts import CaseVerdict, LayerVerdict

ONCE: Final = "failed in one of two runs"
DISTURBED: Final = "with a tracer the case went otherwise than it should, so it was run without"


class Bench:
    """Puts cases to one role and judges them; a FAIL is one only if it is seen again.

    The second run has a process of its own, so that neither what another case left behind nor one
    slow moment of the machine is taken for a fault of this case. A case that a followed target does
    not do well is put to it again unfollowed, and judged by that. With `repeat` above 1 each case
    is run so many times, to see whether it is flaky. Where most cases fail, `keeps` saves the start
    of two processes for each: only what does not fail twice in the same way gets a fresh one. A
    role leaves a process that is not healthy by itself.
    """

    def __init__(
        self,
        role: Role,
        identity: Identity,
        specification: Specification,
        repeat: int = 1,
        *,
        keeps: bool = False,
    ) -> None:
        self.role = role
        self._keeps = keeps
        self._repeat = repeat
        self._specification = specification
        self._standing = Standing(
            identity.capabilities, identity.mapping, frozenset(identity.typed)
        )

    def judge(self, case: Case) -> CaseVerdict:
        """The verdict of one case. Whatever goes wrong is part of it."""
        runs = [self._judge(case) for _ in range(self._repeat)]
        return runs[0] if len(runs) == 1 else joined(runs)

    def _judge(self, case: Case) -> CaseVerdict:
        first = self._once(case)
        if _disturbed(first):
            self.role.restart()
            self.role.traces = False
            try:
                return _unfollowed(self._confirmed(case, self._once(case)))
            finally:
                self.role.traces = True
        return self._confirmed(case, first)

    def _confirmed(self, case: Case, first: CaseVerdict) -> CaseVerdict:
        if first.verdict is not Verdict.FAIL:
            if case.fresh_after:
                self.role.restart()
            return first
        if self._keeps and not case.fresh_after:
            second = self._once(case)
            if _failed(first) == _failed(second):
                return _joined(first, second)
        self.role.restart()
        second = self._once(case)
        self.role.restart()
        return _joined(first, second)

    def _once(self, case: Case) -> CaseVerdict:
        started = time.monotonic()
        attempt = self.role.run(case)
        seconds = time.monotonic() - started
        requirements = self._specification.requirements
        return judge(
            case, attempt.ready, attempt.observation, requirements, self._standing, seconds
        )


def _disturbed(entry: CaseVerdict) -> bool:
    """Whether the tracer, and not the target, may be at fault."""
    if not entry.observation.traced:
        return False
    well = (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.UNTESTABLE)
    return any(one.verdict not in well for one in entry.layers if one.layer != "evidence")


def _unfollowed(entry: CaseVerdict) -> CaseVerdict:
    seen = entry.observation
    level = (seen.level[0], DISTURBED) if seen.level[0] else seen.level
    return replace(entry, observation=replace(seen, level=level))


def _joined(first: CaseVerdict, second: CaseVerdict) -> CaseVerdict:
    """A layer that failed twice is FAIL; one that failed once is flaky."""
    if second.verdict is Verdict.ERROR:
        return second
    failed, again = _failed(first), _failed(second)
    if failed == again:
        return replace(second, seconds=first.seconds + second.seconds)
    shown = second if again else first
    layers = tuple(
        _flaky(layer) if layer.layer in failed ^ again else layer for layer in shown.layers
    )
    return replace(shown, layers=layers, seconds=first.seconds + second.seconds)


def _failed(verdict: CaseVerdict) -> set[str]:
    return {layer.layer for layer in verdict.layers if layer.verdict is Verdict.FAIL}


def _flaky(layer: LayerVerdict) -> LayerVerdict:
    finding = layer.finding
    if finding.verdict is not Verdict.FAIL:
        return replace(layer, finding=Finding(Verdict.FLAKY, ONCE))
    reason = f"{ONCE}: {finding.reason}" if finding.reason else ONCE
    return replace(layer, finding=replace(finding, verdict=Verdict.FLAKY, reason=reason))


def run_cases(  # noqa: PLR0913, PLR0917  all that a run depends on
    roles: Sequence[Role],
    identity: Identity,
    specification: Specification,
    cases: Iterable[Case],
    name: str = "engine",
    repeat: int = 1,
) -> Generator[CaseVerdict, None, None]:
    """The verdict of each case in the role of this name, in order, as soon as it is there.

    A case that the target cannot be asked is not put to it. `roles` drive one target, each with
    processes of its own; as many cases run at once. Only KeyboardInterrupt comes through.
    """
    benches = [Bench(one, identity, specification, repeat) for one in roles]
    requirements = specification.requirements

    def asked(case: Case) -> str | None:
        return obstacle(case, identity, name)

    def not_asked(case: Case, reason: str) -> CaseVerdict:
        return unasked(case, Observation(case.id, unsupported=reason), requirements, reason)

    if len(benches) == 1:
        for case in cases:
            reason = asked(case)
            yield benches[0].judge(case) if reason is None else not_asked(case, reason)
        return
    yield from _at_once(benches, list(cases), asked, not_asked)


def _at_once(
    benches: list[Bench],
    cases: list[Case],
    asked: Callable[[Case], str | None],
    not_asked: Callable[[Case, str], CaseVerdict],
) -> Iterator[CaseVerdict]:
    free: SimpleQueue[Bench] = SimpleQueue()
    for bench in benches:
        free.put(bench)

    def one(case: Case) -> CaseVerdict:
        reason = asked(case)
        if reason is not None:
            return not_asked(case, reason)
        bench = free.get()
        try:
            return bench.judge(case)
        finally:
            free.put(bench)

    executor = ThreadPoolExecutor(len(benches), thread_name_prefix="cmconf")
    try:
        yield from executor.map(one, cases)
    finally:
        # What runs comes to its end, which each case has within its deadline; nothing new starts.
        executor.shutdown(cancel_futures=True)
