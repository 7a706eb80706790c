"""What is around a parent: a history, permissions, filters, hooks. Each fault of it is found."""

import pytest
from codemode_fuzz.finding import Finding
from codemode_fuzz.parent.oracle import check_parent
from codemode_fuzz.parent.script import Around, read
from codemode_fuzz.parent.seeding import script_seeds
from codemode_reference import calls, claims, records
from codemode_reference import session as sessions
from codemode_reference.batch import Batch
from codemode_reference.calls import Calls
from codemode_reference.evidence import CallRecord, Fate
from codemode_reference.history import History
from codemode_reference.operations import Catalogue
from codemode_reference.records import Records
from codemode_reference.session import Session

SEEDS = script_seeds()


def truthy(self, name, arguments):
    """Takes anything that is true for a permission."""
    permission = self[name].permits
    try:
        return permission is None or bool(permission(arguments))
    except TypeError:
        return False


def open_to_doubt(self, name, arguments):
    """Permits what cannot be told."""
    permission = self[name].permits
    try:
        return permission is None or permission(arguments) is True
    except TypeError:
        return True


def recorded_late(self, calls):
    """Charges the history and saves nothing."""
    save, self._history.save = self._history.save, None
    full = keep(self, calls)
    self._history.save = save
    return full


def silent(self, history, record):
    """Says nothing of what was not saved."""
    try:
        history.append(record)
    except Exception:  # noqa: BLE001  the fault that is planted
        return


def twice(self, call_id, operation):
    """Puts a call that may write on record twice."""
    self.calls.extend([CallRecord(call_id, operation)] * (1 + (operation == "write")))


def fails_well(self, call_id, elapsed_ms, error):
    """What failed is on record as a success."""
    actions = fail(self, call_id, elapsed_ms, error)
    self.records[call_id].fate = Fate.succeeded
    return actions


def a_byte_less(self, record):
    """Forgets the line feed of a record."""
    return bytes_of(self, record) - 1


def at_once(*arguments):
    """Nothing is a barrier."""
    first, entries, _, limit = arguments
    return Batch(first, entries, [False] * len(entries), limit)


def by_code(error, **_):
    """Believes every code, whatever it says."""
    return accept(error, **(_ | {"sent": [error]}))


keep, accept, fail, bytes_of = Records.keep, claims.accept, Calls.fail, History.bytes_of

PLACES = {
    "Catalogue": Catalogue,
    "Calls": Calls,
    "History": History,
    "Records": Records,
    "Session": Session,
    "calls": calls,
    "records": records,
    "session": sessions,
}
FAULTS = [
    ("a permission is forgotten", "Catalogue.permits", lambda *_: True, "denied", "model"),
    ("a permission is any truth", "Catalogue.permits", truthy, "denied", "model"),
    ("in doubt it is permitted", "Catalogue.permits", open_to_doubt, "denied-in-doubt", "model"),
    ("nothing is filtered", "Catalogue.blocked", lambda *_: None, "blocked", "model"),
    ("nothing in a batch is", "Catalogue.blocked", lambda *_: None, "batch-asked", "model"),
    ("a batch without barriers", "calls.Batch", at_once, "batch-hooks", "model"),
    ("a byte too few", "History.bytes_of", a_byte_less, "room-but-for-a-byte", "model"),
    ("an unbounded history", "History.left", 10**9, "no-room-for-a-batch", "model"),
    ("results for nothing", "Records.ended", lambda *_: None, "no-room-later", "model"),
    ("all of a result", "records.APPEND_BYTES", 10**6, "kept-without-a-large-result", "model"),
    ("dispatched before it is kept", "Records.keep", recorded_late, "kept", "record"),
    ("not saved in silence", "Records._append", silent, "unsaved", "record"),
    ("a call that is there twice", "Records.add", twice, "denied-claim", "record"),
    ("failures that succeed", "Calls.fail", fails_well, "kept-of-a-batch", "record"),
    ("nothing waits", "Calls.waiting", False, "kept", "model"),
    ("no end at all", "Session.used_up", lambda self: [], "used-up", "model"),
    ("an end after the result", "Session.settled", False, "used-up-settled", "model"),
    ("claims are believed", "session.accept", by_code, "filtered-claim-of-another", "model"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_found(fault, monkeypatch):
    """The oracle that it breaks names it; without it the same seed has no finding."""
    _, name, planted, seed, oracle = fault
    place, _, attribute = name.partition(".")
    script = SEEDS[f"around-{seed}"]
    check_parent(script)
    monkeypatch.setattr(PLACES[place], attribute, planted)
    with pytest.raises(Finding) as caught:
        check_parent(script)
    assert caught.value.oracle == oracle


def test_what_is_around_is_read():
    """Names with their types; what is none, or belongs to another profile, is left out."""
    around = read(b'P{"profile":"inline-sync","history":9,"hooks":true,"unsaved":1}').around
    assert around == Around(absent=True, terminal=True, hooks=True, history=9)
    assert read(b'P{"history":9,"terminal":true}').around == Around(terminal=True)
    for wrong in (b"true", b"-1", b"1.5", b'"9"'):
        data = b'P{"profile":"inline-sync","terminal":false,"history":%b}' % wrong
        assert read(data).around == Around(absent=True)
