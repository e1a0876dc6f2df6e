"""docs/adding.md, followed literally in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from instances import save
from instances.eva import table_3
from tests.commands import ROOT

PARTS = ("instances", "models", "heuristics", "experiments", "docs", "tests", "pyproject.toml", "README.md")
PROBLEM = '    "eva-packing": (\n'
FIELD = "    spread: tuple[Spread, ...] = ()\n"


def blocks() -> list[str]:
    """Return the pieces of Python in the section about methods."""
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    section = page.partition("## A method\n")[2].partition("\n## ")[0]
    return [
        textwrap.dedent(found)
        for found in re.findall(r"^   ```python\n(.*?)^   ```$", section, re.MULTILINE | re.DOTALL)
    ]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a copy of the project with the method of the page and a new optional field."""
    folder = tmp_path_factory.mktemp("project")
    skipped = shutil.ignore_patterns("__pycache__", "_build")
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=skipped)
        else:
            shutil.copy(source, folder / name)
    function, row = blocks()
    (folder / "heuristics" / "eva" / "one_each.py").write_text(function)
    insert(folder / "experiments" / "eva" / "methods.py", PROBLEM, f"        {row.strip()},\n")
    insert(folder / "instances" / "eva" / "packing.py", FIELD, "    contract: str | None = None\n")
    save(table_3(), folder / "table-3.json")
    return folder


def insert(path: Path, after: str, text: str) -> None:
    """Insert a text after the only place of another."""
    content = path.read_text()
    assert content.count(after) == 1, path
    path.write_text(content.replace(after, after + text))


def run(folder: Path, *arguments: str) -> str:
    """Run Python in the copy, with the kernels of this clone, and return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_solve_and_the_study_find_the_method(copy: Path):
    assert "one-each" in run(copy, "-m", "experiments.list", "methods", "--problem", "eva-packing", "--format", "json")
    solved = run(copy, "-m", "experiments.solve", "table-3.json", "--method", "one-each", "--format", "csv", "--quiet")
    assert ",one-each,feasible," in solved
    runs = "study_runs(sets_at([], names=['200 tasks']), None, Options())"
    assert "'one-each'" in run(copy, "-c", f"from experiments.plan import *; print([r.entry.name for r in {runs}])")


def test_the_page_lists_the_method_and_the_tests_run_it(copy: Path):
    pages = "from experiments.pages import DOCS, renewed; print(renewed((DOCS / 'eva.md').read_text()))"
    assert "| `one-each` | Rent an instance for each task, of the cheapest type that holds it. |" in run(
        copy, "-c", pages
    )
    assert "one-each" in run(
        copy, "-c", "from tests.rows import heuristics_of; print(list(heuristics_of('eva-packing')))"
    )


def test_a_new_field_leaves_certificates_valid(copy: Path):
    checked = (
        "from instances import load; from instances.proofs import digest; print(digest(load('table-3.json').data))"
    )
    before = run(ROOT, "-c", checked.replace("table-3.json", str(copy / "table-3.json")))
    assert run(copy, "-c", checked) == before
