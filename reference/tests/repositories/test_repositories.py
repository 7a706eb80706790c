"""The operations over repositories: pages, cursors, snapshots, and files that are not plain."""

import asyncio
import json
from functools import partial
from threading import Event

import pytest
from codemode_reference import Parent, Success
from codemode_reference.repositories import builtin, pages, repository_operations
from codemode_reference.repositories.pages import Step, StoppedError, fill
from codemode_reference.repositories.seals import Seal
from codemode_reference.repositories.store import (
    ProblemError,
    RepositoryError,
    on_disk,
)
from codemode_reference.values import measure
from dulwich.objects import Blob
from dulwich.refs import Ref
from dulwich.repo import MemoryRepo, Repo

MAIN = b"refs/heads/main"


@pytest.fixture
def client(client_of):
    """A client of the built-in repository."""
    return client_of(builtin())


def test_the_built_in_repository_is_always_the_same(client_of):
    """It is made of data: its commits have these ids."""
    refs = client_of(builtin())("refs", repository="orchard", prefix="refs/")
    assert {item["name"]: item["commit"][:8] for item in refs["items"]} == {
        "refs/heads/main": "6ea97699",
        "refs/heads/next": "a0b607d3",
        "refs/tags/v1": "29774ebf",
    }
    assert refs["head"] == "refs/heads/main"


def test_repositories_are_found_by_name(client):
    """Any part of the name will do."""
    assert [item["name"] for item in client("find_repositories", text="CHARD")["items"]] == [
        "orchard"
    ]
    assert client("find_repositories", text="pear")["items"] == []


def test_a_snapshot_is_of_the_branch_of_head_or_of_a_ref(client):
    """Short and full names name the same commit."""
    opened = client("open", repository="orchard")
    assert (opened["ref"], opened["committed"]) == ("refs/heads/main", 1706745600)
    assert client("open", repository="orchard", ref="main")["commit"] == opened["commit"]
    assert client("open", repository="orchard", ref="refs/tags/v1")["ref"] == "refs/tags/v1"


def test_a_snapshot_stays_when_its_branch_moves(folder, client_of, commit):
    """What was opened is read, before and after a new commit, whoever made it."""
    client = client_of(on_disk(folder, "r"))
    snapshot = client.open("r")
    with Repo(str(folder)) as repo:
        commit(repo, {b"b.txt": b"three\n"})
    assert client("list", snapshot=snapshot, paths_only=True)["paths"] == ["a.txt"]
    assert client("read", snapshot=snapshot, path="a.txt", format="text")["text"] == "one\ntwo\n"
    assert client("list", snapshot=client.open("r"), paths_only=True)["paths"] == ["b.txt"]


def test_a_folder_is_listed_with_kinds_and_sizes(client):
    """Folders, files, links and other repositories; recursively the files alone."""
    snapshot = client.open()
    top = client("list", snapshot=snapshot)["items"]
    assert [(item["path"], item["kind"]) for item in top] == [
        ("README.md", "file"),
        *((name, "folder") for name in ("assets", "docs", "src", "test", "vendor")),
    ]
    assert top[0]["bytes"] == 73
    docs = client("list", snapshot=snapshot, path="docs/")["items"]
    assert [(item["path"], item["kind"]) for item in docs] == [
        ("docs/README.md", "link"),
        ("docs/limits.md", "file"),
        ("docs/start.md", "file"),
    ]
    deep = client("list", snapshot=snapshot, recursive=True, paths_only=True)["paths"]
    assert len(deep) == 12
    assert deep == sorted(deep)
    assert client("list", snapshot=snapshot, path="vendor")["items"][0]["kind"] == "submodule"


