"""The raw tap: every message that a server sends, seen before the SDK, and what is wrong with it.

No I/O. Notes are evidence; nothing here fails a server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode_conformance import messages
from codemode_conformance.escape import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codemode_conformance.transcript import Transcript


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The answer to one request as it came: `data` is its JSON-RPC message.

    `cut` says that parts nested too deeply were replaced by null.
    """

    data: Mapping[str, Any]
    cut: bool


class Tap:
    """Follows one connection; `note` gets a text for each thing that the protocol forbids."""

    def __init__(self, note: Callable[[str], None], transcript: Transcript | None = None) -> None:
        self.strange = note
        self._transcript = transcript
        self._open: dict[int | str, str] = {}
        self._answered: set[int | str] = set()
        self._answers: dict[int | str, RawAnswer] = {}
        self.last_id: int | str | None = None

    def sent(self, message: Mapping[str, Any]) -> None:
        """A message that the client sends."""
        if self._transcript is not None:
            self._transcript.sent(message)
        if "id" in message and "method" in message:
            self.last_id = message["id"]
            self._open[message["id"]] = message["method"]

    def received(self, data: bytes, *, cut: bool = False) -> dict[str, Any] | None:
        """The message in one line or body; None when it is none, or answers nothing open."""
        message, shallow = self._message(data, cut=cut)
        if message is None:
            if self._transcript is not None:
                self._transcript.raw("<-", data)
            return None
        if self._transcript is not None:
            self._transcript.received(message)
        if "method" in message:
            return message
        return message if self._is_wanted(message, cut=shallow) else None

    def take(self, number: int | str) -> RawAnswer | None:
        """The answer to this request, which is then forgotten."""
        return self._answers.pop(number, None)

    def _message(self, data: bytes, *, cut: bool) -> tuple[dict[str, Any] | None, bool]:
        """The message, None if it is none, and whether parts of it were nested too deeply."""
        if cut:
            self.strange(f"a message of more than the cap, starting {quoted(data, 60)}")
            return None, False
        try:
            message, shallow = messages.parse(data.decode())
        except UnicodeDecodeError as error:
            self.strange(f"byte {error.start} of a line is not UTF-8: {quoted(data, 60)}")
            return None, False
        except (ValueError, RecursionError):
            self.strange(f"a line that is no message: {quoted(data)}")
            return None, False
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.strange(f"a line that is no message: {quoted(data)}")
            return None, False
        return message, shallow

    def _is_wanted(self, message: dict[str, Any], *, cut: bool) -> bool:
        number = message.get("id")
        if isinstance(number, bool) or not isinstance(number, int | str):
            self.strange(f"an answer with the id {quoted(str(number))}")
            return False
        if number in self._open:
            del self._open[number]
            self._answered.add(number)
            self._answers[number] = RawAnswer(message, cut)
            return True
        again = number in self._answered
        self.strange(
            f"a second answer to request {quoted(str(number), 40)}"
            if again
            else f"an answer to request {quoted(str(number), 40)}, which was never made"
        )
        return False
