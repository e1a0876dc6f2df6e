"""Sphinx configuration: MyST pages, furo, doctests, pictures and notebooks, and the API from docstrings."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT), str(HERE), str(HERE / "tutorials")]

project = "Gapwise"
author = "The Gapwise developers"
copyright = author
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.doctest", "sphinx.ext.mathjax"]
extensions += ["sphinx-mathjax-offline"]  # mathematics without a network
exclude_patterns = ["_build"]
doctest_global_setup = f"""import os, sys, tempfile
sys.path.insert(0, {str(HERE / "tutorials")!r})
_begun_in, _folder = os.getcwd(), tempfile.TemporaryDirectory()  # examples save what they make in the current folder
os.chdir(_folder.name)
"""
doctest_global_cleanup = "os.chdir(_begun_in); _folder.cleanup()"

html_theme = "furo"
html_title = f"Gapwise {release}"
html_static_path = html_css_files = ["site.css"]

myst_enable_extensions = ["amsmath", "attrs_inline", "deflist", "dollarmath"]
myst_heading_anchors = 3
math_eqref_format = "({number})"

default_role = "code"  # docstrings mark code with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"exclude-members": "model_config, __init__, __new__"}


def _escape_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Outside code a docstring's `|x|` is an absolute value, which reStructuredText would take for a substitution."""
    lines[:] = [
        "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in re.split(r"(`[^`]*`)", line))
        for line in lines
    ]


def _show_figures(app: Any, name: str, source: list[str]) -> None:
    """Check the figures of a page against the records, and explain on the site where each comes from."""
    from sphinx.errors import ExtensionError

    from experiments.pages import explain_figures, renew_page
    from instances import InputError

    try:
        if renew_page(source[0]) != source[0]:
            raise ExtensionError(f"{name}: its figures are not those of the records: gapwise reproduce --renew")
    except InputError as error:
        raise ExtensionError(f"{name}: {error}") from None
    source[0] = explain_figures(source[0])


def _draw(app: Any) -> None:
    """Draw the pictures, for pages all, for other builders the missing ones; then make the notebooks."""
    import made
    import notebooks

    if app.builder.format == "html" or not (made.FOLDER / "front.svg").exists():
        made.make()
    notebooks.make(made.FOLDER)


FOCUS = """addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("pre, .table-wrapper, div.math, p:has(> img)").forEach(box => box.tabIndex = 0);
  document.querySelectorAll("[role=heading]:not([aria-level])").forEach(head => head.setAttribute("aria-level", 2));
  document.querySelectorAll(".math-wrapper[id] > div.math").forEach(box => box.removeAttribute("id"));
})"""
"""What is wider than its box can be scrolled with the keyboard; the theme's headings of contents have a level, and the
id of an equation stands once.
"""


def setup(app: Any) -> None:
    """Set the extension up for Sphinx."""
    app.connect("source-read", _show_figures)
    app.add_js_file(None, body=FOCUS)
    app.connect("builder-inited", _draw)
    app.connect("autodoc-process-docstring", _escape_bars)