@pytest.fixture
def wide(client_of, commit):
    """A client of a repository with 300 files in 5 folders, and its snapshot."""
    repo = MemoryRepo()
    repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(MAIN))
    commit(repo, {b"%02d/x/%02d.txt" % (n // 60, n % 60): b"needle %d\n" % n for n in range(300)})
    found = builtin()
    found.source = repo
    client = client_of(found)
    return client, client.open()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list", {"recursive": True}),
        ("list", {"recursive": True, "path": "03"}),
        ("search_code", {"text": "needle"}),
        ("search_code", {"text": "needle 1", "path": "02/x"}),
    ],
)
def test_pages_together_are_everything_once(wide, name, arguments):
    """Pages of any size have the same items in the same order."""
    client, snapshot = wide
    arguments = {"snapshot": snapshot, **arguments}
    small = client.pages(name, **arguments, max_bytes=1024)
    large = client.pages(name, **arguments, max_bytes=49152)
    assert len(small) > len(large) == 1
    assert [item for page in small for item in page["items"]] == large[0]["items"]


def test_a_page_says_how_large_it_is(wide):
    """`serialized_bytes` is the size of its content as JSON; near the limit there is a warning."""
    client, snapshot = wide
    first, *_, last = client.pages("list", snapshot=snapshot, recursive=True, max_bytes=2048)
    for page in (first, last):
        assert page["serialized_bytes"] == measure(page["items"], 9)
        assert page["serialized_bytes"] + page["remaining_bytes"] == 2048
    assert "warning" in first
    assert "warning" not in last


def test_compact_forms_are_the_same_page(wide):
    """Paths alone are those of the same items, with fewer bytes."""
    client, snapshot = wide
    arguments = {"snapshot": snapshot, "recursive": True, "max_bytes": 2048}
    full, paths = client("list", **arguments), client("list", **arguments, paths_only=True)
    assert paths["paths"] == [item["path"] for item in full["items"]]
    assert paths["serialized_bytes"] < full["serialized_bytes"]
    assert "next_cursor" in paths


def test_a_cursor_used_twice_gives_the_same_page(wide):
    """Nothing is kept of a page, so nothing moves on."""
    client, snapshot = wide
    arguments = {"snapshot": snapshot, "recursive": True, "max_bytes": 1024}
    cursor = client("list", **arguments)["next_cursor"]
    assert client("list", **arguments, cursor=cursor) == client("list", **arguments, cursor=cursor)


def test_a_cursor_is_good_for_its_own_call_alone(wide):
    """Other arguments, another snapshot, operation or invocation, and one that was made up."""
    client, snapshot = wide
    arguments = {"snapshot": snapshot, "recursive": True, "max_bytes": 1024}
    cursor = client("list", **arguments)["next_cursor"]
    foreign = [
        client("list", **{**arguments, "max_bytes": 1025}, cursor=cursor),
        client("list", **{**arguments, "path": "01"}, cursor=cursor),
        client("search_code", snapshot=snapshot, text="needle", cursor=cursor),
        client("list", **arguments, cursor="AAAA" + cursor[4:]),
        client("list", **arguments, cursor=cursor + "="),
        client("list", **arguments, cursor="é"),
        client("list", **arguments, cursor=""),
    ]
    assert [found["problem"] for found in foreign] == ["foreign_cursor"] * 7
    client.number = 2
    assert client("list", **arguments, cursor=cursor)["problem"] == "foreign_snapshot"


def test_a_snapshot_is_of_the_invocation_that_opened_it(client):
    """Another one gets a clear result, and so does whoever makes one up."""
    snapshot = client.open()
    client.number = 2
    for handle in (snapshot, "AAAA", "", snapshot[:-1]):
        assert client("list", snapshot=handle) == {
            "problem": "foreign_snapshot",
            "message": "this program has not opened this snapshot; open gives one",
        }


def test_a_seal_tells_its_parts_apart():
    """Content and scope cannot be shifted into each other."""
    seal = Seal()
    handle = seal.close("ab", "c")
    assert seal.open(handle, "c") == "ab"
    for scope in [("b",), ("c", None), (), ("C",)]:
        with pytest.raises(ValueError, match="foreign"):
            seal.open(handle, *scope)
    with pytest.raises(ValueError, match="foreign"):
        Seal().open(handle, "c")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("assets/leaf.png", {"problem": "is_binary", "bytes": 70}),
        ("docs/README.md", {"problem": "is_link", "target": "../README.md"}),
        ("docs/README.md/x", {"problem": "no_folder"}),
        ("src", {"problem": "is_folder"}),
        ("", {"problem": "is_folder"}),
        ("none", {"problem": "no_path"}),
        ("../../etc/passwd", {"problem": "no_path"}),
        ("/etc/passwd", {"problem": "no_path"}),
        ("vendor/scales/x", {"problem": "no_folder"}),
    ],
)
def test_what_is_no_text_is_said_to_be(client, path, problem):
    """A clear result for each kind of thing; no link is followed."""
    found = client("read", snapshot=client.open(), path=path)
    assert found.pop("message")
    assert found == problem


