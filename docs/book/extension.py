"""The Sphinx extension: renders the specification before the pages are read, and keeps its ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import codemode_spec
from docutils import nodes
from sphinx.transforms import SphinxTransform

from book.pages import write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER: Final = "specification"
_REQUIREMENT: Final = re.compile(r"cm-[a-z]{3}-[0-9]{3}")


class RequirementAnchors(SphinxTransform):
    """An anchor of a requirement is its id as it is written: Sphinx would use lower case."""

    default_priority = 1  # before anything takes the ids

    def apply(self, **_: Any) -> None:
        """Rename the ids in the document and in its tables."""
        document = self.document
        renamed = {old: old.upper() for old in document.ids if _REQUIREMENT.fullmatch(old)}
        if not renamed:
            return
        for node in document.findall(nodes.Element):
            node["ids"] = [renamed.get(old, old) for old in node["ids"]]
        for old, new in renamed.items():
            document.ids[new] = document.ids.pop(old)
        for name, used in document.nameids.items():
            if used in renamed:
                document.nameids[name] = renamed[used]


def render(app: Sphinx) -> None:
    """Write the pages of the specification."""
    write(Path(app.srcdir) / FOLDER, codemode_spec.load())


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", render)
    app.add_transform(RequirementAnchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
