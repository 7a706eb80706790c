"""The parent against scripts: each oracle can fail, and a script is what its text says."""

import json
from dataclasses import replace

import pytest
from codemode_fuzz.finding import Finding
from codemode_fuzz.parent.making import mutate_script
from codemode_fuzz.parent.oracle import check_parent, session
from codemode_fuzz.parent.script import SMALL, Step, read
from codemode_fuzz.parent.seeding import script_seeds
from codemode_reference.actions import Dispatch, End, Progress, Write
from codemode_reference.batch import Batch
from codemode_reference.calls import Calls
from codemode_reference.errors import Failure, Success, failure
from codemode_reference.ledger import Ledger
from codemode_reference.operations import Catalogue
from codemode_reference.session import Session

CALL = '{"type":"host_call","invocation_id":1,"call_id":%d,"operation":"%s","arguments":{"n":1}}'
ENDED = '{"type":"result","invocation_id":1,"ok":true,"value_present":true,"value":%s}'


def lines(*steps):
    """A script."""
    return "\n".join(steps).encode()


def call(number, operation="read"):
    """The step in which the worker calls."""
    return "W" + CALL % (number, operation)


GOOD = lines(call(1), "A1 1", "W" + ENDED % "1", "Eexit_zero")
TWO = lines(call(1, "write"), call(2, "write"), call(3, "write"), call(4, "write"))


class Changed(Session):
    """A parent with something changed, by the class attribute `change`."""

    def receive(self, data, elapsed_ms):
        """What it does, changed."""
        return self.change(super().receive(data, elapsed_ms))

    def answer(self, call_id, value, elapsed_ms):
        """What it does, changed."""
        return self.change(super().answer(call_id, value, elapsed_ms))

    def event(self, name):
        """What it does, changed."""
        return self.change(super().event(name))


def changed(change):
    """A maker of parents whose actions are changed."""

    def made(script, keeping):
        broken = session(script, keeping)
        broken.__class__ = type("Broken", (Changed,), {"change": staticmethod(change)})
        return broken

    return made


def each(function):
    """A change of each action."""
    return changed(lambda actions: [function(action) for action in actions])


def without_calls(script, keeping):
    """A parent that was told of other limits than those it is to keep."""
    more = {"host_calls": 16, "concurrent_host_calls": 4}
    return session(replace(script, policy=script.policy | more), keeping)


def renamed(action):
    """Every dispatch runs what is not granted."""
    return Dispatch(action.call_id, "secret", 1) if isinstance(action, Dispatch) else action


def rewritten(old, new):
    """Every reply has other bytes."""

    def change(action):
        return Write(action.data.replace(old, new)) if isinstance(action, Write) else action

    return change


def ends(outcome):
    """Every end has another outcome."""
    return lambda action: End(outcome) if isinstance(action, End) else action


def raising(actions):
    """An exception of its own."""
    raise IndexError(actions)


def leaving_out(kind):
    """Some of its actions are missing."""
    return changed(lambda actions: [action for action in actions if not isinstance(action, kind)])


BROKEN = [
    ("an exception", changed(raising), GOOD, "exception"),
    ("no reply", leaving_out(Write), GOOD, "model"),
    ("twice", changed(lambda actions: actions * 2), GOOD, "dispatch"),
    ("not granted", each(renamed), GOOD, "dispatch"),
    ("another id", each(rewritten(b'"invocation_id":1', b'"invocation_id":2')), GOOD, "reply"),
    ("not json", each(rewritten(b"{", b"")), GOOD, "reply"),
    ("two lines", each(rewritten(b"\n", b"\n\n")), GOOD, "reply"),
    ("a large value", each(rewritten(b":1}", b':"%b"}' % (b"x" * 70))), GOOD, "budget"),
    ("another value", each(rewritten(b'"value":1', b'"value":2')), GOOD, "model"),
    ("too many calls", without_calls, TWO, "budget"),
    ("no code", each(ends(Failure("no_such_code", ""))), GOOD, "verdict"),
    ("no fields", each(ends(Failure("deadline_exceeded", ""))), GOOD, "verdict"),
    ("other words", each(ends(Failure("cancelled", "somebody cancelled it"))), GOOD, "verdict"),
    ("another outcome", each(ends(Success(True, 2))), GOOD, "model"),
    ("a large outcome", each(ends(Success(True, "x" * 80))), GOOD, "budget"),
    (
        "late",
        leaving_out(End),
        GOOD,
        "model",
    ),
]


@pytest.mark.parametrize(
    ("made", "script", "oracle_name"),
    [case[1:] for case in BROKEN],
    ids=[case[0] for case in BROKEN],
)
def test_a_broken_parent_is_found(made, script, oracle_name):
    """The oracle that the fault breaks names it; the reference passes the same script."""
    check_parent(script)
    with pytest.raises(Finding) as caught:
        check_parent(script, made)
    assert caught.value.oracle == oracle_name


def test_a_field_for_people_that_gets_out_is_found(monkeypatch):
    """What an operation says to people is looked for in every reply."""
    secret = json.dumps({"last_error": "canary-6f1c"})
    script = lines(call(1, "list_all"), f"A1 {secret}")
    check_parent(script)
    monkeypatch.setattr(Catalogue, "redacted", lambda self, name, value: value)
    with pytest.raises(Finding, match="canary"):
        check_parent(script)


