"""A path that never ends is refused by each reader of files, soon and in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codemode_conformance import bounded
from codemode_conformance.cli import main
from codemode_conformance.matrix import changes, reading
from codemode_conformance.report import reading as report_reading

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDLESS = "/dev/zero"
needs_device = pytest.mark.skipif(not Path(ENDLESS).exists(), reason="there is no such device")


def test_the_bound_is_the_last_size_that_is_read(tmp_path: Path) -> None:
    """Exactly so many bytes are read, and one more are none."""
    file = tmp_path / "some"
    file.write_bytes(b"x" * 10)
    assert bounded.read(file, 10) == b"x" * 10
    assert bounded.read(file, 9) is None
    with pytest.raises(FileNotFoundError):
        bounded.read(tmp_path / "none", 10)


def test_a_pipe_is_read_whole(tmp_path: Path) -> None:
    """As `<(...)` of a shell gives one; it comes in pieces."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    code = "import sys; f = open(sys.argv[1], 'wb', 0); [f.write(b'y' * 100_000) for _ in range(3)]"
    with subprocess.Popen([sys.executable, "-c", code, str(path)]):
        assert bounded.read(path, 1 << 20) == b"y" * 300_000


@needs_device
@pytest.mark.parametrize(
    "words",
    [
        ["matrix", ENDLESS],
        ["matrix", ENDLESS, "--since", ENDLESS],
        ["merge", ENDLESS, "--report", f"json={os.devnull}"],
        ["repro", ENDLESS, "ret.value.zero"],
        ["run", "--target", "/dev/../dev/zero"],
        ["run", "--target", "reference", "--case", "ret.value.zero", "--baseline", ENDLESS],
    ],
)
def test_a_device_without_an_end_is_refused(
    words: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 with the path and the bound; nothing is read without end."""
    for module in (reading, changes, report_reading):
        monkeypatch.setattr(module, "MOST_BYTES", 1 << 16)
    assert main(list(words)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") <= 2
    assert "/dev/zero" in error
