"""A target is installed once, by words and not by a shell, and must be the pinned version."""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codemode_conformance import environment, install, node, tool
from codemode_conformance.failures import InstallError
from codemode_conformance.target import Target

Targets = Callable[..., Target]
WRITE = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"


@pytest.fixture
def shown() -> list[str]:
    """The command lines that were shown."""
    return []


@pytest.fixture
def run(tmp_path: Path, shown: list[str]) -> Callable[[Target], install.Installed]:
    """Installs into a cache folder of the test."""
    return lambda target: install.install(target, shown.append, tmp_path / "cache")


def steps(*codes: str, **more: Any) -> dict[str, Any]:
    """An [install] table of Python steps."""
    return {"steps": [["${python}", "-I", "-S", "-c", code] for code in codes], **more}


def probed(version: str = "1.0", **probe: Any) -> dict[str, Any]:
    """A [target] table with a probe."""
    return {"name": "fake", "version": version, "probe": probe}


PRINT_VERSION = ["${python}", "-c", "print('1.0'); print('more')"]


def test_steps_run_in_the_cache_folder_and_are_shown(
    targets: Targets, run: Callable[[Target], install.Installed], shown: list[str]
) -> None:
    """What is shown is what runs, word by word."""
    step = ["${python}", "-c", WRITE, "${cache}/made here", "it's"]
    installed = run(targets(install={"steps": [step]}))
    assert Path(installed.values["cache"], "made here").read_text() == "it's"
    assert len(shown) == 1
    assert shown[0].endswith("""/made here' 'it'"'"'s'""")
    assert installed.values["here"] == str(installed.target.folder)
    assert installed.values["python"] == sys.executable


def test_an_installed_target_is_not_installed_again(
    targets: Targets, run: Callable[[Target], install.Installed], shown: list[str]
) -> None:
    """Until the file or the lock changes."""
    first = run(targets(install=steps("pass")))
    assert run(targets(install=steps("pass"))) == first
    assert len(shown) == 1
    other = run(targets(install=steps("pass", "pass")))
    assert other.values["cache"] != first.values["cache"]
    assert len(shown) == 3


def test_a_failed_step_says_what_failed_and_leaves_no_stamp(
    targets: Targets, run: Callable[[Target], install.Installed], shown: list[str]
) -> None:
    """The last lines of its output are quoted, escaped; the next try begins anew."""
    target = targets(install=steps("import sys; print('\\x1b[2J'); sys.exit('no network')"))
    for _ in range(2):
        with pytest.raises(InstallError) as caught:
            run(target)
        assert "status 1\n  \\x1b[2J\n  no network" in str(caught.value)
        assert caught.value.exit_code == 3
    assert len(shown) == 2


def test_the_lock_is_copied_into_the_cache(
    targets: Targets, run: Callable[[Target], install.Installed], tmp_path: Path
) -> None:
    """With the package.json beside it, which npm needs."""
    (tmp_path / "package-lock.json").write_text('{"lockfileVersion": 3}')
    (tmp_path / "package.json").write_text("{}")
    installed = run(targets(install={"lock": "package-lock.json"}))
    names = {path.name for path in Path(installed.values["cache"]).iterdir()}
    assert names == {"package-lock.json", "package.json", ".installed.json"}
    assert (tmp_path / "cache" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "probe",
    [
        {"command": PRINT_VERSION},
        {"file": "${cache}/package.json", "pointer": "/deep/0/a~1b"},
        {"file": "${cache}/package.toml", "pointer": "/project/version"},
    ],
)
def test_the_pinned_version_is_there(
    targets: Targets, run: Callable[[Target], install.Installed], probe: dict[str, Any]
) -> None:
    """A probe is a command, whose first line counts, or a place in a file."""
    words = ["${python}", "-c", WRITE]
    files = {
        "package.json": json.dumps({"deep": [{"a/b": "1.0"}]}),
        "package.toml": '[project]\nversion = "1.0"',
    }
    table = {"steps": [[*words, "${cache}/" + name, text] for name, text in files.items()]}
    run(targets(install=table, target=probed(**probe)))


@pytest.mark.parametrize(
    ("probe", "reason"),
    [
        ({"command": ["${python}", "-c", "print('2.0')"]}, "target.version is '1.0', .*\"2.0\""),
        ({"command": ["${python}", "-c", "pass"]}, 'the probe found ""'),
        ({"command": ["${python}", "-c", "raise SystemExit(4)"]}, "version probe .* status 4"),
        ({"command": ["/no/such/probe"]}, "cannot be started"),
        ({"file": "${here}/none.json", "pointer": "/a"}, "cannot read"),
        ({"file": "${here}/fake.toml", "pointer": "/target/nothing"}, "cannot read"),
    ],
)
def test_another_version_stops_the_run(
    targets: Targets,
    run: Callable[[Target], install.Installed],
    probe: dict[str, Any],
    reason: str,
) -> None:
    """Nothing is tested that is not what the file says."""
    with pytest.raises(InstallError, match=reason):
        run(targets(target=probed(**probe)))