def test_a_page_that_is_given_back_is_found(monkeypatch):
    """The fault that this target found first: pages of a call whose snapshots do not fit."""

    def reserve(self, operation, cost):
        if self.snapshots + cost.snapshots > self.policy["snapshots"]:
            return failure("snapshots_limit", operation=operation, limit=1)
        self.pages += cost.pages
        self.snapshots += cost.snapshots
        return None

    script = lines(*(part for n in (1, 2, 3) for part in (call(n, "list_all"), f"F{n}")), call(4))
    check_parent(script)
    monkeypatch.setattr(Ledger, "reserve", reserve)
    with pytest.raises(Finding) as caught:
        check_parent(script)
    assert caught.value.oracle == "model"


def test_a_script_is_read():
    """Steps in order; what is none is left out; a policy that is invalid is not taken."""
    script = read(
        b'P{"pages": 1, "absent": true}\nS\nWab\x1ec\nwx\nT5\nA1 {}\nF2\nEcancel\nEno\nzz\nA x'
    )
    assert (script.policy["pages"], script.starts, script.around.absent) == (1, False, True)
    assert script.steps == (
        *(Step("W", data=b"ab\nc"), Step("w", data=b"x"), Step("T", 5), Step("A", 1, b"{}")),
        *(Step("F", 2), Step("E", data=b"cancel")),
    )
    for broken in (b'P{"pages": 0}', b"P{", b"P[]", b'P{"no": 1}', b""):
        assert read(broken).policy["pages"] == SMALL["pages"]


def test_scripts_reach_every_kind_of_end():
    """The seeds end in success and in many codes, so that the oracle has something to compare."""
    told = set()

    for data in script_seeds().values():
        noted = []

        def made(script, keeping, noted=noted):
            broken = session(script, keeping)
            broken.__class__ = type(
                "Noted", (Changed,), {"change": staticmethod(lambda a: noted.extend(a) or a)}
            )
            return broken

        check_parent(data, made)
        told |= {
            "success" if isinstance(action.outcome, Success) else action.outcome.code
            for action in noted
            if isinstance(action, End)
        }
    assert told >= {
        *("success", "code_rejected", "worker_protocol_error", "worker_exited", "cancelled"),
        *("deadline_exceeded", "host_calls_limit", "final_result_bytes_limit", "pages_limit"),
        *("unknown_operation", "capability_denied", "unknown_method", "operation_failed"),
    }


def test_mutation_keeps_to_the_size():
    """No script is longer than the fuzzer allows."""
    data = GOOD
    for seed in range(300):
        data = mutate_script(data, 300, seed)
        assert len(data) <= 300


def in_profile(profile, *steps):
    """A script of a profile."""
    return lines(f'P{{"profile":"{profile}"}}', *steps)


BATCH = (
    'W{"type":"host_batch","invocation_id":1,"call_id":1,"calls":['
    '{"operation":"read","arguments":{"n":1}},{"operation":"read","arguments":{"n":1}}]}'
)
REPORT = 'W{"type":"progress","invocation_id":1,"current":1}'


@pytest.mark.parametrize("answers", [("A1 1", "A2 2"), ("A2 2", "A1 1"), ("F2", "A1 1")])
def test_replies_of_a_batch_out_of_order_are_found(answers, monkeypatch):
    """In whatever order operations answer, the replies come in the order of the calls."""
    script = in_profile("inline-sync", BATCH, *answers, "W" + ENDED % "1", "Eexit_zero")
    check_parent(script)

    def due(self):
        for index in sorted(self._held):
            self._due += 1
            yield self.first + index, self._held.pop(index)

    monkeypatch.setattr(Batch, "due", due)
    if answers[0] == "A1 1":
        check_parent(script)
        return
    with pytest.raises(Finding) as caught:
        check_parent(script)
    assert caught.value.oracle == "model"


def test_a_batch_that_is_charged_in_part_is_found(monkeypatch):
    """All of a batch fits into host_calls, or none of it runs."""
    second = BATCH.replace('"call_id":1', '"call_id":3')
    script = in_profile("inline-sync", BATCH, "A1 1", "A2 2", second)
    script = script.replace(b'c"}', b'c","host_calls":3}')
    assert read(script).policy["host_calls"] == 3
    check_parent(script)
    batch = Calls.batch
    monkeypatch.setattr(
        Calls, "batch", lambda self, first, entries, ms: batch(self, first, entries[:1], ms)
    )
    with pytest.raises(Finding):
        check_parent(script)


def test_progress_of_another_profile_is_a_kind_that_nobody_knows():
    """A progress message is handed on in one profile and ends the others."""
    for profile, code in (("worker-rpc", None), ("inline-sync", "worker_protocol_error")):
        script = in_profile(profile, REPORT)
        check_parent(script)
        parent = session(read(script))
        parent.event("execute_sent")
        (action,) = parent.receive(REPORT[1:].encode() + b"\n", 0)
        assert getattr(getattr(action, "outcome", None), "code", None) == code


def test_progress_without_end_is_found(monkeypatch):
    """As many messages as the table says, in one write here, and one more ends it."""
    many = "\x1e".join([REPORT] + [REPORT[1:]] * 100)
    script = in_profile("worker-rpc", many)
    check_parent(script)
    monkeypatch.setattr(Session, "_progress", lambda self, frame: [Progress({"current": 1})])
    with pytest.raises(Finding):
        check_parent(script)
