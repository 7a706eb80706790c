"""What must hold for a worker, whatever its parent writes: silence or legal frames, and an exit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from codemode_fuzz import reading
from codemode_fuzz.finding import Finding
from codemode_fuzz.worker.talking import Said, talk

Talk: TypeAlias = Callable[[Sequence[bytes]], Said]
BAD_FRAME: Final = 3
"""How a worker leaves on a bad frame, as `protocol.json` has it."""


def check_worker(data: bytes, talk: Talk = talk) -> None:
    """Tell a worker the lines of `data`. Raises Finding."""
    lines = data.split(b"\n")
    said = talk(lines)
    if said.status is None:
        raise Finding("exit", "it lives on")
    if said.status not in (0, BAD_FRAME):
        raise Finding("exit", f"it leaves with status {said.status}")
    (kind, execute), _ = reading.frame(lines[0])
    if kind != "execute":
        if said.output:
            raise Finding("silence", "it writes something to a bad first frame")
        if said.status != BAD_FRAME:
            raise Finding("exit", "status 0 after a bad first frame")
        return
    frames = _frames(said.output, execute["invocation_id"])
    ended = bool(frames) and frames[-1]["type"] == "result"
    wrong = _first_wrong(lines[1 : said.told], execute["invocation_id"], frames)
    if ended and said.status != 0:
        raise Finding("exit", f"status {said.status} after its result")
    if wrong and not ended and said.status != BAD_FRAME:
        raise Finding("exit", "status 0 after a bad reply")
    if not wrong and said.status == BAD_FRAME:
        raise Finding("exit", f"status {BAD_FRAME} where every frame is legal")
    _check_budgets(frames, execute)


def _frames(output: bytes, invocation: int) -> list[dict[str, Any]]:
    """What it wrote: legal frames of its invocation, ids in order, a result last."""
    frames: list[dict[str, Any]] = []
    *lines, rest = output.split(b"\n")
    if rest:
        raise Finding("output", "a line without its end")
    for line in lines:
        if len(line) > reading.FRAME_BYTES:
            raise Finding("output", "a line above ipc_frame_bytes")
        (kind, frame), _ = reading.frame(line)
        if kind not in ("host_call", "result"):
            raise Finding("output", f"a line that is {kind}")
        if frame["invocation_id"] != invocation:
            raise Finding("output", "a frame of another invocation")
        if frames and frames[-1]["type"] == "result":
            raise Finding("output", "something after the result")
        calls = sum(one["type"] == "host_call" for one in frames)
        if kind == "host_call" and frame["call_id"] != calls + 1:
            raise Finding("output", "a call id out of order")
        frames.append(frame)
    return frames


def _first_wrong(lines: Sequence[bytes], invocation: int, frames: list[dict[str, Any]]) -> bool:
    """Whether any line is no legal reply to a call that waits for one."""
    calls = {frame["call_id"] for frame in frames if frame["type"] == "host_call"}
    for line in lines:
        if len(line) > reading.FRAME_BYTES:
            return True
        (kind, frame), _ = reading.frame(line)
        if kind != "host_result" or frame["invocation_id"] != invocation:
            return True
        if frame["call_id"] not in calls:
            return True
        calls.discard(frame["call_id"])
    return False


def _check_budgets(frames: list[dict[str, Any]], execute: dict[str, Any]) -> None:
    calls = sum(frame["type"] == "host_call" for frame in frames)
    if calls > execute["limits"]["host_calls"]:
        raise Finding("budget", "more calls than host_calls allows")