def test_no_secret_of_ours_reaches_a_step(
    targets: Targets, run: Callable[[Target], install.Installed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An allow-list, and no address with a password in it; install scripts are off."""
    monkeypatch.setenv("NPM_TOKEN", "x")
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:pass@example.org/simple")
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://example.org/npm")
    code = "import os, json, pathlib; pathlib.Path('env').write_text(json.dumps(dict(os.environ)))"
    installed = run(targets(install=steps(code)))
    env = json.loads(Path(installed.values["cache"], "env").read_text())
    assert "NPM_TOKEN" not in env
    assert "PIP_INDEX_URL" not in env
    assert env["NPM_CONFIG_REGISTRY"] == "https://example.org/npm"
    assert env["npm_config_ignore_scripts"] == "true"
    assert env["PIP_ONLY_BINARY"] == ":all:"
    assert environment.for_run(Path("/t"), {"A": "b"}).keys() <= {"PATH", "LANG", "TMPDIR", "A"}


def executable(path: Path, code: str) -> None:
    """A Python program that can be run by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\n{code}\n")
    path.chmod(0o755)


NPM = """
import os, pathlib, sys
log = pathlib.Path(__file__).parent / "log"
with log.open("a") as file: file.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "install":
    path = pathlib.Path("node_modules/node/bin/node")
    path.parent.mkdir(parents=True)
    path.write_text(f"#!{sys.executable} -IS\\nprint('v24.3.0')\\n")
    path.chmod(0o755)
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of its own with a Node 20 and an npm that brings a Node 24."""
    folder = tmp_path / "bin"
    executable(folder / "node", "print('v20.1.0')")
    executable(folder / "npm", NPM)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_the_node_on_path_serves_if_it_fits(
    targets: Targets, run: Callable[[Target], install.Installed], tools: Path
) -> None:
    """Nothing is brought then."""
    installed = run(targets(install={"node": ">=20 <23"}))
    assert installed.values["node"] == str(tools / "node")
    assert not (tools / "log").exists()


def test_npm_brings_a_node_that_fits(
    targets: Targets, run: Callable[[Target], install.Installed], tools: Path, shown: list[str]
) -> None:
    """Once, into the cache, and the steps find it first on PATH."""
    code = "import os, pathlib; pathlib.Path('path').write_text(os.environ['PATH'])"
    for _ in range(2):
        installed = run(targets(install=steps(code, node=">=24")))
    found = Path(installed.values["node"])
    assert found.parts[-4:] == ("node_modules", "node", "bin", "node")
    assert (tools / "log").read_text().splitlines() == [
        "install --no-audit --no-fund --ignore-scripts=false node@24"
    ]
    path = Path(installed.values["cache"], "path").read_text()
    assert path.split(os.pathsep)[0] == str(found.parent)
    assert shown[0].startswith("npm install")


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (">=25", "PATH has v20.1.0, npm brought v24.3.0: install Node >=25"),
        ("<20", "PATH has v20.1.0: install Node <20 with npm"),
    ],
)
def test_without_a_node_that_fits_one_line_says_what_to_install(
    targets: Targets,
    run: Callable[[Target], install.Installed],
    tools: Path,
    wanted: str,
    reason: str,
) -> None:
    """One line, exit 3."""
    with pytest.raises(InstallError, match=reason):
        run(targets(install={"node": wanted}))


def test_without_npm_one_line_says_what_to_install(
    targets: Targets, run: Callable[[Target], install.Installed], tools: Path
) -> None:
    """Neither Node nor npm."""
    (tools / "npm").unlink()
    (tools / "node").unlink()
    with pytest.raises(InstallError, match="PATH has none: install Node >=22 with npm"):
        run(targets(install={"node": ">=22"}))


def test_only_the_named_packages_run_their_install_scripts(
    targets: Targets, run: Callable[[Target], install.Installed], tools: Path, shown: list[str]
) -> None:
    """In a step of their own, after all others."""
    table = {
        "steps": [["npm", "ci"]],
        "scripts_allowed": ["native-addon: compiled", "@a/b: picks a file"],
    }
    run(targets(install=table))
    assert shown == ["npm ci", "npm rebuild --ignore-scripts=false native-addon @a/b"]


@pytest.mark.parametrize(
    ("version", "wanted", "yes"),
    [
        ("v20.1.0", ">=20", True),
        ("v19.9.9", ">=20", False),
        ("v20.1.0", ">20", False),
        ("v20.1.0", "20", True),
        ("v20.1.0", "=20.1", True),
        ("v20.1.0", "20.2", False),
        ("v22.3.1", ">=20.5 <23", True),
        ("v23.0.0", ">=20.5 <23", False),
        ("v23.0.0", "<=23", True),
        ("v24.0.0", ">23.1.1", True),
    ],
)
def test_versions_are_compared_by_number(version: str, wanted: str, yes: object) -> None:
    """Part by part; a part that is not named is free."""
    assert node.fits(version, wanted) is yes


def test_a_node_that_does_not_run_is_none(tmp_path: Path) -> None:
    """Missing, or broken."""
    assert node.node_at(tmp_path / "none") is None
    executable(tmp_path / "node", "raise SystemExit(1)")
    assert node.node_at(tmp_path / "node") is None


def test_installs_at_once_wait_for_each_other(
    targets: Targets, tmp_path: Path, shown: list[str]
) -> None:
    """Two runs on one cache install once."""
    target = targets(install=steps("import os; os.mkdir('only-once')"))
    found: list[install.Installed] = []

    def work() -> None:
        found.append(install.install(target, shown.append, tmp_path / "cache"))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 3
    assert len(shown) == 1


def test_a_step_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    """The error says so; nothing is left."""
    code = "import os, time; os.fork(); time.sleep(600)"
    words = [sys.executable, "-I", "-S", "-c", code]
    with pytest.raises(tool.ToolError, match="no end within 200 ms"):
        tool.run_tool(words, {}, tmp_path, 200)


def test_the_cache_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment, else it stands in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CMCONF_CACHE", raising=False)
    assert install.cache_folder() == tmp_path.resolve() / ".cmconf-cache"
    monkeypatch.setenv("CMCONF_CACHE", str(tmp_path / "other"))
    assert install.cache_folder() == tmp_path.resolve() / "other"