def test_another_repository_is_named_with_its_commit(client):
    """What stands in it is not here."""
    found = client("read", snapshot=client.open(), path="vendor/scales")
    assert (found["problem"], len(found["commit"])) == ("is_submodule", 40)


def test_bytes_that_are_no_text_are_replaced_and_it_says_so(client):
    """The rest can be read."""
    found = client("read", snapshot=client.open(), path="assets/obst.txt", format="lines")
    assert found["lines"] == ["\ufffdpfel", "Birnen", "N\ufffdsse"]
    assert found["replaced"] is True


def test_lines_can_be_chosen(client):
    """From the first to the last, counted from 1; what is not there is a problem."""
    arguments = {"snapshot": client.open(), "path": "docs/limits.md"}
    found = client("read", **arguments, first=3, last=4)
    assert found["items"] == [
        {"line": 3, "text": "| what | limit |"},
        {"line": 4, "text": "|---|---:|"},
    ]
    assert (found["first"], found["last"], found["total"]) == (3, 4, 9)
    assert client("read", **arguments, first=4, last=3)["items"] == []
    assert client("read", **arguments, first=10)["problem"] == "no_line"
    around = client("context", **arguments, line=1, before=2, after=1, format="text")
    assert around["text"] == "# Limits\n\n"
    assert client("context", **arguments, line=12)["problem"] == "no_line"


CONTENTS = [
    b"",
    b"\n",
    b"a",
    b"a\r\nb\r\n",
    b"\xef\xbb\xbfa\n\n\nb",
    b"x" * 5000 + b"\nshort\n" + b"y" * 3000,
    "\u00e9\u20ac\U0001f600\x01\n".encode() * 300,
]


@pytest.mark.parametrize("content", CONTENTS)
def test_the_texts_of_all_pages_are_the_file(content, client_of, commit):
    """Nothing is lost between pages, in long lines or at the end; the lines agree."""
    repo = MemoryRepo()
    commit(repo, {b"f": content})
    repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(MAIN))
    found = builtin()
    found.source = repo
    client = client_of(found)
    arguments = {"snapshot": client.open(), "path": "f", "max_bytes": 1024}
    got = client.pages("read", **arguments, format="text")
    assert "".join(page["text"] for page in got) == content.decode()
    items = [item for page in client.pages("read", **arguments) for item in page["items"]]
    joined = "".join(item["text"] + ("" if "continues" in item else "\n") for item in items)
    assert joined.removesuffix("\n") == content.decode().removesuffix("\n")
    assert all(page["serialized_bytes"] <= 1024 for page in got)


def test_matches_are_found_without_regard_to_case_if_asked(client):
    """A text is found as it is, at most once a line; what has no text is counted."""
    snapshot = client.open()
    found = client("search_code", snapshot=snapshot, text="todo")
    assert (found["items"], found["skipped"]) == ([], {"is_binary": 1})
    found = client("search_code", snapshot=snapshot, text="todo", ignore_case=True, path="src")
    assert [(item["path"], item["line"]) for item in found["items"]] == [
        ("src/main.js", 8),
        ("src/parse.js", 9),
    ]
    assert found["skipped"] == {}
    paths = client("search_code", snapshot=snapshot, text="trees", paths_only=True)["paths"]
    assert len(paths) == len(set(paths)) > 1


def test_a_page_of_a_search_looks_at_a_bounded_amount(wide, monkeypatch):
    """A page may end without having found anything, and the next one goes on behind it."""
    client, snapshot = wide
    monkeypatch.setattr(pages, "MOST_WORK", 50_000)
    found = client.pages("search_code", snapshot=snapshot, text="needle 299")
    assert len(found) > 5
    assert [len(page["items"]) for page in found] == [0] * (len(found) - 1) + [1]


def test_a_page_that_nobody_waits_for_stops():
    """At the next step."""
    stop = Event()
    stop.set()
    with pytest.raises(StoppedError):
        fill(iter([Step(0)]), 1024, stop)


