# SPDX-License-Identifier: Apache-2.0
"""Adapter kit of Code Mode Conformance, protocol 1: one file to copy; Python 3.11, no packages.

Start the adapter with `python -u`, so that what a program prints is seen when it prints it.
"""

import asyncio
import inspect
import json
import math
import os
import re
import select
import sys
import threading
import traceback
import types
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple

_OUT = os.dup(1)  # a program in this process may close or replace the descriptor itself
_NODES, _DEPTH, _MARKS = 1 << 20, 256, 1000  # what a target hands over may have no bound of its own
_CAPABILITY = {"timeout_ms": "options.timeout", "readonly": "options.readonly"}
_PLAIN = (str, int, float, list, tuple, dict, types.NoneType)
_EPOCH = datetime.fromtimestamp(0, UTC)
_scalars = partial(re.compile("[\ud800-\udfff]").sub, "\ufffd")
ABSENT: Any = object()  # no value at all, where None is null


def _a(*kinds: type) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, kinds)


def _float(text: str) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, float) and repr(v) == text


def _inexact(v: Any) -> bool:
    return isinstance(v, int) and (v.bit_length() > 1023 or int(float(v)) != v)


def _keyed(v: Any) -> bool:
    return isinstance(v, dict) and not all(isinstance(key, str) for key in v)


def _failure(v: BaseException) -> dict[str, str]:
    return {"name": type(v).__name__, "message": str(v)}


def _none(_: Any = None) -> None:
    """Stand for what JSON cannot show at all."""


# kind: (is it one?, what JSON shows of it, how to build one); the first match counts
_ODD: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "NaN": (_float("nan"), _none, lambda _: math.nan),
    "Infinity": (_float("inf"), _none, lambda _: math.inf),
    "-Infinity": (_float("-inf"), _none, lambda _: -math.inf),
    "-0": (_float("-0.0"), lambda _: 0, lambda _: -0.0),
    "bigint": (_inexact, str, lambda v: int(v or 2**53 + 1)),
    "lone_surrogate": (lambda v: _a(str)(v) and _scalars(v) != v, _scalars, lambda _: "\ud800"),
    "Map": (_keyed, lambda v: list(v.items()), lambda v: dict(v or [[1, 1]])),
    "Set": (_a(set, frozenset), list, lambda v: set(v or ())),
    "ArrayBuffer": (_a(bytes, bytearray), list, lambda v: bytes(v or [1])),
    "typed_array": (_a(memoryview), list, lambda v: memoryview(bytes(v or [1]))),
    "Date": (_a(date), str, lambda v: datetime.fromisoformat(v) if v else _EPOCH),
    "RegExp": (_a(re.Pattern), lambda v: v.pattern, lambda v: re.compile(v or "odd")),
    "Error": (_a(BaseException), _failure, lambda v: Exception(v["message"] if v else "odd")),
    "promise": (inspect.isawaitable, _none, lambda _: asyncio.get_running_loop().create_future()),
    "undefined": (lambda v: v is ABSENT, _none, lambda _: ABSENT),
    "function": (callable, _none, lambda _: _none),
    "class": (lambda v: hasattr(v, "__dict__"), vars, lambda v: types.SimpleNamespace(**(v or {}))),
    "unknown": (lambda v: not isinstance(v, _PLAIN), _none, lambda _: object()),
}
HOST_VALUES = [*_ODD, "cycle"]  # `host_values` of the identity: what `build` makes


def _usual(v: Any) -> bool:
    """Tell most values at once: a large one must not keep the adapter from answering."""
    kind = type(v)
    if kind in (int, float):
        return 0 < abs(v) < 2**53 or (kind is int and v == 0)
    return kind in (bool, list, types.NoneType) or (kind is str and v.isascii())


def mark(root: Any) -> tuple[Any, list[list[Any]]]:  # noqa: C901 - one walk
    """Give what JSON can carry of a value, and `[path, kind]` where it loses something."""
    odd: list[list[Any]] = []
    above: set[int] = set()
    left = _NODES

    def note(path: list[Any], kind: str) -> Any:
        if len(odd) < _MARKS:
            odd.append([path, kind])

    def entry(key: str, v: Any, path: list[Any]) -> tuple[str, Any]:
        at = [*path, _scalars(key)]
        if at[-1] != key:
            note(at, "lone_surrogate")
        return at[-1], walk(v, at)

    def walk(v: Any, path: list[Any]) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or len(path) > _DEPTH or id(v) in above:
            return note(path, "cycle" if id(v) in above else "unknown")
        try:
            kind = (
                None if _usual(v) else next((k for k, (test, *_) in _ODD.items() if test(v)), None)
            )
            if kind is None and not isinstance(v, list | tuple | dict):
                return v
            above.add(id(v))
            if kind is not None:
                note(path, kind)
                return walk(_ODD[kind][1](v), path)
            if isinstance(v, dict):
                return dict(entry(key, x, path) for key, x in v.items())
            return [walk(x, [*path, i]) for i, x in enumerate(v)]
        except Exception:  # noqa: BLE001 - a value of the target may raise anything when looked at
            return note(path, "unknown")
        finally:
            above.discard(id(v))

    return walk(root, []), odd


