"""One function for each layer: a run and a legal outcome give a finding."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Final

from codemode_spec import load_tables
from codemode_spec.expectations import UNSET

from codemode_conformance.compare import SHOWN, same_json, show
from codemode_conformance.observation import OFFERED, End
from codemode_conformance.verdicts import PASSED, Finding, Verdict, failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codemode_spec.expectations import ExpectedCall, Outcome

    from codemode_conformance.observation import Call, CanaryHit, Run

SIDE_CHANNELS: Final = ("stderr", "port")
"""Places that no client and no program sees; a hit there is evidence, not a leak. A connection to
the port without a request for the secret path may be anybody's: other programs scan ports."""

EARLY: Final = 0.8
"""The part of a deadline before which nothing ends for its time: clocks differ, and CPU time is
that of all threads."""

_ENDS: Final = {
    End.NO_OUTCOME: "no outcome",
    End.HOST_DIED: "the host died",
    End.MEMORY: "killed for its memory from outside",
    End.TWO_OUTCOMES: "a second outcome",
    End.EXIT: "no result",
    End.BROKEN: "no legal frame",
}


def describe(run: Run) -> str:
    """How a run ended, in one bounded line."""
    if run.end is End.VALUE:
        if not run.value.present:
            return "success without a value"
        odd = "".join(f" ({kind} at {list(path)})" for path, kind in run.value.odd[:3])
        return f"value {show(run.value.value)}{odd}"
    if run.end is End.FAILURE:
        native = run.native or {}
        words = [run.category or "no category"]
        words += [show(run.error)] if run.error else []
        told = [str(native[key]) for key in ("name", "code", "message") if native.get(key)]
        words += [text if len(text) <= SHOWN else f"{text[:SHOWN]}…" for text in told]
        where = " at open" if run.stage == "open" else ""
        return f"failure{where}: " + ", ".join(words)
    if run.end is End.EXIT:
        return f"no result, {exited(run)}"
    label = f" ({run.label})" if run.label else ""
    after = f" after {run.elapsed_ms:.0f} ms" if run.elapsed_ms else ""
    return f"{_ENDS[run.end]}{label}{after}"


def exited(run: Run) -> str:
    """How the worker of a run ended, in words."""
    if run.status is None:
        return "still running"
    by = "by signal" if run.status < 0 else "with status"
    return f"exited {by} {abs(run.status)} after {run.elapsed_ms:.0f} ms"


def no_outcome(run: Run) -> Finding:
    """The finding for a run that did not end with exactly one outcome."""
    return failed("exactly one outcome", describe(run), _ENDS[run.end])


def forced(run: Run) -> Finding:
    """The finding for a run that passed its deadline and ended only when the harness helped."""
    helped = {"answer": "had answered its open calls", "cancel": "had asked for its end"}
    step = f"once the harness {helped[run.forced or '']}"
    if run.forced == "answer" and not run.calls:
        # With no call open there was nothing to help with.
        step = "while the harness waited on"
    limit = f", {run.deadline_ms:.0f} ms its deadline" if run.deadline_ms else ""
    return failed(
        "an outcome by the deadline and the grace",
        f"{describe(run)}, {run.elapsed_ms:.0f} ms after its start{limit}, {step}",
        "past its deadline",
    )


def outcome(run: Run, legal: Outcome) -> Finding:
    """It ended as a value or a failure, in time, or without a result where that is right."""
    if legal.outcome not in ("any", run.end.value):
        wanted = "no result, and the exit" if legal.outcome == "exit" else f"a {legal.outcome}"
        return failed(wanted, describe(run))
    if legal.status is not None and run.status != legal.status:
        return failed(f"exit with status {legal.status}", exited(run))
    if legal.within_ms is not None and run.elapsed_ms > legal.within_ms:
        return failed(f"an outcome within {legal.within_ms} ms", f"{run.elapsed_ms:.0f} ms", "late")
    if legal.not_before_ms is not None and run.elapsed_ms < legal.not_before_ms:
        return failed(
            f"the program runs for {legal.not_before_ms} ms at least",
            f"{describe(run)}, after {run.elapsed_ms:.0f} ms",
            "early: it may not have run at all",
        )
    return PASSED


