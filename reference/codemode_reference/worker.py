"""The worker: a fresh process that runs one program and talks frames on stdin and stdout.

It is not imported by the parent but compiled into one file together with what it needs; see
`bundle`. Nothing here imports a module that is slow to start. A bad frame of the parent ends it
with the status of `protocol.json` and without a word; so does anything unexpected.

Started by a parent it gets two words: the number of the parent's process, and the layers of
hardening that must be active, with commas. With the one word `report` it says what is active here
and runs nothing. Started by hand, without words, it does what it can.
"""

from __future__ import annotations

import _thread
import posix
import resource
from _collections import deque  # type: ignore[import-not-found]
from _json import encode_basestring_ascii, scanstring
from time import monotonic

from codemode_reference.frames import MALFORMED, parse
from codemode_reference.hardening import Hardening, backstop, limit_memory
from codemode_reference.lines import LineDecoder
from codemode_reference.native import Buffer, call
from codemode_reference.policy import invalid_field
from codemode_reference.protocol import Machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_leave = posix._exit  # noqa: SLF001  the only way out without the interpreter's own end
_CHUNK = 65536
_READER_STACK = 262144
# A `struct pollfd`: whether there is something to read on 0.
_POLL_STDIN = b"\0\0\0\0\1\0\0\0"
# How JSON writes what `escape` of the engine writes as %uXXXX and %XX.
_UNIT, _BYTE = "\\u", "\\u00"


def main(worker: Worker, data: Any, words: list[str]) -> NoReturn:
    """Run one invocation and leave the process."""
    try:
        parent, required = (*words, "", "")[:2]
        hardening = Hardening(data.hardening, int(parent) if parent.isdigit() else 0)
        hardening.apply(worker.load, worker.start_reader)
        if parent == "report":
            posix.write(1, _report(hardening.report))
        elif all(hardening.active(name) for name in required.split(",") if name):
            worker.run()
        else:
            _leave(data.bad_frame)
    except BaseException:  # noqa: BLE001  whatever it is, this process has nothing to say
        _leave(data.bad_frame)
    # The parent waits for the end of the output.
    posix.close(1)
    worker.linger()
    _leave(0)


def _report(layers: dict[str, tuple[str, str]]) -> bytes:
    quote = encode_basestring_ascii
    lines = [
        f"{quote(name)}:[{quote(state)},{quote(why)}]" for name, (state, why) in layers.items()
    ]
    return f"{{{','.join(lines)}}}\n".encode()


def _load_engine(path: str) -> Any:
    # By its path: `import` would need the site's search path.
    import _frozen_importlib  # noqa: PLC0415
    import _frozen_importlib_external as external  # noqa: PLC0415
    import _imp  # noqa: PLC0415

    loader = external.ExtensionFileLoader("_quickjs", path)
    spec = _frozen_importlib.ModuleSpec("_quickjs", loader, origin=path)
    module = _imp.create_dynamic(spec)
    _imp.exec_dynamic(module)
    return module


class HeapError(Exception):
    """The engine failed outside the program: it has no memory left even for that."""


