"""A target that cannot be started says why; a started one gets no more than it may have."""

import dataclasses
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codemode_conformance.adapter import Adapter
from codemode_conformance.engine import Engine
from codemode_conformance.failures import ClaimError, StartError
from codemode_conformance.install import Installed
from codemode_conformance.target import Command
from codemode_spec.cases import Case

MakeEngine = Callable[..., Engine]
MakeCase = Callable[..., Case]


def test_the_folder_of_a_process_is_its_own_and_is_deleted(
    fake_engine: MakeEngine, case_of: MakeCase
) -> None:
    """Each process has another one; nothing stays."""
    engine = fake_engine()
    folders = []
    for _ in range(2):
        folders.append(Path(engine.run(case_of("folder")).observation.runs[0].value.value))
        assert folders[-1].is_dir()
        engine.restart()
    assert folders[0] != folders[1]
    assert not any(folder.parent.exists() for folder in folders)


def test_the_adapter_sees_only_the_allowed_environment(
    fake_engine: MakeEngine, case_of: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATH, LANG, TMPDIR, what the target file adds, and one secret that is no secret of ours."""
    monkeypatch.setenv("API_TOKEN", "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    engine = fake_engine(env={"MODE": "${here}"})
    names = engine.run(case_of("environment")).observation.runs[0].value.value
    secret = [name for name in names if name.startswith("CMCONF_CANARY_")]
    assert set(names) - {"LC_CTYPE"} == {"PATH", "LANG", "TMPDIR", "MODE", *secret}
    assert len(secret) == 1


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            {"start": "die"},
            'status 3; on stderr it said: "no engine here: \\x1b[31mred\\u202e"',
        ),
        ({"start": "silent"}, "did not answer hello within 1.5 s"),
        ({"start": "noise"}, 'the first line it printed: "Welcome \\x1b[2J to the engine"'),
        ({"identity": {"mapping": "guess"}}, "broken line"),
        ({"refuse": [None], "wall": "x"}, "cannot be opened"),
    ],
)
def test_a_target_that_does_not_start_says_why(
    fake_engine: MakeEngine, config: dict[str, Any], reason: str
) -> None:
    """Exit status, first noise and last words are quoted, escaped."""
    timeout = 1_500 if "start" in config and config["start"] != "die" else 20_000
    engine = fake_engine(config, start_timeout_ms=timeout)
    with pytest.raises(StartError) as caught:
        engine.start()
    assert reason in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_command_that_does_not_exist_is_named(fake_engine: MakeEngine) -> None:
    """Before anything else happens."""
    engine = fake_engine(command=["/no/such/engine"])
    with pytest.raises(StartError, match="/no/such/engine cannot be started: No such file"):
        engine.start()


def test_a_target_without_an_engine_has_no_engine_role(targets: Callable[..., Any]) -> None:
    """It is said before anything starts."""
    target = targets()
    with pytest.raises(StartError, match=r"has no \[engine\]"):
        Engine(Installed(dataclasses.replace(target, engine=None), {}))


def test_an_adapter_that_changes_its_mind_is_a_fault(
    fake_engine: MakeEngine, case_of: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started again, it must say the same of itself."""
    with fake_engine() as engine:
        engine.start()
        engine.restart()
        config = json.dumps({"identity": {"sessions": 5}})
        monkeypatch.setattr(engine, "_command", Command((*engine._command.words[:2], config)))
        fault = engine.run(case_of()).observation.fault
    assert fault is not None
    assert "says something else of itself" in fault.text


def test_claims_are_compared_at_the_first_start(fake_engine: MakeEngine) -> None:
    """A claim that the identity lacks stops everything."""
    engine = fake_engine(claims={"evidence": "https://example.org"})
    with pytest.raises(ClaimError):
        engine.start()


def test_an_adapter_that_ignores_stop_is_ended(targets: Callable[..., Any], tmp_path: Path) -> None:
    """After a second, and it is nobody's fault."""
    command = targets({"stop": "ignore"}).engine
    adapter = Adapter(command, {"python": sys.executable, "here": "", "cache": ""})
    began = time.monotonic()
    with adapter:
        pass
    assert time.monotonic() - began >= 1
    assert adapter.process is not None
    assert adapter.process.kin.living() == []


def test_a_target_that_cannot_be_started_again_is_an_error_of_the_case(
    fake_engine: MakeEngine, case_of: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the very first start stops the whole run."""
    engine = fake_engine()
    engine.start()
    engine.restart()
    words = (*engine._command.words[:2], '{"start": "die"}')
    monkeypatch.setattr(engine, "_command", Command(words))
    fault = engine.run(case_of()).observation.fault
    assert fault is not None
    assert "could not be started again" in fault.text
