"""What a hostile program with native powers can do in a worker: nothing, and each wall holds alone.

The worker here is hardened exactly like the real one and then runs `hostile.py`.
"""

import asyncio
import errno
import json
import os
import socket
import sys
from pathlib import Path

import pytest
from codemode_reference import Parent, Success
from codemode_reference.bundle import pack, sources, worker_data
from codemode_reference.protection import LAYERS
from codemode_spec.tables import DEFAULT_PROFILE, load_tables

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernel layers are Linux's")
HOSTILE = Path(__file__).with_name("hostile.py")
# In the memory of this process, where a worker would like to read it.
CREDENTIAL = b"credential-4f1c90b2-canary"

ATTEMPTS = {
    # What is tried: the layers of which each one alone refuses it.
    "signal": "seccomp landlock",
    "signal by pidfd": "seccomp landlock",
    "signal by the kernel": "seccomp",
    "signal of choice": "seccomp",
    "ptrace": "seccomp landlock namespaces",
    "memory": "seccomp landlock namespaces",
    "descriptor": "seccomp landlock namespaces",
    "proc environ": "seccomp landlock namespaces last_rlimits",
    "proc mem": "seccomp landlock namespaces last_rlimits",
    "proc fd": "seccomp landlock last_rlimits",
    "proc cmdline": "seccomp landlock last_rlimits",
    "read a file": "seccomp landlock last_rlimits",
    "write a file": "seccomp landlock last_rlimits",
    "make a folder": "seccomp landlock",
    "tcp": "seccomp landlock namespaces last_rlimits",
    "udp": "seccomp namespaces last_rlimits",
    "abstract socket": "seccomp landlock namespaces last_rlimits",
    "fork": "seccomp",
    "exec": "seccomp",
    "map executable": "seccomp",
    "make executable": "seccomp",
    "memory file": "seccomp last_rlimits",
    "io_uring": "seccomp",
    "limit of the parent": "seccomp",
    "limit of its own": "seccomp",
    "namespace": "seccomp",
}
# What Landlock learned later.
SINCE = {"signal": "signals", "abstract socket": "sockets", "tcp": "TCP"}
SINCE["signal by pidfd"] = SINCE["signal"]
ALONE = [(attempt, layer) for attempt, layers in ATTEMPTS.items() for layer in layers.split()]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """`hostile(layers)`: what became of each attempt with only these layers, all for None."""
    tables = load_tables()
    modules = sources(DEFAULT_PROFILE)
    del modules["worker"], modules["pump"]
    modules["worker"] = HOSTILE.read_text()
    path = tmp_path_factory.mktemp("hostile") / "worker.pyc"
    path.write_bytes(pack(modules, worker_data(tables, tables.profiles[DEFAULT_PROFILE])))
    known = {}

    def attack(layers=None):
        if layers not in known:
            known[layers] = asyncio.run(_attack(path, layers))
        return known[layers]

    return attack


async def _attack(path, layers):
    skipped = [name for name in LAYERS if layers is not None and name not in layers]
    command = [sys.executable, "-I", "-S", "-E", str(path), str(os.getpid()), ",".join(skipped)]
    parent = Parent(worker_command=command)
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as abstract:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        name = f"codemode-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        source = {
            # Where CPython keeps the bytes of a bytes object.
            "address": id(CREDENTIAL) + bytes.__basicsize__ - 1,
            "size": len(CREDENTIAL),
            "credential": CREDENTIAL.decode(),
            "port": tcp.getsockname()[1],
            "abstract": name,
        }
        outcome = await parent.invoke(json.dumps(source))
    await parent.close()
    assert isinstance(outcome, Success), outcome
    return outcome.value


def refused(answer):
    """Whether an attempt ended with the error of a permission, an address or a limit."""
    return answer in errno.errorcode.values() and answer not in {"EFAULT", "EINVAL", "ENOENT"}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_hardened_worker_is_refused_everything(hostile, attempt):
    """With all layers that this machine has; seccomp alone would do."""
    found = hostile()
    if "seccomp" not in found["layers"].split(","):
        pytest.skip(f"no seccomp on this machine, only {found['layers']}")
    assert refused(found[attempt])


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_without_any_layer_it_succeeds(hostile, attempt):
    """So the attempt is a real one."""
    answer = hostile(())[attempt]
    if refused(answer):
        pytest.skip(f"this machine refuses {attempt!r} by itself: {answer}")
    assert answer == "done"


@pytest.mark.parametrize(("attempt", "layer"), ALONE)
def test_each_wall_holds_alone(hostile, attempt, layer):
    """Whatever a kernel lacks, the other layers stay up."""
    found = hostile(("no_new_privs", layer))
    if layer not in found["layers"].split(","):
        pytest.skip(f"{layer} is not available here")
    if layer == "landlock" and SINCE.get(attempt, "") not in found["landlock"]:
        pytest.skip(f"this kernel's Landlock is older: {found['landlock']}")
    assert refused(found[attempt])


def test_a_worker_is_hidden_from_its_own_user(hostile):
    """Other processes of that user, other workers too, cannot look into it."""
    assert hostile(("dumpable",))["dumpable"] == "0"
    assert hostile(())["dumpable"] == "1"


def test_a_worker_has_nothing_of_the_environment(hostile):
    """Only what its interpreter sets itself."""
    assert "PATH" in os.environ
    assert hostile()["environment"] in ("", "LC_CTYPE")