class Worker:
    """What every worker is: its start, its first frame, its replies, its last word.

    `execute` runs the program. It is of the style that a profile has: see `pump`.
    """

    def __init__(self, data: Any) -> None:
        self._data = data
        self._machine = Machine(data.endpoint)
        self._lines = LineDecoder(data.frame_bytes)
        self._inbox: Any = deque()
        self._arrived = held_lock()
        self._reading = held_lock()
        self._closed = held_lock()
        self._in_flight: set[int] = set()
        self._invocation_id = 0
        self._sent = 0

    def execute(self, line: bytes, limits: dict[str, int]) -> None:
        """Run the program of the `execute` frame in `line` until its result is written."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Give the engine what its script needs besides text; start what has to be started."""

    def linger(self) -> None:
        """Stay for a moment after the result."""

    def load(self) -> None:
        """Open what has to be opened."""
        self._engine = _load_engine(self._data.engine)

    def start_reader(self) -> None:
        """Start the thread that reads replies once the first frame has come."""
        started = held_lock()
        _thread.stack_size(_READER_STACK)
        _thread.start_new_thread(self._read_replies, (started,))
        # All that no program and no limit changes is done by the time the first frame comes.
        self._context = self._engine.Context()
        self.prepare()
        boot = self._context.eval(self._data.boot_script)
        stdin = Buffer(_POLL_STDIN)
        waits = call("poll", stdin.address, 1, 0) == 0
        self._prepared = boot(self._data.settings, waits, *self._data.late_parts)
        # A thread makes system calls of its own until it runs, which nothing may forbid yet.
        started.acquire()

    def run(self) -> None:
        """Wait for `execute`, run the program, write its result."""
        line, frame = self._first_frame()
        limits = frame["limits"]
        self._deadline = monotonic() + limits["wall_time_ms"] / 1000
        backstop(limits["wall_time_ms"] / 1000)
        limit_memory(limits["memory_bytes"])
        self._reading.release()
        measured = len(frame["source"].encode())
        if measured > limits["source_bytes"]:
            limit = limits["source_bytes"]
            code = self._data.codes.source_bytes_limit
            self._fail(code, measured=measured, limit=limit, counted="utf8")
            return
        self.execute(line, limits)

    def _first_frame(self) -> tuple[bytes, dict[str, Any]]:
        found: list[tuple[bytes, dict[str, Any]]] = []
        while not found:
            found = self._receive()
        (line, frame), *others = found
        if others or frame["type"] != "execute":
            _leave(self._data.bad_frame)
        self._invocation_id = frame["invocation_id"]
        self._source = frame["source"]
        self._budgets: dict[str, int] = frame.get("budgets", {})
        return line, frame

    def _receive(self) -> list[tuple[bytes, dict[str, Any]]]:
        """The frames that arrived; leaves the process where the table says so."""
        chunk = posix.read(0, _CHUNK)
        if not chunk:
            self._on("stdin_eof")
            # Only after the result is this process still here, and only for a moment.
            self._closed.release()
            held_lock().acquire()
        frames = []
        for line in self._lines.feed(chunk):
            kind, frame = parse(line, self._data.rules)
            if not self._legal(kind, frame):
                kind = MALFORMED
            self._on(kind)
            frames.append((line, frame))
        if self._lines.oversized:
            self._on("oversized")
        return frames

    def _legal(self, kind: str, frame: dict[str, Any]) -> bool:
        if kind == "execute":
            return invalid_field(frame["limits"], self._data.rows) is None
        if kind == "host_result" and frame["invocation_id"] == self._invocation_id:
            known = frame["call_id"] in self._in_flight
            self._in_flight.discard(frame["call_id"])
            return known
        return False

    def _on(self, event: str) -> None:
        status = self._machine.on(event).exit
        if status is not None:
            _leave(status)

    def _read_replies(self, started: Any) -> None:
        # In a thread, because the engine may be busy when the parent goes away or misbehaves.
        try:
            started.release()
            self._reading.acquire()
            while True:
                for line, _ in self._receive():
                    self._inbox.append(line)
                    if self._arrived.locked():
                        self._arrived.release()
        except BaseException:  # noqa: BLE001
            _leave(self._data.bad_frame)

    def _boot(self, line: bytes, limits: dict[str, int]) -> Any:
        """Bound the engine and give it its `execute` frame: what runs the program."""
        self._context.set_memory_limit(limits["memory_bytes"])
        self._context.set_max_stack_size(limits["stack_bytes"])
        self._memory_bytes = limits["memory_bytes"]
        control = self._enter(self._prepared, literal(line))
        self._faults = _page_faults()
        return control

    def _enter(self, function: Any, *arguments: str) -> Any:
        """Call into the engine."""
        return function(*arguments)

    def _heap_was_full(self) -> bool:
        # The engine throws null when it cannot even allocate an error. The heap is freed again by
        # now, but a full one has touched its pages.
        grown = (_page_faults() - self._faults) * self._data.page_bytes
        return bool(grown > self._memory_bytes // 2)

    def _write(self, frames: bytes, *, ended: bool) -> None:
        # Before the bytes are out, because the parent may answer at once: replies to calls that
        # nobody waits for any more are ignored.
        if ended:
            self._machine.on("result_sent")
        while frames:
            frames = frames[posix.write(1, frames) :]

    def _fail(self, code: str, **fields: Any) -> None:
        error = ",".join(
            f'"{name}":{value}' if isinstance(value, int) else f'"{name}":"{value}"'
            for name, value in {"code": code, **fields}.items()
        )
        self._write(
            f'{{"type":"result","invocation_id":{self._invocation_id},"ok":false,'
            f'"value_present":false,"error":{{{error}}}}}\n'.encode(),
            ended=True,
        )


def held_lock() -> _thread.LockType:
    """A lock that somebody else releases."""
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


def plain(text: str) -> bytes:
    """What the engine has escaped: frames as UTF-8."""
    return bytes(scanstring(f'{text.replace("%u", _UNIT).replace("%", _BYTE)}"', 0)[0].encode())


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def literal(text: bytes) -> str:
    """The text as a JSON string of ASCII, which is all that the engine is given."""
    return str(encode_basestring_ascii(text.decode()))
