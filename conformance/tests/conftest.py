"""What the tests of the suite share: targets made of fakes, and cases made of verbs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from codemode_conformance.engine import Engine
from codemode_conformance.install import Installed
from codemode_conformance.server import trial
from codemode_conformance.server.role import ServerRole
from codemode_conformance.target import Target, load_target
from codemode_spec.expansion import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from codemode_conformance.observation import Observation
    from codemode_conformance.process import Caps
    from codemode_spec.cases import Case

FAKE = Path(__file__).parent / "fakes" / "adapter.py"
FAKE_SERVER = Path(__file__).parent / "fakes" / "mcp_server.py"
LINK = "https://example.org/limits"
CLAIMS = {"policy.wall_time_ms": LINK, "alternatives.script_style": LINK}


def toml_of(data: dict[str, Any], prefix: str = "") -> str:
    """A small TOML writer: tables of JSON values."""
    plain = {key: value for key, value in data.items() if not isinstance(value, dict)}
    lines = [f"[{prefix}]"] if prefix else []
    lines += [f"{json.dumps(key)} = {_inline(value)}" for key, value in plain.items()]
    for key, value in data.items():
        if isinstance(value, dict):
            lines.append(toml_of(value, f"{prefix}.{json.dumps(key)}" if prefix else key))
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        entries = (f"{json.dumps(key)} = {_inline(entry)}" for key, entry in value.items())
        return f"{{ {', '.join(entries)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value)


def target_data(config: dict[str, Any] | None = None, **engine: Any) -> dict[str, Any]:
    """The target file of the fake adapter, as data."""
    command = ["${python}", str(FAKE), json.dumps(config or {})]
    return {
        "format": 1,
        "target": {"name": "fake", "version": "1.0"},
        "engine": {"command": command, "grace_ms": 200, **engine},
        "claims": CLAIMS,
    }


@pytest.fixture
def targets(tmp_path: Path) -> Callable[..., Target]:
    """Makes target files of the fake adapter; further tables replace or add to it."""

    def make(config: dict[str, Any] | None = None, **tables: Any) -> Target:
        file = tmp_path / "fake.toml"
        data = target_data(config, **tables.pop("engine", {})) | tables
        file.write_text(toml_of({k: v for k, v in data.items() if v is not None}), "utf-8")
        return load_target(file)

    return make


@pytest.fixture
def fake_engine(targets: Callable[..., Target], tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Makes engines of fakes; each is closed in the end."""
    engines = []

    def make(config: dict[str, Any] | None = None, claims: Any = CLAIMS, **engine: Any) -> Engine:
        target = targets(config, engine=engine, claims=claims)
        values = {"here": str(tmp_path), "cache": str(tmp_path), "python": sys.executable}
        engines.append(Engine(Installed(target, values)))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def installed(tmp_path: Path) -> Callable[..., Installed]:
    """Makes an installed target of a fake: `installed(parent={...}, claims={...})`."""

    def make(**tables: Any) -> Installed:
        file = tmp_path / "fake.toml"
        about = {"format": 1, "target": {"name": "fake", "version": "1.0"}}
        file.write_text(toml_of(about | tables), "utf-8")
        values = {"here": str(tmp_path), "cache": str(tmp_path), "python": sys.executable}
        return Installed(load_target(file), values)

    return make


@pytest.fixture
def case_of() -> Callable[..., Case]:
    """Makes cases of verbs, see `fakes/adapter.py`."""
    return build_case


def build_case(program: str = "return 1", **parts: Any) -> Case:
    """A case with this program, or with the `runs` in `parts`."""
    area = parts.pop("area", "TIM")
    data: dict[str, Any] = {
        "id": f"{area.lower()}.fake-case",
        "title": "A case",
        "requirements": {"outcome": "CM-TIM-001"},
        "roles": ["engine"],
        "expect": [{"outcome": "any"}],
        **parts,
    }
    if "runs" not in parts:
        data["program"] = {"javascript": program}
    return expand(area, data)[0]


SERVER_FAILURES = [
    {"code": "BUSY", "category": "admission", "refusal": "rate"},
    {"code": "FORBIDDEN", "category": "admission", "refusal": "filter"},
    {"text": "stack", "category": "stack"},
    {"code": "LIMIT", "text": "calls", "category": "calls"},
    {"code": "LIMIT", "category": "memory"},
    {"code": "-32001", "category": "protocol"},
]


class Observed(ServerRole):
    """A server role that is asked with a program alone."""

    def see(self, program: str, **parts: Any) -> Observation:
        """What is seen of a case with this program."""
        return self.run(build_case(program, **{"roles": ["server"], **parts})).observation


def server_data(transport: str = "stdio", **server: Any) -> dict[str, Any]:
    """The target file of the fake server, as data."""
    command = ["${python}", str(FAKE_SERVER), transport, "0" if transport == "stdio" else "${port}"]
    http = {} if transport == "stdio" else {"url": "http://127.0.0.1:${port}/mcp"}
    return {
        "format": 1,
        "target": {"name": "fake", "version": "1"},
        "server": {
            "transport": "stdio" if transport == "stdio" else "http",
            "command": command,
            "tool": "run",
            "operations": "none",
            "grace_ms": 60,
            "fixed_arguments": {"mode": "js"},
            "arguments": {"program": "code", "options.timeout_ms": "timeout"},
            "answer": {
                "success": {"pointer": ["/structured/success", "/json/success"], "equals": True},
                "value": {"pointer": ["/structured/result", "/json/result"]},
                "message": {"pointer": "/structured/error"},
                "code": {"pointer": "/structured/code"},
                "failure": SERVER_FAILURES,
            },
            "identity": {
                "language": ["javascript"],
                "mapping": "text",
                "capabilities": ["options.timeout", "admission"],
                "settable": [],
                "alternatives": {"script_style": "async"},
                "effective": {"wall_time_ms": {"value": 5_000, "from": "documented"}},
            },
            **http,
            **server,
        },
        "claims": {"alternatives.script_style": LINK, "admission": LINK},
    }


@pytest.fixture
def served(tmp_path: Path) -> Callable[..., Installed]:
    """Makes an installed server of another command: `served(command=[...], answer={...})`."""

    def make(answer: dict[str, Any], **tables: Any) -> Installed:
        data = server_data()
        data["server"] |= tables
        data["server"]["answer"] |= answer
        file = tmp_path / "served.toml"
        file.write_text(toml_of(data), "utf-8")
        values = {"here": str(tmp_path), "cache": str(tmp_path), "python": sys.executable}
        return Installed(load_target(file), values)

    return make


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Observed]]:
    """Makes server roles of the fake; each is closed in the end."""
    roles = []
    # Longer than in earnest: a fake that answers must be heard on a busy machine too.
    monkeypatch.setattr(trial, "CANCEL_SECONDS", 2)
    monkeypatch.setattr(trial, "PING_SECONDS", 2)

    def make(transport: str = "stdio", caps: Caps | None = None, **tables: Any) -> ServerRole:
        data = server_data(transport, **tables)
        data["server"] = {k: v for k, v in data["server"].items() if v is not None}
        file = tmp_path / "fake.toml"
        file.write_text(toml_of(data), "utf-8")
        values = {"here": str(tmp_path), "cache": str(tmp_path), "python": sys.executable}
        roles.append(Observed(Installed(load_target(file), values), caps))
        return roles[-1]

    yield make
    for role in roles:
        role.close()
