"""Direct calls: a client calls one operation by itself, without a program."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import load_tables

from codemode_reference.codes import Code
from codemode_reference.errors import Failure, Success, failure
from codemode_reference.fairness import NoTurnError
from codemode_reference.operations import invocation
from codemode_reference.values import NotJSONError, measure

if TYPE_CHECKING:
    from codemode_reference.actions import Outcome
    from codemode_reference.operations import Catalogue
    from codemode_reference.run import Host

# Direct calls that may wait for their turn; a program's are fewer by its own limit.
_MOST_WAITING = load_tables().rows["server_host_operations"].absolute_maximum


async def call(
    host: Host, catalogue: Catalogue, operation: str, arguments: Any, client: int
) -> Outcome:
    """The value of one operation, or its failure, after at most `wall_time_ms`.

    It waits for its turn like the calls of programs do, with all calls of the same `client`, and
    has no pages, snapshots or calls to use up. Diagnostics are for people and stay in the value.
    """
    named = {"operation": operation}
    if not catalogue.accepts(operation, arguments):
        return failure(Code.invalid_arguments, **named)
    if not catalogue.permits(operation, arguments):
        return failure(Code.capability_denied, **named)
    limit = host.policy["server_host_operations"]
    late = failure(Code.server_host_operations_limit, **named, limit=limit)
    if host.slots.turns.waiting >= _MOST_WAITING:
        return late
    milliseconds = host.policy["wall_time_ms"]
    invocation.set(client)
    try:
        async with asyncio.timeout(milliseconds / 1000) as clock:
            left = (milliseconds - load_tables().turns.least_left_ms) / 1000
            async with host.slots.turn(client, left):
                value = await catalogue[operation].handler(arguments)
    except NoTurnError:
        return late
    except TimeoutError:
        if clock.expired():
            return failure(Code.deadline_exceeded, limit=milliseconds)
        return failure(Code.operation_failed, **named)
    except Exception:  # noqa: BLE001  whatever it raises, its text stays here
        return failure(Code.operation_failed, **named)
    return _checked(host, value, named)


def _checked(host: Host, value: Any, named: dict[str, str]) -> Success | Failure:
    try:
        measured = measure(value, host.policy["value_depth"])
    except NotJSONError:
        return failure(Code.host_result_invalid, **named)
    limit = host.policy["host_result_bytes"]
    if measured > limit:
        return failure(Code.host_result_bytes_limit, **named, measured=measured, limit=limit)
    return Success(value_present=True, value=value)
