"""The site: it reads without a network, and shows the pictures that its build draws."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT

DOCS = ROOT / "docs"
WIDEST = 88  # characters of code that a page of 1,280 pixels shows
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_mathematics_is_rendered_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("sphinx")
    monkeypatch.setattr(sys, "path", list(sys.path))  # which the configuration adds to
    extensions = runpy.run_path(str(DOCS / "conf.py"))["extensions"]
    (tmp_path / "conf.py").write_text(f"extensions = {extensions!r}\nmyst_enable_extensions = ['dollarmath']\n")
    (tmp_path / "index.md").write_text("# Page\n\nLet $x^2$ be.\n")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", tmp_path, tmp_path / "site"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "index.html").read_text()
    scripts = re.findall(r"<script[^>]* src=\"([^\"?]+)", page)
    assert not [source for source in scripts if "//" in source]
    (renderer,) = (source for source in scripts if "mathjax" in source.lower() or "tex-" in source)
    assert (tmp_path / "site" / renderer).stat().st_size > 100_000


def test_every_picture_that_the_build_draws_is_shown_and_no_other_is_asked_for():
    made = set(re.findall(r"^        \"([a-z-]+)\": ", (DOCS / "made.py").read_text(), re.MULTILINE)) | {"front"}
    shown = {name for page in DOCS.rglob("*.md") for name in re.findall(r"_made/([a-z-]+)\.svg", page.read_text())}
    assert made == shown


def test_no_line_of_code_of_a_tutorial_is_cut_on_the_page():
    pages = [DOCS / "getting_started.md", *(DOCS / "tutorials").glob("*.md")]
    code = [block for page in pages for block in FENCED.findall(page.read_text()) if not block.startswith(":")]
    code += [file.read_text() for file in (DOCS / "tutorials").glob("*.py")]
    assert len(code) > 20
    assert [line for block in code for line in block.splitlines() if len(line) > WIDEST] == []


def test_tutorials_save_where_their_commands_look():
    """A file that an example saves to a temporary folder is not there for the command below it."""
    pages = [DOCS / "getting_started.md", *(DOCS / "tutorials").glob("*.md")]
    assert [page.name for page in pages if "tempfile" in page.read_text()] == []
