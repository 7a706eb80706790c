"""Repositories that tests make, and a client of the operations over them."""

import asyncio

import pytest
from codemode_reference.operations import Catalogue, invocation
from codemode_reference.repositories import repository_operations
from dulwich.index import commit_tree
from dulwich.objects import Blob, Commit
from dulwich.refs import Ref
from dulwich.repo import Repo

MAIN = b"refs/heads/main"


def commit_files(repo, files, ref=MAIN, mode=0o100644):
    """Commit these files as all there is; its id."""
    blobs = []
    for path, content in files.items():
        blob = Blob.from_string(content)
        repo.object_store.add_object(blob)
        blobs.append((path, blob.id, mode))
    made = Commit()
    made.tree = commit_tree(repo.object_store, blobs)
    made.author = made.committer = b"A <a@example.org>"
    made.author_time = made.commit_time = made.author_timezone = made.commit_timezone = 0
    made.message = b"m"
    repo.object_store.add_object(made)
    repo.refs[Ref(ref)] = made.id
    return made.id


@pytest.fixture
def folder(tmp_path):
    """A repository on disk with one file."""
    path = tmp_path / "secret-place"
    path.mkdir()
    with Repo.init_bare(str(path)) as repo:
        repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(MAIN))
        commit_files(repo, {b"a.txt": b"one\ntwo\n"})
    return path


class Client:
    """Calls the handlers as one invocation does, checking arguments first."""

    def __init__(self, *repositories, number=1):
        operations = repository_operations(repositories)
        self.catalogue = Catalogue(operations)
        self.number = number

    def __call__(self, name, **arguments):
        """The result of one call."""
        assert self.catalogue.accepts(name, arguments)
        return asyncio.run(self._call(name, arguments))

    async def _call(self, name, arguments):
        invocation.set(self.number)
        return await self.catalogue[name].handler(arguments)

    def open(self, repository="orchard", **arguments):
        """A snapshot."""
        return self("open", repository=repository, **arguments)["snapshot"]

    def pages(self, name, **arguments):
        """The results of one page after the other."""
        found = [self(name, **arguments)]
        while "next_cursor" in found[-1]:
            found.append(self(name, **arguments, cursor=found[-1]["next_cursor"]))
        return found


@pytest.fixture
def client_of():
    """`client_of(repository, ...)`: a client of the operations over these."""
    return Client


@pytest.fixture
def commit():
    """`commit(repo, files)`: commit these files as all there is."""
    return commit_files
