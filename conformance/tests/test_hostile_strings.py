"""A target whose every string is hostile: what it says reaches no sink as more than text."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from codemode_conformance.cli import main
from codemode_conformance.escape import for_html, for_markdown, for_workflow, for_xml
from codemode_conformance.report.kinds import KINDS
from codemode_spec.schemas import problems

FAKES = Path(__file__).parent / "fakes"
sys.path.insert(0, str(FAKES))
from hostile import HOSTILE, PIECES, VERSION  # noqa: E402  found by the line above

CASES = ["ret.value", "err.throws", "tim.sync-loop", "val.from-operation"]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\ud800-\udfff]")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Everything that one run of it writes, by kind; `terminal` is what it prints."""
    folder = tmp_path_factory.mktemp("ho$t`ile")
    command = ["${python}", str(FAKES / "hostile.py")]
    file = folder / "it's; hostile.toml"
    file.write_text(
        f"""format = 1
[target]
name = "hostile"
version = {json.dumps(VERSION)}
title = {json.dumps(HOSTILE[:60])}
[engine]
command = {json.dumps(command)}
grace_ms = 200
[claims]
"alternatives.script_style" = "https://example.org/"
""",
        "utf-8",
    )
    words = ["run", "--target", str(file), "--measure", "-v"]
    words += [word for case in CASES for word in ("--case", case)]
    words += [w for kind in KINDS for w in ("--report", f"{kind}={folder / kind}")]
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr(sys, "stdout", _Printed(printed))
        assert main(words) == 1
    found = {kind: (folder / kind).read_bytes().decode("utf-8") for kind in KINDS}
    return {**found, "terminal": "".join(printed), "file": str(file)}


class _Printed:
    def __init__(self, parts: list[str]) -> None:
        self._parts = parts

    def write(self, text: str) -> int:
        self._parts.append(text)
        return len(text)

    def flush(self) -> None:
        pass


def test_it_was_heard_at_all(outputs: dict[str, str]) -> None:
    """Its words stand in each output, as visible escapes: nothing was proved by silence."""
    for kind in ("terminal", "html", "junit", "markdown", "github"):
        assert "\\x1b" in outputs[kind], kind
    assert "\\\\\\\\x1b" in outputs["sarif"]


@pytest.mark.parametrize("kind", ["terminal", *KINDS])
def test_no_character_steers_or_hides(outputs: dict[str, str], kind: str) -> None:
    """Neither control characters nor bidi, zero-width or broken ones come through."""
    assert CONTROL.search(outputs[kind]) is None


def test_no_line_of_a_log_is_a_command(outputs: dict[str, str]) -> None:
    """A workflow command stands only where we write one, and holds one message."""
    assert not any(line.lstrip().startswith("::") for line in outputs["terminal"].split("\n"))
    for kind in ("markdown", "html", "junit"):
        assert not any(line.lstrip().startswith("::") for line in outputs[kind].split("\n")), kind
    for kind, text in outputs.items():
        assert not re.search(r"##\w*\[", text), kind
    lines = outputs["github"].splitlines()
    report = json.loads(outputs["json"])
    ill = [c for c in report["cases"] if c["verdict"] in ("fail", "error", "flaky")]
    powers = report["capabilities"]
    beside = sum(len(powers[x]) for x in ("undeclared", "false_claims")) + len(report["left"])
    assert len(lines) == len(ill) + 1 + beside
    for line in lines:
        assert re.match(r"::(error|warning|notice) title=[^:,]*::", line), line
        assert "%0A" not in line.replace("%250A", "")


