"""The command line, and the process that fuzzes with a fuzzer that is none."""

import platform
import subprocess
import sys
from contextlib import nullcontext

import pytest
from codemode_fuzz import engine, main, targets, verbs
from codemode_fuzz.main import unsupported


class FakeAtheris:
    """Mutates and runs as often as it is told, from one seed."""

    def __init__(self, runs):
        self.runs = runs
        self.instrumented = []

    def instrument_imports(self, include):
        """What it would instrument."""
        self.instrumented += include
        return nullcontext()

    def Setup(self, arguments, one_input, custom_mutator):  # noqa: N802
        """Keep what it is given."""
        self.arguments, self.one_input, self.mutator = arguments, one_input, custom_mutator

    def Fuzz(self):  # noqa: N802
        """Run."""
        data = b""
        for seed in range(self.runs):
            data = self.mutator(data, 1000, seed)
            self.one_input(data)

    def Mutate(self, data, max_size):  # noqa: N802
        """Bytes of its own."""
        return (data + b"b")[:max_size]


@pytest.fixture
def fake_target(monkeypatch):
    """A target that finds something in every long input, under a different name each time."""

    def check(data):
        if len(data) > 20:
            raise ValueError("x" * (len(data) % 40))

    target = targets.Target("fake", check, lambda data, size, seed: data + b"a", dict, 100)
    monkeypatch.setattr(engine, "load", lambda name: target)
    return target


def test_the_fuzzer_runs_a_target_and_goes_on(tmp_path, monkeypatch, capsys):
    """Instrumentation before the import, the target's size, no findings in the reference."""
    monkeypatch.setattr(sys, "argv", ["fuzz"])
    fake = FakeAtheris(60)
    engine.fuzz(fake, "frames", tmp_path, ["-runs=60", "corpus"])
    assert "codemode_reference.strict_json" in fake.instrumented
    assert fake.arguments == ["fuzz", "-max_len=81920", "-runs=60", "corpus"]
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_findings_do_not_stop_it_unless_they_are_many(tmp_path, fake_target, capsys):
    """Each different one gets its directory; a flood of them ends the run."""
    fake = FakeAtheris(26)
    engine.fuzz(fake, "frames", tmp_path, [])
    homes = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert sorted(homes) == sorted(str(path) for path in tmp_path.iterdir())
    assert len(homes) > 3
    with pytest.raises(RuntimeError, match="20 different findings"):
        engine.fuzz(FakeAtheris(200), "frames", tmp_path, [])


@pytest.mark.parametrize(
    ("version", "system", "machine", "runs"),
    [
        ((3, 11), "Linux", "x86_64", True),
        ((3, 13), "Linux", "x86_64", True),
        ((3, 14), "Linux", "x86_64", False),
        ((3, 12), "Linux", "aarch64", False),
        ((3, 12), "Darwin", "x86_64", False),
    ],
)
def test_it_says_where_it_cannot_run(version, system, machine, runs):
    """Only where there are wheels."""
    reason = unsupported(version, system, machine)
    assert (reason is None) is runs
    if reason:
        assert f"this is Python {version[0]}.{version[1]} on {system} {machine}" in reason


def test_elsewhere_the_run_is_skipped_with_its_reason(monkeypatch, capsys):
    """Exit 0, and one line that says why."""
    monkeypatch.setattr(platform, "machine", lambda: "sparc")
    assert main.main(["frames", "-runs=1"]) == verbs.OK
    assert capsys.readouterr().out.startswith("skipped: atheris is built for Python 3.11 to 3.13")


def test_without_atheris_it_says_how_to_run(monkeypatch, capsys):
    """The fuzzer's environment is not the package's."""
    monkeypatch.setattr(main, "unsupported", lambda *where: None)
    monkeypatch.setattr(main, "find_spec", lambda name: None)
    assert main.main(["frames"]) == verbs.USAGE
    assert "tox -e fuzz -- frames" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "limit"),
    [(["-seed=1"], True), (["-runs=5"], False), (["-max_total_time=5", "mine"], False)],
)
def test_a_run_is_bounded_and_judged(words, limit, tmp_path, monkeypatch, capsys):
    """A minute unless told otherwise; new inputs never go to the repository's corpus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMCONF_CACHE", "cache")
    monkeypatch.setattr(main, "unsupported", lambda *where: None)
    monkeypatch.setattr(main, "find_spec", lambda name: name)
    work = tmp_path / "cache" / "fuzz" / "frames"
    status, seen = 0, []

    def run(command, check):
        seen.append(command)
        if status:
            (work / "findings" / "new").mkdir()
            (work / "findings" / "new" / "input.bin").write_bytes(b"x")
            (work / "findings" / "crash-1").write_bytes(b"x")
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(subprocess, "run", run)
    assert main.main(["frames", *words]) == verbs.OK
    assert ("-max_total_time=60" in seen[0]) is limit
    assert set(words) <= set(seen[0])
    folders = [word for word in seen[0][4:] if not word.startswith("-")]
    first = "mine" if "mine" in words else str(work / "corpus")
    assert folders == [str(work / "findings"), first, str(main.corpus("frames"))]
    status = 77
    assert main.main(["frames", *words]) == verbs.FOUND
    found = capsys.readouterr()
    assert f"finding: {work / 'findings' / 'new'}\n" in found.out
    assert f"finding: {work / 'findings' / 'crash-1'}\n" in found.out
    assert "status 77" in found.err


def test_alone_it_prints_the_targets(capsys):
    """What can be fuzzed, and how."""
    assert main.main([]) == verbs.OK
    out = capsys.readouterr().out
    assert "    frames       the frame decoder" in out
    assert "replay TARGET" in out


@pytest.mark.parametrize("words", [[], ["list"]])
def test_a_reader_that_has_left_is_no_traceback(words):
    """Status 1 and no word, as where the output goes to `head`."""
    command = [sys.executable, "-m", "codemode_fuzz", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == (b"", 1)


def test_seeds_are_written_and_replayed(tmp_path, capsys):
    """The files of a target in a folder, which pass; a finding does not."""
    folder = tmp_path / "seeds"
    assert main.main(["seeds", "frames", str(folder)]) == verbs.OK
    assert main.main(["replay", "frames", str(folder / "legal-parent-0.bin")]) == verbs.OK
    assert capsys.readouterr().out.endswith("1 inputs, 0 findings\n")


def test_a_replayed_finding_is_told(tmp_path, monkeypatch, capsys):
    """Exit 1 and the file's name."""
    path = tmp_path / "input.bin"
    path.write_bytes(b"")
    monkeypatch.setattr(verbs, "replay", lambda check, paths: [(path, "Finding: it")])
    assert main.main(["replay", "frames", str(path)]) == verbs.FOUND
    assert f"{path}: Finding: it\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        *(["nothing"], ["replay"], ["seeds"], ["replay", "frames", "no/such"]),
        *(["seeds", "nothing", "x"], ["walk", "nothing"], ["walk", "-runs=x"], ["merge"]),
        *(["merge", "frames", "no/such"], ["coverage", "nothing"], ["prove", "x"], ["promote"]),
        *(["promote", "nothing", "x", "name"], ["promote", "frames", "no/such", "name"]),
        ["promote", "frames", "no/such", "NAME"],
    ],
)
def test_usage(words, capsys):
    """Exit 2 and one line on what is wrong."""
    assert main.main(words) == verbs.USAGE
    assert capsys.readouterr().err.startswith("codemode_fuzz: ")
    with pytest.raises(KeyError):
        targets.load("nothing")
