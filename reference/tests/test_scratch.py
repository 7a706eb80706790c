"""The private directories."""

import os

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
