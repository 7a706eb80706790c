"""What must hold for every program: one legal outcome in time, its value where that is known."""

from __future__ import annotations

import asyncio
import atexit
import json
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from codemode_reference import Operation, Parent, Success, default_policy
from codemode_spec.sizes import size_of

from codemode_fuzz.finding import Finding
from codemode_fuzz.parent.books import check_failure
from codemode_fuzz.reading import DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_reference import Failure

MARK: Final = "//= "
"""Begins a first line that says, as JSON, what the program below returns."""
WALL_MS: Final = 1_500
_SLACK_SECONDS: Final = 6.0
_CANARY: Final = "canary-in-the-parent-51c9"
_MOST_CALLS: Final = 16


class Lane:
    """One parent and its event loop, for all programs of this process; ended with it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.calls = 0
        policy = default_policy() | {"wall_time_ms": WALL_MS}
        echo = Operation("echo", self._echo)
        fail = Operation("fail", self._fail)
        self.parent = Parent(policy, [echo, fail])
        atexit.register(self._close)

    def run(self, source: str) -> Success | Failure:
        """The outcome of a program."""
        self.calls = 0
        return self.loop.run_until_complete(self.parent.invoke(source))

    async def _echo(self, arguments: Any) -> Any:
        self.calls += 1
        return arguments

    async def _fail(self, arguments: Any) -> Any:
        self.calls += 1
        raise ValueError(f"{_CANARY} {arguments}")

    def _close(self) -> None:
        self.loop.run_until_complete(self.parent.close())
        self.loop.close()


@cache
def lane() -> Lane:
    """The lane of this process, started when it is first needed."""
    return Lane()


def check_program(data: bytes, run: Callable[[str], Any] | None = None) -> None:
    """Run a text as a program. Raises Finding."""
    text = data.decode("utf-8", "ignore")
    known, source = _split(text)
    run = run or lane().run
    started = time.monotonic()
    try:
        outcome = run(source)
    except Exception as error:
        raise Finding("exception", f"invoke raised {type(error).__name__}") from error
    if time.monotonic() - started > WALL_MS / 1000 + _SLACK_SECONDS:
        raise Finding("time", "the outcome came long after the deadline")
    _check(outcome)
    if known is not None and not _late(outcome):
        if not isinstance(outcome, Success):
            raise Finding("value", f"{outcome.code} where a value is known")
        if json.dumps(outcome.value, sort_keys=True) != json.dumps(known[0], sort_keys=True):
            raise Finding("value", "another value than the program returns")


def _check(outcome: Success | Failure) -> None:
    limits = default_policy()
    if lane.cache_info().currsize and lane().calls > min(limits["host_calls"], _MOST_CALLS):
        raise Finding("budget", "more calls were dispatched than host_calls allows")
    if isinstance(outcome, Success):
        if not outcome.value_present:
            raise Finding("outcome", "a success without a value")
        if size_of(outcome.value, DEPTH) > limits["final_result_bytes"]:
            raise Finding("budget", "a value above final_result_bytes")
        return
    told = outcome.to_json()
    check_failure(told)
    if told["code"] in ("worker_protocol_error", "worker_start_failed"):
        raise Finding("outcome", f"{told['code']} for a program")
    if _CANARY in json.dumps(told):
        raise Finding("canary", "what an operation raised reached the client")


def _late(outcome: Success | Failure) -> bool:
    """Whether this machine was too slow for the program to end."""
    return not isinstance(outcome, Success) and outcome.code == "deadline_exceeded"


def _split(text: str) -> tuple[list[Any] | None, str]:
    if not text.startswith(MARK):
        return None, text
    first, _, rest = text.partition("\n")
    try:
        return [json.loads(first.removeprefix(MARK))], rest
    except (ValueError, RecursionError):
        return None, rest
