"""All rendered pages, by their path below the folder `specification`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from book import errors, messages, order, policy, profiles, protocol, requirements
from book.markdown import code, paragraphs, words

if TYPE_CHECKING:
    from pathlib import Path

    from codemode_spec import Specification


def rendered(specification: Specification) -> dict[str, str]:
    """The Markdown of every page that is rendered, by path."""
    index = words(
        "index",
        revision=code(specification.revision),
        cases=len(specification.cases),
        digest=code(specification.cases_digest[:16]),
    )
    found = {
        "index.md": paragraphs("(specification)=\n" + index),
        "policy.md": policy.page(specification),
        "profiles.md": profiles.profiles_page(specification),
        "alternatives.md": profiles.alternatives_page(specification),
        "errors.md": errors.page(specification),
        "frames.md": messages.frames_page(specification),
        "protocol.md": protocol.page(specification),
        "order.md": order.page(specification),
        "adapter.md": messages.adapter_page(specification),
        "requirements/index.md": requirements.index_page(specification),
    }
    for area in requirements.areas(specification):
        found[f"requirements/{area.lower()}.md"] = requirements.area_page(area, specification)
    return found


def write(folder: Path, specification: Specification) -> None:
    """Write the pages below `folder`; unchanged ones are not touched, others there are removed."""
    wanted = {folder / path: text for path, text in rendered(specification).items()}
    for old in folder.rglob("*.md"):
        if old not in wanted:
            old.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
