"""The command line: `run FILE.js`, `serve` and `protection` of `codemode_reference`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from codemode_spec.tables import DEFAULT_PROFILE, load_tables

from codemode_reference.codes import Code
from codemode_reference.demonstration import operations
from codemode_reference.errors import Failure, PolicyError
from codemode_reference.parent import Parent, default_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemode_reference.actions import Outcome

OK, FAILED, USAGE = 0, 1, 2
# As a shell tells that a signal has ended a command.
_SIGNALLED = 128


def version() -> str:
    """The version of the installed distribution, `unknown` for a bare checkout."""
    try:
        return metadata.version("codemode-conformance")
    except metadata.PackageNotFoundError:
        return "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one program: 0 with its value on stdout, 1 with its failure on stderr, 2 for misuse.

    Or serve a client: 0 when it has left.
    """
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except ImportError as error:
        print(error, file=sys.stderr)
        return FAILED


def _run_command(options: argparse.Namespace) -> int:
    try:
        source = Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        print(f"cannot read {options.file}: {reason}", file=sys.stderr)
        return USAGE
    try:
        outcome = asyncio.run(_run(source, options))
    except PolicyError as error:
        return _refused(error)
    except KeyboardInterrupt:
        return _SIGNALLED + signal.SIGINT
    except asyncio.CancelledError:
        return _SIGNALLED + signal.SIGTERM
    return _report(outcome, as_json=options.json)


def _refused(error: PolicyError) -> int:
    """Misuse, or a machine that cannot give what was required."""
    print(f"{error.code}: {error}", file=sys.stderr)
    return USAGE if error.code == Code.invalid_policy else FAILED


def _protection_command(options: argparse.Namespace) -> int:
    return asyncio.run(_protection(options.profile))


async def _protection(profile: str) -> int:
    parent = Parent(profile=profile, started_ahead=0)
    print(parent.protection)
    await parent.close()
    return OK if parent.protection.protected else FAILED


def _serve_command(options: argparse.Namespace) -> int:
    # Late: it takes longer to import than a program to run.
    from codemode_reference.server.command import OptionError, serve  # noqa: PLC0415

    try:
        return serve(options, version())
    except PolicyError as error:
        return _refused(error)
    except OptionError as error:
        print(error, file=sys.stderr)
    return USAGE


async def _run(source: str, options: argparse.Namespace) -> Outcome:
    # What asyncio does for Ctrl-C: the invocation is cancelled and everything removed.
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    parent = Parent(
        {**default_policy(options.profile), **dict(options.policy)},
        operations(),
        profile=options.profile,
        require_hardening=options.require_hardening,
        # There is one program, so nothing that waits would ever be used.
        started_ahead=0,
    )
    try:
        return await parent.invoke(source)
    finally:
        await parent.close()


def _report(outcome: Outcome, *, as_json: bool) -> int:
    if not isinstance(outcome, Failure):
        text = json.dumps(outcome.value, ensure_ascii=False, indent=None if as_json else 2)
        try:
            print(printable(text), flush=True)
        except OSError as error:
            # Nobody reads: the interpreter's own flush at the end must not fail once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"cannot write the value: {error.strerror}", file=sys.stderr)
            return FAILED
        return OK
    if as_json:
        print(printable(json.dumps(outcome.to_json(), ensure_ascii=False)), file=sys.stderr)
        return FAILED
    fields = ", ".join(f"{name} {value}" for name, value in outcome.fields.items())
    print(f"{outcome.code}: {outcome.message}{f' ({fields})' if fields else ''}", file=sys.stderr)
    return FAILED


def printable(text: str) -> str:
    """JSON text; what a terminal might act on or stdout cannot write is escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"

    def escaped(character: str) -> str:
        if character == "\n" or (character.isprintable() and _fits(character, encoding)):
            return character
        return json.dumps(character)[1:-1]

    return "".join(map(escaped, text))


def _fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m codemode_reference",
        description="A small Code Mode implementation: each program runs in a fresh worker.",
    )
    parser.add_argument("--version", action="version", version=version())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run one program and print its value as JSON",
        description="Run a program with a few demonstration operations: echo, repeat, add, "
        "list_files, slow.",
    )
    run.set_defaults(command=_run_command)
    run.add_argument("file", metavar="FILE.js", help="the program: a function body with a return")
    run.add_argument(
        "--policy",
        metavar="ROW=VALUE",
        action="append",
        default=[],
        type=_row,
        help="set one row of the policy, such as wall_time_ms=500 (repeatable)",
    )
    _add_profile(run)
    _add_requirement(run)
    run.add_argument("--json", action="store_true", help="value or failure as one line of JSON")
    shown = commands.add_parser(
        "protection", help="show what protects the parent from its workers on this machine"
    )
    shown.set_defaults(command=_protection_command)
    _add_profile(shown)
    _add_serve(commands.add_parser("serve", help="serve an MCP client over stdin and stdout"))
    return parser


def _add_profile(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--profile",
        choices=sorted(load_tables().profiles),
        default=DEFAULT_PROFILE,
        help=f"policy, alternatives and script surface of a profile (default: {DEFAULT_PROFILE})",
    )


def _add_requirement(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--require-hardening",
        action="store_true",
        help="do not start where a layer that protects the parent is not available",
    )


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.set_defaults(command=_serve_command)
    _add_profile(serve)
    _add_requirement(serve)
    serve.add_argument(
        "--mode",
        choices=("direct", "code"),
        default="direct",
        help="each operation is a tool (the default), or one tool `code` runs programs",
    )
    serve.add_argument(
        "--repo",
        metavar="PATH",
        action="append",
        default=[],
        help="a local git repository to serve instead of the built-in one (repeatable)",
    )
    serve.add_argument(
        "--prefix",
        metavar="NAME",
        default="",
        help="of the names of tools, in the profile worker-rpc: NAME_execute_code",
    )
    serve.add_argument("--policy", metavar="FILE", help="rows of the policy as a JSON object")
    serve.add_argument(
        "--operations",
        choices=("repositories", "demonstration"),
        default="repositories",
        help="what is served (default: repositories); demonstration is what `run` has",
    )


def _row(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name, int(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not ROW=VALUE with an integer") from None
