"""The command `serve`, as a client sees it: the SDK's own, and one that speaks for itself."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from codemode_reference.cli import main
from codemode_reference.repositories import builtin, repository_operations
from codemode_reference.server.command import _repositories
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

COMMAND = [sys.executable, "-m", "codemode_reference", "serve"]
OPERATIONS = ["find_repositories", "refs", "open", "list", "search_code", "read", "context"]
DEMONSTRATION = ("--mode", "code", "--operations", "demonstration")


def with_client(story, *options):
    """Run `await story(session)` with the SDK's client of a server."""

    async def run():
        server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *options])
        async with (
            stdio_client(server) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            await story(session)

    asyncio.run(run())


async def call(session, name, **arguments):
    """The result of a tool, the same in structure and text, and whether it is an error."""
    result = await session.call_tool(name, arguments)
    (text,) = result.content
    assert json.loads(text.text) == result.structured_content
    return result.structured_content, result.is_error


async def program(session, source):
    """The result of a program."""
    return await call(session, "code", source=source)


def test_each_operation_is_a_tool_unless_asked_otherwise():
    """Direct mode: closed schemas, examples, results as they are, snapshots for the connection."""

    async def story(session):
        tools = (await session.list_tools()).tools
        assert [tool.name for tool in tools] == OPERATIONS
        for tool in tools:
            assert tool.input_schema["additionalProperties"] is False
            assert "Example: {" in tool.description
            assert tool.annotations.read_only_hint is True
        opened, failed = await call(session, "open", repository="orchard")
        assert (opened["ref"], failed) == ("refs/heads/main", False)
        text, failed = await call(
            session, "read", snapshot=opened["snapshot"], path="src/limits.js", format="text"
        )
        assert (
            text["text"] == "export const LIMITS = { trees: 10000, kinds: 64, kilograms: 900 };\n"
        )
        problem, failed = await call(session, "open", repository="pear")
        assert (problem["problem"], failed) == ("no_repository", False)
        refused, failed = await call(session, "open", repository=1)
        assert (refused["code"], refused["operation"], failed) == (
            "invalid_arguments",
            "open",
            True,
        )
        with pytest.raises(MCPError, match="there is no such tool"):
            await session.call_tool("code", {"source": "return 1"})

    with_client(story)


def test_one_tool_runs_programs_in_code_mode():
    """Its description and the server's instructions are the manual."""

    async def story(session):
        (tool,) = (await session.list_tools()).tools
        assert tool.name == "code"
        assert tool.input_schema["properties"].keys() == {"source"}
        assert tool.input_schema["additionalProperties"] is False
        assert "codemode.searchCode({snapshot: string, text: string, path?: string" in (
            tool.description
        )
        assert "16 calls, 4 calls at a time, 8 pages, 2 snapshots" in tool.description
        source = """
            const { snapshot } = await codemode.open({repository: "orchard"});
            return (await codemode.list({snapshot, path: "src", paths_only: true})).paths;
        """
        paths = ["src/limits.js", "src/main.js", "src/parse.js", "src/total.js"]
        assert await program(session, source) == ({"present": True, "value": paths}, False)
        with pytest.raises(MCPError, match="the only tool is code"):
            await session.call_tool("open", {"repository": "orchard"})

    with_client(story, "--mode", "code")


def test_an_answer_is_an_error_exactly_when_the_program_failed():
    """A value that looks like a failure is a value; null is one too."""

    async def story(session):
        assert await program(session, "return null") == ({"present": True, "value": None}, False)
        looks = {"code": "cancelled", "message": "x"}
        told = await program(session, f"return {json.dumps(looks)}")
        assert told == ({"present": True, "value": looks}, False)
        told, failed = await program(session, "return 1 +")
        assert (told["code"], told["reason"], failed) == ("code_rejected", "syntax", True)
        told, failed = await program(session, "return codemode.listFiles({folder: 'none'})")
        assert failed
        assert told == {
            "code": "operation_failed",
            "message": told["message"],
            "operation": "list_files",
        }
        told, failed = await program(session, "x" * 40_000)
        assert (told["code"], told["measured"], failed) == ("source_bytes_limit", 40_000, True)
        told, failed = await program(session, "\0" * 30_000)
        assert (told["code"], told["counted"], failed) == ("source_bytes_limit", "encoded", True)

    with_client(story, *DEMONSTRATION)


def test_other_arguments_are_refused():
    """There is one argument, a string; nothing is ignored."""

    async def story(session):
        for arguments in [{}, {"source": 1}, {"source": None}, {"source": "return 1", "x": 1}]:
            told, failed = await call(session, "code", **arguments)
            assert (told["code"], failed) == ("invalid_arguments", True)

    with_client(story, "--mode", "code")


def test_programs_run_side_by_side_up_to_the_limit(tmp_path):
    """One more is refused at once, pings are answered, and all that ran give their values."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"server_invocations": 2, "server_workers": 2}')

    async def story(session):
        source = "await codemode.slow({seconds: 1}); return codemode.echo(%d);"
        running = [asyncio.create_task(program(session, source % n)) for n in range(2)]
        await asyncio.sleep(0)
        await session.send_ping()
        told, failed = await program(session, "return 3")
        assert (told["code"], told["limit"], failed) == ("server_invocations_limit", 2, True)
        assert await asyncio.gather(*running) == [
            ({"present": True, "value": n}, False) for n in range(2)
        ]

    with_client(story, *DEMONSTRATION, "--policy", str(policy))


# A client that speaks for itself


class Raw:
    """A server's process and the lines between."""

    def __init__(self, *options, command=COMMAND):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*command, *options], stdin=pipe, stdout=pipe, stderr=pipe)
        self.ask(0, "initialize", **INITIALIZE)

    def send(self, **message):
        """One message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def write(self, data):
        """Some bytes."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self):
        """The next message."""
        return json.loads(self.process.stdout.readline())

    def start(self, number, method, **params):
        """A request that is not waited for."""
        self.send(id=number, method=method, params=params)

    def ask(self, number, method, **params):
        """The answer to a request; nothing else may come."""
        self.start(number, method, **params)
        answer = self.receive()
        assert answer["id"] == number
        return answer["result"]

    def program(self, number, source):
        """Start a program."""
        self.start(number, "tools/call", name="code", arguments={"source": source})

    def children(self):
        """The processes of the server's own."""
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            found += (task / "children").read_text().split()
        return found

    def until(self, condition):
        """Wait until this is so."""
        end = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.005)

    def end(self):
        """Close it, if it is not over, and read the rest."""
        rest, errors = self.process.communicate(timeout=30)
        return rest, errors.decode(), self.process.returncode


INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture
def raw():
    """`raw(option, ...)` starts a server, which is over with the test."""
    with contextlib.ExitStack() as stack:

        def start(*options, command=COMMAND):
            server = Raw(*options, command=command)
            stack.callback(server.process.communicate)
            stack.callback(server.process.kill)
            return server

        yield start


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_cancelled_program_ends_at_once(raw):
    """Its worker is gone long before its deadline, nothing answers it, and its place is free."""
    server = raw("--mode", "code")
    server.program(1, "for (;;);")
    server.until(server.children)
    running = set(server.children())
    before = time.monotonic()
    server.send(method="notifications/cancelled", params={"requestId": 1})
    # Another worker may wait for the next program by now.
    server.until(lambda: not running & set(server.children()))
    assert time.monotonic() - before < 5
    server.program(2, "return 2")
    assert server.receive()["id"] == 2


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_an_id_without_an_answer_is_not_taken_again(raw):
    """The first program can still be cancelled; the id is free once it was, or was answered."""
    server = raw("--mode", "code")
    server.program(1, "for (;;);")
    server.until(server.children)
    running = set(server.children())
    server.program(1, "return 1")
    refused = server.receive()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert running <= set(server.children())
    server.send(method="notifications/cancelled", params={"requestId": [1]})
    server.send(method="notifications/cancelled", params={"requestId": 1})
    server.until(lambda: not running & set(server.children()))
    for value in (2, 3):
        server.program(1, f"return {value}")
        assert server.receive()["result"]["structuredContent"]["value"] == value


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
@pytest.mark.parametrize(("how", "status"), [("eof", 0), ("SIGTERM", 143), ("SIGINT", 130)])
@pytest.mark.parametrize("busy", [False, True])
def test_it_ends_with_its_client_or_by_a_signal(raw, how, status, busy):
    """Whatever runs is ended, no process is left, and nothing is said about it."""
    server = raw("--mode", "code")
    if busy:
        server.program(1, "for (;;);")
        server.until(server.children)
    children = server.children()
    if how == "eof":
        server.process.stdin.close()
        server.process.stdin = None
    else:
        server.process.send_signal(getattr(signal, how))
    rest, errors, code = server.end()
    assert (errors, code) == ("", status)
    assert rest == b"" or json.loads(rest)["error"]["message"] == "Connection closed"
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_what_is_printed_does_not_reach_the_client(raw):
    """Whoever prints in the server's process, by whatever way, prints to stderr."""
    noisy = """
import os, sys, codemode_reference.demonstration as d
from codemode_reference.cli import main
async def noisy(arguments):
    print("printed", flush=True); os.write(1, b"written"); os.system("echo run")
    return sys.stdin.read()
d._echo = noisy
sys.exit(main(["serve", *sys.argv[1:]]))
"""
    server = raw(*DEMONSTRATION, command=[sys.executable, "-c", noisy])
    server.program(1, "return codemode.echo(1)")
    assert server.receive()["result"]["structuredContent"] == {"present": True, "value": ""}
    rest, errors, code = server.end()
    assert (rest, code) == (b"", 0)
    assert errors.split() == ["printed", "writtenrun"]


