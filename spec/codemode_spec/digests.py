"""Digests of cases: SHA-256 over canonical JSON (RFC 8785)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import rfc8785

if TYPE_CHECKING:
    from collections.abc import Mapping


def digest_of(value: Any) -> str:
    """The digest of one JSON value, in hex."""
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def digest_of_all(digests: Mapping[str, str]) -> str:
    """The digest over `id digest LF` lines in the order of ids, in hex."""
    lines = "".join(f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()
