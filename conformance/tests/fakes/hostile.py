"""A target whose every string is hostile to terminals, pages, logs and shells. Standard library.

`HOSTILE` is what it says everywhere; tests import it. One that ran `return 0` leaves processes
behind.
"""

import json
import os
import subprocess
import sys

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u200b\u2028"
    "</script></style></pre></code><script>alert(1)</script><img src=x onerror=alert(1)>"
    "' \" onmouseover=alert(1) &lt; ]]> --> <!-- javascript:alert(1) "
    "\n::error::forged\r\n::set-output name=x::y\n%0A::warning::z"
    " ::error::in the middle ##[add-mask]e ##vso[task.setvariable variable=PATH]x ##teamcity[a] "
    "\n# Heading\n| a | b |\n``` ```` `code` **bold** [text](javascript:alert(1)) <b>@user #1 "
    "{0} $(touch /tmp/owned) `touch /tmp/owned` ; rm -rf ~ \\ \0 \x00 \ud83d end"
)
VERSION = HOSTILE.replace("\ud83d", "").replace("\0", "")
PIECES = [VERSION[start : start + 150] for start in range(0, len(VERSION), 150)]
"""Of the command lines that it leaves: only their beginning is told."""

key = [""]
leaves = []


def emit(m: str, **fields: object) -> None:
    """Write one message, with noise before and after it."""
    line = json.dumps({"m": m, "k": key[0], **fields})
    noise = HOSTILE.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    sys.stdout.write(f"{noise}\n{line}\n")
    sys.stdout.flush()
    sys.stderr.write(noise + "\n")
    sys.stderr.flush()


def receive(message: dict) -> None:
    """Answer one message."""
    kind = message["m"]
    if kind == "hello":
        key[0] = message["key"]
        identity = {
            "target": "hostile",
            "version": VERSION,
            "language": ["javascript"],
            "settable": [],
            "alternatives": {"script_style": "async"},
            "capabilities": ["op.value"],
            "mapping": "typed",
            "sessions": 1,
            "runs_per_session": 1,
            "host_values": [],
        }
        emit("identity", **identity)
    elif kind == "open":
        emit("opened", s=message["s"], effective={}, unknown=[], prelude="", wrap=["", ""])
    elif kind == "run":
        said = dict.fromkeys(("name", "code", "message", "stack"), HOSTILE)
        run = message["r"]
        if message["source"].strip() == "return 0;":
            leaves.append(run)
        emit("note", kind=HOSTILE, text=HOSTILE)
        if len(message["source"]) % 2:
            emit(
                "call", r=run, c=1, op=HOSTILE, args={"present": True, "value": {HOSTILE: HOSTILE}}
            )
            emit(
                "outcome", r=run, ok=True, present=True, value={HOSTILE: [HOSTILE]}, logs=[HOSTILE]
            )
        else:
            fields = {"category": "other", "native": said, "error": {"code": HOSTILE}}
            emit("outcome", r=run, ok=False, logs=[HOSTILE], **fields)
    elif kind == "ping":
        emit("pong", n=message["n"])
    elif kind == "close":
        emit("closed", s=message["s"])
    elif kind == "stop":
        for piece in PIECES if leaves else ():
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)", piece])
        os._exit(0)


if __name__ == "__main__":
    for text in sys.stdin:
        receive(json.loads(text))
