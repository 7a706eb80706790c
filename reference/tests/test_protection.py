"""The report on what protects the parent, and the refusal to start without it."""

import asyncio
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from codemode_reference import Parent, PolicyError, Success
from codemode_reference.bundle import pack, sources, worker_data, worker_program
from codemode_reference.protection import LAYERS, Layer, Protection, ask, hide, install, unknown
from codemode_reference.seccomp import allowed, filter_program
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernel layers are Linux's")
OLD_KERNEL = [sys.executable, str(Path(__file__).with_name("old_kernel.py"))]
LANDLOCK_CREATE_RULESET = "444"


@pytest.fixture
def program(tmp_path):
    """The worker's command, without words."""
    return install(tmp_path, worker_program(DEFAULT_PROFILE))[0][:-2]


@pytest.fixture
def changed(tmp_path):
    """`changed(row=value)`: the report of a worker that was built with other facts."""

    def report(**facts):
        tables = load_tables()
        data = worker_data(tables, tables.profiles[DEFAULT_PROFILE])
        data["hardening"].update(facts)
        path = tmp_path / "changed.pyc"
        path.write_bytes(pack(sources(DEFAULT_PROFILE), data))
        return states(ask([sys.executable, "-I", "-S", "-E", str(path)], tmp_path))

    return report


def states(report):
    """{layer: (state, why)}."""
    return {layer.name: (layer.state, layer.why) for layer in report.layers}


@linux
def test_every_layer_is_reported(limits):
    """Each one is there, with a reason where it is not active."""
    parent = Parent(limits)
    found = states(parent.protection)
    assert tuple(found) == LAYERS
    assert {state for state, _ in found.values()} <= {"active", "unavailable", "off"}
    assert all(why for state, why in found.values() if state != "active")
    asyncio.run(parent.close())
    if not parent.protection.protected:
        pytest.skip(f"nothing protects a parent here: {parent.protection}")


@linux
def test_an_old_kernel_is_told(program, tmp_path):
    """Without Landlock its place is taken by namespaces, and its absence has a reason."""
    report = ask([*OLD_KERNEL, LANDLOCK_CREATE_RULESET, *program], tmp_path)
    found = states(report)
    assert found["landlock"] == ("unavailable", os.strerror(38))
    assert found["namespaces"][0] in ("active", "unavailable")
    assert found["seccomp"][0] == "active"
    with pytest.raises(PolicyError) as refused:
        report.require()
    assert (refused.value.code, refused.value.field) == ("hardening_unavailable", "landlock")
    assert str(refused.value) == (
        f"a required protection of the worker is not available: landlock ({os.strerror(38)})"
    )


@linux
def test_a_machine_without_a_list_of_calls_is_told(changed):
    """No filter is better than a wrong one; namespaces stand in for it."""
    found = changed(seccomp=None)
    assert found["seccomp"] == ("unavailable", "no list of system calls for this machine")
    assert found["landlock"][0] == "active"
    assert found["namespaces"][0] in ("active", "unavailable")


def test_elsewhere_there_are_no_kernel_layers(changed):
    """What any Unix has is still put on, and nobody is told that this protects."""
    found = changed(linux=False)
    assert found["landlock"] == found["seccomp"] == ("unavailable", "only on Linux")
    assert found["descriptors"][0] == found["session"][0] == "active"
    report = Protection(tuple(Layer(name, *found[name]) for name in LAYERS))
    assert not report.protected
    assert str(report).startswith("not protected\n  descriptors   active\n")


@pytest.mark.parametrize(
    "code", ["", "print('{}')", "print('[]')", "print('{'); raise SystemExit(1)"]
)
def test_a_worker_that_gives_no_report_protects_nobody(tmp_path, code):
    """Whatever it says instead."""
    report = ask([sys.executable, "-c", code], tmp_path)
    assert report.active == ()
    assert not report.protected


