"""What programs have done to sandboxes elsewhere: see the data."""

import asyncio
from pathlib import Path

import pytest
from codemode_reference import Operation, OperationError, Parent, Success, default_policy
from codemode_spec.documents import parse_yaml

DATA = Path(__file__).parent / "reported" / "programs.yaml"
REPORTS = parse_yaml(DATA.read_text(encoding="utf-8"), DATA.name)


def cases():
    """Each report with each of its programs."""
    found = []
    for report in REPORTS:
        for number, program in enumerate(report.get("each", [report["program"]])):
            name = f"{'-'.join(report['reported'])} {report['title']} {number or ''}"
            found.append(pytest.param({**report, "program": program}, id=name.strip()))
    return found


class Host:
    """Operations, and what they were given."""

    def __init__(self):
        self.sent = []

    def operations(self):
        """What the programs call."""
        return [Operation(name, getattr(self, name)) for name in ("echo", "sleep", "fail")]

    async def echo(self, arguments):
        """Give the arguments back."""
        self.sent.append(arguments)
        return arguments

    async def sleep(self, arguments):
        """Take so long."""
        await asyncio.sleep(arguments["ms"] / 1000)
        return "slept"

    async def fail(self, arguments):
        """Fail."""
        raise OperationError("no")


def fits(outcome, wanted):
    """Whether an outcome is one that a report wants."""
    if isinstance(outcome, Success):
        if wanted.get("same"):
            return outcome.value[0] == outcome.value[1]
        return "value" in wanted and outcome.value == wanted["value"]
    told = {key: item for key, item in outcome.to_json().items() if key != "message"}
    if "rejected" in wanted:
        return (told["code"], told["reason"]) == ("code_rejected", wanted["rejected"])
    return told == wanted.get("failure")


@pytest.mark.parametrize("report", cases())
def test_a_program_gets_the_outcome_it_deserves(report):
    """One outcome, the calls that it may make, and a healthy program after it."""

    async def story():
        host = Host()
        policy = {**default_policy(), **report.get("policy", {})}
        parent = Parent(policy, host.operations())
        try:
            outcome = await parent.invoke(report["program"])
            assert any(fits(outcome, one) for one in report.get("any_of", [report])), outcome
            assert host.sent == report.get("sent", host.sent)
            assert "never" not in report or report["never"] not in str(outcome)
            assert await parent.invoke("return 1") == Success(True, 1)
        finally:
            await parent.close()

    asyncio.run(story())
