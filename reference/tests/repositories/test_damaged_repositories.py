"""The operations over repositories that are damaged, too large, or unlike what git writes."""

import json
import zlib
from pathlib import Path

import pytest
from codemode_reference.repositories.store import (
    MOST_FOLDERS,
    MOST_OBJECT,
    on_disk,
)
from dulwich.objects import Blob, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

MAIN = b"refs/heads/main"
NEXT = b"refs/heads/next"


LARGE = MOST_OBJECT + 1


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_file_is_named_and_not_read(folder, packed, monkeypatch, client_of, commit):
    """Its size is known without making it, whether it is loose or packed."""
    with Repo(str(folder)) as repo:
        commit(repo, {b"large": b"0" * LARGE, b"small": b"s\n"})
        if packed:
            repo.object_store.pack_loose_objects()
    client = client_of(on_disk(folder, "r"))
    snapshot = client.open("r")
    sizes = {item["path"]: item["bytes"] for item in client("list", snapshot=snapshot)["items"]}
    assert sizes == {"large": LARGE, "small": 2}
    monkeypatch.setattr(Blob, "_deserialize", None)
    found = client("read", snapshot=snapshot, path="large")
    assert (found["problem"], found["bytes"], found["limit"]) == ("too_large", LARGE, MOST_OBJECT)


def test_a_delta_of_something_large_is_not_made(tmp_path, client_of, commit):
    """What would have to be made first counts too."""
    large = b"".join(b"%d\n" % n for n in range(400_000))
    with Repo.init_bare(str(tmp_path)) as repo:
        repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(MAIN))
        blobs = [Blob.from_string(large), Blob.from_string(large[:1_000_000])]
        add_deltas(repo, blobs)
        commit(repo, {b"small": large[:1_000_000], b"tiny": b"t\n"})
    client = client_of(on_disk(tmp_path, "r"))
    snapshot = client.open("r")
    found = client("read", snapshot=snapshot, path="small")
    assert (found["problem"], found["bytes"]) == ("too_large", 1_000_000)
    found = client("search_code", snapshot=snapshot, text="t")
    assert found["skipped"] == {"too_large": 1}


def add_deltas(repo, blobs):
    """Put the second blob into a pack as a delta of the first."""
    from dulwich.pack import (  # noqa: PLC0415
        UnpackedObject,
        create_delta,
        write_pack_data,
    )

    first, second = blobs
    delta = list(create_delta([first.data], [second.data]))
    records = [
        UnpackedObject(3, decomp_chunks=[first.data], sha=first.sha().digest()),
        UnpackedObject(
            7, delta_base=first.sha().digest(), decomp_chunks=delta, sha=second.sha().digest()
        ),
    ]
    file, done, _ = repo.object_store.add_pack()
    write_pack_data(file.write, iter(records), num_records=2, object_format=repo.object_format)
    done()


def test_a_damaged_repository_is_a_clear_result(folder, client_of):
    """The reason, with its path, is for people: a program gets null."""
    client = client_of(on_disk(folder, "r"))
    with Repo(str(folder)) as repo:
        repo.refs[Ref(NEXT)] = b"f" * 40
    (folder / "refs" / "heads" / "odd").write_text("no id")
    assert client("open", repository="r", ref="next")["problem"] == "damaged"
    snapshot = client("open", repository="r")
    assert snapshot["cache"]["last_error"]
    assert client.catalogue.redacted("open", snapshot)["cache"] == {"last_error": None}
    for path in folder.glob("objects/*/*"):
        path.chmod(0o600)
        path.write_bytes(b"damage")
    assert client("list", snapshot=snapshot["snapshot"])["problem"] == "damaged"
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert client("list", snapshot=snapshot["snapshot"])["problem"] == "damaged"


