"""Sphinx configuration of the book. Build it with `tox -e docs`."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Code Mode Conformance"
version = release = installed("codemode-conformance")
copyright = "the authors, Apache-2.0"  # noqa: A001  Sphinx's name
language = "en"

extensions = ["myst_parser", "book.extension"]
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "README.md", "tests", "book", "worked/*.md"]
nitpicky = True

html_theme = "furo"
html_title = "Code Mode Conformance"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_favicon = "_static/icon.svg"
html_search_scorer = str(Path(__file__).parent / "book" / "scorer.js")
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
