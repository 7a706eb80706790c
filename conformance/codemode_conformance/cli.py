"""`cmconf`: the one command of the suite."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Final

from codemode_spec import SpecificationError

from codemode_conformance.escape import for_terminal
from codemode_conformance.failures import ConformanceError
from codemode_conformance.outcomes import INTERRUPTED, SUITE_FAULT, suite_version

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "run": "run",
    "list": "listing",
    "explain": "explain",
    "ask": "ask",
    "smoke": "smoke",
    "fuzz": "fuzz",
    "init": "init",
    "install": "installing",
    "merge": "merge",
    "matrix": "matrix",
    "repro": "repro",
    "selftest": "selftest",
    "property": "properties",
    "mutants": "mutants",
    "spec": "spec",
}
"""The module of each command, in the order of the help."""

TRACEBACK_VARIABLE: Final = "CMCONF_TRACEBACK"


def parser(first: str = "") -> argparse.ArgumentParser:
    """The command line. If its first word is a command, only that one is loaded: most are slow."""
    top = argparse.ArgumentParser(
        prog="cmconf", description="Test Code Mode sandboxes against the specification."
    )
    top.add_argument("--version", action=_Version)
    # The parsers of other commands are missed only by a message that lists them.
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name in [first] if first in COMMANDS else COMMANDS:
        module = importlib.import_module(f"codemode_conformance.commands.{COMMANDS[name]}")
        module.add(commands)
    return top


class _Version(argparse.Action):
    """Print the version, which is looked up only then."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and end")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"cmconf {suite_version()}")
        parser.exit()


def _safe(text: str) -> str:
    """The message without steering characters; what was escaped before stays as it is."""
    return "\n".join(for_terminal(line, backslash=False) for line in text.split("\n"))


def _fill_closed() -> None:
    """Let what is printed to a closed stream go nowhere, and no other file take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


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
        f"cmconf: a fault of the suite itself: {type(error).__name__}: {_safe(str(error))}; "
        f"set {TRACEBACK_VARIABLE}=1 to see where, and please report it",
        file=sys.stderr,
    )
    return SUITE_FAULT


def main(words: Sequence[str] | None = None) -> int:
    """Run `cmconf`; the exit code is that of the command. No traceback reaches a user."""
    try:
        code = _main(words)
    except SystemExit:
        _flushed()
        raise
    return code if _flushed() else SUITE_FAULT


def _flushed() -> bool:
    """Write what was printed and not yet written; False if nobody takes it.

    Python would do so at its end, and show a traceback.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _main(words: Sequence[str] | None) -> int:
    _fill_closed()
    _escape_unknown()
    given = sys.argv[1:] if words is None else list(words)
    try:
        arguments = parser(given[0] if given else "").parse_args(given)
        # A supervisor and a closed terminal clean up like Ctrl-C does: no target outlives the
        # suite.
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        if words is None:  # the command itself, not somebody who calls it
            from codemode_conformance import kin  # noqa: PLC0415  a wrong word needs none of it

            kin.claim_all()
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
        return SUITE_FAULT
    except Exception as error:  # noqa: BLE001  the last resort: a fault of the suite, in one line
        return _fault(error)
    return code


if __name__ == "__main__":
    sys.exit(main())
