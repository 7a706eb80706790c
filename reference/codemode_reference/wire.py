"""The frames that a parent writes: one line each, values as `JSON.stringify` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codemode_spec.tables import load_tables

from codemode_reference.codes import Code
from codemode_reference.errors import failure
from codemode_reference.strict_json import MAX_SAFE
from codemode_reference.values import NotJSONError, encode, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_spec.tables import ExecuteParts

    from codemode_reference.errors import Failure

# What a worker reads: a value and the frame around it.
_DEPTH = load_tables().rows["value_depth"].absolute_maximum + 1


def execute_head(fields: Mapping[str, Any]) -> bytes:
    """All of an `execute` line that does not change from program to program."""
    return encode({"type": "execute", **fields}, _DEPTH)[:-1]


def execute(
    head: bytes, invocation_id: int, encoded_source: bytes, budgets: Mapping[str, int] | None = None
) -> bytes:
    """The `execute` line of an invocation, with the `budgets` that a program may ask for."""
    told = b"" if budgets is None else b',"budgets":%b' % encode(dict(budgets), _DEPTH)
    return b'%b%b,"invocation_id":%d,"source":%b}\n' % (head, told, invocation_id, encoded_source)


def rest_fits(fields: Mapping[str, Any], parts: ExecuteParts) -> bool:
    """Whether everything in `execute` but the source is JSON and fits its part of the frame."""
    try:
        rest = measure({"type": "execute", "invocation_id": MAX_SAFE, **fields}, _DEPTH)
    except NotJSONError:
        return False
    return rest + len(',"source":') <= parts.rest_bytes


def encode_source(source: str, limit: int, parts: ExecuteParts) -> bytes | Failure:
    """The source as JSON, or why it is refused: no text, empty, longer than `limit` bytes."""
    try:
        measured = len(source.encode())
    except UnicodeEncodeError:
        return failure(Code.invalid_arguments)
    if not source.strip():
        return failure(Code.source_empty, measured=measured, limit=limit, counted="utf8")
    if measured > limit:
        return failure(Code.source_bytes_limit, measured=measured, limit=limit, counted="utf8")
    encoded = encode(source, 0)
    most = limit * parts.source_factor + parts.source_extra_bytes
    if len(encoded) > most:
        return failure(
            Code.source_bytes_limit, measured=len(encoded), limit=most, counted="encoded"
        )
    return encoded


def host_value(invocation_id: int, call_id: int, encoded_value: bytes) -> bytes:
    """The reply with a value that is encoded already."""
    head = b'{"type":"host_result","invocation_id":%d,"call_id":%d,"ok":true,"value_present":true'
    return b'%b,"value":%b}\n' % (head % (invocation_id, call_id), encoded_value)


def host_error(invocation_id: int, call_id: int, error: Failure) -> bytes:
    """The reply with an error; its message stays here, the worker has its own."""
    head = b'{"type":"host_result","invocation_id":%d,"call_id":%d,"ok":false,"value_present":false'
    content = encode({"code": error.code, **error.fields}, _DEPTH)
    return b'%b,"error":%b}\n' % (head % (invocation_id, call_id), content)
