"""The last module of a worker that is none: hardened exactly like one, it tries what it must not.

Its source is JSON: where a credential lies in the parent's memory, the port of a listener and the
name of an abstract socket. Its result is what became of each attempt, `done` or the error.
"""

import errno
import posix

from codemode_reference.hardening import Hardening
from codemode_reference.native import Buffer, call
from codemode_reference.strict_json import read

PTRACE_SEIZE, F_SETOWN, F_SETSIG = 0x4206, 8, 10
SIGURG = 23
PIDFD_OPEN, PIDFD_GETFD, PIDFD_SEND_SIGNAL, IO_URING_SETUP = 434, 438, 424, 425
AF_UNIX, AF_INET, STREAM, DATAGRAM = 1, 2, 1, 2
PR_GET_DUMPABLE = 3
CLONE_NEWUSER = 0x10000000
READ_WRITE_EXECUTE, PRIVATE_ANONYMOUS = 7, 0x22
RLIMIT_AS, RLIMIT_NOFILE = 9, 7


def main(data, words):
    """Words: the parent, the layers to leave out. Attempts everything once it has the frame."""
    parent = int(words[0])
    hardening = Hardening(data.hardening, parent, words[1].split(","))
    hardening.apply(lambda: None, lambda: None)
    line = b""
    while not line.endswith(b"\n"):
        line += posix.read(0, 65536)
    frame = read(line, 129)
    given = read(frame["source"].encode(), 129)
    found = {name: outcome(attempt, parent, given) for name, attempt in ATTEMPTS.items()}
    found["environment"] = ",".join(sorted(name.decode() for name in posix.environ))
    found["layers"] = ",".join(name for name in hardening.report if hardening.active(name))
    found["dumpable"] = outcome(lambda *_: str(call("prctl", PR_GET_DUMPABLE)), 0, None)
    found["landlock"] = hardening.report["landlock"][1]
    text = ",".join(f'"{name}":"{value}"' for name, value in found.items())
    head = f'{{"type":"result","invocation_id":{frame["invocation_id"]},"ok":true,'
    posix.write(1, f'{head}"value_present":true,"value":{{{text}}}}}\n'.encode())
    posix.close(1)
    posix._exit(0)


def outcome(attempt, parent, given):
    """What an attempt came to."""
    try:
        return attempt(parent, given) or "done"
    except OSError as error:
        return errno.errorcode[error.errno]


def send_signal(parent, given):
    """SIGURG does nothing to who does not ask for it."""
    call("kill", parent, SIGURG)


def send_signal_by_pidfd(parent, given):
    """The same by another way."""
    call("syscall", PIDFD_SEND_SIGNAL, call("syscall", PIDFD_OPEN, parent, 0), SIGURG, 0, 0)


def have_signal_sent(parent, given):
    """The kernel sends it whenever the pipe has something: no kill is needed."""
    call("fcntl", 0, F_SETOWN, parent)


def choose_signal(parent, given):
    """Which one it sends."""
    call("fcntl", 0, F_SETSIG, SIGURG)


def trace(parent, given):
    """Ends with this process."""
    call("ptrace", PTRACE_SEIZE, parent, 0, 0)


def read_memory(parent, given):
    """The credential, out of the memory of the parent."""
    size = given["size"]
    here = Buffer(bytes(size))
    local = words(here.address, size)
    call("process_vm_readv", parent, local, 1, words(given["address"], size), 1, 0)
    return "done" if here.read() == given["credential"].encode() else "other bytes"


def take_descriptor(parent, given):
    """A descriptor of the parent becomes ours."""
    call("syscall", PIDFD_GETFD, call("syscall", PIDFD_OPEN, parent, 0), 0, 0)


def look_into(name):
    """Open a file or directory of the parent in /proc."""
    return lambda parent, given: posix.close(posix.open(f"/proc/{parent}/{name}", posix.O_RDONLY))


def read_file(parent, given):
    """Everybody may read this one."""
    posix.close(posix.open("/etc/passwd", posix.O_RDONLY))


def write_file(parent, given):
    """In its own directory."""
    posix.close(posix.open("file", posix.O_WRONLY | posix.O_CREAT, 0o600))


def make_folder(parent, given):
    """In its own directory."""
    posix.mkdir("folder")


def connect(parent, given):
    """TCP to a listener of the test."""
    address = AF_INET.to_bytes(2, "little") + given["port"].to_bytes(2, "big") + b"\x7f\0\0\1"
    call("connect", call("socket", AF_INET, STREAM, 0), address + bytes(8), 16)


def send_datagram(parent, given):
    """UDP, which Landlock does not know."""
    address = AF_INET.to_bytes(2, "little") + given["port"].to_bytes(2, "big") + b"\x7f\0\0\1"
    call("sendto", call("socket", AF_INET, DATAGRAM, 0), b"x", 1, 0, address + bytes(8), 16)


def connect_abstract(parent, given):
    """A socket outside the file system."""
    address = AF_UNIX.to_bytes(2, "little") + b"\0" + given["abstract"].encode()
    call("connect", call("socket", AF_UNIX, STREAM, 0), address, len(address))


def fork(parent, given):
    """A process of its own."""
    child = call("fork")
    if child == 0:
        posix._exit(0)
    posix.waitpid(child, 0)


def execute(parent, given):
    """Arguments that cannot be read: whatever is allowed to get that far fails with EFAULT."""
    try:
        call("execve", b"/bin/true\0", 8, 0)
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise


def map_executable(parent, given):
    """Memory for machine code."""
    call("mmap", 0, 4096, READ_WRITE_EXECUTE, PRIVATE_ANONYMOUS, -1, 0)


def make_executable(parent, given):
    """The same in two steps."""
    page = Buffer(bytes(8192)).address & ~4095
    call("mprotect", page + 4096, 4096, READ_WRITE_EXECUTE)


def make_memory_file(parent, given):
    """A file without a file system."""
    call("memfd_create", b"x\0", 0)


def make_ring(parent, given):
    """System calls that no filter sees; the bad address is noticed after the permission."""
    try:
        call("syscall", IO_URING_SETUP, 1, 8)
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise


def limit_parent(parent, given):
    """The one limit that a worker may set, of the other process; it changes nothing."""
    call("prlimit", parent, RLIMIT_AS, words(2**64 - 1, 2**64 - 1), 0)


def raise_own_limit(parent, given):
    """More descriptors than it has left itself."""
    call("prlimit", 0, RLIMIT_NOFILE, words(64, 64), 0)


def enter_namespace(parent, given):
    """Root of its own."""
    call("unshare", CLONE_NEWUSER)


def words(*numbers):
    """A C structure of words."""
    return b"".join(number.to_bytes(8, "little") for number in numbers)


ATTEMPTS = {
    "signal": send_signal,
    "signal by pidfd": send_signal_by_pidfd,
    "signal by the kernel": have_signal_sent,
    "signal of choice": choose_signal,
    "ptrace": trace,
    "memory": read_memory,
    "descriptor": take_descriptor,
    "proc environ": look_into("environ"),
    "proc mem": look_into("mem"),
    "proc fd": look_into("fd"),
    "proc cmdline": look_into("cmdline"),
    "read a file": read_file,
    "write a file": write_file,
    "make a folder": make_folder,
    "tcp": connect,
    "udp": send_datagram,
    "abstract socket": connect_abstract,
    "fork": fork,
    "exec": execute,
    "map executable": map_executable,
    "make executable": make_executable,
    "memory file": make_memory_file,
    "io_uring": make_ring,
    "limit of the parent": limit_parent,
    "limit of its own": raise_own_limit,
    "namespace": enter_namespace,
}