def unasked(run: Run, legal: Outcome) -> frozenset[str]:
    """The layers of which this legal outcome says nothing for a run that ended so."""
    failure, value = run.end is End.FAILURE, run.end is End.VALUE
    asked = {
        "category": failure and legal.want,
        "code": failure and (legal.error is not None or legal.error_has or legal.error_table),
        "value": legal.answers or (value and _wants_value(legal)),
        "calls": any(
            part is not None
            for part in (legal.calls, legal.overlap, legal.cancelled, legal.progress)
        ),
        "evidence": legal.canaries
        or legal.limited
        or legal.record is not None
        or (legal.frames or legal.processes or legal.messages)
        or ("failure" in legal.longest and failure)
        or "logs" in legal.longest,
    }
    return frozenset(name for name, something in asked.items() if not something)


def _wants_value(legal: Outcome) -> bool:
    return legal.value is not UNSET or legal.value_absent or bool(legal.odd)


def corroborate(run: Run, effective: Mapping[str, Any], *, cancelled: bool) -> frozenset[str]:
    """The categories that the harness's own clock and ledger speak for."""
    spoken = set()
    if run.deadline_ms and run.elapsed_ms >= run.deadline_ms:
        spoken.add("time")
    limits = (
        (len(run.calls), effective.get("host_calls")),
        (
            max((call.overlap for call in run.calls), default=0),
            effective.get("concurrent_host_calls"),
        ),
    )
    if any(isinstance(limit, int) and seen >= limit for seen, limit in limits):
        spoken.add("calls")
    if cancelled:
        spoken.add("cancelled")
    return frozenset(spoken)


def refute(run: Run, effective: Mapping[str, Any]) -> frozenset[str]:
    """The categories that the harness's clock speaks against: it ended well before a deadline."""
    if not isinstance(effective.get("wall_time_ms"), int | float):
        return frozenset()
    limits = [run.deadline_ms, effective.get("cpu_time_ms")]
    shortest = min(limit for limit in limits if isinstance(limit, int | float))
    return frozenset({"time"} if run.elapsed_ms < EARLY * shortest else ())


def category(
    run: Run,
    legal: Outcome,
    typed: frozenset[str] | None,
    corroborated: frozenset[str],
    refuted: frozenset[str],
) -> Finding:
    """The failure has a wanted category.

    `typed` are the categories that rest on codes of the target, None for all; `corroborated` those
    that the harness's clock and ledger speak for. Any other label comes from text, and is judged
    only where a typed one is wanted in its place. `refuted` are those that the clock denies.
    """
    if not legal.want or run.end is not End.FAILURE:
        return PASSED
    if typed is not None and not (
        run.category in typed | corroborated or typed.issuperset(legal.want)
    ):
        return Finding(Verdict.UNTESTABLE, "failed, label not judged")
    if run.category in refuted:
        return failed(
            f"category {run.category} only after {run.deadline_ms:.0f} ms",
            f"{describe(run)} after {run.elapsed_ms:.0f} ms",
            "before its deadline",
        )
    if run.category in legal.want:
        return PASSED
    if run.category in legal.allow:
        # The program may end so, but it says nothing of the label that is asked for.
        return Finding(Verdict.NOT_REACHED, f"failed as {run.category}, which is allowed")
    wanted = " or ".join((*legal.want, *legal.allow))
    return failed(f"category {wanted}", describe(run), "another reason than the one named")


