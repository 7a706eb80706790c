"""A scripted client sees what a server does right, and each single thing that it does wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import codemode_spec
import pytest
from codemode_conformance.judge import Standing, judge
from codemode_conformance.server import client, dialogue, strict
from codemode_conformance.server.role import ServerRole
from codemode_conformance.transcript import Transcript
from codemode_conformance.verdicts import Verdict
from codemode_spec.expansion import expand

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemode_conformance.install import Installed
    from codemode_conformance.verdicts import CaseVerdict

FAKE = Path(__file__).parent / "fakes" / "raw_server.py"
SPECIFICATION = codemode_spec.shipped()
STANDING = Standing(frozenset({"server"}), "typed")


@pytest.fixture
def ask(
    served: Callable[..., Installed], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., CaseVerdict]:
    """Puts a case of the MCP area to the raw fake with some faults, and judges it."""
    monkeypatch.setattr(client, "PATIENCE_SECONDS", 4.0)
    monkeypatch.setattr(dialogue, "LEAVE_SECONDS", 2.0)

    def put(
        steps: list[Any], *faults: str, told: list[str] | None = None, **block: Any
    ) -> CaseVerdict:
        pointers = {"wall_ms": "wall", "cpu_ms": "cpu", "memory_mib": "memory"}
        metrics = {name: f"/structured/{key}" for name, key in pointers.items()}
        installed = served(
            {"limit": {"pointer": "/structured/limit"}, "metrics": metrics},
            command=["${python}", str(FAKE), *faults],
            isolation={"where": "description", "kind": "own", "strong": "hard", "weak": "soft"},
            reference=["api.one" if "reference" not in faults else "api.two"],
        )
        identity = ServerRole(installed)._claimed()
        after = block.pop("after", "none")
        case = expand(
            "MCP",
            {
                "id": "mcp.fake-case",
                "title": "A case",
                "requirements": {
                    "outcome": "CM-MCP-013", "value": "CM-MCP-013", "evidence": "CM-MCP-013"
                },
                "roles": ["server"],
                "client": steps,
                "after": after,
                "expect": [{"outcome": "value", **block}],
            },
        )[0]  # fmt: skip
        transcript = None if told is None else Transcript(told.append)
        role = ServerRole(installed, transcript=transcript)
        monkeypatch.setattr(role, "start", lambda: identity)
        attempt = role.run(case)
        requirements = SPECIFICATION.requirements
        return judge(case, attempt.ready, attempt.observation, requirements, STANDING)

    return put


def layers(verdict: CaseVerdict) -> dict[str, Verdict]:
    """The verdicts by layer."""
    return {one.layer: one.verdict for one in verdict.layers}


RUN = [{"program": "return 1", "as": "run"}, {"read": "run"}]
LIST = [{"request": "tools/list", "as": "tools"}, {"read": "tools"}]
REPORT = [{"program": "report", "token": "t", "as": "run"}, {"read": "run"}]
BUSY = [{"program": "sleep 1", "as": "run"}, {"wait": 100}, {"request": "ping", "as": "ping"},
        {"read": "ping"}, {"read": "run"}]  # fmt: skip
BAD = [{"line": "{bad"}, {"request": "ping", "as": "ping"}, {"read": "ping"}]

WRONG: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("noise", RUN, {"evidence": {"messages": ["protocol"]}}, "evidence"),
    ("version", RUN, {"evidence": {"messages": ["protocol"]}}, "evidence"),
    ("twice", RUN, {"evidence": {"messages": ["asked"]}}, "evidence"),
    ("twice", RUN, {"answers": {"run": {"value": 1}}}, "value"),
    ("no_content", RUN, {"evidence": {"messages": ["results"]}}, "evidence"),
    ("list", RUN, {"evidence": {"messages": ["results"]}}, "evidence"),
    ("flags", RUN, {"evidence": {"messages": ["flags"]}}, "evidence"),
    ("no_json", RUN, {"evidence": {"messages": ["text"]}}, "evidence"),
    ("other_text", RUN, {"evidence": {"messages": ["text"]}}, "evidence"),
    ("metrics", RUN, {"evidence": {"messages": ["metrics"]}}, "evidence"),
    ("more_arguments", LIST, {"evidence": {"messages": ["one_tool"]}}, "evidence"),
    ("empty_schema", LIST, {"evidence": {"messages": ["schema"]}}, "evidence"),
    ("reference", RUN, {"evidence": {"messages": ["reference"]}}, "evidence"),
    ("stands_still", REPORT, {"evidence": {"messages": ["progress"]}}, "evidence"),
    (
        "uninvited",
        [{"program": "report", "as": "run"}, {"read": "run"}],
        {"evidence": {"messages": ["progress"]}},
        "evidence",
    ),
    ("changed_id", RUN, {}, "outcome"),
    ("serial", BUSY, {"answers": {"ping": {"result": {}, "before": "run"}}}, "value"),
    ("dies", BAD, {}, "outcome"),
    ("stays", [{"close": ["stdin"]}], {"outcome": "exit"}, "outcome"),
    (
        "orphan",
        [{"program": "endless", "as": "run"}, {"wait": 300}, {"close": ["stdin"]}],
        {"outcome": "exit", "evidence": {"messages": ["no_process"]}},
        "evidence",
    ),
    (
        "keeps",
        [{"text": "a" * 64, "times": 1 << 20}, {"text": "\n"}, *BAD[1:]],
        {"evidence": {"messages": ["small"]}},
        "evidence",
    ),
    (
        "no_code",
        [{"program": "throw", "as": "run"}, {"read": "run"}],
        {"answers": {"run": {"failure": True, "limit": 3}}},
        "value",
    ),
]


@pytest.mark.parametrize(
    ("fault", "steps", "block", "layer"), WRONG, ids=[f"{one[0]}-{one[3]}" for one in WRONG]
)
def test_each_fault_is_seen_in_its_layer(
    ask: Any, fault: str, steps: list[Any], block: dict[str, Any], layer: str
) -> None:
    """The same case passes on the server without it."""
    assert layers(ask(steps, fault, **block))[layer] is Verdict.FAIL
    if fault != "reference":
        good = layers(ask(steps, **block))
        assert good[layer] is Verdict.PASS, good
        assert set(good.values()) <= {Verdict.PASS, Verdict.NOT_REACHED}, good


def test_what_comes_of_requests_is_told_by_their_names(ask: Any) -> None:
    """A value, none, a failure with its code and limit, a refusal, and progress."""
    steps = [
        {"program": "return [1]", "as": "value"},
        {"program": "nothing", "as": "nothing"},
        {"program": "throw", "as": "failed"},
        {"program": "report", "token": 5, "as": "told"},
        {"request": "cmconf/none", "as": "refused"},
        *[{"read": name} for name in ("value", "nothing", "failed", "told", "refused")],
        *BAD,
    ]
    answers = {
        "value": {"value": [1]},
        "nothing": {"value": {"absent": True}},
        "failed": {"failure": True, "code": "LIMIT", "limit": 3, "category": ["memory"]},
        "told": {"value": 1, "progress": [2, 2]},
        "refused": {"refused": [-32601]},
        "nobody": {"times": [1, 1], "refused": [-32700]},
    }
    assert layers(ask(steps, answers=answers, after="healthy")) == {
        "outcome": Verdict.PASS,
        "value": Verdict.PASS,
        "evidence": Verdict.NOT_REACHED,
    }
    for name, wrong in (
        ("value", {"value": [True]}),
        ("nothing", {"value": None}),
        ("failed", {"failure": True, "code": "OTHER"}),
        ("failed", {"failure": True, "limit": 4}),
        ("told", {"value": 1, "progress": [3, 9]}),
        ("refused", {"refused": [-32600]}),
        ("nobody", {"times": [0, 0], "refused": [-32700]}),
    ):
        found = layers(ask(steps, answers=answers | {name: wrong}))
        assert found["value"] is Verdict.FAIL, name


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', ""),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', ""),
        (b'{"jsonrpc":"2.0","method":"a/b","params":{}}', ""),
        (b"", "no JSON"),
        (b"\xff", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"[]", "no object"),
        (b'{"id":1,"result":{}}', 'jsonrpc is "null"'),
        (b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":{}}', "no JSON"),
        (b'{"jsonrpc":"2.0","id":1}', "neither result nor error"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}', "error and"),
        (b'{"jsonrpc":"2.0","result":{}}', "without an id"),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', "the id null"),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', "the result is"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}', "code of an error"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', "message of an error"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', "id of a request"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', "params are"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', "the method is"),
    ],
)  # fmt: skip
def test_a_line_is_read_strictly(line: bytes, fault: str) -> None:
    """What JSON-RPC 2.0 and MCP forbid has a name."""
    found = strict.read(line)[1]
    assert fault in found
    assert bool(found) == bool(fault)


def test_ids_are_the_same_only_if_they_are() -> None:
    """A number, a text and a fraction of the same figure are three."""
    assert len({strict.key(one) for one in (1, "1", 1.0, 1.5, None, True)}) == 6


def test_a_transcript_has_all_that_is_said(ask: Callable[..., CaseVerdict]) -> None:
    """Messages, bytes that are none, and how it ended, in both directions."""
    told: list[str] = []
    ask([*RUN, {"hex": "7bff", "times": 2}, {"line": ""}, {"close": ["stdin"]}], "noise", told=told)
    said = [line.strip().split(maxsplit=1)[1] for line in told]
    assert said[0].startswith('-> {"jsonrpc":"2.0","id":"cmconf-initialize","method":"initialize"')
    assert any(line.startswith("<- {") and "cmconf-initialize" in line for line in said)
    assert any(line.startswith("-> {") and '"return 1"' in line for line in said)
    assert any(line.startswith("<- bytes ") for line in said)
    assert r"-> bytes {\xff{\xff" in said
    closed = said.index("-- the client closes its end of stdin")
    assert any(line.startswith("-- the server has exited with ") for line in said[closed:])


def test_a_transcript_has_the_line_that_was_never_ended(ask: Callable[..., CaseVerdict]) -> None:
    """What a server had begun to write when it died is told before its end."""
    told: list[str] = []
    ask([{"line": "hello"}, *RUN], "dies", told=told)
    said = [line.strip().split(maxsplit=1)[1] for line in told]
    assert said.index("<- bytes half a li") < said.index("-- the server has exited with 9")


def test_a_server_that_asks_on_and_on_is_answered_in_order(
    ask: Callable[..., CaseVerdict],
) -> None:
    """Hundreds of long requests at once do not end the suite, nor is one read as garbage."""
    told: list[str] = []
    seen = layers(ask(BAD[1:], "asks", told=told, evidence={"messages": ["asked"]}))
    assert {seen["outcome"], seen["evidence"]} == {Verdict.PASS}
    numbers = [int(line.split('"id":')[1][:4]) for line in told if '"pad"' in line]
    assert numbers == list(range(7_000, 7_900))


@pytest.mark.parametrize(
    ("data", "size", "mark"),
    [
        (b"plain", 0, ""),
        ("\u00e9".encode() * 5, 0, ""),
        (b"\xff" * 500, 0, ""),
        (b"\xff" * 3_000, 0, "... (3000 bytes)"),
        ("\u00e9".encode() * 2_000, 0, "... (4000 bytes)"),
        (b"start", 9_000, "... (9000 bytes)"),
    ],
)
def test_bytes_are_marked_as_cut_only_where_they_are(data: bytes, size: int, mark: str) -> None:
    """Neither characters of several bytes nor escapes change what is told of the length."""
    told: list[str] = []
    Transcript(told.append).frame("<-", data, size)
    assert told[0].endswith(mark) if mark else "..." not in told[0]
