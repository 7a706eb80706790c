"""The fuzz targets: each is a thin module that turns bytes into a check by an oracle."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


def _modules(package: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{package}.{name}" for name in names)


INSTRUMENTED: Final = {
    "frames": _modules(
        "codemode_reference", "lines", "strict_json", "frames", "policy", "protocol", "values"
    ),
    "parent": _modules(
        "codemode_reference",
        *("session", "calls", "ledger", "claims", "protocol", "evidence", "lines", "frames"),
        *("strict_json", "values", "arguments", "errors", "batch", "records", "history"),
    ),
    "values": _modules("codemode_reference", "values", "strict_json"),
    "policy": _modules("codemode_reference", "policy"),
    "admission": _modules("codemode_reference", "statements", "tokens", "filters"),
    "adapter": _modules("codemode_conformance", "messages", "lines"),
    "targetfile": _modules("codemode_conformance", "target"),
    "worker": _modules("codemode_reference", "frames", "lines", "strict_json"),
    "programs": _modules("codemode_reference", "session", "calls", "run"),
}
"""The targets, with the modules whose coverage guides the fuzzer: known before they are loaded."""

SLOW: Final = ("worker", "programs")
"""Those that start processes: some ten inputs a second, and no coverage of what they start."""
FAST: Final = tuple(name for name in INSTRUMENTED if name not in SLOW)


@dataclass(frozen=True, slots=True)
class Target:
    """What the kit needs to know of a target.

    `check` raises for a finding; `mutate` takes data, the largest size and a seed; `seeds` makes
    named inputs; `max_bytes` bounds an input.
    """

    title: str
    check: Callable[[bytes], None]
    mutate: Callable[[bytes, int, int], bytes]
    seeds: Callable[[], dict[str, bytes]]
    max_bytes: int


def load(name: str) -> Target:
    """The target of this name, which imports what it tests. KeyError for an unknown one."""
    if name not in INSTRUMENTED:
        raise KeyError(name)
    target = import_module(f"{__name__}.{name}").TARGET
    assert isinstance(target, Target)
    return target
