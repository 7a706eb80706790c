"""What was seen beside the outcome: the frames of a target, and its worker processes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.verdicts import PASSED, Finding, Verdict, failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemode_spec.expectations import Outcome

    from codemode_conformance.observation import Run

FORESEEN: Final = 10_000
"""Ids that are so near to each other can be foreseen: by chance none of 2^53 are."""


class State(StrEnum):
    """What is known of one fact."""

    HOLDS = "holds"
    BROKEN = "broken"
    PROTECTED = "protected"  # the target hides it, as it may
    UNOBSERVABLE = "unobservable"  # this platform, or this isolation, does not show it


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that may hold of workers or of messages, by its name in the case schema."""

    name: str
    state: State
    detail: str = ""


_HOLDS: Final = {
    "fresh": "a process that has run no other program",
    "gone": "no process left, not even a zombie",
    "empty_environment": "an empty environment",
    "own_directory": "a directory of its own",
    "directory_removed": "its directory removed after the outcome",
    "three_descriptors": "no descriptors but 0, 1 and 2",
    "no_new_privileges": "no new privileges",
    "filtered": "a filter of system calls",
    "no_files": "no bytes in files",
    "no_core": "no core files",
    "die_with_parent": "no worker once its parent is gone",
    "memory_peak": "a memory peak below the heap and 64 MiB",
    "isolated_as_declared": "a program that runs where the declared isolation says",
    "protocol": "lines that are messages of JSON-RPC 2.0, and nothing else",
    "asked": "one answer at most to each request, with the id that was sent",
    "results": "results of a tool as MCP has them",
    "flags": "isError on each failure, and on no success",
    "text": "each value as JSON text, and the same as in the structured content",
    "progress": "progress that rises, for requests that are open and asked for it",
    "one_tool": "one tool with the program and the options that are declared",
    "schema": "no output schema that says nothing",
    "reference": "instructions with the reference of the API and the name of the tool",
    "metrics": "metrics that are true numbers",
    "isolation_told": "the kind of the isolation and its level, where they are asked for",
    "isolation_weak": "a weaker isolation that is told, where the strong one is missing",
    "isolation_refused": "on stderr, that it does not start without its isolation",
    "operations": "tools of which none takes programs",
    "small": "less memory than the line",
    "no_process": "no process left once the client has gone",
    "none_started": "no worker started for a program that is refused",
    "kept": "as many workers that wait as pool_min says",
}


def facts(run: Run, legal: Outcome) -> Finding:
    """What the system says of the worker processes, and what a server wrote to a scripted client.

    All that the case names must hold.
    """
    found = {fact.name: fact for fact in run.facts}
    asked = (*legal.processes, *legal.messages)
    unknown = [name for name in asked if name not in found]
    known = [found[name] for name in asked if name in found]
    for fact in known:
        if fact.state is State.BROKEN:
            return failed(_HOLDS[fact.name], fact.detail or "it does not hold")
    for fact in known:
        if fact.state is not State.HOLDS:
            return Finding(Verdict.UNTESTABLE, f"{fact.state}: {fact.detail or fact.name}")
    if unknown:
        return Finding(Verdict.UNTESTABLE, f"{State.UNOBSERVABLE}: {', '.join(unknown)}")
    return PASSED


def texts(run: Run, legal: Outcome) -> Finding:
    """That what a failure says, and what was printed, is no longer than it may be."""
    if "failure" in legal.longest:
        most, found = legal.longest["failure"], longest_text((run.error, run.native))
        if found > most:
            return failed(f"texts of at most {most} bytes in a failure", f"one of {found} bytes")
    if "logs" in legal.longest:
        most, found = legal.longest["logs"], sum(map(_bytes, run.logs))
        if found > most:
            return failed(f"at most {most} bytes of what was printed", f"{found} bytes")
    return PASSED


def longest_text(value: Any) -> int:
    """Bytes in UTF-8 of the longest text in a value of JSON; 0 where there is none."""
    waiting, longest = [value], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            longest = max(longest, _bytes(one))
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
    return longest


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def frames(run: Run, runs: Iterable[Run], legal: Outcome) -> Finding:
    """What the target wrote to the end that we play; `runs` are all of the case."""
    judged = {
        "legal": lambda: _legal_frames(run),
        "compact": lambda: _compact_frames(run),
        "execute_first": lambda: _execute_first(run),
        "fresh_ids": lambda: _fresh_ids(runs),
    }
    if legal.frames and not run.frames:
        return failed("frames", "none", "nothing was written")
    findings = (judged[name]() for name in legal.frames)
    return next((finding for finding in findings if finding is not PASSED), PASSED)


def _legal_frames(run: Run) -> Finding:
    broken = next((frame for frame in run.frames if frame.fault), None)
    return PASSED if broken is None else failed("legal frames", broken.fault, "no legal frame")


def _compact_frames(run: Run) -> Finding:
    odd = next((frame for frame in run.frames if frame.spelling), None)
    if odd is None:
        return PASSED
    return failed("frames as JSON.stringify writes them", odd.spelling, f"in {odd.kind}")


def _execute_first(run: Run) -> Finding:
    kinds = [frame.kind for frame in run.frames]
    if kinds[0] == "execute" and kinds.count("execute") == 1:
        return PASSED
    return failed("execute first and once", ", ".join(kinds[:5]))


def _fresh_ids(runs: Iterable[Run]) -> Finding:
    ids = [run.frames[0].invocation or 0 for run in runs if run.frames]
    near = [(a, b) for n, a in enumerate(ids) for b in ids[:n] if abs(a - b) < FORESEEN]
    if not near:
        return PASSED
    return failed("ids of which none tells another", f"{near[0][1]} and then {near[0][0]}")
