"""Messages as tables of their fields, from their JSON Schemas: frames, and the adapter's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemode_spec import schemas

from book.markdown import code, codes, link, paragraphs, prose, table, words

if TYPE_CHECKING:
    from codemode_spec import Specification

_ENDS: Final = {
    "execute": "Parent to worker, first and once.",
    "host_call": "Worker to parent: one request for an operation.",
    "host_batch": "Worker to parent: several requests at once.",
    "host_result": "Parent to worker: the answer to one host call.",
    "result": "Worker to parent, once and last.",
    "progress": "Worker to parent: news of a long program.",
}


def frames_page(specification: Specification) -> str:
    """The page of frames."""
    schema = schemas.schema("frame")
    definitions = schema["$defs"]
    kinds = [_name(entry) for entry in schema["oneOf"]]
    parts = specification.tables.execute_parts
    return paragraphs(
        words("frames", boundary=link("Frames", "boundary-frames")),
        words(
            "parts",
            version=specification.tables.protocol_version,
            factor=parts.source_factor,
            extra=parts.source_extra_bytes,
            rest=f"{parts.rest_bytes:,}",
        ),
        *(
            paragraphs(
                f"(frame-{kind})=\n## {code(kind)}",
                _ENDS.get(kind, ""),
                _fields(definitions[kind]),
                _shapes(definitions[kind]),
            )
            for kind in kinds
        ),
        *(
            paragraphs(f"## {code(name)} in a frame", _fields(definition))
            for name, definition in definitions.items()
            if name not in kinds and "properties" in definition
        ),
    )


def adapter_page(_: Specification) -> str:
    """The page of adapter messages."""
    definitions = schemas.schema("adapter")["$defs"]
    sides = {
        "to_adapter": "## From the suite to the adapter",
        "from_adapter": "## From the adapter to the suite",
    }
    parts = [words("adapter", protocol=link("The adapter protocol", "adapter-protocol"))]
    named = set(sides)
    for side, heading in sides.items():
        parts.append(heading)
        for entry in definitions[side]["oneOf"]:
            name = _name(entry)
            named.add(name)
            definition = definitions[name]
            parts += [
                f"(adapter-{name})=\n### {code(name)}",
                prose(definition.get("description", "")),
                _fields(definition),
                _condition(definition),
            ]
    parts.append("## Parts of messages")
    for name, definition in definitions.items():
        if name not in named:
            parts += [f"(adapter-part-{name})=\n### {name.replace('_', ' ')}", _part(definition)]
    return paragraphs(*parts)


def _part(definition: dict[str, Any]) -> str:
    description = prose(definition.get("description", ""))
    if "properties" in definition:
        return paragraphs(description, _fields(definition))
    return paragraphs(description, _type(definition))


def _fields(definition: dict[str, Any]) -> str:
    required = set(definition.get("required", ()))
    rows = []
    for name, entry in definition["properties"].items():
        if entry is False:
            continue
        must = "yes" if name in required else "no"
        rows.append((code(name), _type(entry), must, _note(entry)))
    if not any(row[3] for row in rows):
        return table(("field", "value", "required"), (row[:3] for row in rows))
    return table(("field", "value", "required", ""), rows)


def _note(entry: Any) -> str:
    return prose(entry.get("description", "")) if isinstance(entry, dict) else ""


def _type(entry: Any) -> str:
    """One line for a schema; what it leaves out is in the schema itself."""
    if entry is True or entry == {}:
        return "any JSON value"
    if "$ref" in entry and "properties" not in entry:
        return _name(entry).replace("_", " ")
    if "const" in entry:
        return code(_json(entry["const"]))
    if "enum" in entry:
        return codes(_json(value) for value in entry["enum"])
    for word in ("anyOf", "oneOf"):
        if word in entry and "type" not in entry:
            return "; or ".join(_type(one) for one in entry[word])
    if "type" not in entry:
        return "any JSON value"
    kind = entry["type"]
    return " or ".join(kind) if isinstance(kind, list) else f"{kind}{_bounds(entry)}"


def _name(reference: dict[str, str]) -> str:
    return reference["$ref"].rsplit("/", 1)[1]


def _bounds(entry: dict[str, Any]) -> str:
    low, high = entry.get("minimum"), entry.get("maximum")
    if low is not None and high is not None:
        most = "2^53 - 1" if high == (1 << 53) - 1 else f"{high:,}"
        return f", {low} to {most}"
    if low is not None:
        return f", {low} or more"
    if "pattern" in entry:
        return f" matching {code(entry['pattern'])}"
    if "maxLength" in entry:
        return f", at most {entry['maxLength']} characters"
    items = entry.get("items")
    if entry["type"] == "array" and isinstance(items, dict) and items.get("type") != "array":
        size = f"{entry['minItems']} or more " if entry.get("minItems") else ""
        inner = _object(items) if "properties" in items else _type(items)
        return f" of {size}({inner})"
    if entry["type"] == "array" and isinstance(items, dict):
        inner = "; ".join(_type(one) for one in items.get("prefixItems", ()))
        return f" of arrays ({inner})"
    if "properties" in entry:
        return f" ({_object(entry)})"
    if isinstance(entry.get("additionalProperties"), dict):
        inner = entry["additionalProperties"]
        shown = _object(inner) if "properties" in inner else _type(inner)
        return f" from names to ({shown})"
    return ""


def _object(entry: dict[str, Any]) -> str:
    required = set(entry.get("required", ()))
    return ", ".join(code(name + ("" if name in required else "?")) for name in entry["properties"])


def _json(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _shapes(definition: dict[str, Any]) -> str:
    """The legal combinations of `ok`, `value_present` and what goes with them."""
    shapes = definition.get("oneOf")
    if not shapes:
        return ""
    rows = []
    for shape in shapes:
        fixed = {name: entry["const"] for name, entry in shape["properties"].items()}
        rows.append(
            (
                *(code(_json(fixed[name])) for name in ("ok", "value_present")),
                codes(shape.get("required", ())) or "neither",
            )
        )
    return paragraphs(
        "Legal combinations; any other is malformed:",
        table(("`ok`", "`value_present`", "and"), rows),
    )


def _condition(definition: dict[str, Any]) -> str:
    if "if" not in definition or "ok" not in definition["properties"]:
        return ""
    refused = definition["then"].get("properties", {})
    other = definition["else"]
    return words(
        "choices",
        refused=codes(name for name, entry in refused.items() if entry is False),
        required=codes(other.get("required", ())),
        other=codes(name for name, entry in other.get("properties", {}).items() if entry is False),
    )
