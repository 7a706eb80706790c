"""Writing TOML: the standard library only reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def string(value: str) -> str:
    """A basic string; what no Unicode text may hold becomes U+FFFD."""
    escaped = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 0x20 or ord(c) == 0x7F else f"\\{c}" if c in '"\\' else c
        for c in value.encode("utf-8", "replace").decode()
    )
    return f'"{escaped}"'


def inline(value: Any) -> str:
    """A value on one line: text, number, boolean, list, or a mapping as an inline table."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{ {', '.join(pairs(value))} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inline, value))}]"
    return repr(value)


def pairs(values: Mapping[str, Any]) -> Iterable[str]:
    """`key = value` for each entry."""
    return (f"{key(name)} = {inline(value)}" for name, value in values.items())


def key(name: str) -> str:
    """A key, quoted where it must be."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else string(name)


def table(name: str, values: Mapping[str, Any]) -> str:
    """A table under its heading."""
    return "\n".join([f"[{name}]", *pairs(values)]) + "\n"
