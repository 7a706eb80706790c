"""Handles that a program is given and hands back: snapshots and cursors.

They carry what they stand for, and a seal over that and over the place where they are good. No
handle names a path or anything else of this machine.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b
from hmac import compare_digest
from typing import Any

_SEAL_BYTES = 16


class Seal:
    """Makes and opens handles. Its key lives as long as this object and nowhere else."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def close(self, content: Any, *scope: Any) -> str:
        """A handle for the JSON value `content`, good only in this `scope` of JSON values."""
        text = json.dumps(content, separators=(",", ":")).encode()
        return urlsafe_b64encode(self._seal(text, scope) + text).decode().rstrip("=")

    def open(self, handle: str, *scope: Any) -> Any:
        """What the handle stands for; ValueError if it was not made here for this scope."""
        try:
            data = b64decode(handle + "=" * (-len(handle) % 4), b"-_", validate=True)
        except ValueError:
            raise ValueError("no handle") from None
        seal, text = data[:_SEAL_BYTES], data[_SEAL_BYTES:]
        spelled = urlsafe_b64encode(data).decode().rstrip("=") == handle
        if not spelled or not compare_digest(seal, self._seal(text, scope)):
            raise ValueError("a foreign handle")
        return json.loads(text)

    def _seal(self, text: bytes, scope: tuple[Any, ...]) -> bytes:
        place = json.dumps(scope, sort_keys=True, separators=(",", ":")).encode()
        seal = blake2b(digest_size=_SEAL_BYTES, key=self._key)
        # The length in front keeps the two parts apart.
        seal.update(len(place).to_bytes(8, "big") + place + text)
        return seal.digest()
