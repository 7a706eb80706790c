"""The repository that is always there, built in memory from data: the same ids every time."""

from __future__ import annotations

import json
from base64 import b64decode
from importlib.resources import files
from typing import Any

from dulwich.index import commit_tree
from dulwich.objects import S_IFGITLINK, Blob, Commit, ObjectID
from dulwich.refs import Ref
from dulwich.repo import MemoryRepo

from codemode_reference.repositories.store import Repository

_FILE, _LINK = 0o100644, 0o120000


def builtin() -> Repository:
    """A small repository of source files, documents, a picture, a link and a submodule."""
    data = json.loads((files(__package__) / "builtin.json").read_text(encoding="utf-8"))
    repo = MemoryRepo()
    held: dict[bytes, tuple[ObjectID, int]] = {}
    parents: list[ObjectID] = []
    for entry in data["commits"]:
        for path, content in entry["files"].items():
            held[path.encode()] = _stored(repo, content)
        commit = Commit()
        blobs = [(path, object_id, mode) for path, (object_id, mode) in sorted(held.items())]
        commit.tree = commit_tree(repo.object_store, blobs)
        commit.parents = parents
        commit.author = commit.committer = data["author"].encode()
        commit.author_time = commit.commit_time = entry["time"]
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = entry["message"].encode() + b"\n"
        repo.object_store.add_object(commit)
        parents = [commit.id]
        for ref in entry["refs"]:
            repo.refs[Ref(ref.encode())] = commit.id
    repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(b"refs/heads/main"))
    return Repository(data["name"], repo, data["description"])


def _stored(repo: MemoryRepo, content: dict[str, Any]) -> tuple[ObjectID, int]:
    """The id and mode of one entry; a submodule has no object here."""
    if "submodule" in content:
        return ObjectID(content["submodule"].encode()), S_IFGITLINK
    if "link" in content:
        blob, mode = Blob.from_string(content["link"].encode()), _LINK
    elif "base64" in content:
        blob, mode = Blob.from_string(b64decode(content["base64"])), _FILE
    else:
        blob, mode = Blob.from_string(content["text"].encode()), _FILE
    repo.object_store.add_object(blob)
    return blob.id, mode