@linux
def test_a_layer_that_is_gone_ends_the_worker(program, limits):
    """What the report had must be there again, before a byte is read."""
    words = [str(os.getpid()), "rlimits,landlock"]
    ended = subprocess.run(
        [*OLD_KERNEL, LANDLOCK_CREATE_RULESET, *program, *words],
        input=b"",
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, b"", b"")


@linux
def test_a_worker_of_another_parent_ends(program):
    """Who is not its parent any more cannot have sent what it reads."""
    ended = subprocess.run([*program, "1", ""], input=b"{bad\n", capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"")


def test_what_is_required_must_be_there(limits, monkeypatch):
    """The first missing layer is named and nothing is left behind."""
    missing = Protection((Layer("session", "active"), Layer("seccomp", "unavailable", "why")))
    monkeypatch.setattr(
        "codemode_reference.parent.install", lambda folder, program: (["worker"], missing)
    )
    with pytest.raises(PolicyError, match="seccomp") as refused:
        Parent(limits, require_hardening=True)
    assert (refused.value.code, refused.value.field) == ("hardening_unavailable", "seccomp")
    asyncio.run(Parent(limits).close())


def test_nothing_is_known_of_another_worker(limits):
    """A command that is not ours is never vouched for."""
    with pytest.raises(PolicyError, match="not our worker"):
        Parent(limits, worker_command=["/bin/true"], require_hardening=True)
    assert not unknown("why").protected


@linux
def test_a_parent_that_requires_everything_works(limits):
    """Where every layer is to be had."""

    async def run():
        try:
            parent = Parent(limits, require_hardening=True)
        except PolicyError as missing:
            pytest.skip(f"not all layers are available here: {missing}")
        assert await parent.invoke("return 1") == Success(True, 1)
        await parent.close()

    asyncio.run(run())


@linux
def test_a_parent_hides_only_when_told(limits):
    """A process that imports it can still be debugged; after `hide` it cannot."""
    script = (
        "import ctypes; from codemode_reference import Parent; "
        "from codemode_reference.protection import hide; get = ctypes.CDLL(None).prctl; "
        "print(get(3, 0, 0, 0, 0), hide(), get(3, 0, 0, 0, 0))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert found.stdout == b"1 True 0\n"


def test_elsewhere_nothing_can_hide(monkeypatch):
    """And it says so."""
    monkeypatch.setattr("sys.platform", "darwin")
    assert hide() is False


def test_no_list_for_an_unknown_machine():
    """Numbers differ; guessing would open other calls."""
    assert filter_program("riscv64") is None


def test_the_list_is_short_and_the_same_everywhere():
    """The calls of a running worker, with none that reaches beyond it."""
    assert len(allowed()) == len(set(allowed())) == 22
    forbidden = {"fcntl", "ioctl", "tgkill", "kill", "openat", "clone", "execve", "socket"}
    assert not forbidden & set(allowed())
    lengths = {len(filter_program(name)[1]) for name in ("x86_64", "aarch64")}
    assert len(lengths) == 1


JUMP_IF_EQUAL, RLIMIT_AS = 0x15, 9
HEADERS = {
    "x86_64": "x86_64-linux-gnu/asm/unistd_64.h",
    # What aarch64 uses.
    "aarch64": "asm-generic/unistd.h",
}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_kernel(machine):
    """Each one as the kernel's own header has it."""
    header = Path("/usr/include", HEADERS[machine])
    if not header.exists():
        pytest.skip(f"no {header} here (Debian: linux-libc-dev)")
    text = header.read_text()
    defined = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)$", text, re.MULTILINE))
    number, program = filter_program(machine)
    assert number == int(defined["seccomp"])
    lines = [struct.unpack("=HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    compared = {value for code, _, _, value in lines[3:] if code == JUMP_IF_EQUAL}
    pinned = {0, RLIMIT_AS}
    assert compared == {int(defined[name]) for name in allowed()} | pinned
