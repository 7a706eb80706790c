"""Which error a worker may name in its result, and what becomes of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode_spec.tables import load_tables

from codemode_reference.codes import Code, Reason
from codemode_reference.errors import failure

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from codemode_reference.errors import Failure
    from codemode_reference.ledger import Ledger


def accept(  # noqa: PLR0913  all that a claim is held against
    error: Mapping[str, Any],
    *,
    sent: Collection[Mapping[str, Any]],
    ledger: Ledger,
    elapsed_ms: float,
    operations: Collection[str],
    names: Collection[str],
) -> Failure:
    """The failure that a result frame names, if this parent has reason to believe it.

    It is believed if the parent `sent` exactly this error in this invocation, or if it is one of
    the worker's own and the ledger agrees. Otherwise the program was rejected, reason `uncaught`,
    without the worker's text. `operations` are those granted, `names` all that may be suggested.
    """
    known = {"operation": operations, "suggestion": names}
    named = all(error[field] in known[field] for field in known if field in error)
    believed = error in sent or (named and _agrees(error, ledger, elapsed_ms))
    if not believed:
        return failure(Code.code_rejected, reason=Reason.uncaught.value)
    fields = {name: value for name, value in error.items() if name != "code"}
    if "detail" in fields:
        fields["detail"] = printable(fields["detail"])
    return failure(error["code"], **fields)


def printable(text: str) -> str:
    """Worker text with its control characters escaped, cut to the table's length."""
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escaped[: load_tables().detail_characters]


def _agrees(error: Mapping[str, Any], ledger: Ledger, elapsed_ms: float) -> bool:
    code = error["code"]
    tables = load_tables()
    condition = tables.errors[code].worker_own
    if condition is None:
        return False
    limit = _limit(code, ledger.policy)
    if limit is not None and error.get("limit", limit) != limit:
        return False
    numbers, frame = error.keys() & {"measured", "limit"}, ledger.policy["ipc_frame_bytes"]
    agrees: dict[str, bool] = {
        "always": True,
        "longer_than_a_frame": not numbers
        or (error.get("limit") == frame and error.get("measured", 0) > frame),
        "measured_above_limit": error.get("measured", 0) > error.get("limit", 0),
        "elapsed_at_limit": limit is not None and elapsed_ms >= limit,
        # No process uses more processor time than has passed.
        "worked_at_limit": limit is not None and elapsed_ms >= limit,
        "calls_at_limit": ledger.calls == limit,
        # A reply frees its slot here before the worker has read it, so that the worker may have
        # had as many in flight as it has made calls; what was in flight here says too little.
        "in_flight_at_limit": limit is not None and ledger.calls >= limit,
    }
    return agrees[condition]


def _limit(code: str, policy: Mapping[str, int]) -> int | None:
    rows = load_tables().rows.values()
    names = (row.name for row in rows if row.error == code and row.in_execute)
    return policy.get(next(names, ""))