def build(value: Any, odd: list[list[Any]]) -> Any:
    """Build in place the value that `mark` or the harness described."""
    box: Any = [value]
    for path, kind in sorted(odd, key=lambda mark: -len(mark[0])):  # the innermost first
        at, way = box, [0, *path]
        for step in way[:-1]:
            at = at[step]
        at[way[-1]] = at if kind == "cycle" else _ODD[kind][2](at[way[-1]])
    return box[0]


class HostError(Exception):
    """The failure of a host call, as the harness scripted it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.effects = code, dict[str, list[str]]()


class Answer(NamedTuple):
    """What a host call gives: its value, or a program to run; and what it tells of itself."""

    value: Any
    nested: str | None
    effects: dict[str, list[str]]


def _wire(value: Any) -> dict[str, Any]:
    if value is ABSENT:
        return {"present": False}
    shown, odd = mark(value)
    return {"present": True, "value": shown} | ({"odd": odd} if odd else {})


def ok(value: Any = ABSENT, **more: Any) -> dict[str, Any]:
    """Give the outcome of a program that ended, with a value or without; `more` may hold `logs`."""
    return {"ok": True, **_wire(value), **more}


_MOST_OF_A_TEXT = 1_000_000  # characters of an error's own: a program may throw anything


def failed(category: str, error: Any, /, **more: Any) -> dict[str, Any]:
    """Give the outcome of one that failed, or a refusal; `more` may hold `error` and `logs`."""
    own = {name: getattr(error, name, None) for name in ("code", "stack")}
    native = _failure(error) | {name: str(text) for name, text in own.items() if text is not None}
    native = {name: text[:_MOST_OF_A_TEXT] for name, text in native.items()}
    return {"ok": False, "category": category, "native": native, **more}


class Run:
    """One run of a session; `state` is the adapter author's own."""

    def __init__(self, adapter: "_Adapter", r: Any, session: Any) -> None:
        self.adapter, self.r, self.session, self.last = adapter, r, session, 0
        self.state: Any = None
        self.loop = asyncio.get_running_loop()
        self.calls: dict[int, asyncio.Future[Any]] = {}

    async def call(self, op: str, args: Any = ABSENT) -> Any:
        """Forward one host call: the host's value, ABSENT where it has none, or HostError."""
        return (await self.ask(op, args)).value

    async def ask(self, op: str, args: Any = ABSENT) -> Answer:
        """Do the same for an adapter that has `op.nested` or `op.effects`."""
        self.last += 1
        c, answer = self.last, self.loop.create_future()
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.calls[c] = answer
        self.adapter.emit("call", r=self.r, c=c, op=op, args=_wire(args))
        try:
            return Answer(*await answer)
        except asyncio.CancelledError:
            if self.calls.pop(c, None) and "call_cancelled" in self.adapter.capabilities:
                self.adapter.emit("call_cancelled", r=self.r, c=c)
            raise

    def progress(self, **parts: Any) -> None:
        """Tell of the progress of a program: `current`, and perhaps `total` and `message`."""
        self.adapter.emit("progress", r=self.r, **parts)

    def call_from_thread(self, op: str, args: Any = ABSENT) -> Any:
        """Do the same from another thread, for a target that blocks the one it runs in."""
        return asyncio.run_coroutine_threadsafe(self.call(op, args), self.loop).result()


