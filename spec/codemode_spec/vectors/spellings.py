"""Vectors of the text of a frame: bytes, JSON, numbers, strings, keys, depth and length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_spec.vectors.lines import Line, Vector, accept, in_base64, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemode_spec.tables import Profile

_ENDS: Final = {
    "parent": (
        "host_call",
        '{"type":"host_call","invocation_id":7,"call_id":1,"operation":"read","arguments":',
    ),
    "worker": (
        "host_result",
        '{"type":"host_result","invocation_id":7,"call_id":1,"ok":true,"value_present":true,"value":',
    ),
}
"""For each receiving end a kind, and its frame up to the value that it carries."""

_LEGAL_VALUES: Final[dict[str, tuple[str, int]]] = {
    "exponent": ("1E5", 6),
    "exponent-plus": ("1e+5", 6),
    "fraction-zero": ("1.0", 1),
    "minus-zero": ("-0", 1),
    "minus-zero-fraction": ("-0.0", 1),
    "underflow": ("1e-400", 1),
    "smallest": ("5e-324", 6),
    "largest": ("1.7976931348623157e308", 23),
    "rounds-to-largest": ("1.7976931348623158e308", 23),
    "two-to-53": ("9007199254740992", 16),
    "beyond-two-to-53": ("9007199254740993", 16),
    "twenty-one-digits": ("100000000000000000000", 21),
    "twenty-two-digits": ("1000000000000000000000", 5),
    "many-digits": ("0.1000000000000000055511151231257827", 3),
    "white-space": (' { "a" : [ 1 ,\t2 ]\r} ', 11),
    "solidus": (r'"\/"', 3),
    "escaped-letter": (r'"\u0041"', 3),
    "escaped-key": (r'{"\u0061":1}', 7),
    "escaped-upper-hex": (r'"\u00E9"', 4),
    "escaped-control": (r'"\u000a"', 4),
    "pair": (r'"\ud83d\ude00"', 6),
    "raw-astral": ('"\U0001f600"', 6),
    "raw-delete": ('"\x7f"', 3),
    "raw-line-separator": ('"\u2028"', 5),
    "raw-bom-in-text": ('"\ufeff"', 5),
    "raw-c1": ('"\x85"', 4),
    "brackets-in-text": ('"' + "[" * 300 + '"', 302),
    "escaped-quote-and-brackets": (r'"\"[[\\"', 8),
    "proto-key": ('{"__proto__":1}', 15),
    "empty-key": ('{"":1}', 6),
    "keys-that-differ-in-case": ('{"a":1,"A":2}', 13),
    "same-key-in-two-objects": ('[{"a":1},{"a":1}]', 17),
}
"""The JSON of a value, and the size of the value that it means."""

_FAULTY_VALUES: Final[dict[str, dict[str, str]]] = {
    "syntax": {
        "trailing-comma": "[1,]",
        "leading-comma": "[,1]",
        "missing-comma": "[1 2]",
        "missing-colon": '{"a" 1}',
        "missing-value": '{"a":}',
        "bare-key": "{a:1}",
        "single-quotes": "'a'",
        "comment": "/**/1",
        "line-comment": "1//",
        "undefined": "undefined",
        "capital-true": "True",
        "nan": "NaN",
        "infinity": "Infinity",
        "minus-infinity": "-Infinity",
        "leading-zero": "01",
        "minus-leading-zero": "-01",
        "plus": "+1",
        "bare-fraction": ".5",
        "bare-point": "1.",
        "bare-exponent": "1e",
        "lone-minus": "-",
        "hexadecimal": "0x10",
        "digit-separator": "1_000",
        "bigint": "1n",
        "arabic-digits": "\u0661",
        "raw-null": '"\x00"',
        "raw-tab": '"\t"',
        "raw-carriage-return": '"\r"',
        "raw-unit-separator": '"\x1f"',
        "escape-x": r'"\x41"',
        "escape-zero": r'"\0"',
        "escape-quote": r"""'\''""",
        "short-escape": r'"\u12"',
        "escape-no-hex": r'"\u00g0"',
        "escape-with-underscore": r'"\u00_1"',
        "escape-with-plus": r'"\u+041"',
        "open-string": '"a',
        "no-break-space": "\xa01",
        "form-feed": "\f1",
        "bom-before-value": "\ufeff1",
        "mismatched-brackets": "[1}",
    },
    "duplicate": {
        "twice": '{"a":1,"a":1}',
        "spelled-otherwise": r'{"a":1,"\u0061":2}',
        "deep": '[[{"b":{"a":1,"a":2}}]]',
        "proto": '{"__proto__":1,"__proto__":1}',
        "empty-key": '{"":1,"":2}',
        "not-next-to-each-other": '{"a":1,"b":2,"a":3}',
    },
    "number": {
        "overflow": "1e400",
        "overflow-negative": "-1e400",
        "overflow-nested": '{"a":[1e999]}',
        "just-above-the-largest": "1.7976931348623159e308",
        "huge-exponent": "1e99999999999",
        "many-digits": "9" * 400,
        "many-digits-and-fraction": "9" * 400 + ".0",
    },
    "surrogate": {
        "high": r'"\ud800"',
        "low": r'"\udc00"',
        "last-high": r'"\uDBFF"',
        "reversed": r'"\udc00\ud800"',
        "two-high": r'"\ud800\ud800"',
        "high-before-text": r'"\ud800x"',
        "after-pair": r'"\ud83d\ude00\ude00"',
        "in-key": r'{"\ud800":1}',
        "deep": r'[[{"a":["\udfff"]}]]',
    },
}
_FAULTY_BYTES: Final = {
    "lone-continuation": b'"\x80"',
    "never-legal": b'"\xff"',
    "overlong-slash": b'"\xc0\xaf"',
    "overlong-null": b'"\xc0\x80"',
    "surrogate": b'"\xed\xa0\x80"',
    "surrogate-pair": b'"\xed\xa0\xbd\xed\xb8\x80"',
    "beyond-unicode": b'"\xf4\x90\x80\x80"',
    "cut-sequence": b'"\xe2\x82"',
    "latin-1": b'"\xe9"',
    "outside-of-strings": b"1\xa0",
}


def vectors(profile: Profile) -> list[Vector]:
    """The same texts at both ends, since each reads what the other wrote."""
    found: list[Vector] = []
    for to, (kind, head) in _ENDS.items():
        found += _values(to, kind, head)
        found += _lines(to, kind, f"{head}null}}", f"{kind}.legal")
        found += _depth(to, kind, head, profile.rows["value_depth"].absolute_maximum)
        found += _length(to, kind, head, profile.rows["ipc_frame_bytes"].absolute_maximum)
    return found


def _values(to: str, kind: str, head: str) -> Iterator[Vector]:
    for name, (text, size) in _LEGAL_VALUES.items():
        yield accept(f"text.{to}.legal-{name}", to, f"{head}{text}}}", kind, size=size)
    for reason, texts in _FAULTY_VALUES.items():
        # A worker should be as strict as a parent; it has to be about duplicates only there.
        level = {"level": "SHOULD"} if to == "worker" and reason == "duplicate" else {}
        for name, text in texts.items():
            line = f"{head}{text}}}"
            yield refuse(f"text.{to}.{reason}-{name}", to, line, reason, f"{kind}.legal", **level)
    for name, data in _FAULTY_BYTES.items():
        parts: Line = [head, in_base64(data), "}"]
        yield refuse(f"text.{to}.encoding-{name}", to, parts, "encoding", f"{kind}.legal")


def _lines(to: str, kind: str, whole: str, base: str) -> Iterator[Vector]:
    """Faults of the line around the frame."""
    spaced = whole.replace(",", " ,\t").replace(":", "\r: ")
    yield accept(f"line.{to}.legal-white-space", to, f"\t {spaced} \r", kind, size=4)
    key = whole.replace('"type"', r'"t\u0079pe"')
    yield accept(f"line.{to}.legal-escaped-key", to, key, kind, size=4)
    escaped = whole.replace(f'"{kind}"', '"' + "".join(f"\\u{ord(c):04x}" for c in kind) + '"')
    yield accept(f"line.{to}.legal-escaped-kind", to, escaped, kind, size=4)
    syntax: dict[str, Line] = {
        "empty": "",
        "carriage-return-only": "\r",
        "spaces-only": "  ",
        "cut": whole[:-1],
        "brace-only": "{",
        "text-after": f"{whole}x",
        "comma-after": f"{whole},",
        "two-frames": whole + whole,
        "null-byte-after": f"{whole}\x00",
        "null-byte-before": f"\x00{whole}",
        "next-line-after": f"{whole}\x85",
        "line-separator-after": f"{whole}\u2028",
        "utf-16": [in_base64(whole.encode("utf-16-be"))],
    }
    for name, line in syntax.items():
        yield refuse(f"line.{to}.{name}", to, line, "syntax", base)
    yield refuse(f"line.{to}.bom", to, f"\ufeff{whole}", "bom", base)
    yield refuse(
        f"line.{to}.cut-character-after", to, [whole, in_base64(b"\xe2")], "encoding", base
    )
    for name, text in {
        "array": f"[{whole}]",
        "null": "null",
        "number": "1",
        "string": f'"{kind}"',
        "true": "true",
        "empty-object": "{}",
        "empty-array": "[]",
    }.items():
        yield refuse(f"line.{to}.{name}", to, text, "shape", base)
    level: dict[str, Any] = {"level": "SHOULD"} if to == "worker" else {}
    for name, more in {
        "type": f'"type":"{kind}"',
        "invocation-id": '"invocation_id":7',
        "escaped": r'"invocation\u005fid":7',
    }.items():
        line = f"{whole[:-1]},{more}}}"
        yield refuse(f"line.{to}.duplicate-{name}", to, line, "duplicate", base, **level)


def _depth(to: str, kind: str, head: str, most: int) -> Iterator[Vector]:
    """The deepest value, and one level more; a scalar is 0 and the envelope does not count."""
    for name, opening, inner, closing in (
        ("arrays", "[", "", "]"),
        ("objects", '{"a":', "0", "}"),
        ("pairs", '[{"a":', "[]", "}]"),
    ):
        levels = len([c for c in opening if c in "[{"])
        extra = inner.count("[")

        def line(depth: int, o: str = opening, i: str = inner, c: str = closing) -> Line:
            times = (depth - extra) // levels  # noqa: B023  called within this turn
            if (depth - extra) % levels:  # noqa: B023  likewise
                return [
                    f"{head}[",
                    {"repeat": o, "times": times},
                    i,
                    {"repeat": c, "times": times},
                    "]}",
                ]
            return [head, {"repeat": o, "times": times}, i, {"repeat": c, "times": times}, "}"]

        base = f"depth.{to}.{name}-deepest"
        yield accept(base, to, line(most), kind)
        yield refuse(f"depth.{to}.{name}-too-deep", to, line(most + 1), "depth", base)
        yield refuse(f"depth.{to}.{name}-far-too-deep", to, line(most * 40), "depth", base)


def _length(to: str, kind: str, head: str, most: int) -> Iterator[Vector]:
    """A line of the longest length, and one byte more."""

    def text(length: int) -> Line:
        return [f'{head}"', {"repeat": "a", "times": length - len(head) - 3}, '"}']

    def spaces(length: int) -> Line:
        return [f"{head}null", {"repeat": " ", "times": length - len(head) - 5}, "}"]

    def wide(length: int) -> Line:
        # Two bytes a character: bytes are counted and nothing else.
        room = length - len(head) - 3
        return [f'{head}"', "a" * (room % 2), {"repeat": "\u00e9", "times": room // 2}, '"}']

    for name, line in (("text", text), ("spaces", spaces), ("two-byte-text", wide)):
        base = f"length.{to}.{name}-longest"
        yield accept(base, to, line(most), kind)
        yield refuse(
            f"length.{to}.{name}-too-long", to, line(most + 1), "length", base, event="oversized"
        )
    noise: Line = [{"repeat": "x", "times": most + 1}]
    yield refuse(
        f"length.{to}.noise-too-long", to, noise, "length", f"{kind}.legal", event="oversized"
    )
