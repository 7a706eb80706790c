"""The Code Mode specification: tables, requirements and cases as data, and their loader."""

from codemode_spec.cases import LAYERS, Case, ReadyCase
from codemode_spec.failures import NotApplicable, Problem, SpecificationError
from codemode_spec.requirements import Requirement
from codemode_spec.specification import Specification, load, load_cases
from codemode_spec.tables import DEFAULT_PROFILE, Tables, load_tables

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
    "load_cases",
    "load_tables",
]
