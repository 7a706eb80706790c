"""Pinning a target at its newest versions, without a package manager."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from codemode_conformance import newest
from codemode_conformance.failures import InstallError
from codemode_conformance.target import load_target

if TYPE_CHECKING:
    from pathlib import Path

FILE = """\
format = 1
[target]
name = "x"
version = "1.0"
{probe}
[install]
lock = "{lock}"
[engine]
command = ["x"]
"""


def test_an_npm_target_gets_its_newest_version(tmp_path: Path, monkeypatch: Any) -> None:
    """Lock without addresses, exact versions, and the version of the target file from its probe."""
    probe = 'probe = { file = "${cache}/node_modules/@a/b/package.json", pointer = "/version" }'
    text = FILE.format(probe=probe, lock="package-lock.json")
    (tmp_path / "target.toml").write_text(text, encoding="utf-8")
    (tmp_path / "package-lock.json").write_text("{}", encoding="utf-8")
    wanted = {"name": "t", "dependencies": {"other": "1.0.0", "@a/b": "1.0"}}
    (tmp_path / "package.json").write_text(json.dumps(wanted), encoding="utf-8")

    def npm(words: list[str], _env: Any, folder: Path, _ms: int) -> str:
        assert words[-2:] == ["other@latest", "@a/b@latest"]
        assert "--ignore-scripts" in words
        lock = {"packages": {"node_modules/@a/b": {"version": "2.1", "resolved": "https://h/x"}}}
        (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
        return ""

    monkeypatch.setattr(newest, "run_tool", npm)
    assert newest.newest(load_target(tmp_path / "target.toml")) == "2.1"
    assert load_target(tmp_path / "target.toml").version == "2.1"
    assert "https" not in (tmp_path / "package-lock.json").read_text(encoding="utf-8")


def test_a_pip_target_gets_its_newest_version(tmp_path: Path, monkeypatch: Any) -> None:
    """All that would be installed is pinned; the version is that of the first package asked for."""
    text = FILE.format(probe="", lock="requirements.txt")
    (tmp_path / "target.toml").write_text(text, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("x==1.0\n", encoding="utf-8")
    (tmp_path / "requirements.in").write_text("x\ny\n", encoding="utf-8")
    pins = [("x", "3.0"), ("Zed", "1"), ("y", "2")]
    told = {"install": [{"metadata": {"name": name, "version": v}} for name, v in pins]}

    def pip(words: list[str], _env: Any, folder: Path, _ms: int) -> str:
        assert words[-2:] == ["x", "y"]
        (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")
        return ""

    monkeypatch.setattr(newest, "run_tool", pip)
    assert newest.newest(load_target(tmp_path / "target.toml")) == "3.0"
    lock = (tmp_path / "requirements.txt").read_text(encoding="utf-8")
    assert lock == "x==3.0\ny==2\nZed==1\n"


@pytest.mark.parametrize("version", ['1"\n[evil]', "", "1 2"])
def test_a_version_that_is_none_is_refused(version: str) -> None:
    """What a registry says goes into a file: it is looked at first."""
    with pytest.raises(InstallError):
        newest.with_version('version = "1"\n', version)
