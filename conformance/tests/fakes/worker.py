"""A worker that runs no program but gives 1 for each, with the fault that its word names."""

import json
import os
import sys
import time

FAULT = sys.argv[1]
KEYS = {"type", "v", "invocation_id", "source", "limits", "alternatives", "operations"}


def give(frame, end="\n"):
    """Write a frame."""
    os.write(1, (json.dumps(frame, separators=(",", ":")) + end).encode())


def legal(line):
    """The frame of a line if it is a legal `execute`, else None."""
    try:
        frame = json.loads(line.decode())
    except ValueError:
        return None
    right = isinstance(frame, dict) and frame.get("type") == "execute" and frame.get("v") == 1
    if FAULT != "takes_all" and (not right or set(frame) != KEYS):
        return None
    return frame if isinstance(frame, dict) else None


def begin():
    """What it does before it reads."""
    if FAULT == "speaks_first":
        os.write(1, b"ready\n")
    if FAULT in {"slow", "in_one_piece"}:
        time.sleep(0.5)


def main():
    """Read one frame, give one result."""
    begin()
    line = b""
    while b"\n" not in line:
        data = os.read(0, 65536)
        if not data:
            if FAULT == "stays":
                time.sleep(60)
            return 0
        line += data
        if FAULT == "in_one_piece" and not data.endswith(b"\n"):
            return 3
    frame = legal(line.partition(b"\n")[0])
    if frame is None:
        if FAULT == "complains":
            os.write(1, b"bad frame\n")
        return 1 if FAULT == "other_status" else 3
    number = frame.get("invocation_id", 0) + (FAULT == "other_id")
    result = {
        "type": "result",
        "invocation_id": number,
        "ok": True,
        "value_present": True,
        "value": 1,
    }
    if FAULT == "half_a_result":
        give(result, end="")
        return 0
    give(result)
    if FAULT == "answers_twice":
        give(result)
    return 5 if FAULT == "fails_after" else 0


sys.exit(main())
