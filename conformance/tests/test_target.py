"""Target files say where a target comes from; a wrong one is refused with its place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codemode_conformance.failures import TargetError
from codemode_conformance.target import (
    Target,
    expand,
    find_target,
    load_target,
    reference_of,
    shipped_targets,
)
from codemode_spec.tables import load_tables

GOOD = """
format = 1
[target]
name = "one"
version = "1.2"
homepage = "https://example.org"
probe = { file = "${cache}/package.json", pointer = "/version" }
[install]
node = ">=20"
lock = "package-lock.json"
steps = [["npm", "ci"]]
scripts_allowed = ["node: picks the binary"]
[engine]
command = ["${node}", "${here}/adapter.mjs", "${cache}", "${tmp}"]
env = { A = "b" }
grace_ms = 50
[claims]
"policy.wall_time_ms" = "https://example.org/limits"
"read-only" = "https://example.org/read-only"
"""

SERVER = """
format = 1
[target]
name = "two"
version = "1"
[server]
transport = "stdio"
command = ["${node}", "server.mjs"]
tool = "run_code"
operations = "none"
[server.arguments]
program = "code"
[server.answer]
success = { pointer = "/structured/success", equals = true }
value = { pointer = "/structured/result" }
[[server.answer.failure]]
code = "TIMEOUT"
category = "time"
[server.identity]
language = ["javascript"]
mapping = "text"
capabilities = ["admission"]
settable = []
[server.identity.alternatives]
script_style = "async"
options = ["timeout"]
[server.identity.effective]
wall_time_ms = { value = 30000, from = "documented" }
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a target file beside a lock."""

    def make(text: str) -> Path:
        (tmp_path / "package-lock.json").write_text("{}", encoding="utf-8")
        file = tmp_path / "target.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return make


def test_a_target_file_is_read_whole(write: Callable[[str], Path]) -> None:
    """Every key arrives, with the defaults of those left out."""
    target = load_target(write(GOOD))
    assert (target.name, target.title, target.version) == ("one", "one", "1.2")
    assert target.roles == ("engine",)
    assert target.engine is not None
    assert target.engine.words[1] == "${here}/adapter.mjs"
    assert (target.engine.grace_ms, target.engine.start_timeout_ms) == (50, 20_000)
    assert target.install.packages_with_scripts == ("node",)
    assert target.probe is not None
    assert target.probe.pointer == "/version"
    assert set(target.claims) == {"policy.wall_time_ms", "read-only"}


def test_a_server_needs_no_adapter(write: Callable[[str], Path]) -> None:
    """The server table stands alone."""
    target = load_target(write(SERVER))
    assert target.roles == ("server",)
    assert target.server is not None
    assert target.server.command is not None
    assert target.server.answer["failure"] == [{"code": "TIMEOUT", "category": "time"}]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("format = 1", "format = 2", "format"),
        ('name = "one"', 'name = "One"', "target.name"),
        ('version = "1.2"', "version = 1.2", "target.version"),
        ('pointer = "/version"', 'pointer = "version"', "target.probe"),
        ('steps = [["npm", "ci"]]', 'steps = ["npm ci"]', "install.steps.0"),
        ('"node: picks the binary"', '"node"', "install.scripts_allowed.0"),
        ("${tmp}", "${temp}", "engine.command.3"),
        ("grace_ms = 50", "grace = 50", "engine"),
        ("grace_ms = 50", "grace_ms = -1", "engine.grace_ms"),
        ("grace_ms = 50", 'worker_pattern = "("', "engine.worker_pattern"),
        ('"https://example.org/limits"', '"the readme"', "claims.policy"),
        ("package-lock.json", "other-lock.json", "install.lock"),
        ("package-lock.json", "x" * 300, "install.lock"),
        ("[engine]", "[motor]", ""),
    ],
)
def test_a_wrong_key_is_named_with_file_and_path(
    write: Callable[[str], Path], old: str, new: str, where: str
) -> None:
    """The error names the file, the key path and what to do."""
    file = write(GOOD.replace(old, new))
    with pytest.raises(TargetError) as caught:
        load_target(file)
    assert caught.value.file == str(file)
    assert caught.value.path.startswith(where)
    assert caught.value.advice
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('transport = "stdio"', 'transport = "http"', "server"),
        ('operations = "none"', 'operations = "stand_in"', "server"),
        ('category = "time"', 'category = "tyme"', "server.answer.failure.0.category"),
        ('code = "TIMEOUT"', 'text = "["', "server.answer.failure.0.text"),
        ('capabilities = ["admission"]', 'capabilities = ["magic"]', "server.identity.capab"),
        ('program = "code"', 'source = "code"', "server.arguments"),
    ],
)
def test_the_server_table_is_closed(
    write: Callable[[str], Path], old: str, new: str, where: str
) -> None:
    """What the role does not know is refused."""
    with pytest.raises(TargetError) as caught:
        load_target(write(SERVER.replace(old, new)))
    assert caught.value.path.startswith(where)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a = [", "no TOML"),
        (b"a = " + b"9" * 5_000, "no TOML"),
        (b"\xff", "not UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, data: bytes | None, reason: str
) -> None:
    """Bad TOML, bad UTF-8, no file."""
    file = tmp_path / "target.toml"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(TargetError, match=reason):
        load_target(file)


def test_a_target_is_found_by_path_and_folder(write: Callable[[str], Path]) -> None:
    """A file, a folder with target.toml in it, or a shipped name."""
    file = write(GOOD)
    assert find_target(str(file)) == find_target(str(file.parent)) == load_target(file)
    with pytest.raises(TargetError, match="there is no such target"):
        find_target("nobody-ships-this")
    for name in shipped_targets():
        assert find_target(name).name == name


def test_a_name_too_long_for_a_file_is_no_target() -> None:
    """It is told as any other name that there is not."""
    with pytest.raises(TargetError, match="there is no such target"):
        find_target("a" * 5_000)
    with pytest.raises(TargetError, match="File name too long"):
        find_target("a" * 5_000 + ".toml")


def test_the_digest_covers_file_and_lock(write: Callable[[str], Path]) -> None:
    """A change of either is another digest."""
    file = write(GOOD)
    first = load_target(file).digest
    (file.parent / "package-lock.json").write_text("[]", encoding="utf-8")
    second = load_target(file).digest
    assert load_target(write(GOOD + "\n")).digest not in (first, second)
    assert first != second


def test_placeholders_are_filled_in() -> None:
    """Words take their values; a name without one is an error."""
    assert expand("${here}/a${tmp}", {"here": "/x", "tmp": "/y"}) == "/x/a/y"
    with pytest.raises(TargetError, match="has no value here"):
        expand("${worker}", {}, "engine.command")


def test_the_fake_target_of_these_tests_is_valid(targets: Callable[..., Target]) -> None:
    """The TOML writer of the fixtures and the schema agree."""
    config: dict[str, Any] = {"identity": {"sessions": 2}}
    target = targets(config)
    assert target.engine is not None
    assert json.loads(target.engine.words[2]) == config


def test_each_profile_has_a_target_of_the_reference() -> None:
    """`cmconf run --profile` finds it; a profile without one is told."""
    found = {profile: reference_of(profile) for profile in load_tables().profiles}
    assert found == {
        "process-async": "reference",
        "inline-sync": "reference-inline-sync",
        "worker-rpc": "reference-worker-rpc",
    }
    with pytest.raises(TargetError, match="no such profile"):
        reference_of("inline")
