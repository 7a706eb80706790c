"""Frames and sizes put to a reading in another language, in batches: any disagreement is a finding.

The reading is the JavaScript of `spec/interop`, which knows the exported specification alone.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codemode_spec.export import export
from codemode_spec.sizes import NotAValueError, size_of
from codemode_spec.vectors import load_vectors

from codemode_fuzz import reading, strict_text
from codemode_fuzz.mutators import mutate_frames
from codemode_fuzz.replay import corpus, files
from codemode_fuzz.value.making import mutate_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OLDEST: Final = 20
_ROOT: Final = Path(__file__).parents[2]
_PROGRAM: Final = _ROOT / "fuzz" / "node" / "batch.mjs"
_INTEROP: Final = _ROOT / "spec" / "interop"
_TO: Final = {"execute": "worker", "host_result": "worker"}
_BATCH: Final = 2_000
_SECONDS: Final = 120
_VERSION_SECONDS: Final = 30
_SHOWN: Final = 200
_MOST_SILENT: Final = 3
_DEEPEST: Final = 400
_VALUES: Final = ("a lone surrogate", "a number beyond a double", "depth")
"""Why strict JSON is refused that has a size or not: anything else is no JSON for either."""

Question: TypeAlias = tuple[bytes, dict[str, Any], dict[str, Any]]
"""The input, what the other reading is asked, and our answer."""


class NoNodeError(Exception):
    """There is no Node that can run the other reading; the message says what to install."""


class NoAnswerError(Exception):
    """The other reading ended, or was busy too often; the message says which."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One input on which the two readings part."""

    data: bytes
    ours: dict[str, Any]
    theirs: dict[str, Any]


def node() -> str:
    """The command of Node. Raises NoNodeError."""
    path = shutil.which("node")
    if path is None:
        raise NoNodeError(f"there is no node on PATH; install Node {OLDEST} or later")
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, check=True, timeout=_VERSION_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = f"node tells no version: {str(error)!a}"
        raise NoNodeError(f"{reason}; Node {OLDEST} or later is needed") from None
    major = re.match(rb"v(\d{1,9})\b", told.stdout)
    if major is None or int(major[1]) < OLDEST:
        version = ascii(told.stdout[:_SHOWN].decode(errors="replace").strip())[1:-1]
        raise NoNodeError(f"node is {version}; Node {OLDEST} or later is needed")
    return path


def inputs(runs: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """The corpora of frames and values and `runs` mutations of each, a pure function of a seed."""
    for kind, mutate in (("frames", mutate_frames), ("values", mutate_value)):
        pool = [path.read_bytes() for path in files([corpus(kind)])]
        yield from ((kind, data) for data in pool)
        for number in range(runs):
            rng = Random(f"{kind} {seed} {number}")
            yield kind, mutate(rng.choice(pool), 8192, rng.getrandbits(32))


def disagreements(found: Iterable[tuple[str, bytes]]) -> tuple[int, list[Disagreement]]:
    """How many questions were put, and those that were answered in two ways.

    NoNodeError, NoAnswerError.
    """
    questions = [question for kind, data in found for question in _questions(kind, data)]
    command = node()
    parted = []
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder))
        for start in range(0, len(questions), _BATCH):
            batch = questions[start : start + _BATCH]
            answers = _asked([command, str(_PROGRAM), folder, str(_INTEROP)], batch)
            for (data, _, ours), theirs in zip(batch, answers, strict=True):
                if _plain(theirs) != ours:
                    parted.append(Disagreement(data, ours, theirs))
    return len(questions), parted


def _asked(command: list[str], batch: list[Question]) -> list[dict[str, Any]]:
    """The answers in order. A question without one in time is passed over, and that is told."""
    answers: list[dict[str, Any]] = []
    silent = 0
    while len(answers) < len(batch):
        is_silent = False
        text = "".join(json.dumps(question) + "\n" for _, question, _ in batch[len(answers) :])
        try:
            ended = subprocess.run(
                command, input=text.encode(), capture_output=True, check=True, timeout=_SECONDS
            )
            said = ended.stdout
        except subprocess.TimeoutExpired as error:
            said, silent, is_silent = error.stdout or b"", silent + 1, True
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
            why = ascii(" ".join(last)[:_SHOWN])[1:-1]
            raise NoAnswerError(f"node ended with {error.returncode}: {why}") from None
        except OSError as error:
            raise NoAnswerError(f"node cannot be started: {error.strerror}") from None
        if silent > _MOST_SILENT:
            raise NoAnswerError(f"node was {silent} times still busy after {_SECONDS} seconds")
        # What was cut off is no answer.
        answers += [_answer(line) for line in said.split(b"\n")[:-1]]
        if len(answers) > len(batch):
            raise NoAnswerError(
                f"node gave more answers than the {len(batch)} that it was asked for"
            )
        if len(answers) < len(batch):
            if not is_silent:
                left = len(batch) - len(answers)
                raise NoAnswerError(
                    f"node ended with 0 and left {left} questions without an answer"
                )
            answers.append({"raised": f"no answer within {_SECONDS} seconds"})
    return answers


def _answer(line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        shown = ascii(line[:_SHOWN].decode(errors="replace"))
        raise NoAnswerError(f"node gave an answer that is no JSON object: {shown}")
    return answer


def _questions(kind: str, data: bytes) -> Iterator[Question]:
    if kind == "values":
        ours = _our_size(data)
        if ours is not None:
            yield data, {"size": data.decode()}, ours
        return
    for line in data.split(b"\n"):
        event = _our_event(line)
        if event is not None:
            to = _TO.get(str(event["event"]), "parent")
            yield line, {"frame": base64.b64encode(line).decode(), "to": to}, event


def _our_event(line: bytes) -> dict[str, Any] | None:
    """What a line is; None for `execute`, whose alternatives are the profile's to judge."""
    if len(line) > reading.FRAME_BYTES:
        return {"event": "oversized"}
    if _is_execute(line):
        return None
    (event, frame), _ = reading.frame(line)
    for name in ("value", "arguments"):
        if name in frame:
            return {"event": event, "size": size_of(frame[name], reading.DEPTH)}
    return {"event": event}


def _is_execute(line: bytes) -> bool:
    try:
        found = strict_text.read(line, reading.DEPTH + 1)
    except strict_text.Refused:
        return False
    return isinstance(found, dict) and found.get("type") == "execute"


def _our_size(data: bytes) -> dict[str, Any] | None:
    """The size of a text, or that it is refused; None for what is no question of sizes."""
    try:
        strict_text.read(data, _DEEPEST)
    except strict_text.Refused as refused:
        return {"refused": True} if str(refused) in _VALUES else None
    try:
        return {"size": size_of(json.loads(data), load_vectors("sizes")["max_depth"])}
    except NotAValueError:
        return {"refused": True}


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without its reasons: of two faults in one text, each reading names its first."""
    if "refused" in answer:
        return {"refused": True}
    return {name: part for name, part in answer.items() if name != "reason"}
