"""The tool `<prefix>_execute_code`: one program, its options, its answer with metrics, progress."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

COMMAND = [
    *("-m", "codemode_reference", "serve", "--mode", "code", "--profile", "worker-rpc"),
    *("--prefix", "demo", "--operations", "demonstration"),
]
TOOL = "demo_execute_code"


def told(story):
    """What a story told of one connection gives."""

    async def tell():
        server = StdioServerParameters(command=sys.executable, args=COMMAND)
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            return await story(session, await session.initialize())

    return asyncio.run(asyncio.wait_for(tell(), 120))


async def answers(session, calls):
    """The structured answers, with what is wrong in them told by `isError` and by the text."""
    found = []
    for arguments in calls:
        result = await session.call_tool(TOOL, arguments)
        content = result.structured_content
        assert result.is_error is not content["success"]
        assert ("error" in content) is result.is_error
        assert min(content["metrics"].values()) >= 0
        assert set(content["metrics"]) == {"wallTimeMs", "cpuTimeMs", "memoryUsedMb"}
        found.append(content)
    return found


def test_there_is_one_tool_and_the_instructions_say_how_to_use_it():
    """CM-MCP-001, CM-MCP-005, CM-MCP-008, CM-MCP-009."""

    async def story(session, began):
        (tool,) = (await session.list_tools()).tools
        return tool, began.instructions

    tool, instructions = told(story)
    assert tool.name == TOOL
    assert set(tool.input_schema["properties"]) == {"code", "timeout", "readonly"}
    assert tool.input_schema["additionalProperties"] is False
    assert tool.output_schema is None
    for part in (TOOL, "codemode.listFiles(folder)", "by position", "help()", "process of its own"):
        assert part in instructions


def test_a_program_gives_its_value_or_none():
    """CM-MCP-004: null is a value, and nothing is none."""

    async def story(session, _):
        return await answers(
            session,
            [
                {"code": "const sum = await codemode.add(1, 2);\nsum // three"},
                {"code": "null"},
                {"code": "undefined"},
                {"code": "await codemode.add(1, 2)", "readonly": True, "timeout": 30000},
            ],
        )

    three, null, nothing, read = told(story)
    assert three["result"] == 3
    assert null["result"] is None
    assert "result" not in nothing
    assert read["result"] == 3
    assert three["metrics"]["cpuTimeMs"] > 0
    # A sample of the peak while the worker lives, so it may be an early one.
    assert three["metrics"]["memoryUsedMb"] > 0


FAILURES = [
    ({"code": "1", "tiemout": 5}, "invalid_arguments"),
    ({"code": 1}, "invalid_arguments"),
    ({}, "invalid_arguments"),
    ({"code": "1", "timeout": 30001}, "invalid_arguments"),
    ({"code": "1", "timeout": 0}, "invalid_arguments"),
    ({"code": "1", "timeout": None}, "invalid_arguments"),
    ({"code": "1", "readonly": "yes"}, "invalid_arguments"),
    ({"code": " \n"}, "source_empty"),
    ({"code": "eval('1')"}, "pattern_blocked"),
    ({"code": "const ="}, "code_rejected"),
    ({"code": "() => 1"}, "code_rejected"),
    ({"code": "'x'.repeat(200000)"}, "final_result_bytes_limit"),
]


def test_every_failure_is_a_structured_answer():
    """CM-MCP-002, CM-MCP-003: with code and message, and the server goes on."""

    async def story(session, _):
        return [await answers(session, [given, {"code": "1"}]) for given, _ in FAILURES]

    for (arguments, code), (failed, after) in zip(FAILURES, told(story), strict=True):
        assert failed["error"]["code"] == code, arguments
        assert failed["error"]["message"], arguments
        assert after["result"] == 1, arguments


def test_progress_reaches_who_asks_for_it_before_the_answer():
    """CM-PRG-001, CM-PRG-002: and nobody else."""
    program = "codemode.reportProgress(1, 2, 'half'); codemode.reportProgress(2, 2); 'done'"

    async def story(session, _):
        reports = []

        async def take(*report):
            reports.append(report)

        result = await session.call_tool(TOOL, {"code": program}, progress_callback=take)
        (quiet,) = await answers(session, [{"code": program}])
        return reports, result.structured_content["result"], quiet["result"]

    assert told(story) == ([(1.0, 2.0, "half"), (2.0, 2.0, None)], "done", "done")
