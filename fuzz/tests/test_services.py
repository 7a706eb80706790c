"""The build for ClusterFuzzLite, as far as it can be checked without its image."""

import os
import subprocess
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from codemode_fuzz import engine, verbs
from codemode_fuzz.main import main
from codemode_fuzz.targets import FAST

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".clusterfuzzlite"


@pytest.fixture
def built(tmp_path):
    """What the script builds with a compiler that only copies."""
    tools, out = tmp_path / "bin", tmp_path / "out"
    tools.mkdir()
    out.mkdir()
    compiler = tools / "compile_python_fuzzer"
    compiler.write_text('#!/bin/sh\ncp "$1" "$OUT/$(basename "$1" .py)"\n')
    python = tools / "python3"
    python.write_text(f'#!/bin/sh\n[ "$2" = pip ] && exit 0\nexec {sys.executable} "$@"\n')
    for tool in (compiler, python):
        tool.chmod(0o755)
    source = tmp_path / "src"
    source.mkdir()
    (source / "codemode-conformance").symlink_to(ROOT)
    environment = {**os.environ, "SRC": str(source), "OUT": str(out)}
    environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
    subprocess.run([FOLDER / "build.sh"], env=environment, check=True, capture_output=True)
    return out


def test_the_build_makes_a_fuzzer_and_a_corpus_for_each_target(built):
    """Fuzzers that are Python, corpora that are not empty, dictionaries where there are any."""
    names = {path.name for path in built.iterdir()}
    for target in FAST:
        assert f"fuzz_{target}" in names
        compile((built / f"fuzz_{target}").read_text(), target, "exec")
        with zipfile.ZipFile(built / f"fuzz_{target}_seed_corpus.zip") as corpus:
            assert len(corpus.namelist()) > 100
    dictionaries = {path.stem for path in (ROOT / "fuzz" / "dictionaries").iterdir()}
    assert dictionaries <= set(FAST)
    assert {f"fuzz_{name}.dict" for name in dictionaries} <= names


def test_the_files_of_the_service_are_there():
    """A Python project, built by the script from its builder's image."""
    project = yaml.safe_load((FOLDER / "project.yaml").read_text())
    assert project["language"] == "python"
    docker = (FOLDER / "Dockerfile").read_text()
    assert docker.startswith("FROM gcr.io/oss-fuzz-base/base-builder-python\n")
    assert "build.sh" in docker


@pytest.mark.parametrize("path", sorted((ROOT / "fuzz" / "dictionaries").iterdir()), ids=str)
def test_dictionaries_are_in_the_form_of_libfuzzer(path):
    """One quoted word a line, its bytes in ASCII."""
    for line in path.read_text("ascii").splitlines():
        assert line.startswith("#") or (line[0] == line[-1] == '"' and len(line) > 2), line


class Driver:
    """Runs a few inputs as libFuzzer would."""

    def instrument_imports(self, include):
        """Nothing."""
        self.included = include
        return nullcontext()

    def Setup(self, words, one_input, custom_mutator):  # noqa: N802
        """Keeps what it is given."""
        self.words, self.one_input, self.mutate = words, one_input, custom_mutator

    def Fuzz(self):  # noqa: N802
        """Runs."""
        data = b""
        for seed in range(20):
            data = self.mutate(data, 500, seed)
            self.one_input(data)

    def Mutate(self, data, max_size):  # noqa: N802
        """Its own."""
        return data[:max_size]


def test_a_fuzzer_of_a_service_is_plain_libfuzzer():
    """Its flags are handed on; the first finding ends it."""
    driver = Driver()
    engine.standing(driver, "policy", ["fuzz_policy", "-runs=20", "corpus"])
    assert driver.words == ["fuzz_policy", "-max_len=4096", "-runs=20", "corpus"]
    assert driver.included == ["codemode_reference.policy"]


@pytest.mark.parametrize("words", [["list", "x"], ["script"], ["script", "nothing"]])
def test_usage(words, capsys):
    """Exit 2."""
    assert main(words) == verbs.USAGE
