"""The synchronous worker: one callable, a clock that stands still, ends from inside."""

import asyncio
import json
import subprocess
import sys

import pytest
from codemode_reference import Failure, Operation, OperationError, Parent, Success, default_policy
from codemode_reference.bundle import runs, worker_program
from codemode_reference.history import History
from codemode_spec.tables import load_tables

NAME = "inline-sync"

pytestmark = pytest.mark.skipif(
    not runs("inline-sync"), reason="the engine that is installed runs no synchronous programs"
)
PROFILE = load_tables().profiles[NAME]


async def echo(arguments):
    """Give the arguments back."""
    return arguments


async def slow(arguments):
    """Take the seconds that are asked for."""
    await asyncio.sleep(arguments)
    return "slept"


OPERATIONS = [Operation("echo", echo), Operation("slow", slow)]


def run(source, rows=None, **options):
    """The outcome of one program."""

    async def story():
        parent = Parent(
            {**default_policy(NAME), **(rows or {})}, OPERATIONS, profile=NAME, **options
        )
        try:
            return await parent.invoke(source)
        finally:
            await parent.close()

    return asyncio.run(story())


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The worker's file."""
    path = tmp_path_factory.mktemp("worker") / "worker.pyc"
    path.write_bytes(worker_program(NAME))
    return path


@pytest.fixture
def worker(program):
    """`worker(source, row=value)`: a worker that we are the parent of, with its `execute`."""
    started = []

    def begin(source, **rows):
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={},
        )
        started.append(process)
        policy = {**PROFILE.defaults(), **rows}
        frame = {
            "type": "execute",
            "v": 1,
            "invocation_id": 7,
            "source": source,
            "limits": {
                row.name: policy[row.name] for row in PROFILE.rows.values() if row.in_execute
            },
            "alternatives": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in PROFILE.alternatives.items()
            },
            "operations": [{"name": "echo", "method": "echo", "effect": "read", "arguments": {}}],
        }
        send(process, frame)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def send(process, frame):
    """Write one frame to a worker."""
    process.stdin.write(json.dumps(frame).encode() + b"\n")
    process.stdin.flush()


def answer(process, call_id, value):
    """Write the reply with a value."""
    head = {"type": "host_result", "invocation_id": 7, "call_id": call_id}
    send(process, {**head, "ok": True, "value_present": True, "value": value})


def read(process):
    """The next frame of a worker."""
    return json.loads(process.stdout.readline())


def test_a_batch_is_one_frame_and_its_ids_are_taken_in_a_row(worker):
    """The call after a batch of three has the id 4."""
    entries = "[1, 2, 3].map((n) => ({name: 'echo', args: n}))"
    process = worker(f"const all = tools.callAll({entries}); return [all, tools.call('echo', 4)];")
    frame = read(process)
    assert (frame["type"], frame["call_id"], len(frame["calls"])) == ("host_batch", 1, 3)
    for number in (1, 2, 3):
        answer(process, number, number)
    assert read(process)["call_id"] == 4
    answer(process, 4, "last")
    assert read(process)["value"] == [[1, 2, 3], "last"]
    assert process.wait(5) == 0


def test_the_call_above_the_limit_ends_the_process_from_inside(worker):
    """The result is written by the call itself, and `finally` never runs."""
    source = "try { for (;;) tools.call('echo'); } finally { for (;;); }"
    process = worker(source, host_calls=1)
    assert read(process)["type"] == "host_call"
    answer(process, 1, 1)
    frame = read(process)
    assert frame["error"] == {"code": "host_calls_limit", "operation": "echo", "limit": 1}
    assert process.wait(5) == 0


def test_a_worker_ends_its_program_at_the_deadline_by_itself(worker):
    """The thread that watches the time writes the result while the engine is busy."""
    process = worker("for (;;);", wall_time_ms=300)
    assert read(process)["error"] == {"code": "deadline_exceeded", "limit": 300}
    assert process.wait(5) == 0


def test_a_worker_that_waits_does_not_end_at_the_deadline(worker):
    """Its time stands still until the reply is there; then it goes on."""
    process = worker("tools.call('echo'); for (;;);", wall_time_ms=300)
    assert read(process)["type"] == "host_call"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    answer(process, 1, 1)
    assert read(process)["error"] == {"code": "deadline_exceeded", "limit": 300}


@pytest.mark.parametrize(
    "frame",
    [
        {
            "type": "host_result",
            "invocation_id": 7,
            "call_id": 2,
            "ok": True,
            "value_present": True,
        },
        {"type": "host_batch", "invocation_id": 7, "call_id": 1, "calls": []},
        {"type": "execute"},
    ],
    ids=lambda frame: frame["type"],
)
def test_a_bad_frame_ends_a_worker_that_waits(worker, frame):
    """Without a word, with the status of the table."""
    process = worker("return tools.call('echo');")
    read(process)
    send(process, frame)
    assert process.wait(5) == 3
    assert process.stdout.read() == b""