class _Adapter:
    """The protocol: a method for each command, whose arguments are the fields of its line."""

    def __init__(self, identity: dict[str, Any], opener: Callable[..., Awaitable[Any]]) -> None:
        self.identity, self.opener, self.key = identity, opener, ""
        self.capabilities = identity["capabilities"]
        self.sessions: dict[Any, Any] = {}
        self.runs: dict[Any, Run] = {}
        self.tasks: set[asyncio.Task[None]] = set()  # the loop itself holds them only weakly

    def emit(self, m: str, **fields: Any) -> None:
        text = json.dumps({"m": m, "k": self.key, **fields}, ensure_ascii=False)
        rest = memoryview(f"\n{text}\n".encode(errors="replace"))
        while rest:
            try:
                rest = rest[os.write(_OUT, rest) :]
            except BlockingIOError:
                select.select([], [_OUT], [])
            except BrokenPipeError:  # the harness is gone
                os._exit(1)

    async def on_hello(self, v: int, key: str) -> None:  # noqa: ARG002 - a field of the line
        self.key = key
        self.emit("identity", **self.identity)

    async def on_open(
        self, s: Any, policy: dict[str, Any], ops: list[Any], host: dict[str, Any] | None = None
    ) -> None:
        session = await self.opener(policy, ops, s, *([host] if host else []))
        if not isinstance(session, dict):
            self.sessions[s] = session
            default = {"effective": {}, "unknown": [], "prelude": "", "wrap": ["", ""]}
            opened = {name: getattr(session, name, v) for name, v in default.items()}
            self.emit("opened", s=s, **opened)
        elif "unsupported" in session:
            self.emit("unsupported", s=s, fields=session["unsupported"])
        else:
            self.emit("refused", s=s, **{name: v for name, v in session.items() if name != "ok"})

    async def on_run(self, r: Any, s: Any, source: str, options: dict[str, Any]) -> None:
        if s not in self.sessions:
            raise LookupError(f"session {s} is not open")
        lacking = [name for name in options if _CAPABILITY.get(name) not in self.capabilities]
        if lacking:
            self.emit("unsupported", of="run", r=r, fields=lacking)
            return
        run = self.runs[r] = Run(self, r, self.sessions[s])
        try:
            self.emit("outcome", r=r, **await run.session.run(source, options, run.call, run))
        finally:
            del self.runs[r]

    async def on_return(  # noqa: PLR0913 - the fields of the line
        self,
        r: Any,
        c: int,
        *,
        ok: bool,
        present: bool = False,
        value: Any = None,
        odd: list[Any] | None = None,
        error: dict[str, str] | None = None,
        nested: str | None = None,
        effects: dict[str, list[str]] | None = None,
    ) -> None:
        calls = self.runs[r].calls if r in self.runs else {}
        unknown = [kind for _, kind in odd or () if kind not in HOST_VALUES]
        if c in calls and unknown:
            self.emit("unsupported", of="return", r=r, fields=unknown)
        elif c in calls and not calls[c].done():  # any other is late, unknown, or just cancelled
            if ok:
                built = build(value, odd or []) if present else ABSENT
                calls[c].set_result((built, nested, effects or {}))
            else:
                failure = HostError(**(error or {}))
                failure.effects |= effects or {}
                calls[c].set_exception(failure)
            del calls[c]

    async def on_cancel(self, r: Any) -> None:
        run = self.runs.get(r)  # without one, its outcome is already on the way
        if run and hasattr(run.session, "cancel"):
            await run.session.cancel(run)
        elif run:
            self.emit("unsupported", of="cancel", r=r)

    async def on_advance(self, s: Any, ms: int) -> None:
        await self.sessions[s].advance(ms)
        self.emit("advanced", s=s)

    async def on_ping(self, n: int) -> None:
        self.emit("pong", n=n)

    async def on_close(self, s: Any) -> None:
        session = self.sessions.pop(s, None)
        if hasattr(session, "close"):
            await session.close()
        self.emit("closed", s=s)

    async def on_stop(self) -> None:
        os._exit(0)

    async def receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        m = message.pop("m", None) if isinstance(message, dict) else None
        if not isinstance(m, str):
            self.emit("fault", of="line", text="not a JSON object with a message type")
            return
        command = getattr(self, f"on_{m}", None)
        fields = inspect.signature(command).parameters if command else {}
        unknown = [name for name in message if name not in fields]
        if command is None or unknown:
            self.emit("unsupported", of=m, **({"fields": unknown} if command else {}))
            return
        try:
            await command(**message)
        except Exception:  # noqa: BLE001 - whatever fails in the adapter is its fault, and said so
            self.emit("fault", of=m, text=traceback.format_exc())

    def start(self, line: bytes) -> None:
        task = asyncio.ensure_future(self.receive(line))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def serve(identity: dict[str, Any], opener: Callable[..., Awaitable[Any]]) -> None:
    """Speak the protocol until `stop` or the end of input.

    `await opener(policy, ops, s)` gives a session, `failed(...)`, or `{"unsupported": [rows]}`.
    """
    adapter, loop = _Adapter(identity, opener), asyncio.new_event_loop()

    def note(_: Any, context: dict[str, Any]) -> None:
        adapter.emit("note", kind="loop", text=f"{context.get('exception')!r} {context['message']}")

    def read() -> None:
        for line in sys.stdin.buffer:
            if line.strip():
                loop.call_soon_threadsafe(adapter.start, line)
        os._exit(0)

    loop.set_exception_handler(note)
    threading.Thread(target=read, daemon=True).start()
    loop.run_forever()
