"""Meeting a server for the first time: its tools are listed and a few programs tried.

What was seen becomes a target file; what could not be seen is told, not invented.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance import toml
from codemode_conformance.escape import cut, quoted
from codemode_conformance.failures import StartError, UsageError
from codemode_conformance.server import guess
from codemode_conformance.server.answer import document
from codemode_conformance.server.connection import Connection
from codemode_conformance.server.tap import RawAnswer
from codemode_conformance.target import Command, Server

if TYPE_CHECKING:
    from collections.abc import Sequence

VALUE: Final = 7_340_033
SAID: Final = "cmconf-init"
SECONDS: Final = 20.0
_LINK: Final = "./target.toml#seen-by-cmconf-init-put-your-link-here"
_FORMS: Final = {
    "function_body": "return 7340000 + 33;",
    "completion_value": "7340000 + 33",
    "async_arrow": "async () => 7340000 + 33",
}
"""Programs with one value, by the form of source in which they have it."""

_THROWING: Final = {
    "function_body": f"throw new Error('{SAID}');",
    "completion_value": f"throw new Error('{SAID}')",
    "async_arrow": f"async () => {{ throw new Error('{SAID}'); }}",
}
_NOTHING: Final = {
    "function_body": "return undefined;",
    "completion_value": "undefined",
    "async_arrow": "async () => undefined",
}


def target_file(
    name: str, command: Sequence[str], wanted: str | None, folder: Path
) -> tuple[str, list[str]]:
    """The text of the target file, and what is left to do.

    `command` is a command or one URL. UsageError, StartError.
    """
    if len(command) == 1 and command[0].startswith(("http://", "https://")):
        server = _server(transport="http", url=command[0])
        start: dict[str, Any] = {"transport": "http", "url": command[0]}
    else:
        words = [_word(word, folder) for word in command]
        values = [word.replace("${here}", str(folder.resolve())) for word in words]
        server = _server(transport="stdio", command=Command(tuple(values)))
        start = {"transport": "stdio", "command": words}
    return asyncio.run(_Meeting(name, server, start, wanted).hold())


def _server(**parts: Any) -> Server:
    return Server(tool="", operations="none", arguments={}, answer={}, identity={}, **parts)


def _word(word: str, folder: Path) -> str:
    """A word as the target file has it: the suite starts the command in a folder of its own."""
    if "${" in word:
        raise UsageError(f"init --mcp: {word}: a word with ${{ cannot be a literal there")
    # Not resolved: the Python of a virtual environment is a link.
    path = Path(word).absolute()
    own = Path(sys.executable)
    if path.parent == own.parent and path.exists() and path.samefile(own):
        return "${python}"
    if word == "node":
        return "${node}"
    if not path.exists() or not ("/" in word or path.suffix):
        return word
    if path.is_relative_to(folder.absolute()):
        return f"${{here}}/{path.relative_to(folder.absolute())}"
    return str(path)


class _Meeting:
    def __init__(
        self, name: str, server: Server, start: dict[str, Any], wanted: str | None
    ) -> None:
        self._name = name
        self._server = server
        self._start = start
        self._wanted = wanted
        self._todo: list[str] = []
        values = {"python": sys.executable}
        self._connection = Connection(server, _with_node(values))

    async def hold(self) -> tuple[str, list[str]]:
        """Meet it and write down what was seen."""
        try:
            introduced = await self._connection.open()
            tool = guess.choose(await self._connection.tools(SECONDS), self._wanted)
            self._todo += tool.unknown
            seen = await self._try(tool)
        except StartError as error:
            raise StartError(f"init --mcp: {error}") from None
        finally:
            await self._connection.close()
        version = introduced.server_info.version or "0"
        return self._text(tool, version, *seen), self._todo

    async def _ask(self, tool: guess.Tool, program: str) -> dict[str, Any]:
        arguments = {**tool.fixed, tool.arguments["program"]: program}
        request = await self._connection.call(tool.name, arguments)
        await asyncio.wait({request.task}, timeout=SECONDS)
        answer = await self._connection.answer(request)
        if isinstance(answer, RawAnswer) and isinstance(answer.data.get("result"), dict):
            return document(answer.data["result"])
        return {"is_error": True, "text": quoted(str(answer))}

    async def _try(self, tool: guess.Tool) -> tuple[str | None, guess.Answers | None, str | None]:
        """The form of source, the places in answers, and what an undefined result is."""
        good: dict[str, Any] = {}
        form = None
        for name, program in _FORMS.items():
            good = await self._ask(tool, program)
            if guess.succeeded(good, VALUE):
                form = name
                break
        if form is None:
            told = cut(str(good.get("text", "")))
            self._todo.append(
                "how a program gives its value, and where it stands in an answer: none of "
                f"{', '.join(_FORMS.values())} gave it; the last answer was {told or 'empty'}"
            )
            return None, None, None
        answers = guess.compare(good, await self._ask(tool, _THROWING[form]), VALUE, SAID)
        nothing = await self._ask(tool, _NOTHING[form])
        at = answers.success["pointer"]
        flags = dict(guess.leaves(nothing))
        ok = flags.get(at) == answers.success["equals"] and nothing.get("is_error") is not True
        return form, answers, "absent" if ok else "reject"

    def _text(
        self,
        tool: guess.Tool,
        version: str,
        form: str | None,
        answers: guess.Answers | None,
        undefined: str | None,
    ) -> str:
        fixed = {"fixed_arguments": tool.fixed} if tool.fixed else {}
        server = {**self._start, "tool": tool.name, "operations": "none", **fixed}
        answer: dict[str, Any] = {"success": {"pointer": "/is_error", "equals": False}}
        answer["value"] = {"pointer": "/structured"}
        alternatives = {"script_style": "async"}
        if answers is not None and form is not None and undefined is not None:
            answer = {"success": answers.success}
            for part in ("value", "message", "code"):
                place = getattr(answers, part)
                if place is not None:
                    answer[part] = place
                else:
                    self._todo.append(f"where the {part} stands in an answer: [server.answer]")
            alternatives |= {"source_form": form, "undefined_result": undefined}
        identity = {
            "language": ["javascript"],
            "mapping": "text",
            "capabilities": tool.capabilities,
            "settable": [],
        }
        self._todo += [
            "the numbers of your limits: [server.identity.effective], each with a link in [claims]",
            "which failures have which category: [[server.answer.failure]]",
            "how many tool calls are admitted in a minute, if they are limited: rate_limit",
            "operations: `stand_in`, if programs can call tools of the server",
            "a link for each entry of [claims]",
        ]
        names = [f"alternatives.{alternative}" for alternative in alternatives]
        parts = [
            "format = 1\n",
            toml.table("target", {"name": self._name, "version": version}),
            toml.table("server", server),
            toml.table("server.arguments", tool.arguments),
            toml.table("server.ranges", tool.ranges) if tool.ranges else "",
            toml.table("server.answer", answer),
            toml.table("server.identity", identity),
            toml.table("server.identity.alternatives", alternatives),
            toml.table("claims", dict.fromkeys(names, _LINK)),
        ]
        head = "# Written by `cmconf init`. What it could not see:\n"
        head += "".join(f"# - {line}\n" for line in self._todo)
        return head + "\n" + "\n".join(part for part in parts if part)


def _with_node(values: dict[str, str]) -> dict[str, str]:
    from codemode_conformance.node import on_path  # noqa: PLC0415  asks the program for its version

    node = on_path()
    return values if node is None else {**values, "node": str(node.path)}