def test_a_cancelled_operation_has_stopped_when_it_is_over(wide, monkeypatch):
    """The thread does not go on behind the back of the one who counts slots."""
    client, snapshot = wide
    begun, stopped = Event(), []

    def slow(steps, max_bytes, stop):
        begun.set()
        assert stop.wait(60)
        stopped.append(True)
        raise StoppedError

    async def run():
        task = asyncio.create_task(client._call("list", {"snapshot": snapshot}))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert stopped == [True]

    monkeypatch.setattr(pages, "fill", slow)
    asyncio.run(run())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"repository": "pear"}, "no_repository"),
        ({"repository": "orchard", "ref": "pear"}, "no_ref"),
        ({"repository": "orchard", "ref": "../HEAD"}, "no_ref"),
    ],
)
def test_what_is_not_there_is_a_clear_result(client, arguments, problem):
    """It names what would list it."""
    assert client("open", **arguments)["problem"] == problem


def test_a_tag_of_no_commit_is_no_snapshot(folder, client_of):
    """Tags may name anything."""
    with Repo(str(folder)) as repo:
        blob = Blob.from_string(b"x")
        repo.object_store.add_object(blob)
        repo.refs[Ref(b"refs/tags/x")] = blob.id
    found = client_of(on_disk(folder, "r"))("open", repository="r", ref="x")
    assert found["problem"] == "no_commit"


def test_names_that_are_no_text_can_be_used_as_they_are_shown(folder, client_of, commit):
    """With escapes in the place of their bytes."""
    with Repo(str(folder)) as repo:
        commit(repo, {b"\xff.txt": b"x\n"})
    client = client_of(on_disk(folder, "r"))
    snapshot = client.open("r")
    (path,) = client("list", snapshot=snapshot, paths_only=True)["paths"]
    assert path == "\\xff.txt"
    assert client("read", snapshot=snapshot, path=path, format="text")["text"] == "x\n"


@pytest.mark.parametrize(("make", "why"), [(True, "no git repository"), (False, "no such folder")])
def test_a_folder_that_is_no_repository_is_refused(tmp_path, make, why):
    """With the reason."""
    path = tmp_path / "x"
    if make:
        path.mkdir()
    with pytest.raises(RepositoryError, match=why):
        on_disk(path, "x")


def test_nothing_of_this_machine_is_sent(folder, limits):
    """Neither a path nor a handle that leads to one is in any result."""
    source = """
        const { snapshot } = await codemode.open({repository: "r"});
        return [await codemode.findRepositories(), await codemode.refs({repository: "r"}),
            await codemode.open({repository: "r"}), await codemode.list({snapshot}),
            await codemode.read({snapshot, path: "a.txt"}), codemode.help()];
    """

    async def run():
        repository = on_disk(folder, "r")
        repository.last_error = f"cannot read {folder}"
        parent = Parent(limits, repository_operations([repository]))
        try:
            return await parent.invoke(source)
        finally:
            await parent.close()

    outcome = asyncio.run(run())
    assert isinstance(outcome, Success)
    text = json.dumps(outcome.value)
    assert "one" in text
    assert folder.name not in text


def test_each_operation_costs_what_it_says(client):
    """Four cost a page, opening costs a snapshot, the others nothing; each has an example."""
    costs = {
        entry["name"]: (
            client.catalogue[entry["name"]].cost.pages,
            client.catalogue[entry["name"]].cost.snapshots,
        )
        for entry in client.catalogue.described()
    }
    page, free = (1, 0), (0, 0)
    assert costs == {
        "find_repositories": free,
        "refs": free,
        "open": (0, 1),
        **dict.fromkeys(("list", "search_code", "read", "context"), page),
    }
    for entry in client.catalogue.described():
        (example,) = entry["arguments"]["examples"]
        assert client.catalogue.accepts(entry["name"], example)


def test_a_walk_can_begin_anywhere(commit):
    """Each position gives the same rest of the walk."""
    from codemode_reference.repositories.store import Folder, walk  # noqa: PLC0415

    repository = builtin()
    with repository.reading() as reader:
        tree = reader.commit(reader.refs()["refs/heads/main"]).tree
        whole = list(map(partial(tuple), walk(reader, Folder(tree), deep=True)))
        for number, (position, _, _) in enumerate(whole):
            rest = walk(reader, Folder(tree), deep=True, start=position)
            assert list(map(partial(tuple), rest)) == whole[number:]
        with pytest.raises(ProblemError):
            reader.folder(b"0" * 40)