def test_a_pack_that_lies_about_a_size_is_damage(folder, client_of, commit):
    """What the library's error keeps alive of the pack does not get in the way of closing it."""
    with Repo(str(folder)) as repo:
        commit(repo, {b"file": b"0" * 1_000_000})
        blob = Blob.from_string(b"0" * 1_000_000).id
        repo.object_store.pack_loose_objects()
        (pack,) = repo.object_store.packs
        place, path = pack.index.object_offset(blob), Path(pack.data.path)
    data = bytearray(path.read_bytes())
    assert data[place : place + 4] == bytes([0xB0, 0xA4, 0xE8, 0x03])
    # Ten bytes, in as many places.
    data[place : place + 4] = bytes([0xBA, 0x80, 0x80, 0x00])
    path.chmod(0o600)
    path.write_bytes(data)
    client = client_of(on_disk(folder, "r"))
    assert client("read", snapshot=client.open("r"), path="file")["problem"] == "damaged"


@pytest.mark.parametrize("size", [b"9007199254740992", b"-1"])
def test_a_size_that_no_program_could_be_told_is_damage(folder, size, client_of, commit):
    """The other files of the folder are still listed."""
    with Repo(str(folder)) as repo:
        commit(repo, {b"a": b"a", b"b": b"b"})
        blob = Blob.from_string(b"a").id.decode()
    path = folder / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(zlib.compress(b"blob " + size + b"\0a"))
    client = client_of(on_disk(folder, "r"))
    snapshot = client.open("r")
    assert client("list", snapshot=snapshot)["items"] == [
        {"path": "a", "kind": "file", "problem": "damaged"},
        {"path": "b", "kind": "file", "bytes": 1},
    ]
    assert client("read", snapshot=snapshot, path="a")["problem"] == "damaged"
    assert client("search_code", snapshot=snapshot, text="b")["skipped"] == {"damaged": 1}


def test_a_search_says_that_it_did_not_look_everywhere(folder, client_of, commit):
    """Folders below too many others are counted, so that nobody takes no match for none."""
    with Repo(str(folder)) as repo:
        commit(repo, {b"d/" * (MOST_FOLDERS + 1) + b"f": b"needle\n"})
    client = client_of(on_disk(folder, "r"))
    found = client("search_code", snapshot=client.open("r"), text="needle")
    assert (found["items"], found["skipped"]) == ([], {"too_deep": 1})


def test_a_ref_that_is_no_id_is_not_shown(folder, tmp_path, client_of):
    """A link in the place of a ref shows nothing of the file that it leads to."""
    (tmp_path / "file").write_text("secret-canary\n")
    heads = folder / "refs" / "heads"
    (heads / "link").symlink_to(tmp_path / "file")
    (heads / "loop").write_text("ref: refs/heads/loop\n")
    (heads / "out").write_text("ref: ../file\n")
    (folder / "refs" / "notes").write_bytes((heads / "main").read_bytes())
    client = client_of(on_disk(folder, "r"))
    found = client("refs", repository="r")
    assert [item["name"] for item in found["items"]] == ["HEAD", "refs/heads/main"]
    told = [client("open", repository="r", ref=ref) for ref in ("link", "loop", "out", "main")]
    assert [one.get("problem") for one in told] == ["no_ref"] * 3 + [None]
    assert "secret-canary" not in json.dumps([found, told])
    (folder / "HEAD").write_text("ref: refs/heads/loop\n")
    assert client("refs", repository="r")["head"] is None
    assert client("open", repository="r")["problem"] == "no_ref"


def test_what_git_would_not_write_is_damage(folder, client_of):
    """A folder that is a file, and a file that is a folder."""
    with Repo(str(folder)) as repo:
        blob = Blob.from_string(b"x")
        repo.object_store.add_object(blob)
        head = repo[repo.refs[Ref(MAIN)]]
        tree = Tree()
        tree.add(b"file", 0o100644, head.tree)
        tree.add(b"folder", 0o040000, blob.id)
        repo.object_store.add_object(tree)
        head.tree = tree.id
        repo.object_store.add_object(head)
        repo.refs[Ref(MAIN)] = head.id
    client = client_of(on_disk(folder, "r"))
    snapshot = client.open("r")
    assert client("read", snapshot=snapshot, path="file")["problem"] == "damaged"
    assert client("list", snapshot=snapshot, path="folder")["problem"] == "damaged"
    assert client("list", snapshot=snapshot, path="file")["problem"] == "no_folder"
    assert client("list", snapshot=snapshot, recursive=True)["problem"] == "damaged"
