"""`cmconf init`: begin a target of your own, from a language or from an MCP server."""

from __future__ import annotations

import contextlib
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codemode_conformance.escape import for_shell
from codemode_conformance.failures import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

KITS: Final = {"javascript": "cmconf_kit.mjs", "python": "cmconf_kit.py"}
NAME: Final = "@NAME@"
TARGET_FILE: Final = "target.toml"
_TEMPLATES: Final = (".toml", ".py", ".mjs")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The arguments of `cmconf init`."""
    parser = commands.add_parser(
        "init",
        help="begin a target of your own",
        description="Write a target file, and for a language an adapter with a stand-in for your "
        "implementation, which pass `cmconf smoke` as they are. Nothing is overwritten. With "
        "--mcp, what follows it is the command of an MCP server, or its URL; it is started and "
        "asked for its tools.",
        usage="%(prog)s [-h] (--language {javascript,python} | --mcp) [--name NAME] "
        "[--tool TOOL] DIR [COMMAND ... | URL]",
    )
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--language", choices=KITS, help="of the adapter")
    kind.add_argument(
        "--mcp", action="store_true", help="ask the server that is started by COMMAND, or at URL"
    )
    parser.add_argument("--name", help="name of the target (default: that of the folder)")
    parser.add_argument("--tool", help="with --mcp: the tool that runs programs")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to write; may be new")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="after --, with --mcp")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Write the files and say what to do next."""
    folder: Path = arguments.folder
    name = _name(arguments.name, folder)
    if arguments.mcp:
        if not arguments.command:
            raise UsageError("init --mcp: give the server's command after --, or its URL")
        _check(folder, [TARGET_FILE])
        # Here, because the SDK is slow to load and only this needs it.
        from codemode_conformance.server.introduction import target_file  # noqa: PLC0415

        text, unknown = target_file(name, arguments.command, arguments.tool, folder)
        _write(folder, {TARGET_FILE: text})
        for line in unknown:
            print(f"to do: {line}")
    else:
        if arguments.command or arguments.tool:
            raise UsageError("init --language: a command and --tool go with --mcp only")
        _write(folder, _files(arguments.language, name))
    file = for_shell([str(folder / TARGET_FILE)])
    print(f"next: cmconf smoke {file}")
    print(f"then: cmconf run --target {file}")
    return 0


def _name(wanted: str | None, folder: Path) -> str:
    name = wanted if wanted is not None else folder.resolve().name.lower()
    if re.fullmatch(r"[a-z0-9-]{1,64}", name):
        return name
    raise UsageError(f"init: {name!r} is no name of a target; give --name with [a-z0-9-]")


def _files(language: str, name: str) -> dict[str, str]:
    package = files("codemode_conformance")
    kit = KITS[language]
    found = {kit: (package / "kits" / kit).read_text(encoding="utf-8")}
    for entry in (package / "scaffold" / language).iterdir():
        if entry.name.endswith(_TEMPLATES):
            found[entry.name] = entry.read_text(encoding="utf-8").replace(NAME, name)
    return dict(sorted(found.items()))


def _check(folder: Path, names: list[str]) -> None:
    """Find out before anything is written that something is in the way."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"init: {folder} is no folder; choose another place")
    there = [name for name in names if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        raise UsageError(
            f"init: {folder} has {', '.join(there)} already; nothing was written. Choose another "
            "folder, or move it away"
        )


def _write(folder: Path, contents: Mapping[str, str]) -> None:
    _check(folder, list(contents))
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                made.append(folder / name)
                file.write(text)
    except OSError as error:
        for path in made:
            with contextlib.suppress(OSError):
                path.unlink()
        place = error.filename or folder
        raise UsageError(f"init: {place}: {error.strerror}; nothing was written") from None
    for path in made:
        print(f"wrote {path}")