def test_errors_of_a_program_are_in_no_log(raw):
    """Neither what it throws nor what an operation says reaches stderr."""
    server = raw(*DEMONSTRATION)
    server.program(1, "throw new Error('secret-canary')")
    assert server.receive()["result"]["isError"] is True
    server.program(2, "return codemode.listFiles({folder: 'secret-canary'})")
    assert server.receive()["result"]["isError"] is True
    assert server.end() == (b"", "", 0)


def test_what_is_no_message_is_answered_and_the_next_is_read(raw):
    """A malformed line costs nothing but an answer."""
    server = raw()
    server.write(b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}\n')
    answer = server.receive()
    assert (answer["id"], answer["error"]["code"]) == (7, -32700)
    server.write(b"\xff\n")
    assert server.receive()["id"] is None
    assert server.ask(8, "ping") == {}
    with_surrogate = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"x":"\\ud800"}}\n'
    server.write(with_surrogate)
    assert server.receive()["error"]["message"] == "the line is not strict JSON: a lone surrogate"


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_line_without_end_takes_no_memory(raw):
    """64 MiB of it come and go."""
    server = raw()
    before = memory(server)
    for _ in range(64):
        server.write(b"x" * 1_048_576)
    answer = server.receive()
    assert answer["error"]["message"] == "a line is longer than 1048576 bytes"
    server.write(b"\n")
    assert server.ask(1, "ping") == {}
    assert memory(server) - before < 16 * 1024


def memory(server):
    """The most resident memory so far, in KiB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


# Options


@pytest.fixture
def refused(capsys):
    """`refused(option, ...)`: what a server says that does not start."""

    def start(*options):
        assert main(["serve", *options]) == 2
        told = capsys.readouterr()
        (line,) = told.err.splitlines()
        assert told.out == ""
        return line

    return start


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ('{"pages": 17}', "invalid_policy: the policy is invalid: pages"),
        ('{"pages": true}', "invalid_policy: the policy is invalid: pages"),
        ('{"unknown": 1}', "invalid_policy: the policy is invalid: unknown"),
        ('{"pages": 1, "pages": 2}', "the policy FILE is not strict JSON: a key twice"),
        ("[]", 'the policy FILE is no object of rows, such as {"pages": 4}'),
        (None, "cannot read the policy FILE: No such file or directory"),
    ],
)
def test_a_policy_that_is_none_is_one_clear_line(tmp_path, refused, policy, told):
    """What is wrong, and where."""
    path = tmp_path / "policy.json"
    if policy is not None:
        path.write_text(policy)
    assert refused("--policy", str(path)) == told.replace("FILE", str(path))


def test_a_repository_that_is_none_is_one_clear_line(tmp_path, refused):
    """What is wrong, and where."""
    assert refused("--repo", str(tmp_path)) == (
        f"cannot use --repo {tmp_path}: it is no git repository"
    )
    line = refused("--repo", ".", "--operations", "demonstration")
    assert line == "--repo is for the operations `repositories`"


def test_repositories_are_named_after_their_folders(tmp_path):
    """Twice the same name gets a number; the built-in one is there only when there is no other."""
    from dulwich.repo import Repo  # noqa: PLC0415

    paths = [tmp_path / "a" / "pear", tmp_path / "b" / "pear.git", tmp_path / "c" / "pear"]
    for number, path in enumerate(paths):
        path.mkdir(parents=True)
        (Repo.init_bare if number == 1 else Repo.init)(str(path)).close()

    async def story(session):
        found, _ = await call(session, "find_repositories")
        assert [item["name"] for item in found["items"]] == ["pear", "pear_2", "pear_3"]
        assert str(tmp_path) not in json.dumps(found)
        told, _ = await call(session, "open", repository="pear")
        assert told["problem"] == "no_ref"

    options = (paths[0], paths[1], paths[2] / ".git")
    with_client(story, *(word for path in options for word in ("--repo", str(path))))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is UTF-8")
def test_a_folder_whose_name_is_no_text_is_named_with_escapes(tmp_path):
    """So that the name can be told, and used."""
    from dulwich.repo import Repo  # noqa: PLC0415

    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/pear\xff"))
    path.mkdir()
    Repo.init(str(path)).close()
    (found,) = _repositories([str(path)])
    assert found.name == "pear\\xff"


def test_the_operations_of_the_command_are_those_of_the_catalogue():
    """Their names stand here once, to be seen."""
    assert [one.name for one in repository_operations([builtin()])] == OPERATIONS
