"""The Code Mode specification: tables, requirements and cases as data, and their loader.

The tables need the standard library alone; the loader and its schemas are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from codemode_spec.tables import DEFAULT_PROFILE, Tables, load_tables

if TYPE_CHECKING:
    from codemode_spec.bundle import load_bundle, shipped
    from codemode_spec.cases import LAYERS, Case, ReadyCase
    from codemode_spec.contents import Specification
    from codemode_spec.failures import NotApplicable, Problem, SpecificationError
    from codemode_spec.requirements import Requirement
    from codemode_spec.specification import load, load_cases

_HOMES = {
    "LAYERS": "cases",
    "Case": "cases",
    "NotApplicable": "failures",
    "Problem": "failures",
    "ReadyCase": "cases",
    "Requirement": "requirements",
    "Specification": "contents",
    "SpecificationError": "failures",
    "load": "specification",
    "load_bundle": "bundle",
    "load_cases": "specification",
    "shipped": "bundle",
}

__all__ = [
    "DEFAULT_PROFILE",
    "LAYERS",
    "Case",
    "NotApplicable",
    "Problem",
    "ReadyCase",
    "Requirement",
    "Specification",
    "SpecificationError",
    "Tables",
    "load",
    "load_bundle",
    "load_cases",
    "load_tables",
    "shipped",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
