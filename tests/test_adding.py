"""Test that docs/adding.md works literally, in a copy of the project."""

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
LIMITS = "        rows = [Limit((k,), m) for k, m in most if m is not None]\n"
STUDIES = "    studies=[\n"
COMMANDS = "COMMANDS: dict[str, tuple[str, str]] = {\n"


def blocks(title: str) -> list[str]:
    """Return the pieces of Python in a section of the page."""
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [
        textwrap.dedent(found)
        for found in re.findall(r"^   ```python\n(.*?)^   ```$", section, re.MULTILINE | re.DOTALL)
    ]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a copy of the project with the method, the field, the study and the command of the page."""
    folder = tmp_path_factory.mktemp("project")
    skipped = shutil.ignore_patterns("_build", "_made")
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=skipped)
        else:
            shutil.copy(source, folder / name)
    method, row = blocks("A method")
    (folder / "heuristics" / "eva" / "one_each.py").write_text(method)
    insert(folder / "experiments" / "eva" / "methods.py", PROBLEM, f"        {row.strip()},\n")
    field, row = blocks("A field")
    insert(folder / "instances" / "eva" / "packing.py", FIELD, f"    {field}    max_in_all: Count | None = None\n")
    insert(folder / "instances" / "eva" / "packing.py", LIMITS, textwrap.indent(row, " " * 8))
    study, spec = blocks("A study and its record")
    (folder / "experiments" / "eva" / "table_3_bill.py").write_text(study)
    insert(folder / "experiments" / "eva" / "problems.py", STUDIES, f"{spec.strip()},\n")
    command, line = blocks("A command")
    (folder / "experiments" / "count.py").write_text(command)
    insert(folder / "experiments" / "cli.py", COMMANDS, line)
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
    runs = "study_runs(sets_at([], ['eva-packing'], quick=True), None, Options())"
    assert "'one-each'" in run(copy, "-c", f"from experiments.plan import *; print([r.entry.name for r in {runs}])")


def test_the_page_lists_the_method_once_the_pages_are_renewed(copy: Path):
    """That the site is not built of other pages is in `tests/test_evidence_pages.py`."""
    page = Path("docs", "eva.md")
    assert "one-each" not in (ROOT / page).read_text(encoding="utf-8")
    run(copy, "-c", "from experiments.pages import renew_pages; renew_pages()")
    assert "one-each" in (copy / page).read_text(encoding="utf-8")


def test_the_tests_run_the_method(copy: Path):
    listed = "from tests.rows import heuristics_of; print(list(heuristics_of('eva-packing')))"
    assert "one-each" in run(copy, "-c", listed)


def test_the_record_of_the_study_is_made_and_a_page_takes_its_figure(copy: Path):
    assert "| 12.8 |" in run(copy, "-m", "experiments.study", "eva-table-3", "--quiet")
    run(copy, "-m", "experiments.reproduce", "eva/table-3-bill", "--renew", "--quiet")
    page = (
        "from experiments.pages import renewed; print(renewed('<!-- eva/table-3-bill; bill; {mean:.1f} --><!--/-->'))"
    )
    assert "-->12.8<!--/-->" in run(copy, "-c", page)


def test_the_command_is_called_by_its_name(copy: Path):
    assert "Count the instances of files." in run(copy, "-m", "experiments", "--help")
    assert run(copy, "-m", "experiments", "count", "table-3.json") == "1\n"


def test_a_new_field_leaves_certificates_valid(copy: Path):
    checked = (
        "from instances import load; from instances.proofs import digest; print(digest(load('table-3.json').data))"
    )
    before = run(ROOT, "-c", checked.replace("table-3.json", str(copy / "table-3.json")))
    assert run(copy, "-c", checked) == before


def test_every_method_obeys_a_new_limit_of_instances(copy: Path):
    solved = """
from instances import Options
from instances.eva import table_3
from models.eva import exact, literal
from models.eva.certificate import certificate

for most in (2, 1):
    data = table_3().data.model_copy(update={"max_in_all": most})
    found = exact(data)
    print(found.status, found.objective, literal(data).objective)
    if found.solution is not None:
        print(float(certificate(data, found.solution, found.bound, Options()).bound))
"""
    assert run(copy, "-c", solved).splitlines() == ["optimal 12.8 12.8", "12.8", "infeasible None None"]
