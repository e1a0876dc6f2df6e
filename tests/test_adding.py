"""Test that docs/adding.md works literally, in a copy of the project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from instances import save
from instances.eva import table_3
from instances.proofs import digest
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


SEEN = """
import json
from experiments.plan import sets_at, study_runs
from instances import Options, load
from instances.eva import table_3
from instances.proofs import digest
from instances.proofs import digest
from models.eva import exact, literal
from models.eva.certificate import certificate
from tests.rows import heuristics_of

limited = []
for most in (2, 1):
    data = table_3().data.model_copy(update={"max_in_all": most})
    found = exact(data)
    limited.append([found.status, found.objective, literal(data).objective])
    if found.solution is not None:
        limited[-1].append(float(certificate(data, found.solution, found.bound, Options()).bound))
runs = study_runs(sets_at([], ["eva-packing"], quick=True), None, Options())
seen = {"study": [run.entry.name for run in runs], "tests": list(heuristics_of("eva-packing")), "limited": limited}
print(json.dumps(seen | {"digest": digest(load("table-3.json").data)}))
"""
RENEWED = """
from experiments.pages import renew_page, renew_pages
renew_pages()
print(renew_page("<!-- eva/table-3-bill; bill; {mean:.1f} --><!--/-->"))
"""


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, Any]:
    """Return what one process in the copy finds of the method and of the field."""
    found: dict[str, Any] = json.loads(run(copy, "-c", SEEN))
    return found


def test_solve_the_study_and_the_tests_find_the_method(copy: Path, seen: dict[str, Any]):
    assert "one-each" in run(copy, "-m", "experiments.list", "methods", "--problem", "eva-packing", "--format", "json")
    solved = run(copy, "-m", "experiments.solve", "table-3.json", "--method", "one-each", "--format", "csv", "--quiet")
    assert ",one-each,feasible," in solved
    assert "one-each" in seen["study"]
    assert "one-each" in seen["tests"]


def test_the_record_of_the_study_is_made_and_pages_take_its_figure_and_list_the_method(copy: Path):
    """That the site is not built of other pages is in `tests/test_evidence_pages.py`."""
    page = Path("docs", "eva.md")
    assert "one-each" not in (ROOT / page).read_text(encoding="utf-8")
    assert "| 12.8 |" in run(copy, "-m", "experiments.study", "eva-table-3", "--quiet")
    run(copy, "-m", "experiments.reproduce", "eva/table-3-bill", "--renew", "--quiet")
    assert "-->12.8<!--/-->" in run(copy, "-c", RENEWED)
    assert "one-each" in (copy / page).read_text(encoding="utf-8")


def test_the_command_is_called_by_its_name(copy: Path):
    assert "Count the instances of files." in run(copy, "-m", "experiments", "--help")
    assert run(copy, "-m", "experiments", "count", "table-3.json") == "1\n"


def test_a_new_field_leaves_certificates_valid(seen: dict[str, Any]):
    assert seen["digest"] == digest(table_3().data)


def test_every_method_obeys_a_new_limit_of_instances(seen: dict[str, Any]):
    assert seen["limited"] == [["optimal", 12.8, 12.8, 12.8], ["infeasible", None, None]]
