"""Test that a user's project may have modules with the names of ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments.harness import user_functions as user_modules
from experiments.harness.user_functions import user_function
from instances.eva import table_3
from tests.commands import python

PROJECT = {
    "models/__init__.py": "from models.net import weight",
    "models/net.py": "def weight(): return 2.0",
    "models/eva.py": "SIZE = 3",
    "instances/local.py": "HERE = 1",
    "mine.py": """
import models.net
from models import weight
from models.eva import SIZE
from instances import Answer
from instances.local import HERE
def packed(data):
    from heuristics.eva import no_packing
    from models import net
    return Answer(no_packing(data).solution, info={"found": [SIZE, HERE, net.weight(), weight()]})
""",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(user_modules, "their_modules", {})
    yield tmp_path
    sys.modules.pop("mine", None)


def test_the_user_modules_come_first_for_the_users_code_and_for_nobody_else(project: Path):
    import models.eva

    before = {name: module for name, module in sys.modules.items() if name.startswith(("models", "instances"))}
    function = user_function("mine:packed")
    with user_modules.users_first():
        answer = function(table_3().data)
    assert answer.info == {"found": [3, 1, 2.0, 2.0]}
    assert {name: sys.modules[name] for name in before} == before
    assert sys.modules["models.eva"] is models.eva
    assert "models.net" not in sys.modules


def test_a_heuristic_of_such_a_project_runs_from_the_command_line(project: Path):
    from instances import save

    save(table_3(), project / "three.json")
    run = "import sys; sys.path.remove('') if '' in sys.path else 0; from experiments.cli import main; main()"
    said = ("solve", "three.json", "--method", "exact", "--method", "mine:packed", "--format", "csv", "--quiet")
    done = python("-c", run, *said, cwd=project)
    assert done.returncode == 0, done.stderr
    assert [line.split(",")[2:6] for line in done.stdout.splitlines()[1:]] == [
        ["exact", "optimal", "finished", "12.8"],
        ["mine:packed", "feasible", "finished", "16.2"],
    ]


def test_a_folder_of_data_that_is_called_so_is_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "three.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert user_modules.find_shadowing_folders() == {}
