"""What the tests of the suite share: targets made of fakes, and cases made of verbs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from codemode_conformance.engine import Engine
from codemode_conformance.install import Installed
from codemode_conformance.target import Target, load_target
from codemode_spec.cases import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from codemode_spec.cases import Case

FAKE = Path(__file__).parent / "fakes" / "adapter.py"
LINK = "https://example.org/limits"
CLAIMS = {"policy.wall_time_ms": LINK, "alternatives.script_style": LINK}


def toml_of(data: dict[str, Any], prefix: str = "") -> str:
    """A small TOML writer: tables of JSON values."""
    plain = {key: value for key, value in data.items() if not isinstance(value, dict)}
    lines = [f"[{prefix}]"] if prefix else []
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in plain.items()]
    for key, value in data.items():
        if isinstance(value, dict):
            lines.append(toml_of(value, f"{prefix}.{json.dumps(key)}" if prefix else key))
    return "\n".join(lines) + "\n"


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
