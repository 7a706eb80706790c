"""Repositories of git as a catalogue needs them: refs, commits, trees and texts, read only.

Nothing is taken from a work tree and no link is followed: all there is are git's own objects. A
name that a program gives is looked up among names that git listed, never turned into a path.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from stat import S_ISDIR, S_ISLNK
from typing import TYPE_CHECKING

from dulwich.object_store import DiskObjectStore
from dulwich.objects import S_ISGITLINK, Blob, Commit, ObjectID, Tag, Tree, valid_hexsha
from dulwich.refs import Ref
from dulwich.repo import Repo

from codemode_reference.errors import CodeModeError
from codemode_reference.repositories.sizes import sizes
from codemode_reference.strict_json import MAX_SAFE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dulwich.objects import ShaFile
    from dulwich.repo import BaseRepo

# Bytes of one object that is read; larger ones are named with their size.
MOST_OBJECT = 2_097_152
# Levels of folders; git itself has no limit.
MOST_FOLDERS = 64
_LONGEST_TAG_CHAIN = 8


class Kind(Enum):
    """What an entry of a folder is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SUBMODULE = "submodule"


class RepositoryError(CodeModeError):
    """A path that is no repository; the message is for the person who named it."""


class ProblemError(CodeModeError):
    """What was asked for is not there to be given; `kind` and `fields` are told to the program."""

    def __init__(self, kind: str, **fields: int | str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a folder. Names that are not UTF-8 are shown with escapes."""

    name: str
    kind: Kind
    object_id: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to look through; `prefix` is its path with a slash after it, empty for the top."""

    object_id: bytes
    prefix: str = ""


@dataclass(slots=True)
class Repository:
    """A repository with the name that programs know it by.

    `source` is a folder on disk, which is opened for each use and so is always up to date, or a
    repository in memory. `last_error` says what could not be read last, for people: it may name
    paths.
    """

    name: str
    source: Path | BaseRepo
    description: str = ""
    last_error: str | None = field(default=None, compare=False)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open it. What is damaged becomes a ProblemError and the last error."""
        if not isinstance(self.source, Path):
            yield Reader(self.source, self)
            return
        try:
            repo = Repo(str(self.source))
        except Exception as error:  # a library that reads what anyone may have written
            self.last_error = repr(error)
            raise ProblemError("damaged") from error
        with repo:
            assert isinstance(repo.object_store, DiskObjectStore)
            repo.object_store.loose_object_size_limit = MOST_OBJECT
            yield Reader(repo, self)


def on_disk(path: Path, name: str) -> Repository:
    """The repository in the folder `path`, its work tree or itself; RepositoryError if none."""
    try:
        Repo(str(path)).close()
    except Exception as error:  # likewise
        why = "it is no git repository" if path.is_dir() else "there is no such folder"
        raise RepositoryError(why) from error
    return Repository(name, path)


class Reader:
    """An open repository."""

    def __init__(self, repo: BaseRepo, repository: Repository) -> None:
        self._repo = repo
        self._store = repo.object_store
        self._repository = repository

    def refs(self) -> dict[str, bytes]:
        """The id of each ref, by its full name, sorted; HEAD, branches and tags."""
        found: dict[str, bytes] = {}
        for ref in sorted(self._repo.refs.allkeys()):
            if ref != b"HEAD" and not ref.startswith((b"refs/heads/", b"refs/tags/")):
                continue
            try:
                object_id = self._repo.refs[Ref(ref)]
            except Exception as error:  # noqa: BLE001  one bad ref must not hide the others
                self._repository.last_error = f"{_shown(ref)}: {error!r}"
                continue
            # A ref may be a link to any file, whose first line this is.
            if valid_hexsha(object_id):
                found[_shown(ref)] = object_id
            else:
                self._repository.last_error = f"{_shown(ref)}: it is no id"
        return found

    def head(self) -> str | None:
        """The full name of the branch that HEAD names, if it names one."""
        try:
            names, _ = self._repo.refs.follow(Ref(b"HEAD"))
        except Exception as error:  # noqa: BLE001  likewise
            self._repository.last_error = f"HEAD: {error!r}"
            return None
        return _shown(names[-1]) if len(names) > 1 else None

    def commit(self, object_id: bytes) -> Commit:
        """The commit of this id, or that a tag of this id names."""
        for _ in range(_LONGEST_TAG_CHAIN):
            found = self._object(object_id)
            if isinstance(found, Commit):
                return found
            if not isinstance(found, Tag):
                break
            object_id = found.object[1]
        raise ProblemError("no_commit")

    def folder(self, object_id: bytes) -> list[Entry]:
        """The entries of a tree in git's order."""
        tree = self._object(object_id)
        if not isinstance(tree, Tree):
            raise ProblemError("damaged")
        return [Entry(_shown(item.path), _kind(item.mode), item.sha) for item in tree.iteritems()]

    def size(self, object_id: bytes) -> int:
        """The bytes of a file, without reading it."""
        return self._sizes(object_id)[0]

    def data(self, object_id: bytes) -> bytes:
        """The content of a file."""
        blob = self._object(object_id)
        if not isinstance(blob, Blob):
            raise ProblemError("damaged")
        return bytes(blob.data)

    def _object(self, object_id: bytes) -> ShaFile:
        size, most = self._sizes(object_id)
        if most > MOST_OBJECT:
            raise ProblemError("too_large", bytes=size, limit=MOST_OBJECT)
        try:
            return self._store[ObjectID(object_id)]
        except Exception as error:  # noqa: BLE001  a library that reads what anyone may have written
            problem = self._damaged(object_id, error)
        # Out here: what the library's error keeps alive has a view of the pack, which could not be
        # closed.
        raise problem

    def _sizes(self, object_id: bytes) -> tuple[int, int]:
        try:
            found = sizes(self._store, object_id)
        except Exception as error:  # noqa: BLE001  likewise
            problem = self._damaged(object_id, error)
        else:
            # A size is told to programs, which have doubles.
            if 0 <= found[0] <= MAX_SAFE:
                return found
            problem = self._damaged(object_id, ValueError("no possible size"))
        raise problem

    def _damaged(self, object_id: bytes, error: Exception) -> ProblemError:
        self._repository.last_error = f"{_shown(object_id)}: {error!r}"
        return ProblemError("damaged")


def find(reader: Reader, tree: bytes, path: str) -> tuple[Entry, list[str]]:
    """The entry at `path` below `tree` and the names that lead to it; ProblemError if none."""
    entry = Entry("", Kind.FOLDER, tree)
    names = [name for name in path.split("/") if name not in ("", ".")]
    for name in names:
        if entry.kind is not Kind.FOLDER:
            raise ProblemError("no_folder")
        found = [one for one in reader.folder(entry.object_id) if one.name == name]
        if not found:
            raise ProblemError("no_path")
        entry = found[0]
    return entry, names


def walk(
    reader: Reader, folder: Folder, *, deep: bool, start: Sequence[int] = ()
) -> Iterator[tuple[list[int], str, Entry]]:
    """The entries of a folder, or of all below it without the folders, from `start` on.

    Each comes with its position, the number of its entry on each level, and its path.
    """
    levels = [(folder.prefix, reader.folder(folder.object_id))]
    position = [0]
    for depth, number in enumerate(start):
        position[depth] = number
        if depth + 1 < len(start):
            _descend(reader, levels, position)
    while levels:
        prefix, entries = levels[-1]
        if position[-1] >= len(entries):
            levels.pop()
            position.pop()
        else:
            entry = entries[position[-1]]
            if deep and entry.kind is Kind.FOLDER and len(levels) < MOST_FOLDERS:
                _descend(reader, levels, position)
                continue
            yield list(position), prefix + entry.name, entry
        if position:
            position[-1] += 1


def _descend(reader: Reader, levels: list[tuple[str, list[Entry]]], position: list[int]) -> None:
    prefix, entries = levels[-1]
    entry = entries[position[-1]]
    levels.append((f"{prefix}{entry.name}/", reader.folder(entry.object_id)))
    position.append(0)


def _kind(mode: int) -> Kind:
    if S_ISGITLINK(mode):
        return Kind.SUBMODULE
    if S_ISLNK(mode):
        return Kind.LINK
    return Kind.FOLDER if S_ISDIR(mode) else Kind.FILE


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
