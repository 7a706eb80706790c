"""The frame rules of a profile, taken from the tables as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode_reference.builds import BUILDS

if TYPE_CHECKING:
    from codemode_spec.tables import Profile, Tables

    from codemode_reference.frames import ErrorRule, Rules


def frame_rules(tables: Tables, profile: Profile) -> Rules:
    """What `frames.parse` needs to know of the tables."""
    errors: dict[str, ErrorRule] = {
        code: {
            "frames": list(entry.frames),
            "fields": dict(entry.fields),
            "reasons": list(entry.category_by_reason),
        }
        for code, entry in tables.errors.items()
    }
    return {
        "version": tables.protocol_version,
        "depth": profile.rows["value_depth"].default,
        "detail_characters": tables.detail_characters,
        "alternatives": {
            name: list(chosen) if isinstance(chosen, tuple) else chosen
            for name, chosen in profile.alternatives.items()
        },
        "errors": errors,
        "message_bytes": tables.progress.message_bytes,
        "extra": list(BUILDS[profile.name].extra),
    }
