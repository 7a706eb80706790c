"""Planted secrets: where they stand, how a case names them, and how a leak is recognized.

A case names them inside programs and inside the behaviour of operations:
`{{canary.env.name}}` and `{{canary.env.value}}`, `{{canary.file}}` (a path), `{{canary.error}}`
(the secret itself, for the message of a failing operation), `{{canary.url}}`. A program should
name only places: a program that carries a secret proves nothing when it returns it.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.failures import HarnessError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAMES: Final = ("env", "file", "error", "url")
_PLACEHOLDER: Final = re.compile(r"\{\{canary\.([a-z.]+)\}\}")


@dataclass(frozen=True, slots=True)
class Canaries:
    """The secrets of one process.

    All values share a random stem, so that one search finds any of them, and look like no real
    credential. `variable` is the environment variable, `file` a file that holds its secret,
    `url` an address on this machine whose answer is its secret.
    """

    stem: str
    variable: str
    file: Path
    url: str

    def value(self, name: str) -> str:
        """The secret of this name: env, file, error or url."""
        return f"canary-{self.stem}-{name}"

    def intact(self) -> bool:
        """Whether the planted file is still there: a file that is gone can be read by nobody."""
        try:
            return self.file.read_text(encoding="ascii") == f"{self.value('file')}\n"
        except (OSError, ValueError):
            return False

    def fill(self, value: Any) -> Any:
        """A JSON value, or a text, with the placeholders filled in; HarnessError for an unknown."""
        # Most values name none, and some are nested as deep as a text can be but a walk cannot.
        if "{{canary." not in json.dumps(value):
            return value
        if isinstance(value, str):
            return _PLACEHOLDER.sub(self._place, value)
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        return value

    def _place(self, match: re.Match[str]) -> str:
        places = {
            "env.name": self.variable,
            "env.value": self.value("env"),
            "file": str(self.file),
            "error": self.value("error"),
            "url": self.url,
        }
        if match[1] not in places:
            known = ", ".join(f"canary.{name}" for name in places)
            raise HarnessError(f"a case names {match[0]}; known are {known}")
        return places[match[1]]


def plant(folder: Path, url: str) -> Canaries:
    """New secrets: the file is written into `folder`; the caller sets the variable."""
    file = folder / f"notes-{secrets.token_hex(4)}.txt"
    canaries = Canaries(
        stem=secrets.token_hex(10),
        variable=f"CMCONF_CANARY_{secrets.token_hex(4).upper()}",
        file=file,
        url=url,
    )
    file.write_text(f"{canaries.value('file')}\n", encoding="ascii")
    return canaries


class Search:
    """Looks for the secrets in bytes, also in encoded forms, and for `places`: host paths."""

    def __init__(self, canaries: Canaries, places: Sequence[str] = ()) -> None:
        self._places = [place.encode() for place in places]
        self._stem = _forms(canaries.stem)
        self._full = {name: _forms(canaries.value(name)) for name in NAMES}
        self.overlap = max(len(text) for _, text in self._stem)
        """Bytes to keep of one piece of a stream, so that nothing hides between two pieces."""

    def find(self, data: bytes | str) -> list[tuple[str, str]]:
        """The secrets in these bytes, as (name, form); `part` when only the stem is there."""
        if isinstance(data, str):
            data = data.encode(errors="backslashreplace")
        parts = [("part", form) for form, stem in self._stem if stem in data]
        if not parts:
            return []
        whole = [
            (name, form) for name, full in self._full.items() for form, text in full if text in data
        ]
        return list(dict.fromkeys(whole or parts))

    def find_places(self, data: bytes | str) -> list[tuple[str, str]]:
        """The host paths in these bytes, as ("path", "raw") at most once."""
        if isinstance(data, str):
            data = data.encode(errors="backslashreplace")
        return [("path", "raw")] if any(place in data for place in self._places) else []


def _forms(text: str) -> list[tuple[str, bytes]]:
    raw = text.encode()
    forms = [
        ("raw", raw),
        ("upper", raw.upper()),
        ("reversed", raw[::-1]),
        ("hex", raw.hex().encode()),
        ("hex", raw.hex().upper().encode()),
        ("percent", "".join(f"%{byte:02x}" for byte in raw).encode()),
        ("percent", "".join(f"%{byte:02X}" for byte in raw).encode()),
        ("escapes", "".join(f"\\u{byte:04x}" for byte in raw).encode()),
        ("escapes", "".join(f"\\x{byte:02x}" for byte in raw).encode()),
        ("codes", ",".join(map(str, raw)).encode()),
        ("codes", ", ".join(map(str, raw)).encode()),
        ("codes", " ".join(map(str, raw)).encode()),
        ("utf-16", text.encode("utf-16-le")),
        ("utf-16", text.encode("utf-16-be")),
        ("entities", "".join(f"&#{byte};" for byte in raw).encode()),
        ("entities", "".join(f"&#x{byte:x};" for byte in raw).encode()),
        ("spelled", " ".join(text).encode()),
        ("spelled", "\n".join(text).encode()),
        ("reversed hex", raw[::-1].hex().encode()),
    ]
    for name, data in (("base64", raw), ("reversed base64", raw[::-1])):
        forms += [(name, form) for form in _base64(data)]
    return forms


def _base64(data: bytes) -> list[bytes]:
    """The three ways in which data can stand in a longer text that is encoded."""
    found = []
    for shift in range(3):
        # Only the characters that do not depend on what stands around the secret.
        encoded = base64.b64encode(bytes(shift) + data)
        first = -(-shift * 8 // 6)
        found.append(encoded[first : (shift + len(data)) * 8 // 6])
    return found
