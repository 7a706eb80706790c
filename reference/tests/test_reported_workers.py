"""What workers have done to parents elsewhere, done by the suite's hostile worker: see the data."""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from codemode_reference import Operation, OperationError, Parent, Success, default_policy
from codemode_spec.documents import parse_yaml
from codemode_spec.schemas import problems

HERE = Path(__file__).parent
WORKER = HERE.parents[1] / "conformance/codemode_conformance/roles/hostile/worker.py"
DATA = HERE / "reported" / "workers.yaml"
REPORTS = parse_yaml(DATA.read_text(encoding="utf-8"), DATA.name)
CANARY = "CANARY"


def filled(step, item):
    """A step in which EACH is `item`."""
    if step == "EACH":
        return item
    if isinstance(step, list):
        return [filled(part, item) for part in step]
    if isinstance(step, dict):
        return {key: filled(part, item) for key, part in step.items()}
    return step


def cases():
    """Each report with each of its items."""
    for report in REPORTS:
        for number, item in enumerate(report.get("each", [None])):
            name = f"{'-'.join(report['reported'])} {report['title']} {number or ''}"
            yield pytest.param({**report, "steps": filled(report["steps"], item)}, id=name.strip())


class Host:
    """Operations that count what runs."""

    def __init__(self):
        self.ran = 0
        self.now = 0
        self.most = 0

    def operations(self):
        """What the scenarios call."""
        handlers = {"echo": self.echo, "bytes": self.bytes, "never": self.never, "fail": self.fail}
        return [Operation(name, self.counted(handler)) for name, handler in handlers.items()]

    def counted(self, handler):
        """The handler, counted."""

        async def run(arguments):
            self.ran += 1
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                return await handler(arguments)
            finally:
                self.now -= 1

        return run

    async def echo(self, arguments):
        """Give the arguments back."""
        return arguments

    async def bytes(self, arguments):
        """Text of so many bytes."""
        return "b" * arguments

    async def never(self, arguments):
        """Wait for ever."""
        await asyncio.Event().wait()

    async def fail(self, arguments):
        """Fail with a secret."""
        raise OperationError(CANARY)


def steps_of(report, key="steps"):
    """With the frame read first, unless the steps begin before it."""
    return report[key] if report.get("start") else [{"read": "execute"}, *report[key]]


VALUE = {"type": "result", "ok": True, "value_present": True, "value": 1}


@pytest.fixture
def scenarios(tmp_path):
    """`scenarios(report)`: the command of the hostile worker, and how to say what it runs next."""

    def write(report):
        healthy = [{"read": "execute"}, {"send": VALUE}]
        names = {"fault": steps_of(report), "healthy": healthy}
        if "twin" in report:
            names["twin"] = steps_of(report, "twin")
        found = {"format": 1, "scenarios": {name: {"steps": names[name]} for name in names}}
        path = tmp_path / "scenarios.json"

        def run(name):
            path.write_text(json.dumps({**found, "run": name}))

        assert problems("scenario", found, DATA.name) == []
        return [sys.executable, "-I", "-S", str(WORKER), str(path)], run

    return write


def told(outcome):
    """What a report says of an outcome."""
    if isinstance(outcome, Success):
        return {"value": outcome.value}
    return {key: item for key, item in outcome.to_json().items() if key != "message"}


def assert_nothing_left(parent, host):
    """No slot, no process, no directory of a worker, no operation."""
    assert (parent._capacity.invocations, parent._capacity.workers) == (0, 0)
    assert (parent._host.slots.turns.running, parent._host.slots.turns.waiting) == (0, 0)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    parent._workers._janitor.submit(int).result()
    assert not list(parent._scratch.path.iterdir())
    assert host.now == 0


@pytest.mark.parametrize("report", list(cases()))
def test_a_worker_gets_the_outcome_it_deserves(report, scenarios, caplog, capfd):
    """One outcome, with nothing of the worker's words; then a legal twin and a healthy worker."""
    command, run = scenarios(report)

    async def story():
        host = Host()
        rows = {**default_policy(), **report.get("policy", {})}
        parent = Parent(rows, host.operations(), worker_command=command)
        run("fault")
        outcome = await parent.invoke('"' * report.get("source_bytes", 1))
        assert told(outcome) == report["expect"]
        stats = parent.last_stats
        if "stderr" in report:
            assert [stats.stderr_bytes, stats.stderr_truncated] == report["stderr"]
        if "calls" in report:
            assert Counter(record.code or record.fate for record in stats.calls) == report["calls"]
        assert host.ran == report.get("dispatched", host.ran)
        assert host.most <= rows["concurrent_host_calls"]
        seen = f"{outcome}{stats}{json.dumps(parent.statistics.to_json())}"
        if "twin" in report:
            run("twin")
            assert await parent.invoke("twin") == Success(True, report["twin_value"])
        run("healthy")
        assert await parent.invoke("healthy") == Success(True, 1)
        await asyncio.sleep(0)
        assert_nothing_left(parent, host)
        await parent.close()
        return seen

    seen = asyncio.run(story())
    assert CANARY not in f"{seen}{caplog.text}{capfd.readouterr()}"
