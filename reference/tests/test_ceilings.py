"""A tool may become less than what was granted, never more."""

import pytest
from codemode_reference import Operation
from codemode_reference.ceilings import Ceiling, fingerprint
from codemode_reference.operations import Catalogue

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


async def handler(arguments):
    """Give the arguments back."""
    return arguments


def permitted(*, name="tool", schema=SCHEMA, annotations=None, effect="read", granted="read"):
    """Whether a tool of now is permitted under the ceiling of one that was granted."""
    saved = Ceiling(fingerprint("tool", SCHEMA, {"idempotent": True}), granted)
    annotations = {"idempotent": True} if annotations is None else annotations
    tool = Operation(name, handler, effect, schema, annotations=annotations, ceiling=saved)
    return Catalogue([tool]).permits(name, {})


def test_what_was_granted_is_permitted():
    """The same name, schema and annotations, in whatever order of their keys."""
    assert permitted()
    assert permitted(schema=dict(reversed(SCHEMA.items())))


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"schema": {"type": "object"}}, {"annotations": {}}, {"effect": "write"}],
    ids=lambda change: next(iter(change)),
)
def test_what_has_become_more_or_other_is_not(change):
    """Each part of a fingerprint alone, and an effect that is more than the granted one."""
    assert not permitted(**change)


def test_what_has_become_less_is_permitted():
    """A tool that only reads now may be called by whom it was granted as a write."""
    assert permitted(effect="read", granted="write")
