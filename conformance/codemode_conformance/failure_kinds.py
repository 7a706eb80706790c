"""Kinds of failure: the closed list by which a baseline says what it expects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codemode_conformance.verdicts import LayerVerdict

FILE: Final = "failure_kinds.json"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: the layer it occurs in, and how the reason of its findings begins, if it matters.

    The last kind of a layer has no reason: it is what every other failure of that layer is.
    """

    code: str
    layer: str
    text: str
    reason: str = ""


@cache
def kinds() -> Mapping[str, Kind]:
    """All kinds by code, in the order in which they are tried."""
    data = json.loads((files(__package__) / FILE).read_text(encoding="utf-8"))
    return {entry["code"]: Kind(**entry) for entry in data["kinds"]}


def kind_of(layer: LayerVerdict) -> str:
    """The code of the kind of a failed layer."""
    told = layer.finding.reason
    return next(
        kind.code
        for kind in kinds().values()
        if kind.layer == layer.layer and (not kind.reason or told.startswith(kind.reason))
    )
