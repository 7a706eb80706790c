"""What a session found: one folder for each different finding, with a case that shows it again."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_shell
from codemode_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from codemode_conformance.verdicts import CaseVerdict

CASE: Final = "case.json"
REPORT: Final = "finding.txt"
SCRIPT: Final = "reproduce.sh"
BAD: Final = (Verdict.FAIL, Verdict.ERROR, Verdict.FLAKY)
MACHINE: Final = "surroundings:"
"""How a reason begins that says something of this machine, which is no finding."""
_SHRINKING: Final = 24
_FREE: Final = ("any", "failure")


@dataclass(frozen=True, slots=True)
class Found:
    """One layer of one generated case that is not as it must be."""

    kind: str
    layer: str
    verdict: Verdict
    expected: str
    observed: str

    @property
    def signature(self) -> str:
        """What occurrences of one finding share: no digits, no quoted words, no long tails."""
        text = f"{self.kind} {self.layer} {self.verdict}: {self.expected} / {self.observed}"
        text = re.sub(r'"(?:[^"\\]|\\.)*"', "TEXT", text)
        text = re.sub(r"value [^/]*", "value ", text)
        text = re.sub(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?", "N", text)
        return text[:160]


def found_in(made: Mapping[str, Any], verdict: CaseVerdict) -> Found | None:
    """The first layer that is not as it must be; None where all are."""
    kind = made["id"].removeprefix("fuz.").rstrip("0123456789-")
    for layer in verdict.layers:
        finding = layer.finding
        if finding.verdict in BAD and not finding.reason.startswith(MACHINE):
            expected, observed = finding.expected, finding.observed or finding.reason
            return Found(kind, layer.layer, finding.verdict, expected, observed)
    return None


def home_of(folder: Path, found: Found) -> Path:
    """The folder of a finding; it may exist already."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = re.sub(r"[^a-z]+", "-", f"{found.kind} {found.layer} {found.verdict}".lower())
    return folder / f"{words[:40].strip('-')}-{digest}"


def write(home: Path, target: str, role: str, made: Mapping[str, Any], found: Found) -> None:
    """The files of a finding: the case, what was seen, and a script that puts it again."""
    home.mkdir(parents=True, exist_ok=True)
    (home / CASE).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    told = f"{made['title']}, {found.layer}: {found.verdict}"
    text = f"{told}\nexpected: {found.expected}\nobserved: {found.observed}\n\n{program_of(made)}\n"
    (home / REPORT).write_text(text, encoding="utf-8", errors="backslashreplace")
    words = ("cmconf", "fuzz", "--target", target, "--role", role, "--replay", CASE)
    script = home / SCRIPT
    script.write_text(
        f'#!/bin/sh\ncd "$(dirname "$0")" && exec {for_shell(words)}\n', encoding="utf-8"
    )
    script.chmod(0o755)


def program_of(made: Mapping[str, Any]) -> str:
    """The program or the stream of a case, for people."""
    if "program" in made:
        program = made["program"]["javascript"]
        return str(program if isinstance(program, str) else program["async"]).replace("@@{", "@{")
    steps = made.get("worker") or made["parent"]
    return json.dumps(steps, ensure_ascii=False, indent=1)


def shrunk(made: dict[str, Any], still: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """A case with fewer lines for which `still` holds, where what is expected does not."""
    program = made.get("program", {}).get("javascript")
    if not isinstance(program, str) or made["expect"][0]["outcome"] not in _FREE:
        return made
    lines = program.split("\n")
    tries = 0
    at = 0
    while at < len(lines) and len(lines) > 1 and tries < _SHRINKING:
        tries += 1
        fewer = lines[:at] + lines[at + 1 :]
        smaller = made | {"program": {"javascript": "\n".join(fewer)}}
        if still(smaller):
            lines, made = fewer, smaller
        else:
            at += 1
    return made
