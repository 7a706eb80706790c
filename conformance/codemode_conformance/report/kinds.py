"""The kinds of reports. Each is a text made of the JSON report, and of nothing else.

A module has `text` for the report of one role, and `whole` for that of all roles of a target.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any, Final

from codemode_conformance.escape import for_json
from codemode_conformance.report.parts import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MODULES: Final = {
    "json": "",
    "junit": "junit",
    "sarif": "sarif",
    "markdown": "markdown",
    "html": "html_page",
    "github": "github",
}
KINDS: Final = tuple(_MODULES)


def render(kind: str, report: Mapping[str, Any]) -> str:
    """The report of this kind as it is written to a file."""
    if kind == "json":
        return for_json(json.dumps(report, ensure_ascii=True, indent=1)) + "\n"
    # Imported here: a command that writes no report has no use for its parts.
    module = importlib.import_module(f"{__package__}.{_MODULES[kind]}")
    if ROLES in report:
        make_whole: Callable[[Mapping[str, Any]], str] = module.whole
        return make_whole(report)
    make: Callable[[Mapping[str, Any]], str] = module.text
    return make(report)