def code(run: Run, legal: Outcome) -> Finding:
    """The target's own structured failure has the fields that are named."""
    if run.end is not End.FAILURE:
        return PASSED
    error = run.error or {}
    if legal.error is not None and (finding := _named(legal.error, error)) is not PASSED:
        return finding
    lacking = [name for name in legal.error_has if not error.get(name)]
    if lacking:
        return failed(f"a text in {' and '.join(lacking)}", show(dict(error)), "no text")
    findings = {
        "fields": fields(error),
        "message": message(error, run.native or {}),
        "detail": detail(error),
    }
    told = [findings[part] for part in legal.error_table]
    return next((finding for finding in told if finding is not PASSED), PASSED)


def fields(error: Mapping[str, Any]) -> Finding:
    """A structured failure has the fields that the table lists for its code, and no others."""
    entry = load_tables().errors.get(error.get("code", ""))
    if entry is None:
        return failed("a code of the table", show(dict(error)), "no such code")
    lacking = {name for name, kind in entry.fields.items() if kind == "required"} - set(error)
    extra = set(error) - {"code", *entry.fields}
    if not lacking and not extra:
        return PASSED
    words = [f"lacks {name}" for name in sorted(lacking)]
    words += [f"must not have {name}" for name in sorted(extra)]
    allowed = ", ".join(f"{name} ({kind})" for name, kind in entry.fields.items()) or "none"
    return failed(
        f"{entry.code} with the fields of the table: {allowed}",
        show(dict(error)),
        f"{entry.code} {', '.join(words)}",
    )


def message(error: Mapping[str, Any], native: Mapping[str, Any]) -> Finding:
    """The message of a failure is the text of the table with the numbers of that failure."""
    if "message" not in native:
        return Finding(Verdict.UNTESTABLE, "the adapter hands over no message")
    entry = load_tables().errors.get(error.get("code", ""))
    if entry is None:
        return failed("a code of the table", show(dict(error)), "no such code")
    try:
        wanted = entry.text(error)
    except KeyError as lacking:
        return failed(f"{entry.code} with {lacking}", show(dict(error)), "no number for its text")
    if native["message"] == wanted:
        return PASSED
    return failed(f"the message {show(wanted)}", show(native["message"]), "another text")


def detail(error: Mapping[str, Any]) -> Finding:
    """A `detail` is no longer than the table says, with its control characters escaped."""
    most = load_tables().detail_characters
    text = str(error.get("detail", ""))
    if len(text) > most:
        return failed(f"a detail of at most {most} characters", f"{len(text)} characters", "long")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        return failed("a detail with escaped control characters", show(text), "not escaped")
    return PASSED


def _named(wanted: Mapping[str, Any], error: Mapping[str, Any]) -> Finding:
    differing = {
        name: value
        for name, value in wanted.items()
        if name not in error or not same_json(value, error[name])
    }
    if not differing:
        return PASSED
    return failed(show(dict(wanted)), show(dict(error)), f"differs in {', '.join(differing)}")


def value(run: Run, legal: Outcome) -> Finding:
    """The value is exactly the expected one, with nothing marked that was not expected."""
    if not _wants_value(legal) or run.end is not End.VALUE:
        return PASSED
    if legal.value_absent:
        return PASSED if not run.value.present else failed("success without a value", describe(run))
    expected = "a value" if legal.value is UNSET else f"value {show(legal.value)}"
    if legal.odd:
        expected += "".join(f" ({kind} at {list(path)})" for path, kind in legal.odd)
    if not run.value.present or set(run.value.odd) != set(legal.odd):
        return failed(expected, describe(run))
    if legal.value is not UNSET and not same_json(legal.value, run.value.value):
        return failed(expected, describe(run))
    return PASSED


