"""What each of the seven operations does, one method each."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codemode_reference.repositories import pages, texts
from codemode_reference.repositories.pages import Page, Step
from codemode_reference.repositories.seals import Seal
from codemode_reference.repositories.searches import Query, matches
from codemode_reference.repositories.store import Folder, Kind, ProblemError, find, walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from codemode_reference.repositories.store import Entry, Reader, Repository

DATA: Final = json.loads((files(__package__) / "operations.json").read_text(encoding="utf-8"))
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Call:
    """One call: by which invocation, with which arguments; `stop` is set if nobody waits."""

    operation: str
    invocation: int
    arguments: dict[str, Any]
    stop: Event

    @property
    def max_bytes(self) -> int:
        """The size of page that was asked for."""
        size: int = self.arguments.get("max_bytes", DATA["max_bytes"]["default"])
        return size


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A commit's tree, in an open repository."""

    reader: Reader
    tree: bytes


@dataclass(frozen=True, slots=True)
class Desk:
    """What the operations share."""

    repositories: dict[str, Repository]
    seal: Seal = field(default_factory=Seal)

    def find_repositories(self, call: Call) -> Any:
        """Names and descriptions."""
        text = call.arguments.get("text", "").lower()
        start = self._start(call) or 0
        steps = (
            Step(number, {"name": one.name, "description": one.description})
            for number, one in enumerate(self.repositories.values())
            if number >= start and text in one.name.lower()
        )
        return self._page(call, pages.fill(steps, call.max_bytes, call.stop))

    def refs(self, call: Call) -> Any:
        """Full names with the ids that they have now, and the branch of HEAD."""
        prefix = call.arguments.get("prefix", "")
        start = self._start(call) or ""
        with self._repository(call).reading() as reader:
            steps = (
                Step(name, {"name": name, "commit": object_id.decode()})
                for name, object_id in reader.refs().items()
                if name >= start and name.startswith(prefix)
            )
            page = pages.fill(steps, call.max_bytes, call.stop)
            return {**self._page(call, page), "head": reader.head()}

    def open_snapshot(self, call: Call) -> Any:
        """A handle for the commit that a ref names now, for this invocation alone."""
        repository = self._repository(call)
        with repository.reading() as reader:
            wanted = call.arguments.get("ref", "HEAD")
            refs = reader.refs()
            known = (wanted, f"refs/heads/{wanted}", f"refs/tags/{wanted}")
            name = next((name for name in known if name in refs), None)
            if name is None:
                raise ProblemError("no_ref")
            commit = reader.commit(refs[name])
            content = [repository.name, commit.id.decode()]
            return {
                "snapshot": self.seal.close(content, "snapshot", call.invocation),
                "repository": repository.name,
                "ref": reader.head() or name if name == "HEAD" else name,
                "commit": commit.id.decode(),
                "committed": commit.commit_time,
                "cache": {"last_error": repository.last_error},
            }

    def list_folder(self, call: Call) -> Any:
        """Entries with their kind and size, or paths."""
        with self._opened(call) as (snapshot, start):
            folder = self._folder(snapshot, call)
            deep = call.arguments.get("recursive", False)
            entries = walk(snapshot.reader, folder, deep=deep, start=start or ())
            steps = (
                Step(position, _listed(snapshot.reader, path, entry))
                for position, path, entry in entries
            )
            page = pages.fill(steps, call.max_bytes, call.stop)
        return self._page(call, page, self._paths(call, page))

    def search_code(self, call: Call) -> Any:
        """Matches, or the paths of the files that have any; what was skipped on the way."""
        with self._opened(call) as (snapshot, start):
            query = Query(call.arguments["text"], call.arguments.get("ignore_case", False))
            skipped: Counter[str] = Counter()
            steps = matches(snapshot.reader, self._folder(snapshot, call), query, start, skipped)
            page = pages.fill(steps, call.max_bytes, call.stop)
        return {**self._page(call, page, self._paths(call, page)), "skipped": dict(skipped)}

    def read(self, call: Call) -> Any:
        """Lines of a file, as they stand there."""
        first = call.arguments.get("first", 1)
        return self._lines(call, first, call.arguments.get("last"))

    def context(self, call: Call) -> Any:
        """The lines before and after one."""
        line = call.arguments["line"]
        first = max(line - call.arguments.get("before", _CONTEXT), 1)
        return self._lines(call, first, line + call.arguments.get("after", _CONTEXT), line)

    def _lines(self, call: Call, first: int, last: int | None, needed: int = 1) -> Any:
        with self._opened(call) as (snapshot, start):
            entry, _ = find(snapshot.reader, snapshot.tree, call.arguments["path"])
            data = _content(snapshot.reader, entry)
        text = texts.text_of(data)
        if text is None:
            raise ProblemError("is_binary", bytes=len(data))
        if needed > max(len(text.lines), 1):
            raise ProblemError("no_line", lines=len(text.lines))
        end = len(text.lines) if last is None else last
        position = None if start is None else (start[0], start[1])
        steps = texts.steps(text, first, end, call.max_bytes, position)
        page = pages.fill(steps, call.max_bytes, call.stop)
        form = call.arguments.get("format", "items")
        found = self._page(call, page, texts.shaped(page, form, text))
        if page.items:
            found["first"] = page.items[0]["line"]
            found["last"] = page.items[-1]["line"]
        found["total"] = len(text.lines)
        return found if text.exact else {**found, "replaced": True}

    # What several of them need

    def _repository(self, call: Call) -> Repository:
        try:
            return self.repositories[call.arguments["repository"]]
        except KeyError:
            raise ProblemError("no_repository") from None

    @contextmanager
    def _opened(self, call: Call) -> Iterator[tuple[_Snapshot, Any]]:
        """The snapshot of a call, open, and the position of its cursor."""
        handle = call.arguments["snapshot"]
        try:
            name, commit = self.seal.open(handle, "snapshot", call.invocation)
        except ValueError:
            raise ProblemError("foreign_snapshot") from None
        start = self._start(call)
        with self.repositories[name].reading() as reader:
            yield _Snapshot(reader, reader.commit(commit.encode()).tree), start

    def _folder(self, snapshot: _Snapshot, call: Call) -> Folder:
        entry, names = find(snapshot.reader, snapshot.tree, call.arguments.get("path", ""))
        if entry.kind is not Kind.FOLDER:
            raise ProblemError("no_folder")
        return Folder(entry.object_id, "".join(f"{name}/" for name in names))

    def _scope(self, call: Call) -> tuple[Any, ...]:
        others = {name: item for name, item in call.arguments.items() if name != "cursor"}
        return "cursor", call.invocation, call.operation, others

    def _start(self, call: Call) -> Any:
        """The position that a call's cursor stands for, None without one."""
        cursor = call.arguments.get("cursor")
        if cursor is None:
            return None
        try:
            return self.seal.open(cursor, *self._scope(call))
        except ValueError:
            raise ProblemError("foreign_cursor") from None

    def _paths(self, call: Call, page: Page) -> dict[str, Any] | None:
        if not call.arguments.get("paths_only", False):
            return None
        return {"paths": list(dict.fromkeys(item["path"] for item in page.items))}

    def _page(self, call: Call, page: Page, shape: dict[str, Any] | None = None) -> dict[str, Any]:
        def cursor(position: Any) -> str:
            return self.seal.close(position, *self._scope(call))

        return pages.result(page, call.max_bytes, cursor, shape or {"items": page.items})


def _listed(reader: Reader, path: str, entry: Entry) -> dict[str, Any]:
    item: dict[str, Any] = {"path": path, "kind": entry.kind.value}
    if entry.kind is Kind.FILE:
        # One file that is missing, as in a partial clone, must not hide the others.
        try:
            item["bytes"] = reader.size(entry.object_id)
        except ProblemError as problem:
            item["problem"] = problem.kind
    return item


def _content(reader: Reader, entry: Entry) -> bytes:
    """The bytes of a file; ProblemError says what else it is."""
    if entry.kind is Kind.FOLDER:
        raise ProblemError("is_folder")
    if entry.kind is Kind.SUBMODULE:
        raise ProblemError("is_submodule", commit=entry.object_id.decode())
    data = reader.data(entry.object_id)
    if entry.kind is Kind.LINK:
        raise ProblemError("is_link", target=data.decode("utf-8", "backslashreplace"))
    return data
