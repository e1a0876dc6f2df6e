"""Test that `--start` checks a known solution, passes it to exact methods, and never loses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.harness.entry import Entry
from experiments.harness.run import GivenStart, Run
from experiments.harness.runner import run_all
from instances import Options, save
from instances.eva import table_3
from models.eva import exact
from tests.commands import call, workers_copied

INSTANCE = table_3()


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Write a file of Table 3, and to `out` the results of two methods, one of them worse."""
    save(INSTANCE, tmp_path / "cluster.json")
    (tmp_path / "out").mkdir()
    for method, solution in (("exact", exact(INSTANCE.data).solution), ("no-packing", alone())):
        result = {"instance": INSTANCE.name, "problem": "eva-packing", "method": method, "solution": solution}
        (tmp_path / "out" / f"{method}.json").write_text(json.dumps(result | {"status": "feasible"}))
    return tmp_path


def alone() -> dict:
    cheapest = {"t1": "it1", "t2": "it2", "t3": "it3", "t4": "it4"}
    return {"instances": [{"type": kind, "count": 1, "tasks": {task: 1}} for task, kind in cheapest.items()]}


def solved(folder: Path, *arguments: object) -> list[dict]:
    answer = call("solve", folder / "cluster.json", "--format", "json", "--quiet", *arguments)
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]


def test_methods_start_from_the_best_result_of_a_folder_and_say_so(cluster: Path):
    methods = ("--method", "exact", "--method", "literal", "--method", "no-packing")
    known, free = (solved(cluster, *methods, *start) for start in (("--start", cluster / "out"), ()))
    assert [r["options"].get("start") for r in known] == [12.8, 12.8, None]
    assert [r["objective"] for r in known] == [r["objective"] for r in free] == [12.8, 12.8, 16.2]
    assert known[1]["info"]["start"] == {"method": "exact", "objective": 12.8}
    assert all("start" not in r["options"] for r in free)


def test_a_method_that_finds_nothing_returns_the_start():
    start = GivenStart("a file", alone(), 16.2)
    run = Run(INSTANCE, Entry("exact", "tests.exact_methods:gives_up"), Options(), start=start)
    with workers_copied():
        ((_, result),) = run_all([run])
    assert (result.status, result.objective, result.options["start"]) == ("feasible", 16.2, 16.2)
    assert result.info["start"] == {"method": "a file", "objective": 16.2}


def test_a_solution_alone_and_a_result_of_another_name_serve_the_one_instance(cluster: Path):
    (cluster / "plan.json").write_text(json.dumps(alone()))
    (cluster / "other.json").write_text(
        json.dumps({"instance": "before", "problem": "eva-packing", "solution": alone()})
    )
    for name in ("plan.json", "other.json"):
        (found,) = solved(cluster, "--start", cluster / name)
        assert found["options"]["start"] == 16.2


def test_a_resumed_run_is_known_by_its_start(cluster: Path):
    stored = ("--out", cluster / "kept")
    start = ("--start", cluster / "out" / "no-packing.json")
    solved(cluster, *stored, *start)
    for more, cpu_is_kept in ((start, True), ((), False)):
        before = json.loads(next((cluster / "kept").glob("*exact.json")).read_text())
        (again,) = solved(cluster, *stored, "--resume", *more)
        assert (again["solve_s"] == before["solve_s"]) == cpu_is_kept


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"problem": "sia-oracle", "solution": {"starts": {}}}, "problem: must be eva-packing, got sia-oracle"),
        ({"solution": None, "status": "infeasible"}, "solution: must not be empty, got null; the status is infeasible"),
        ({"solution": {"instances": []}}, f"breaks a constraint of {INSTANCE.name}: task t1 is placed 0 times, not 1"),
        ({"solution": {"plan": []}}, "solution: must be an object with the list `instances`"),
        ([], "solution: must be an object with the list `instances`"),
    ],
)
def test_a_start_that_is_none_of_the_instance_is_one_line(cluster: Path, content: object, said: str):
    (cluster / "bad.json").write_text(json.dumps(content))
    answer = call("solve", cluster / "cluster.json", "--start", cluster / "bad.json")
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert line.startswith(f"gapwise: --start: {cluster / 'bad.json'}: ")
    assert said in line


def test_a_folder_without_a_result_of_the_instance_is_one_line(cluster: Path):
    (cluster / "none").mkdir()
    (cluster / "none" / "foreign.json").write_text("[1, 2]")
    answer = call("solve", cluster / "cluster.json", "--start", cluster / "none")
    assert answer.returncode == 2
    assert answer.stderr.splitlines() == [
        f"gapwise: --start: {cluster / 'none'}: no result with a solution of {INSTANCE.name}"
    ]
