"""The built site works offline, its links lead somewhere, and nothing of the data is missing."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import codemode_spec
import pytest

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = sorted(SITE.rglob("*.html"))
SPECIFICATION = codemode_spec.load()
_LOADS = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        if tag == "a":
            self.links.append(found.get("href") or "")
        if tag in _LOADS and found.get("rel") not in ("canonical", "license"):
            self.loaded.append(found.get(_LOADS[tag]) or "")


@cache
def parsed(page: Path) -> _Page:
    """A page of the site."""
    found = _Page()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def test_the_site_is_built() -> None:
    """`tox -e docs` builds it first; these tests look at what is there."""
    assert len(PAGES) > 20, "no site: run tox -e docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_pages_load_nothing_from_elsewhere(page: Path) -> None:
    """No script, style, font or image comes from another host: the book works offline."""
    assert [url for url in parsed(page).loaded if re.match(r"(https?:)?//", url)] == []


@pytest.mark.parametrize("file", sorted(SITE.rglob("*.css")), ids=lambda file: file.name)
def test_styles_load_nothing_from_elsewhere(file: Path) -> None:
    """Neither do the style sheets."""
    assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", file.read_text("utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_links_lead_somewhere(page: Path) -> None:
    """Each link within the book names a page, and an anchor that is there."""
    broken = []
    for link in parsed(page).links:
        if re.match(r"[a-z]+:|//", link):
            continue
        path, anchor = urldefrag(unquote(link))
        goal = (page.parent / path).resolve() if path else page
        if goal.is_dir():
            goal /= "index.html"
        if not goal.is_file() or (
            anchor and goal.suffix == ".html" and anchor not in parsed(goal).ids
        ):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_pages_name_no_place_of_the_machine_that_built_them(page: Path) -> None:
    """A path of the machine that built the book is in no page."""
    text = page.read_text(encoding="utf-8")
    assert str(SITE.parents[2]) not in text
    assert str(Path.home()) not in text or Path.home() == Path("/")


def test_every_requirement_has_its_anchor() -> None:
    """`tim.html#CM-TIM-003`, as reports and people write it."""
    for item in SPECIFICATION.requirements.values():
        page = SITE / "specification" / "requirements" / f"{item.area.lower()}.html"
        assert item.id in parsed(page).ids


def test_every_row_and_code_has_its_anchor() -> None:
    """Rows of the policy and error codes can be linked."""
    rows = parsed(SITE / "specification" / "policy.html").ids
    errors = parsed(SITE / "specification" / "errors.html").ids
    assert {f"row-{name}".replace("_", "-") for name in SPECIFICATION.tables.rows} <= rows
    assert {f"error-{name}".replace("_", "-") for name in SPECIFICATION.tables.errors} <= errors


def test_everything_can_be_searched() -> None:
    """The search index knows the terms of every rendered page."""
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    for word in ("specification/policy", "specification/requirements/tim", "glossary"):
        assert f'"{word}"' in index