def test_a_worker_without_its_parent_is_gone_at_once(worker):
    """The end of its input, while it computes and while it waits."""
    for source in ("for (;;);", "return tools.call('echo');"):
        process = worker(source)
        process.stdin.close()
        assert process.wait(5) == 0


def test_long_waits_and_short_work_are_told_apart():
    """One second of waiting beside half a second of time to compute."""
    assert run("return tools.call('slow', 1);", {"wall_time_ms": 500}) == Success(True, "slept")
    late = run("tools.call('slow', 0.5); for (;;);", {"wall_time_ms": 500})
    assert isinstance(late, Failure)
    assert late.code == "deadline_exceeded"


def test_an_operation_that_takes_too_long_fails():
    """Where no deadline counts it, `operation_time_ms` does."""
    outcome = run("return tools.call('slow', 30);", {"operation_time_ms": 200})
    assert outcome.value == {"success": False, "code": "operation_failed", "operation": "slow"}


def test_a_hook_sees_each_call_before_it_runs_and_can_refuse():
    """Of a batch they come one at a time, in order; one that raises fails its call alone."""
    seen = []

    async def hook(operation, arguments):
        seen.append((operation, arguments))
        if arguments == 2:
            raise RuntimeError("secret")

    source = "return tools.callAll([1, 2, 3].map((n) => ({name: 'echo', args: n})));"
    outcome = run(source, hook=hook)
    failed = {"success": False, "code": "operation_failed", "operation": "echo"}
    assert outcome.value == [1, failed, 3]
    assert seen == [("echo", 1), ("echo", 2), ("echo", 3)]


def test_an_argument_that_calls_while_it_is_read_takes_its_id_first():
    """A getter in a batch makes a call of its own: the batch comes after it."""
    source = (
        "const args = {get a() { return tools.call('echo', 1); }};"
        "const got = tools.callAll([{name: 'echo', args}]);"
        "return [got, tools.budget().host_calls.left];"
    )
    assert run(source, {"host_calls": 9}).value == [[{"a": 1}], 7]


def test_a_large_value_crosses_both_ways():
    """A megabyte of text that takes three bytes a letter, as argument and as result."""
    source = "const t = '\\u20ac'.repeat(330000); return tools.call('echo', t) === t;"
    assert run(source) == Success(True, True)


def test_too_large_a_batch_is_refused_by_the_program_itself():
    """Its frame would not fit: nothing is sent."""
    source = (
        "const args = 'a'.repeat(600000), one = {name: 'echo', args};"
        "try { tools.callAll([one, one]); } catch (e) { return [e.code, e.measured > e.limit]; }"
    )
    assert run(source).value == ["invalid_arguments", True]


@pytest.mark.parametrize("batch", [False, True])
def test_the_budget_tells_what_is_left_of_everything(batch):
    """CM-API-014: calls, time, data and history, to the byte where nobody else writes there."""

    async def run():
        async def give(arguments):
            return {"text": arguments}

        async def fail(arguments):
            raise OperationError("no")

        history = History(500_000)
        parent = Parent(
            {**PROFILE.defaults(), "host_calls": 9},
            [Operation("give", give), Operation("fail", fail)],
            profile="inline-sync",
            history=history,
        )
        calls = "tools.call('give', 'äb'); tools.call('give', {n: 1}); tools.call('fail');"
        entries = "{name: 'give', args: 'äb'}, {name: 'give', args: {n: 1}}, {name: 'fail'}"
        work = f"tools.callAll([{entries}]);" if batch else calls
        source = f"const first = tools.budget(); {work} return [first, tools.budget()];"
        try:
            outcome = await parent.invoke(source)
            return outcome.value, history.left
        finally:
            await parent.close()

    (first, last), left = asyncio.run(run())
    most = PROFILE.rows["cumulative_host_result_bytes"].default
    delivered = len('{"text":"äb"}'.encode()) + len('{"text":{"n":1}}')
    for told, calls, bytes_left in ((first, 9, most), (last, 6, most - delivered)):
        assert told["host_calls"] == {"limit": 9, "left": calls}
        assert told["cumulative_host_result_bytes"] == {"limit": most, "left": bytes_left}
        assert 0 < told["wall_time_ms"]["left"] <= told["wall_time_ms"]["limit"]
    least = PROFILE.rows["history_headroom_bytes"].default
    assert first["history_bytes"] == {"least": least, "left": 500_000}
    assert last["history_bytes"] == {"least": least, "left": left}
