"""An adapter of a parent that starts `${worker}`, and has the fault that its second word names.

    python parent.py WORKER FAULT

`none` is careful enough for the cases of the tests; every other fault is believed of some parent.
"""

import asyncio
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "codemode_conformance" / "kits"))

from cmconf_kit import HOST_VALUES, failed, ok, serve

WORKER, FAULT = sys.argv[1:]
LIMIT = 73_728
SECONDS = 3.0
IDENTITY = {
    "target": "fake",
    "version": "1.0",
    "language": ["javascript"],
    "settable": [],
    "alternatives": {"script_style": "async"},
    "capabilities": ["contract", "op.value", "op.ledger", "raw"],
    "mapping": "typed",
    "sessions": 1,
    "runs_per_session": 1,
    "host_values": HOST_VALUES,
}
CATEGORIES = {"worker_exited": "protocol", "worker_protocol_error": "protocol"}


class RefusedError(Exception):
    """The worker broke the protocol, or ended without a result."""


def twice(pairs):
    """An object, unless a key stands twice and that is looked at."""
    if FAULT != "lenient" and len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def frame_of(line):
    """The frame of a line; ValueError for what is none."""
    text = line.decode("utf-8", "replace" if FAULT == "lenient" else "strict")
    frame = json.loads(
        text.lstrip("\ufeff") if FAULT == "lenient" else text, object_pairs_hook=twice
    )
    if not isinstance(frame, dict):
        raise TypeError("no object")
    return frame


class Session:
    """Runs one program by one worker."""

    prelude = "const host = null;"
    number = 0
    kept = None

    def __init__(self):
        self.effective = {}

    async def run(self, source, _options, call, _state):
        """Start the worker, speak to it, end it."""
        if FAULT == "starts_nothing":
            return ok(1) if source == "return 1" else fault("worker_protocol_error")
        if FAULT == "own_worker" and source == "return 1":
            return ok(1)
        Session.number = Session.number + 1 if FAULT == "counts" else random.randrange(1 << 52)
        with tempfile.TemporaryDirectory() as folder:
            env = {"SECRET": "x"} if FAULT == "environment" else {}
            process = Session.kept or await asyncio.create_subprocess_exec(
                WORKER,
                stdin=-1,
                stdout=-1,
                stderr=-3,
                cwd=folder,
                env=env,
                limit=LIMIT,
                start_new_session=True,
            )
            Session.kept = None
            try:
                return await asyncio.wait_for(self.speak(process, source, call), SECONDS)
            except (RefusedError, ValueError, TypeError, KeyError):
                return fault("worker_protocol_error")
            except TimeoutError:
                return failed("time", Exception("late"), error={"code": "deadline_exceeded"})
            finally:
                if FAULT == "keeps_it" and await lives_on(process):
                    Session.kept = process
                elif process.returncode is None and FAULT != "leaves_it":
                    process.kill()
                    await process.wait()

    async def speak(self, process, source, call):
        """Frames, until the result."""
        execute = {
            "type": "execute",
            "v": 1,
            "invocation_id": Session.number,
            "source": source,
            "limits": {},
            "alternatives": {},
            "operations": [],
        }
        if FAULT == "tells_all":
            execute["token"] = "x"
        self.write(process, execute)
        while True:
            line = await process.stdout.readline()
            if not line.endswith(b"\n"):
                status = await process.wait()
                return fault("worker_exited" if status else "worker_protocol_error")
            frame = frame_of(line)
            if frame["type"] == "host_call":
                head = {"type": "host_result", "invocation_id": Session.number}
                self.write(
                    process, {**head, "call_id": frame["call_id"], **await reply(frame, call)}
                )
                continue
            if FAULT != "lenient" and set(frame) != {
                "type",
                "invocation_id",
                "ok",
                "value_present",
                "value",
            }:
                raise RefusedError
            if frame["type"] != "result" or frame["invocation_id"] != Session.number:
                raise RefusedError
            if frame["ok"] is not True or frame["value_present"] is not True:
                raise RefusedError
            return ok(frame.get("value"))

    @staticmethod
    def write(process, frame):
        """One frame in one line."""
        separators = (", ", ": ") if FAULT == "spaces" else (",", ":")
        text = json.dumps(frame, ensure_ascii=False, separators=separators)
        process.stdin.write(text.encode() + b"\n")

    async def cancel(self, _state):
        """It cannot."""

    async def close(self):
        """Nothing is kept."""


async def reply(frame, call):
    """What a call came to, as the fields of its answer."""
    try:
        value = await call(frame["operation"], frame["arguments"])
    except Exception:  # noqa: BLE001  whatever it is, it failed
        error = {"code": "operation_failed", "operation": frame["operation"]}
        return {"ok": False, "value_present": False, "error": error}
    return {"ok": True, "value_present": True, "value": value}


async def lives_on(process):
    """Whether it has not ended a moment after its last word."""
    try:
        await asyncio.wait_for(process.wait(), 1.0)
    except TimeoutError:
        return True
    return False


def fault(code):
    """A failure of this code."""
    return failed(CATEGORIES[code], Exception(code), error={"code": code})


async def opener(_policy, _ops, _session):
    """A session of any kind."""
    return Session()


serve(IDENTITY, opener)