class Page(html.parser.HTMLParser):
    """The elements of a page, with what a browser would run or load."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: dict[str, int] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.policy = ""
        self.raw: dict[str, str] = {}
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        """Count it."""
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += attrs
        self._in = tag if tag in ("script", "style") else ""
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]

    def handle_endtag(self, tag) -> None:
        """Leave it."""
        self._in = ""

    def handle_data(self, data) -> None:
        """Keep what a browser takes as it is."""
        if self._in:
            self.raw[self._in] = self.raw.get(self._in, "") + data


def test_the_page_has_only_our_elements_and_runs_only_our_script(outputs: dict[str, str]) -> None:
    """One script and one style, allowed by hash; no handler, no outside address."""
    page = Page(outputs["html"])
    assert (page.tags["script"], page.tags["style"]) == (1, 1)
    assert not {"img", "iframe", "object", "embed", "link", "base", "form"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} | ({"style", "src"} & names)
    links = [value for name, value in page.attributes if name in ("href", "action")]
    assert links
    assert all(value and value.startswith("#") for value in links)
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none';")
    assert "unsafe" not in page.policy


def test_the_page_is_closed_as_it_was_opened(outputs: dict[str, str]) -> None:
    """Text ends no element of ours."""
    for tag in ("details", "pre", "code", "div", "span", "table", "section", "dl", "ul", "p"):
        opened = len(re.findall(rf"<{tag}[ >]", outputs["html"]))
        assert opened == outputs["html"].count(f"</{tag}>"), tag


def test_xml_and_json_are_whole(outputs: dict[str, str]) -> None:
    """They parse, and the words stand in them as text."""
    root = ET.fromstring(outputs["junit"])
    assert root.tag == "testsuites"
    tags = {element.tag for element in root.iter()}
    known = {"testsuites", "testsuite", "testcase", "properties", "property", "failure"}
    assert tags <= known | {"error", "skipped"}
    assert "<script>" in "".join(root.itertext())
    assert problems("report", json.loads(outputs["json"]), "report.json") == []
    sarif = json.loads(outputs["sarif"])
    for result in sarif["runs"][0]["results"]:
        (place,) = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
        text = result["message"]["text"]
        assert "](" not in text.replace("\\](", "")
    for note in sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"]:
        assert "](" not in note["message"]["text"].replace("\\](", "")


def test_markdown_shows_it_in_code_spans_alone(outputs: dict[str, str]) -> None:
    """Without its code spans the summary holds nothing that the target said."""
    rest = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", outputs["markdown"])
    for piece in ("alert", "@user", "javascript", "touch", "forged", "Heading", "`"):
        assert piece not in rest, piece
    assert rest.count("# ") < 10


@pytest.mark.parametrize("kind", ["terminal", *KINDS])
def test_what_it_left_is_named_in_every_output(outputs: dict[str, str], kind: str) -> None:
    """By a command line as hostile as the rest: what is said of each output holds for it."""
    left = [one["command"] for one in json.loads(outputs["json"])["left"]]
    assert {command.partition("(120) ")[2] for command in left} == set(PIECES)
    told = outputs[kind]
    if kind != "json":
        told = told[told.index("Processes that ran on when the target had been closed") :]
    for word in ("owned", "onmouseover", "vso", "user"):
        assert word in told, word


def test_the_reproduction_line_is_one_command(outputs: dict[str, str]) -> None:
    """A shell reads exactly our words from it."""
    report = json.loads(outputs["json"])
    for case in report["cases"]:
        words = shlex.split(case["reproduce"])
        assert words == ["cmconf", "run", "--target", outputs["file"], "--case", case["id"]]


def test_reports_are_bounded(outputs: dict[str, str]) -> None:
    """However much it says: no report grows beyond reason."""
    assert all(len(text) < 600_000 for text in outputs.values())


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("plain", "`plain`"),
        ("a `b` c", "``a `b` c``"),
        ("`", "`` ` ``"),
        ("a|b", "`a\\x7cb`"),
        ("", "` `"),
        ("a\nb", "`a\\x0ab`"),
    ],
)
def test_a_code_span_holds_any_text(text: str, span: str) -> None:
    """Its fence is longer than any in the text, and it stays in its cell and on its line."""
    assert for_markdown(text) == span


def test_each_sink_has_its_own_escape() -> None:
    """What one sink obeys is text in it."""
    assert for_html("<a href='x'>&\x1b\n") == "&lt;a href=&#x27;x&#x27;&gt;&amp;\\x1b\\x0a"
    assert for_html("a\n\tb\r", lines=True) == "a\n\tb\\x0d"
    assert for_xml("\x00\ufffe\ud800<") == "\\x00\\ufffe\\ud800<"
    assert for_workflow("a%0A::b\n") == "a%250A::b\\x0a"
    assert for_workflow("a:b,c", of_property=True) == "a%3Ab%2Cc"
