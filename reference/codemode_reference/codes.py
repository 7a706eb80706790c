"""Names of error codes and reasons, checked against the error table when this is imported."""

from __future__ import annotations

from enum import StrEnum, auto
from typing import Final

from codemode_spec.tables import load_tables


class Code(StrEnum):
    """The codes that this implementation raises itself; each one stands in `errors.json`."""

    invalid_policy = auto()
    hardening_unavailable = auto()
    invalid_arguments = auto()
    pattern_blocked = auto()
    rate_limited = auto()
    source_empty = auto()
    source_bytes_limit = auto()
    server_invocations_limit = auto()
    server_workers_limit = auto()
    worker_start_failed = auto()
    worker_exited = auto()
    worker_protocol_error = auto()
    deadline_exceeded = auto()
    cpu_time_exceeded = auto()
    cancelled = auto()
    code_rejected = auto()
    final_result_bytes_limit = auto()
    host_calls_limit = auto()
    host_concurrency_limit = auto()
    pages_limit = auto()
    snapshots_limit = auto()
    host_result_bytes_limit = auto()
    cumulative_host_bytes_limit = auto()
    server_host_operations_limit = auto()
    host_result_invalid = auto()
    operation_failed = auto()
    unknown_method = auto()
    unknown_operation = auto()
    capability_denied = auto()
    read_only_violation = auto()
    history_headroom_limit = auto()
    batch_history_limit = auto()
    internal_error = auto()


class Reason(StrEnum):
    """Why a program was rejected; each one is a reason of `code_rejected` in `errors.json`."""

    syntax = auto()
    uncaught = auto()
    stalled = auto()
    no_value = auto()
    not_json = auto()
    too_deep = auto()
    memory = auto()
    stack = auto()


FAILURES: Final = (Code.operation_failed, Code.read_only_violation, Code.host_result_invalid)
"""The errors that `operation_failure` makes values: what an operation did, not what a budget is."""


def unknown_names(known: object, names: type[StrEnum]) -> list[str]:
    """The members of `names` that the container `known` lacks."""
    return [name.value for name in names if name.value not in known]  # type: ignore[operator]


def _check() -> None:
    errors = load_tables().errors
    reasons = errors[Code.code_rejected].category_by_reason
    missing = unknown_names(errors, Code) + unknown_names(reasons, Reason)
    if missing:
        raise ImportError(f"errors.json lacks {', '.join(missing)}")


_check()
