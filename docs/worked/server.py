"""The toy sandbox as an MCP server with one tool, over stdio."""

import json
from typing import Any

from mcp.server import MCPServer
from sandbox import OutOfTimeError, ProgramError, Sandbox

server = MCPServer("toy")


@server.tool()
async def run_code(code: str) -> dict[str, Any]:
    """Run a program, the body of an async JavaScript function, and give its value."""
    try:
        found = await Sandbox(timeout_ms=1_000, heap_bytes=16 << 20).run(code, {})
    except OutOfTimeError as error:
        return {"ok": False, "code": "TIMEOUT", "error": str(error)}
    except ProgramError as error:
        return {"ok": False, "code": "PROGRAM", "error": str(error)}
    return {"ok": True} if found is None else {"ok": True, "value": json.loads(found)}


server.run()
