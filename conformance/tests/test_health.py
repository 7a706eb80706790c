"""Healthy afterwards: the same session works, told apart from a deadline that is too short."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from codemode_conformance.observation import Health

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.engine import Engine
    from codemode_spec.cases import Case


@pytest.mark.parametrize(
    ("late", "health", "fault"),
    [
        (None, Health.HEALTHY, None),
        ("first", Health.HEALTHY, None),
        ("session", Health.UNHEALTHY, None),
        ("all", Health.UNHEALTHY, None),
        ("short", Health.UNHEALTHY, "surroundings"),
        ("barely", Health.UNHEALTHY, "surroundings"),
    ],
)
def test_a_late_next_program_is_judged_by_what_else_works(
    fake_engine: Callable[..., Engine],
    case_of: Callable[..., Case],
    late: str | None,
    health: Health,
    fault: str | None,
) -> None:
    """A slow start is forgiven, a session that stays dead is not, a slow machine is no FAIL."""
    engine = fake_engine({"late": late, "wall": 2000})
    engine.start()
    seen = engine.run(case_of("return 2", set={"wall_time_ms": 200})).observation
    assert seen.after is health
    assert (seen.fault.side if seen.fault else None) == fault
    if late == "first":
        assert seen.notes == ("the next program took 2 tries within its deadline",)


def test_a_deadline_of_its_own_is_no_excuse(
    fake_engine: Callable[..., Engine], case_of: Callable[..., Case]
) -> None:
    """Where the case did not shorten the deadline, one late program is enough."""
    engine = fake_engine({"late": "first", "wall": 300})
    engine.start()
    seen = engine.run(case_of("return 2")).observation
    # The first `return 1` of a session is the health program.
    assert (seen.after, seen.fault) == (Health.UNHEALTHY, None)


def test_an_exit_after_the_next_program_is_an_error(
    fake_engine: Callable[..., Engine], case_of: Callable[..., Case]
) -> None:
    """Whether its answer and its exit are seen together or one after the other."""
    engine = fake_engine({"last_words": True})
    engine.start()
    seen = engine.run(case_of("return 2")).observation
    assert seen.fault is not None
    assert seen.fault.side == "adapter"
