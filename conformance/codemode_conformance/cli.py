"""`cmconf`: the one command of the suite."""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Final

from codemode_spec import SpecificationError

from codemode_conformance import kin
from codemode_conformance.commands import (
    ask,
    explain,
    installing,
    listing,
    properties,
    run,
    selftest,
    smoke,
    spec,
)
from codemode_conformance.escape import for_terminal
from codemode_conformance.failures import ConformanceError
from codemode_conformance.summary import INTERRUPTED, SUITE_FAULT, suite_version

if TYPE_CHECKING:
    from collections.abc import Sequence

TRACEBACK_VARIABLE: Final = "CMCONF_TRACEBACK"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="cmconf", description="Test Code Mode sandboxes against the specification."
    )
    top.add_argument("--version", action="version", version=f"cmconf {suite_version()}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for command in (run, listing, explain, ask, properties, smoke, installing, selftest, spec):
        command.add(commands)
    return top


def _safe(text: str) -> str:
    """The message without steering characters; what was escaped before stays as it is."""
    return "".join(c if c in "\\\n" else for_terminal(c) for c in text)


def _escape_unknown() -> None:
    """Let what the encoding of a terminal lacks be shown as an escape, so that it ends nothing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _fault(error: Exception) -> int:
    """Tell of a fault of the suite itself, or of a full disk, in one line."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = error.filename or "what this command prints"
        print(f"cmconf: {place}: {error.strerror}; nothing more is written", file=sys.stderr)
        return SUITE_FAULT
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    print(
        f"cmconf: a fault of the suite itself: {type(error).__name__}: {error}; "
        f"set {TRACEBACK_VARIABLE}=1 to see where, and please report it",
        file=sys.stderr,
    )
    return SUITE_FAULT


def main(words: Sequence[str] | None = None) -> int:
    """Run `cmconf`; the exit code is that of the command. No traceback reaches a user."""
    _escape_unknown()
    arguments = parser().parse_args(words)
    # A supervisor and a closed terminal clean up like Ctrl-C does: no target outlives the suite.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    if words is None:  # the command itself, not somebody who calls it
        kin.claim_all()
    try:
        code: int = arguments.execute(arguments)
    except ConformanceError as error:
        print(f"cmconf: {_safe(str(error))}", file=sys.stderr)
        return error.exit_code
    except SpecificationError as error:
        for problem in error.problems:
            told = for_terminal(str(problem), backslash=False)
            print(f"cmconf: specification: {told}", file=sys.stderr)
        return SUITE_FAULT
    except KeyboardInterrupt:
        print("cmconf: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left; nothing can be told to anybody any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUITE_FAULT
    except Exception as error:  # noqa: BLE001  the last resort: a fault of the suite, in one line
        return _fault(error)
    return code


if __name__ == "__main__":
    sys.exit(main())
