"""What a server writes, read strictly: JSON-RPC 2.0 as MCP has it, one message a line. No I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import messages
from codemode_conformance.escape import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARK: Final = b"\xef\xbb\xbf"


def read(line: bytes) -> tuple[dict[str, Any], str]:
    """The message of a line without its LF, and what is wrong with it (empty if nothing is).

    A message with a fault is returned as far as it is an object, else it is empty.
    """
    if line.startswith(_MARK):
        return {}, "a line begins with a byte order mark"
    try:
        value, _ = messages.parse(line.decode())
    except UnicodeDecodeError as error:
        return {}, f"byte {error.start} of a line is not UTF-8: {quoted(line, 60)}"
    except (ValueError, RecursionError):
        return {}, f"a line that is no JSON: {quoted(line, 80)}"
    if not isinstance(value, dict):
        return {}, f"a line that is no object: {quoted(line, 80)}"
    return value, fault(value)


def fault(message: Mapping[str, Any]) -> str:
    """What is wrong with a message; empty if nothing is."""
    if message.get("jsonrpc") != "2.0":
        return f"jsonrpc is {_shown(message.get('jsonrpc'))}, not 2.0"
    if "method" in message:
        return _call(message)
    return _answer(message)


def is_id(value: Any) -> bool:
    """Whether this may be the id of a request: a text or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def key(number: Any) -> str:
    """A text that is the same for the same id only: 1, 1.0 and "1" are three."""
    return json.dumps(number, sort_keys=True)


def _call(message: Mapping[str, Any]) -> str:
    if not isinstance(message["method"], str):
        return f"the method is {_shown(message['method'])}"
    if "result" in message or "error" in message:
        return "a request with a result"
    if "id" in message and not is_id(message["id"]):
        return f"the id of a request is {_shown(message['id'])}"
    if not isinstance(message.get("params", {}), dict):
        return f"params are {_shown(message['params'])}"
    return ""


def _answer(message: Mapping[str, Any]) -> str:
    parts = {"result", "error"} & message.keys()
    if len(parts) != 1:
        return f"an answer with {' and '.join(sorted(parts)) or 'neither result nor error'}"
    if "id" not in message:
        return "an answer without an id"
    if "result" in message:
        if not isinstance(message["result"], dict):
            return f"the result is {_shown(message['result'])}"
        return "" if message["id"] is not None else "a result with the id null"
    error = message["error"]
    if not isinstance(error, dict):
        return f"the error is {_shown(error)}"
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        return f"the code of an error is {_shown(code)}"
    if not isinstance(error.get("message"), str):
        return f"the message of an error is {_shown(error.get('message'))}"
    return ""


def tool_result(result: Mapping[str, Any]) -> str:
    """What is wrong with the result of a tool call; empty if nothing is."""
    content = result.get("content")
    if not isinstance(content, list):
        return f"the content of a result is {_shown(content)}, no list"
    for block in content:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            return f"a block of content is {_shown(block)}"
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            return f"the text of a block is {_shown(block.get('text'))}"
    if not isinstance(result.get("isError", False), bool):
        return f"isError is {_shown(result['isError'])}"
    if not isinstance(result.get("structuredContent", {}), dict):
        return f"structuredContent is {_shown(result['structuredContent'])}, no object"
    return ""


def _shown(value: Any) -> str:
    return quoted(json.dumps(value, default=str), 60)
