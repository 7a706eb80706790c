"""All searches of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from codemode_spec.model import barriers, sharing
from codemode_spec.model.barriers import Barriers
from codemode_spec.model.guards import AnyParent
from codemode_spec.model.pairs import HonestPair, rules_of_pair
from codemode_spec.model.sharing import Server, Sharing
from codemode_spec.model.spaces import OPERATIONS, AnyWorker, Boundary, small
from codemode_spec.model.terms import rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.model.exploration import Space

SOUND: Final = Boundary()
SOUND_SERVER: Final = Server()

_ONE: Final = {"concurrent_host_calls": 1}
_ABSENT: Final = {"exhaustion": "terminal", "undefined_result": "absent"}


def spaces(boundary: Boundary = SOUND, shared: Server = SOUND_SERVER) -> Iterator[Space]:
    """Every space, each small enough to be searched to its end."""
    yield from _any_worker(boundary)
    yield from _honest_pair(boundary)
    yield from _any_parent()
    plan = rules(barriers.OPERATIONS, profile="inline-sync", policy=barriers.SMALL)
    yield Barriers("batches", plan, boundary)
    yield from _sharing(shared)


def _any_worker(boundary: Boundary) -> Iterator[Space]:
    plain = "process-async"
    yield AnyWorker("any worker", small(plain), boundary)
    yield AnyWorker("any worker, one at once", small(plain, _ONE), boundary)
    terminal = small(plain, None, _ABSENT, readonly=True)
    yield AnyWorker("any worker, terminal exhaustion, read-only", terminal, boundary)
    timed = small("worker-rpc", {**_ONE, "host_calls": 1})
    yield AnyWorker("any worker, processor time", timed, boundary)
    yield AnyWorker("any worker, batches", small("inline-sync"), boundary, modules=True)


def _honest_pair(boundary: Boundary) -> Iterator[Space]:
    plain = "process-async"
    chosen = {
        "honest pair": small(plain),
        "honest pair, one at once": small(plain, _ONE),
        "honest pair, waiting calls": small(plain, _ONE, {"concurrency_excess": "queue"}),
        "honest pair, terminal exhaustion": small(plain, None, {"exhaustion": "terminal"}),
    }
    for name, small_rules in chosen.items():
        yield HonestPair(name, rules_of_pair(small_rules), boundary)


def _any_parent() -> Iterator[Space]:
    known = {name: OPERATIONS[name] for name in ("read", "write")}
    for excess, readonly in (("reject", True), ("queue", False)):
        chosen = small(
            "process-async", {"host_calls": 3}, {"concurrency_excess": excess}, readonly=readonly
        )
        yield AnyParent(f"any parent, excess {excess}", replace(chosen, operations=known))
    terminal = replace(small("process-async", None, _ABSENT), operations=known)
    yield AnyParent("any parent, terminal exhaustion", terminal)


def _sharing(shared: Server) -> Iterator[Space]:
    clients = len(sharing.State().clients)
    for name, row in (("invocations", "server_workers"), ("workers", "server_invocations")):
        policy = {**sharing.SMALL, row: clients}
        chosen = rules({}, profile="worker-rpc", policy=policy)
        yield Sharing(f"shared slots, few {name}", chosen, shared)
