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
# The engine counts processor time. It gets a little more than the wall has left, so that an
# interrupt always means that the deadline has passed.
_INTERRUPT_MARGIN = 0.005
# A `struct pollfd`: whether there is something to read on 0.
_POLL_STDIN = b"\0\0\0\0\1\0\0\0"
# First letters of what `control` returns; see js/main.js.
_PENDING, _SETTLING, _NULL_THROWN = "psn"


class DeadlineError(Exception):
    """The engine was stopped at the deadline."""


class HeapError(Exception):
    """The engine failed outside the program: it has no memory left even for that."""


def main(data: Any, words: list[str]) -> NoReturn:
    """Run one invocation and leave the process."""
    try:
        parent, required = (*words, "", "")[:2]
        worker = _Worker(data)
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


class _Worker:
    def __init__(self, data: Any) -> None:
        self._data = data
        self._machine = Machine(data.endpoint)
        self._lines = LineDecoder(data.frame_bytes)
        self._inbox: Any = deque()
        self._arrived = _held_lock()
        self._reading = _held_lock()
        self._in_flight: set[int] = set()
        self._invocation_id = 0
        self._sent = 0

    def load(self) -> None:
        """Open what has to be opened."""
        self._engine = _load_engine(self._data.engine)

    def start_reader(self) -> None:
        """Start the thread that reads replies once the first frame has come."""
        started = _held_lock()
        _thread.stack_size(_READER_STACK)
        _thread.start_new_thread(self._read_replies, (started,))
        # All that no program and no limit changes is done by the time the first frame comes.
        self._context = self._engine.Context()
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
        codes, reasons = self._data.codes, self._data.reasons
        measured = len(frame["source"].encode())
        if measured > limits["source_bytes"]:
            limit = limits["source_bytes"]
            self._fail(codes.source_bytes_limit, measured=measured, limit=limit, counted="utf8")
            return
        try:
            if not self._pump(self._boot(line, limits)):
                self._fail(codes.code_rejected, reason=reasons.stalled)
        except DeadlineError:
            self._fail(codes.deadline_exceeded, limit=limits["wall_time_ms"])
        except HeapError:
            self._fail(codes.code_rejected, reason=reasons.memory)

    def _first_frame(self) -> tuple[bytes, dict[str, Any]]:
        found: list[tuple[bytes, dict[str, Any]]] = []
        while not found:
            found = self._receive()
        (line, frame), *others = found
        if others or frame["type"] != "execute":
            _leave(self._data.bad_frame)
        self._invocation_id = frame["invocation_id"]
        return line, frame

    def _receive(self) -> list[tuple[bytes, dict[str, Any]]]:
        """The frames that arrived; leaves the process where the table says so."""
        chunk = posix.read(0, _CHUNK)
        if not chunk:
            self._on("stdin_eof")
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
        self._context.set_memory_limit(limits["memory_bytes"])
        self._context.set_max_stack_size(limits["stack_bytes"])
        self._memory_bytes = limits["memory_bytes"]
        control = self._enter(self._prepared, _literal(line))
        self._faults = _page_faults()
        return control

    def _enter(self, function: Any, *arguments: str) -> Any:
        """Call into the engine with the time that is left."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise DeadlineError
        self._context.set_time_limit(left + _INTERRUPT_MARGIN)
        try:
            return function(*arguments)
        except self._engine.JSException:
            # Told by the clock and never by the text: a job fails with what the program throws.
            if monotonic() >= self._deadline:
                raise DeadlineError from None
            raise HeapError from None

    def _pump(self, control: Any) -> bool:
        """Run the program until its result is written; False if it can never settle."""
        replies_due = 0
        kind, text = "start", ""
        broken = False
        while True:
            state, calls = self._hand_out(self._enter(control, kind, text))
            if state not in (_PENDING, _SETTLING):
                return True
            replies_due += calls
            kind, text = "drain", ""
            try:
                ran = self._enter(self._context.execute_pending_job)
            except HeapError:
                # A job of the program may fail; only with a full heap was it ours.
                ran, broken = True, broken or self._heap_was_full()
            if ran and not self._inbox:
                continue
            if not ran and not replies_due:
                if broken or state == _SETTLING:
                    raise HeapError
                return False
            reply = self._next_reply(wait=not ran)
            if reply is not None:
                replies_due -= 1
                kind, text = "settle", _literal(reply)

    def _next_reply(self, *, wait: bool) -> bytes | None:
        while wait and not self._inbox:
            if not self._arrived.acquire(timeout=max(self._deadline - monotonic(), 0)):
                raise DeadlineError
        return self._inbox.popleft() if self._inbox else None

    def _hand_out(self, output: str) -> tuple[str, int]:
        """Write what the program sent: the state it is in and the number of host calls."""
        state = output[0]
        text = output[1:].replace("%u", "\\u").replace("%", "\\u00")
        frames = scanstring(f'{text}"', 0)[0].encode()
        ended = state not in (_PENDING, _SETTLING)
        if state == _NULL_THROWN and self._heap_was_full():
            raise HeapError
        calls = frames.count(b"\n") - ended
        self._in_flight.update(range(self._sent + 1, self._sent + calls + 1))
        self._sent += calls
        self._write(frames, ended=ended)
        return state, calls

    def _write(self, frames: bytes, *, ended: bool) -> None:
        # Before the bytes are out, because the parent may answer at once: replies to calls that
        # nobody waits for any more are ignored.
        if ended:
            self._machine.on("result_sent")
        while frames:
            frames = frames[posix.write(1, frames) :]

    def _heap_was_full(self) -> bool:
        # The engine throws null when it cannot even allocate an error. The heap is freed again by
        # now, but a full one has touched its pages.
        grown = (_page_faults() - self._faults) * self._data.page_bytes
        return bool(grown > self._memory_bytes // 2)

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


def _held_lock() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


def _literal(text: bytes) -> str:
    return str(encode_basestring_ascii(text.decode()))


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
