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
