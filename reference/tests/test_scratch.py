"""The private directories."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from codemode_reference import scratch


@pytest.fixture
def folder():
    """A scratch directory that is removed in any case."""
    made = scratch.Scratch()
    yield made
    made.close()


def test_directories_are_private(folder):
    """Mode 0700, one for each invocation."""
    first, second = folder.make(), folder.make()
    assert first != second
    assert first.stat().st_mode & 0o777 == 0o700


def test_removal_never_follows_links(folder, tmp_path):
    """Links are unlinked; what they point to stays."""
    (tmp_path / "kept").write_text("kept")
    made = folder.make()
    (made / "a" / "b").mkdir(parents=True)
    (made / "a" / "file").write_text("x")
    (made / "a" / "link").symlink_to(tmp_path)
    (made / "file").symlink_to(tmp_path / "kept")
    scratch.remove(made)
    assert not made.exists()
    assert (tmp_path / "kept").read_text() == "kept"


def test_a_link_in_place_of_the_directory_is_left_alone(folder, tmp_path):
    """Its target is not emptied."""
    (tmp_path / "kept").write_text("kept")
    made = folder.make()
    made.rmdir()
    made.symlink_to(tmp_path)
    scratch.remove(made)
    assert (tmp_path / "kept").read_text() == "kept"
    made.unlink()


def test_a_missing_directory_is_no_fault(folder):
    """It may be removed twice."""
    made = folder.make()
    scratch.remove(made)
    scratch.remove(made)


def test_a_deep_tree_is_removed_without_recursion(folder):
    """Deeper than any recursion limit."""
    made = folder.make()
    here = os.open(made, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    scratch.remove(made)
    assert not made.exists()


def test_a_deep_tree_takes_no_descriptor_for_each_level(folder):
    """A parent has few left when many programs run."""
    made = folder.make()
    (made / "/".join("d" * 100)).mkdir(parents=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = max(int(entry.name) for entry in Path("/dev/fd").iterdir()) + 8
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        scratch.remove(made)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not made.exists()


def test_the_work_is_linear(folder, monkeypatch):
    """A directory is listed once, however much a worker has left in it."""
    made = folder.make()
    for n in range(50):
        (made / str(n)).write_text("x")
    listed = []
    with monkeypatch.context() as patch:
        scandir = os.scandir
        patch.setattr(os, "scandir", lambda fd: listed.append(fd) or scandir(fd))
        scratch.remove(made)
    assert len(listed) == 1
    assert not made.exists()


def test_the_work_is_bounded(folder, monkeypatch):
    """A worker that leaves too much is not tidied up for ever."""
    made = folder.make()
    for n in range(5):
        (made / str(n)).write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(scratch, "_MOST_ENTRIES", 3)
        scratch.remove(made)
    assert len(list(made.iterdir())) == 2


def test_what_may_not_be_removed_is_left(folder, monkeypatch):
    """No error of the file system reaches the parent."""
    made = folder.make()
    (made / "file").write_text("x")

    def refuse(*_, **__):
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        scratch.remove(made)
    assert made.exists()


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A directory for temporary files of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left_by_a_dead_parent(folder):
    """The directory of a parent that was killed, with a worker's file in it."""
    code = (
        "from codemode_reference.scratch import Scratch; import sys;"
        "made = Scratch(); (made.make() / 'file').write_text('x'); print(made.path, flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={"TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        left = folder / process.stdout.readline().strip()
        process.kill()
    return left


def test_leftovers_of_a_dead_parent_are_swept(shared):
    """The next one that starts removes them, and only what a parent has made."""
    left = left_by_a_dead_parent(shared)
    assert list(left.iterdir())
    (shared / "codemode-other").mkdir()
    (shared / f"{left.name}-").mkdir()
    scratch.Scratch().close()
    assert {path.name for path in shared.iterdir()} == {"codemode-other", f"{left.name}-"}


def test_a_living_parent_is_not_swept(shared):
    """Its directory stays when the next one starts."""
    first = scratch.Scratch()
    scratch.Scratch().close()
    assert first.path.exists()
    first.close()


def test_a_number_that_was_given_again_is_another_parent(shared):
    """The start time tells them apart."""
    made = scratch.Scratch()
    _, place, pid, start, _ = made.path.name.split("-")
    old = shared / f"codemode-{place}-{pid}-{int(start) - 1}-abc"
    old.mkdir()
    elsewhere = shared / f"codemode-{int(place, 16) ^ 1:08x}-{pid}-{int(start) - 1}-abc"
    elsewhere.mkdir()
    scratch.sweep(shared)
    assert not old.exists()
    assert elsewhere.exists()
    made.close()


def test_a_parent_that_cannot_be_looked_at_is_not_swept(shared, monkeypatch):
    """A process may be there and hidden: only what is known to be gone is removed."""
    made = scratch.Scratch()
    _, place, pid, start, _ = made.path.name.split("-")
    other = shared / f"codemode-{place}-{pid}-{int(start) - 1}-abc"
    other.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(scratch, "_start_of", lambda pid: None)
        scratch.sweep(shared)
    assert other.exists()
    made.close()


def test_sweeping_follows_no_link_and_spares_other_users(shared, tmp_path_factory, monkeypatch):
    """A link in place of a leftover, and a directory that is somebody else's, stay."""
    target = tmp_path_factory.mktemp("target")
    (target / "kept").write_text("kept")
    left = left_by_a_dead_parent(shared)
    link = left.with_name(f"{left.name}x")
    link.symlink_to(target)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        scratch.sweep(shared)
    assert left.exists()
    scratch.sweep(shared)
    assert not left.exists()
    assert link.is_symlink()
    assert (target / "kept").read_text() == "kept"


def test_sweeping_is_bounded(shared, monkeypatch):
    """A start does not tidy up for ever, and a place that cannot be read is no fault."""
    left = left_by_a_dead_parent(shared)
    left.with_name(f"{left.name}x").mkdir()
    (left.with_name(f"{left.name}x") / "file").write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(scratch, "_MOST_ENTRIES", 2)
        scratch.sweep(shared)
    assert list(shared.glob("*/**/file"))
    scratch.sweep(shared / "nowhere")


def test_without_proc_nothing_is_swept(shared, monkeypatch):
    """Where the system does not tell when a process started, nobody is known to be gone."""
    left = left_by_a_dead_parent(shared)
    with monkeypatch.context() as patch:
        patch.setattr(scratch, "_place", lambda: None)
        made = scratch.Scratch()
        assert made.path.name.count("-") == 1
    assert left.exists()
    made.close()


def test_what_the_system_does_not_tell_is_unknown(shared, monkeypatch):
    """No namespace, no process, or one that may not be signalled: none of it is an error."""

    def refuse(*_):
        raise PermissionError

    assert scratch._start_of(10**9 - 1) is None
    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", refuse)
        assert not scratch._gone(os.getpid(), scratch._start_of(os.getpid()))
        assert scratch._gone(os.getpid(), "1")
        patch.setattr(os, "readlink", refuse)
        assert scratch._place() is None
