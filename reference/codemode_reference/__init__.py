"""A small, readable Code Mode parent and worker, driven by the tables of `codemode_spec`."""

from codemode_reference.errors import CodeModeError, Failure, OperationError, PolicyError, Success
from codemode_reference.operations import Operation
from codemode_reference.parent import Parent, default_policy

__all__ = [
    "CodeModeError",
    "Failure",
    "Operation",
    "OperationError",
    "Parent",
    "PolicyError",
    "Success",
    "default_policy",
]