def calls(run: Run, legal: Outcome) -> Finding:
    """The dispatched calls are the expected ones, and no more were open at once than allowed.

    So is what the host was told of the progress.
    """
    if legal.overlap is not None:
        most = max((call.overlap for call in run.calls), default=0)
        if most > legal.overlap:
            return failed(f"at most {legal.overlap} calls open at once", f"{most} open at once")
    if legal.cancelled is not None:
        given_up = sum(call.cancelled_ms is not None for call in run.calls)
        if given_up != legal.cancelled:
            return failed(f"{legal.cancelled} calls cancelled", f"{given_up} cancelled")
    told = progress(run, legal)
    if legal.calls is None or told is not PASSED:
        return told
    if legal.calls.listed is None:
        seen = [call for call in run.calls if call.op == legal.calls.op]
        if len(seen) == legal.calls.count and len(seen) == len(run.calls):
            return PASSED
        return failed(f"{legal.calls.count} calls of {legal.calls.op}", _list(run.calls))
    expected = legal.calls.listed
    if len(expected) == len(run.calls) and all(map(_same_call, expected, run.calls)):
        return PASSED
    wanted = ", ".join(
        f"{call.op}({'' if call.args is UNSET else show(call.args, 60)})" for call in expected
    )
    return failed(f"calls [{wanted}]", _list(run.calls))


def progress(run: Run, legal: Outcome) -> Finding:
    """What the host was told of the progress is what is expected."""
    if legal.progress is None:
        return PASSED
    if isinstance(legal.progress, int):
        if len(run.progress) == legal.progress:
            return PASSED
        return failed(f"{legal.progress} messages of progress", f"{len(run.progress)} came")
    if same_json(list(legal.progress), list(run.progress)):
        return PASSED
    return failed(f"progress {show(list(legal.progress))}", show(list(run.progress)))


def _same_call(expected: ExpectedCall, call: Call) -> bool:
    if expected.op != call.op:
        return False
    judged = expected.args is not UNSET or bool(expected.odd)
    if judged and set(call.args.odd) != set(expected.odd):
        return False
    return expected.args is UNSET or (
        call.args.present and same_json(expected.args, call.args.value)
    )


def _list(made: Iterable[Call]) -> str:
    shown = [f"{call.op[:SHOWN]}({show(call.args.value, 60)})" for call in made]
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return f"calls [{', '.join(shown[:5])}{more}]"


def evidence(
    run: Run, hits: Iterable[CanaryHit], effective: Mapping[str, Any], legal: Outcome
) -> Finding:
    """No named secret was emitted where somebody sees it, and one of the named rows is limited.

    The target's record of the calls says what is expected of it.
    """
    leaks = [hit for hit in hits if hit.canary in legal.canaries and hit.where not in SIDE_CHANNELS]
    if leaks:
        first = leaks[0]
        return failed(
            f"no secret of: {', '.join(legal.canaries)}",
            f"the secret `{first.canary}` ({first.form}) in {first.where}",
            "leak",
        )
    if legal.record is not None and not within(legal.record, run.evidence):
        return failed(f"on record: {show(dict(legal.record))}", show(run.evidence), "the record")
    limits = [effective.get(row, "unknown") for row in legal.limited]
    if not limits or any(isinstance(limit, int | float) or limit == OFFERED for limit in limits):
        return PASSED
    if "unknown" in limits:
        return Finding(Verdict.UNTESTABLE, "the documentation names no number")
    return failed(f"a limit of {' or '.join(legal.limited)}", "documented as absent", "no limit")


def within(wanted: Any, found: Any) -> bool:
    """Whether all that is wanted is there: of an object its named parts, of a list all of it.

    Of a list it may also be said how many it has, `{at_least: 1, at_most: 32}`, and what comes
    `first`.
    """
    if isinstance(wanted, dict) and isinstance(found, list):
        first = wanted.get("first", [])
        return (
            wanted.get("at_least", 0) <= len(found) <= wanted.get("at_most", len(found))
            and within(first, found[: len(first)])
            and set(wanted) <= {"first", "at_least", "at_most"}
        )
    if isinstance(wanted, dict):
        there = isinstance(found, dict)
        return there and all(k in found and within(v, found[k]) for k, v in wanted.items())
    if isinstance(wanted, list):
        there = isinstance(found, list) and len(found) == len(wanted)
        return there and all(map(within, wanted, found))
    return same_json(wanted, found)
