"""A worker that plays a scenario instead of running a program.

    python -I -S worker.py [FILE [NAME]]

FILE holds scenarios as JSON (`scenario.schema.json`), `scenario.json` beside this file if it is not
said; NAME says which one, or the `run` of FILE.
The standard library is all it needs, and an empty environment.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import sys
import termios
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

# However a parent fails, nothing stays behind for longer.
SECONDS = 120
# How long the pieces of one step may wait together for a parent that does not read.
TAKING_SECONDS = 3.0
# How long each waits where it cannot be told whether the one before it was taken.
UNTOLD_SECONDS = 0.001
STREAMS = {"stdin": 0, "stdout": 1, "stderr": 2}
CHUNK = 65536
# Of what it says and hears, so many are told: it may go on for ever.
TOLD = 1_000
# Statuses of sysexits.h: what a scenario cannot mean is not taken for what it does.
USAGE, DATA, BROKEN = 64, 65, 74


class Scene:
    """What has been read so far, and the steps that use it."""

    def __init__(self, record: Path | None = None) -> None:
        self.execute: dict[str, Any] = {}
        self._record = record
        self._told = 0
        self.replies: list[Any] = []
        self.turn = 0
        self._rest = b""

    def play(self, steps: list[dict[str, Any]]) -> None:
        """Take the steps in order."""
        for step in steps:
            name = next(name for name in STEPS if name in step)
            STEPS[name](self, step)

    def read(self, step: dict[str, Any]) -> None:
        """Wait for a frame of the parent."""
        while b"\n" not in self._rest:
            data = os.read(0, CHUNK)
            if not data:
                os._exit(0)
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        self.keep(line)
        self.tell("<-", line)
        frame = json.loads(line)
        if step["read"] == "execute":
            self.execute = frame
        else:
            self.replies.append(frame["value"] if frame["ok"] else frame["error"])

    def keep(self, line: bytes, mark: bytes = b"") -> None:
        """For whoever made the record: a marked line is a start, another one what was read."""
        if self._record is not None and self._record.exists():
            with self._record.open("ab") as record:
                record.write(mark + line + b"\n")

    def tell(self, way: str, data: bytes) -> None:
        """For whoever follows what is said: when, from whom as the suite sees it, and what."""
        told = self._record and self._record.with_suffix(".told")
        if not told or not told.exists() or self._told >= TOLD:
            return
        self._told += 1
        text = data[:CHUNK].decode("utf-8", "backslashreplace")
        entry = {"at": time.monotonic(), "way": way, "text": text, "bytes": len(data)}
        with told.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(entry) + "\n")

    def write(self, data: bytes, step: dict[str, Any]) -> None:
        """All of the data, in pieces if the step says so."""
        self.tell("->", data)
        write(data, step)

    def send(self, step: dict[str, Any]) -> None:
        """One frame, or several at once, with the id of the invocation unless it is given."""
        frames = step["send"] if isinstance(step["send"], list) else [step["send"]]
        identity = {"invocation_id": self.execute.get("invocation_id")}
        lines = [json.dumps({**identity, **self._filled(frame)}) + "\n" for frame in frames]
        self.write("".join(lines).encode(), step)

    def text(self, step: dict[str, Any]) -> None:
        """Whatever bytes."""
        parts = step["text"] if isinstance(step["text"], list) else [step["text"]]
        text = "".join(
            part if isinstance(part, str) else json.dumps(self._filled(part)) for part in parts
        )
        data = text.encode() * step.get("times", 1)
        self.write(data.ljust(step.get("fill_to", 0)), step)

    def hex(self, step: dict[str, Any]) -> None:
        """Bytes that are no text."""
        self.write(bytes.fromhex(step["hex"]) * step.get("times", 1), step)

    def repeat(self, step: dict[str, Any]) -> None:
        """The same steps again."""
        turns = count(1) if step["repeat"] == "for_ever" else range(1, step["repeat"] + 1)
        for self.turn in turns:
            self.play(step["do"])

    def wait(self, step: dict[str, Any]) -> None:
        """Do nothing."""
        if step["wait"] == "for_ever":
            while True:
                signal.pause()
        if step["wait"] == "end_of_input":
            while os.read(0, CHUNK):
                pass
            return
        time.sleep(step["wait"] / 1000)

    def close(self, step: dict[str, Any]) -> None:
        """Some of the three streams."""
        for name in step["close"]:
            os.close(STREAMS[name])

    def ignore(self, step: dict[str, Any]) -> None:
        """Signals that shall do nothing."""
        for name in step["ignore"]:
            signal.signal(signal.Signals[name], signal.SIG_IGN)

    def signal(self, step: dict[str, Any]) -> None:
        """To itself."""
        os.kill(os.getpid(), signal.Signals[step["signal"]])

    def child(self, step: dict[str, Any]) -> None:
        """A process that has only the streams that it `holds`, and steps of its own."""
        # Until this closes, the child may still be in our session.
        ready, begun = os.pipe()
        if os.fork():
            os.close(begun)
            os.read(ready, 1)
            os.close(ready)
            return
        if step.get("session"):
            os.setsid()
        for name in STREAMS.keys() - set(step["holds"]):
            os.close(STREAMS[name])
        self.keep(json.dumps({**surroundings(), "child": True}).encode(), b"#")
        os.close(ready)
        os.close(begun)
        signal.alarm(SECONDS)
        finish(self, step["child"])

    def exit(self, step: dict[str, Any]) -> None:
        """At once."""
        os._exit(step["exit"])

    def leave(self, step: dict[str, Any]) -> None:
        """Files, folders (with a slash) and links in the working directory."""
        for name in step["leave"]:
            path = Path(name)
            if name.endswith("/"):
                path.mkdir(parents=True)
            elif step.get("links"):
                path.symlink_to("/")
            else:
                path.touch()

    def _filled(self, value: Any) -> Any:
        """A value with the places `{"$": name}` filled in."""
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"$"}:
            return getattr(self, value["$"], self.execute.get(value["$"]))
        return {key: self._filled(item) for key, item in value.items()}


STEPS = {
    name: getattr(Scene, name)
    for name in (
        *("read", "send", "text", "hex", "repeat", "wait"),
        *("close", "ignore", "signal", "child", "exit", "leave"),
    )
}


def write(data: bytes, step: dict[str, Any]) -> None:
    """All of the data, in pieces if the step says so: each when the one before it was taken."""
    stream = STREAMS[step.get("to", "stdout")]
    patience = time.monotonic() + TAKING_SECONDS
    for number, piece in enumerate(pieces(data, step.get("piece", CHUNK))):
        if number and "piece" in step:
            wait_until_taken(stream, patience)
        left = piece
        while left:
            left = left[os.write(stream, left) :]
        if "pause_ms" in step:
            time.sleep(step["pause_ms"] / 1000)


def wait_until_taken(stream: int, until: float) -> None:
    """Until nothing is left that was written there, where that can be told; or until that time.

    Of two pieces that lie there together nobody would notice that they are two.
    """
    pause = 0.0
    while time.monotonic() < until:
        left = unread(stream)
        if left is None:
            time.sleep(UNTOLD_SECONDS)
        if not left:
            return
        time.sleep(pause)
        pause = min(pause + 0.00001, 0.001)


def unread(stream: int) -> int | None:
    """How many bytes of what was written there are not read yet; None where that is not told."""
    if sys.platform != "linux":
        return None
    # The end that writes tells it of a pipe; of a socket it counts what it takes in memory.
    asked = termios.TIOCOUTQ if stat.S_ISSOCK(os.fstat(stream).st_mode) else termios.FIONREAD
    try:
        return int.from_bytes(fcntl.ioctl(stream, asked, bytes(4)), sys.byteorder)
    except OSError:
        return None


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """The data cut into parts of this size."""
    return (data[at : at + size] for at in range(0, len(data), size))


def finish(scene: Scene, steps: list[dict[str, Any]]) -> NoReturn:
    """Play the steps and exit with 0, unless they end in another way."""
    try:
        scene.play(steps)
    except OSError:
        os._exit(BROKEN)
    os._exit(0)


def surroundings() -> dict[str, Any]:
    """What this process was given; nothing of that where there is no /proc."""
    directory = str(Path.cwd())
    found: dict[str, Any] = {"pid": os.getpid(), "session": os.getsid(0), "directory": directory}
    try:
        found["descriptors"] = sorted(filter(is_open, map(int, os.listdir("/proc/self/fd"))))  # noqa: PTH208
        names = Path("/proc/self/environ").read_bytes().split(b"\0")
        found["variables"] = [os.fsdecode(name.partition(b"=")[0]) for name in names if name]
        text = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace")
        found["started"] = int(text.rpartition(")")[2].split()[19])
    except OSError:
        pass
    return found


def is_open(descriptor: int) -> bool:
    """Whether it is; that through which the list was read is not any more."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def place(words: list[str]) -> Path:
    """The file with the scenarios."""
    return Path(words[0]) if words else Path(__file__).with_name("scenario.json")


def chosen(words: list[str]) -> list[dict[str, Any]]:
    """The steps that the command line asks for."""
    if len(words) > 2:
        complain(USAGE, "usage: worker.py [FILE [NAME]]")
    try:
        found = json.loads(place(words).read_bytes())
        name = words[1] if len(words) > 1 else found["run"]
        steps: list[dict[str, Any]] = found["scenarios"][name]["steps"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain(DATA, f"no scenario in {place(words)}: {type(error).__name__} {error}")
    return steps


def complain(status: int, why: str) -> NoReturn:
    """To whoever started us by hand, or looks for why nothing works."""
    os.write(2, f"{why}\n".encode())
    os._exit(status)


if __name__ == "__main__":
    signal.alarm(SECONDS)
    steps = chosen(sys.argv[1:])
    scene = Scene(Path(f"{place(sys.argv[1:])}.seen").absolute())
    scene.keep(json.dumps(surroundings()).encode(), b"#")
    finish(scene, steps)
