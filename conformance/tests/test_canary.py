"""Planted secrets are found in every form a program is likely to give them."""

import base64
import json
import urllib.request
from pathlib import Path

import pytest
from codemode_conformance.canary import NAMES, Canaries, Search, plant
from codemode_conformance.failures import HarnessError
from codemode_conformance.listener import Listener


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    """Secrets planted in a folder."""
    return plant(tmp_path, "http://127.0.0.1:9/x")


FORMS = {
    "raw": str,
    "upper": str.upper,
    "reversed": lambda text: text[::-1],
    "hex": lambda text: text.encode().hex(),
    "percent": lambda text: "".join(f"%{ord(c):02X}" for c in text),
    "escapes": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "codes": lambda text: json.dumps([ord(c) for c in text]),
    "compact codes": lambda text: json.dumps([ord(c) for c in text], separators=(",", ":")),
    "codes and blanks": lambda text: " ".join(str(ord(c)) for c in text),
    "entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "entities in hex": lambda text: "".join(f"&#x{ord(c):x};" for c in text),
    "spelled": " ".join,
    "a line for each": "\n".join,
    "reversed hex": lambda text: text[::-1].encode().hex(),
    "reversed base64": lambda text: base64.b64encode(text[::-1].encode()).decode(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 after one": lambda text: base64.b64encode(b"x" + text.encode()).decode(),
    "base64 after two": lambda text: base64.b64encode(b"xy" + text.encode() + b"z").decode(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_a_secret_is_found_in_each_form(canaries: Canaries, name: str, form: str) -> None:
    """The hit names the secret."""
    text = f"before {FORMS[form](canaries.value(name))} after"
    assert {found for found, _ in Search(canaries).find(text)} == {name}


def test_a_part_of_a_secret_is_found_and_other_text_is_not(canaries: Canaries) -> None:
    """The random part alone is a leak; a text without it is none."""
    search = Search(canaries)
    assert search.find(canaries.stem) == [("part", "raw")]
    assert search.find("canary-0000000000-env") == []
    assert search.find(b"\xff\x00") == []


def test_paths_of_the_host_are_found_apart(canaries: Canaries) -> None:
    """A path is no secret, but its own kind of hit."""
    search = Search(canaries, ["/opt/targets/fake"])
    assert search.find_places("at /opt/targets/fake/adapter.mjs:3") == [("path", "raw")]
    assert search.find("at /opt/targets/fake/adapter.mjs:3") == []


def test_a_case_names_secrets_by_placeholders(canaries: Canaries) -> None:
    """They are filled in anywhere in a JSON value; an unknown one is an error."""
    filled = canaries.fill(
        {"a": ["{{canary.env.name}} {{canary.error}}", 1], "b": "{{canary.url}}"}
    )
    assert filled == {"a": [f"{canaries.variable} {canaries.value('error')}", 1], "b": canaries.url}
    assert canaries.fill("{{canary.file}}") == str(canaries.file)
    assert canaries.file.read_text(encoding="ascii").strip() == canaries.value("file")
    with pytest.raises(HarnessError, match=r"canary\.nest"):
        canaries.fill("{{canary.nest}}")


def test_a_value_nested_deeply_is_left_alone(canaries: Canaries) -> None:
    """Filling does not walk what holds no placeholder."""
    value: list[object] = []
    for _ in range(600):
        value = [value]
    assert canaries.fill(value) is value


def test_a_listener_counts_connections_and_requests() -> None:
    """A request for the path is told from a bare connection, and answered with the secret."""
    with Listener() as listener:
        listener.body = "secret"
        with urllib.request.urlopen(listener.url) as answer:
            assert answer.read() == b"secret"
        assert listener.take() == (1, 1)
        with urllib.request.urlopen(listener.url.rpartition("/")[0] + "/other") as answer:
            answer.read()
        assert listener.take() == (1, 0)
        assert listener.take() == (0, 0)


def test_closing_the_listener_is_no_connection_of_a_program() -> None:
    """The suite wakes its own thread by a connection, which is no evidence."""
    listener = Listener()
    listener.close()
    assert listener.take() == (0, 0)
