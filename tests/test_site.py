"""Test that the site works without a network and shows the figures of its build."""

from __future__ import annotations

import doctest
import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.notebooks import differences, run

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


def notebooks_of(folder: Path, tutorials: Path) -> dict[str, Path]:
    make = runpy.run_path(str(DOCS / "notebooks.py"))["make"]
    return {notebook.stem: notebook for notebook in make(folder, tutorials)}


def test_every_tutorial_is_a_notebook_with_all_its_examples(tmp_path: Path):
    """`.ci/run` runs all of them; here it is the one that takes least."""
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("evidence", "pictures", "_*"))
    tutorials, made = tmp_path / "docs" / "tutorials", tmp_path / "docs" / "_made"
    made.mkdir()
    pages = sorted(tutorials.glob("*.md"))
    for picture in {name for page in pages for name in re.findall(r"_made/([a-z-]+\.svg)", page.read_text())}:
        (made / picture).write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    notebooks = notebooks_of(made, tutorials)
    assert [page.stem for page in pages] == list(notebooks)
    for page in pages:
        text = page.read_text()
        assert text.count(f"{{download}}`This page as a notebook <../_made/{page.stem}.ipynb>`") == 1
        cells = json.loads(notebooks[page.stem].read_text())["cells"]
        code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
        examples = doctest.DocTestParser().get_examples(text)
        assert examples
        assert all(example.source.partition("  # doctest")[0].strip() in code for example in examples)
        assert not re.search(r"\]\([^)]*\.md|\{[a-z]+\}`|>>> ", " ".join(cell["source"] for cell in cells))
    assert run(notebooks["bill"]) == ""


def test_a_notebook_that_shows_something_else_is_found(tmp_path: Path):
    page = tmp_path / "sums.md"
    page.write_text("# Sums\n\n```{doctest}\n>>> a = 1\n>>> a + 1\n2\n>>> print(a)\n2\n```\n")
    (said,) = differences(notebooks_of(tmp_path, tmp_path)["sums"])
    assert said == "sums.ipynb: print(a)\n  shows 1\n  and not 2\n"
