"""The selftest itself: it is green on the shipped cases and red when the judge is broken."""

from __future__ import annotations

import codemode_spec
import pytest
from codemode_conformance import layers, recordings
from codemode_conformance.selftest import prove
from codemode_conformance.verdicts import PASSED

SPECIFICATION = codemode_spec.load()
RECORDING = recordings.read(recordings.shipped().read_text(encoding="utf-8"))


# `tox -e selftest` judges all of them.
SOME = list(SPECIFICATION.cases.values())[::40]


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.id)
def test_every_layer_of_every_case_passes_and_fails(case: codemode_spec.Case) -> None:
    """Right outcomes pass, doctored ones fail in their layer."""
    proof = prove(case, SPECIFICATION, RECORDING)
    assert proof.gaps == ()
    assert proof.passed >= 1
    assert proof.failed >= 5


def test_every_recording_belongs_to_a_case() -> None:
    """Nothing stale is kept, and all that the reference passes is recorded."""
    assert set(RECORDING) <= set(SPECIFICATION.cases)
    assert len(RECORDING) >= 150


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("category", "tim.sync-loop"),
        ("code", "tim.sync-loop"),
        ("value", "ret.value.zero"),
        ("calls", "cal.one-after-the-other"),
        ("evidence", "iso.environment"),
        ("outcome", "ret.value.zero"),
    ],
)
def test_a_layer_that_is_never_judged_is_a_gap(monkeypatch, name: str, case: str) -> None:
    """A judge that forgets a layer does not pass its own test."""
    monkeypatch.setattr(layers, name, lambda *_: PASSED)
    proof = prove(SPECIFICATION.cases[case], SPECIFICATION, {})
    assert any(gap.startswith((f"{name}:", "made up")) for gap in proof.gaps), proof.gaps


def test_a_recording_of_another_version_is_a_gap() -> None:
    """A changed case must be recorded again."""
    case = SPECIFICATION.cases["ret.value.zero"]
    observation = RECORDING[case.id].observation
    proof = prove(case, SPECIFICATION, {case.id: recordings.Recorded("0" * 64, observation)})
    assert proof.gaps == ("the recording is of another version of the case; record it again",)


def test_recordings_come_back_as_they_were_written() -> None:
    """Values keep their types, marks and repeated texts."""
    entries = list(RECORDING.values())
    again = recordings.read(recordings.dump(entries))
    assert list(again.values()) == entries
