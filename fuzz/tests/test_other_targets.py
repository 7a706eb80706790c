"""Policies, adapter messages and target files: each oracle can fail."""

import json

import pytest
from codemode_conformance.lines import LineSplitter
from codemode_conformance.messages import BrokenLineError, decode
from codemode_conformance.target import load_target
from codemode_fuzz.adapter.oracle import KEY, LIMIT, Protocol, check_adapter
from codemode_fuzz.finding import Finding
from codemode_fuzz.policy.oracle import check_policy
from codemode_fuzz.targetfile.making import MINIMAL
from codemode_fuzz.targetfile.oracle import check_target_file
from codemode_reference.policy import invalid_field


def oracle_of(check, data, *subject):
    """The oracle that finds something in `data`, None where nothing is found."""
    try:
        check(data, *subject)
    except Finding as found:
        return found.oracle
    return None


def policy(**changes):
    """A policy of the default profile."""
    return json.dumps(["process-async", changes]).encode()


def broken(values, rows):
    """Raises for what is no number."""
    return invalid_field({name: int(value) for name, value in values.items()}, rows)


@pytest.mark.parametrize(
    ("data", "validate", "name"),
    [
        (policy(pages=0), lambda values, rows: None, "model"),
        (policy(pages=True), broken, "model"),
        (policy(pages="x"), broken, "exception"),
        (policy(stack_bytes=1), lambda values, rows: "pages", "model"),
        (policy(), lambda values, rows: "no such field", "model"),
    ],
)
def test_a_broken_validation_is_found(data, validate, name):
    """The reference passes the same policy; the oracle that is broken is named."""
    assert oracle_of(check_policy, data) is None
    assert oracle_of(check_policy, data, validate) == name


def test_what_is_no_policy_is_left_out():
    """Any bytes may come."""
    for data in (b"", b"{}", b"[1,2]", b'["none",{}]', b"\xff", b"[" * 5000):
        check_policy(data)


class Forgetful(LineSplitter):
    """Loses what a read ends with."""

    def feed(self, data):
        """Cuts."""
        return super().feed(data.removesuffix(b"}"))


class Hoarding(LineSplitter):
    """Keeps all that it was given."""

    def feed(self, data):
        """Cuts."""
        self.hoard = getattr(self, "hoard", b"") + data
        return super().feed(data)


def message(**fields):
    """A line with the key."""
    return json.dumps({"m": "pong", "k": KEY, "n": 1, **fields}).encode()


def deaf(line, key):
    """Takes everything for noise."""
    del line, key


def trusting(line, key):
    """Takes every object for a message."""
    return json.loads(line) if line.startswith(b"{") else None


def suspicious(line, key):
    """Takes every message for a fault."""
    raise BrokenLineError("no")


def wordy(line, key):
    """Tells a fault in two lines."""
    raise BrokenLineError("no\nno")


def rounding(line, key):
    """Reads another number."""
    found = decode(line, key)
    return found and found | {"n": 2}


def raising(line, key):
    """Lets an exception of its own out."""
    raise KeyError(line)


@pytest.mark.parametrize(
    ("data", "subject", "name"),
    [
        (message() + b"\n", Protocol(splitter=Forgetful), "lines"),
        (b"x" * 60_000, Protocol(splitter=Hoarding), "memory"),
        (message(), Protocol(decode=deaf), "verdict"),
        (message(), Protocol(decode=suspicious), "verdict"),
        (message(m="run"), Protocol(decode=trusting), "verdict"),
        (message(k="other"), Protocol(decode=trusting), "verdict"),
        (message(), Protocol(decode=wordy), "words"),
        (message(), Protocol(decode=rounding), "value"),
        (message(), Protocol(decode=raising), "exception"),
    ],
)
def test_a_broken_reading_of_messages_is_found(data, subject, name):
    """The suite's own passes the same bytes."""
    assert oracle_of(check_adapter, data) is None
    assert oracle_of(check_adapter, data, subject) == name
    assert len(message()) < LIMIT


def other_error(path):
    """Lets an exception of its own out."""
    raise KeyError(path)


def forgetful(path, seen=[]):  # noqa: B006  the fault itself
    """Gives another target each time."""
    seen.append(path)
    target = load_target(path)
    return target if len(seen) % 2 else None


def nameless(path):
    """Tells another file's error."""
    return load_target(path.parent / "other.toml")


@pytest.mark.parametrize(
    ("load", "data", "name"),
    [
        (other_error, MINIMAL, "exception"),
        (forgetful, MINIMAL, "twice"),
        (nameless, b"", "words"),
    ],
)
def test_a_broken_loader_is_found(load, data, name):
    """The suite's own passes the same file."""
    assert oracle_of(check_target_file, data) is None
    assert oracle_of(check_target_file, data, load) == name
