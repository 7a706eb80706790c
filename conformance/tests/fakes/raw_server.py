"""A small MCP server over stdio that can do one thing wrong: `raw_server.py [FAULT ...]`.

Its programs are `return JSON`, `nothing`, `throw`, `sleep SECONDS`, `report`, `endless` and
`leave`, which starts a process that nobody ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

FAULTS = set(sys.argv[1:])
LIMIT = 16
LOCK = threading.Lock()
CANCELLED: set[str] = set()


def say(message: dict[str, Any]) -> None:
    """Write one message."""
    text = json.dumps({"jsonrpc": "1.0" if "version" in FAULTS else "2.0", **message})
    with LOCK:
        os.write(1, text.encode() + b"\n")


def answer(number: Any, **parts: Any) -> None:
    """Answer one request, as wrong as it is asked for."""
    if "changed_id" in FAULTS:
        number = str(number)
    say({"id": number, **parts})
    if "twice" in FAULTS:
        say({"id": number, **parts})


def refuse(number: Any, code: int) -> None:
    """Answer with an error of JSON-RPC."""
    answer(number, error={"code": "bad" if "text_code" in FAULTS else code, "message": "refused"})


def result(content: dict[str, Any], *, failed: bool) -> dict[str, Any]:
    """The result of the tool."""
    text = str(content) if "no_json" in FAULTS else json.dumps(content)
    structured: Any = [content] if "list" in FAULTS else content
    if "other_text" in FAULTS:
        text = json.dumps({"other": 1})
    return {
        "content": {} if "no_content" in FAULTS else [{"type": "text", "text": text}],
        "structuredContent": structured,
        "isError": failed is not ("flags" in FAULTS),
    }


def run(number: Any, program: str, token: Any) -> None:
    """Run one program and answer."""
    verb, _, rest = program.partition(" ")
    if verb == "sleep":
        time.sleep(float(rest))
        rest = "1"
    if verb == "report" and (token is not None or "uninvited" in FAULTS):
        for done in (1, 1) if "stands_still" in FAULTS else (1, 2):
            params = {"progressToken": token, "progress": done}
            say({"method": "notifications/progress", "params": params})
    if verb == "leave" or (verb == "endless" and "orphan" in FAULTS):
        subprocess.Popen(
            ["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    if verb == "endless":
        time.sleep(60)
    if verb == "throw":
        code = {} if "no_code" in FAULTS else {"code": "LIMIT", "limit": 3}
        answer(number, result=result({"success": False, "error": "seen", **code}, failed=True))
    elif json.dumps(number) not in CANCELLED:
        value = {} if verb == "nothing" else {"result": json.loads(rest or "1")}
        metrics = {"wall": -1 if "metrics" in FAULTS else 1, "cpu": 1, "memory": 1}
        answer(number, result=result({"success": True, **value, **metrics}, failed=False))


def tools() -> list[dict[str, Any]]:
    """What is listed."""
    properties = {"code": {"type": "string"}, "timeout": {"type": "integer"}, "mode": {}}
    if "more_arguments" in FAULTS:
        properties["shell"] = {"type": "string"}
    schema = {"type": "object", "properties": properties, "required": ["code"]}
    tool: dict[str, Any] = {"name": "run", "inputSchema": schema, "description": "of its own, hard"}
    if "empty_schema" in FAULTS:
        tool["outputSchema"] = {"type": "object"}
    return [tool]


def take(message: dict[str, Any]) -> None:
    """Do what one message asks for."""
    method, number, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        told |= {"serverInfo": {"name": "raw", "version": "1"}, "instructions": "run api.one"}
        say({"id": number, "result": told})
    elif method == "ping":
        if "asks" in FAULTS:
            for i in range(7_000, 7_900):
                say({"id": i, "method": "ping", "params": {"pad": "a" * 32_000}})
        answer(number, result={})
    elif method == "tools/list":
        answer(number, result={"tools": tools()})
    elif method == "notifications/cancelled":
        CANCELLED.add(json.dumps(params.get("requestId")))
    elif method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        work = (number, params["arguments"]["code"], token)
        if "serial" in FAULTS:
            run(*work)
        else:
            threading.Thread(target=run, args=work, daemon=True).start()
    elif "id" in message and "method" in message:
        refuse(number, -32601)


def line_of() -> bytes:
    """The next line; one that is too long is cut, unless everything is kept."""
    whole: list[bytes] = []
    while True:
        piece = sys.stdin.buffer.readline(65536)
        if not piece or len(whole) <= LIMIT or "keeps" in FAULTS:
            whole.append(piece)
        if not piece or piece.endswith(b"\n"):
            return b"".join(whole)


def read(line: bytes) -> dict[str, Any] | None:
    """The message of a line, None if it is none."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    is_one = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
    return message if is_one else None


def main() -> None:
    """Serve until the client leaves."""
    if "noise" in FAULTS:
        os.write(1, b"Welcome\n")
    while line := line_of():
        message = read(line)
        if message is not None:
            take(message)
        elif "dies" in FAULTS:
            os.write(1, b"half a li")
            os._exit(9)
        elif line.strip():
            say({"id": None, "error": {"code": -32700, "message": "no message"}})
    if "stays" in FAULTS:
        time.sleep(60)
    os._exit(0)


main()
