"""Test the plan that `solve` prints and writes, its changes to running instances, and the next best mix."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from experiments.eva.plan import NextBest, mix, plan
from instances import Instance, save
from instances.aryl import five_servers
from instances.eva import EvaPacking, table_3
from instances.sia import five_jobs
from models.eva import exact
from tests.attacks.small import packing
from tests.commands import call
from tests.sampling import few


def partitions(things: list[int]) -> Iterator[list[list[int]]]:
    if not things:
        yield []
        return
    for rest in partitions(things[1:]):
        yield [[things[0]], *rest]
        for i, part in enumerate(rest):
            yield [*rest[:i], [things[0], *part], *rest[i + 1 :]]


def cheapest_by_mix(data: EvaPacking) -> dict[frozenset[tuple[str, int]], Fraction]:
    """Compute the price of every mix of types that holds the tasks, without empty instances, by brute force."""
    tasks = [task for task in data.tasks for _ in range(task.count)]
    found: dict[frozenset[tuple[str, int]], Fraction] = {}
    for parts in partitions(list(range(len(tasks)))):
        fitting = [
            [
                kind
                for kind in data.instance_types
                if all(
                    sum(Fraction(str(tasks[t].demand_on(kind.family)[r])) for t in part)
                    <= Fraction(str(kind.capacity[r]))
                    for r in data.resources
                )
            ]
            for part in parts
        ]
        for kinds in itertools.product(*fitting):
            price = sum((Fraction(str(kind.usd_per_hour)) for kind in kinds), Fraction(0))
            found[frozenset(Counter(kind.name for kind in kinds).items())] = price
    return found


@pytest.mark.parametrize("seed", few(range(12), 3))
def test_the_next_best_mix_is_that_of_brute_force(seed: int):
    data = packing(seed).data
    best = exact(data)
    assert best.solution is not None
    mine = mix(best.solution)
    others = {frozen: usd for frozen, usd in cheapest_by_mix(data).items() if not Counter(dict(frozen)) >= mine}
    rival = NextBest(data)
    told = rival.describe(best, [exact(other) for other in rival.rivals(best.solution)])
    if not others:
        assert told == "no other mix of types holds the tasks"
        return
    said = re.search(r"next best mix: (.+) at (\S+) USD/h", told)
    assert said is not None
    assert "proven" in told
    assert float(said[2]) == pytest.approx(float(min(others.values())), rel=1e-9)
    counts = Counter({name: int(n) for n, name in (part.split(" x ") for part in said[1].split(", "))})
    assert others[frozenset(counts.items())] == min(others.values())


def test_a_bound_that_is_not_met_is_said_as_a_bound():
    data = table_3().data
    best = exact(data)
    rival = NextBest(data)
    found = [exact(other) for other in rival.rivals(best.solution)]
    assert rival.describe(best, found).endswith("at 15.4 USD/h, 20.31% more, proven")
    open_one = found[0].model_copy(update={"bound": 13.0, "status": "feasible"})
    assert rival.describe(best, [open_one, *found[1:]]).endswith("; none is below 13")
    unknown = found[0].model_copy(update={"bound": None, "status": "feasible"})
    assert rival.describe(best, [unknown, *found[1:]]).endswith("% more")
    stopped = found[0].model_copy(update={"status": "no_solution", "objective": None, "solution": None})
    assert rival.describe(best, [stopped]) == "no other mix of types was found"


def test_solve_says_the_next_best_mix(table_3_file: Path):
    done = call("solve", table_3_file, "--quiet", "--next-best")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == (
        "  next best mix: 1 x it4, 1 x it2, 1 x it1 at 15.4 USD/h, 20.31% more, proven"
    )


def test_a_plan_says_what_changes_against_what_runs():
    data = table_3().data.with_(running=[{"type": "it1", "count": 2}, {"type": "it2", "count": 1, "usd_per_hour": 0}])
    solution = {"instances": [{"type": "it1", "count": 1, "tasks": {"t1": 1, "t2": 1, "t4": 1}}]}
    solution["instances"].append({"type": "it3", "count": 1, "tasks": {"t3": 1}})
    assert list(plan(data, solution)) == [
        "keep 1 x it1 at 12 USD/h, each with t1, t2, t4",
        "rent 1 x it3 at 0.8 USD/h, each with t3",
        "now: 3 running at 24 USD/h; 1 kept, 1 new, 2 given up: 11.2 USD/h less, 46.7%",
        "bill: 12.8 USD/h, 9,344.00 USD a month of 730 hours",
    ]
    free = table_3().data.with_(running=[{"type": "it4", "count": 1, "usd_per_hour": 0}])
    assert list(plan(free, solution))[-2] == "now: 1 running at 0 USD/h; 0 kept, 2 new, 1 given up: 12.8 USD/h more"


def test_the_best_plan_is_written_by_name(tmp_path: Path, table_3_file: Path):
    file = tmp_path / "new" / "plan.csv"
    assert call("solve", table_3_file, "--method", "no-packing", "--method", "exact", "--plan", file).returncode == 0
    table = pd.read_csv(file)
    assert list(table.columns) == ["instance", "type", "count", "task", "tasks"]
    assert set(zip(table["type"], table["task"], strict=True)) == {
        ("it1", "t1"),
        ("it1", "t2"),
        ("it1", "t4"),
        ("it3", "t3"),
    }


@pytest.mark.parametrize(
    ("instance", "columns"),
    [(five_jobs(), ["job", "start"]), (five_servers(), ["job", "part", "server", "workers"])],
    ids=["sia-oracle", "aryl-placement"],
)
def test_plans_of_other_problems_are_written_too(tmp_path: Path, instance: Instance, columns: list[str]):
    save(instance, tmp_path / "i.json")
    assert call("solve", tmp_path / "i.json", "--plan", tmp_path / "plan.csv").returncode == 0
    table = pd.read_csv(tmp_path / "plan.csv")
    assert list(table.columns) == columns
    assert {str(job) for job in table["job"]} <= {job.id for job in instance.data.jobs}
    assert len(table)


def test_a_name_that_a_spreadsheet_would_calculate_is_escaped_in_a_plan(tmp_path: Path):
    tasks = [task.model_dump(exclude_none=True) for task in table_3().data.tasks]
    tasks[0]["workload"] = "=1+1"
    save(Instance.of(table_3().data.with_(tasks=tasks), "formula"), tmp_path / "i.json")
    assert call("solve", tmp_path / "i.json", "--plan", tmp_path / "plan.csv").returncode == 0
    assert "'=1+1" in set(pd.read_csv(tmp_path / "plan.csv")["task"])


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--plan", "plan.txt"], "--plan: plan.txt: a plan is written as .csv"),
        (["--next-best", "--format", "json"], "takes one instance file, and is printed with its plan as a table"),
    ],
)
def test_a_plan_that_cannot_be_had_is_refused_before_any_run(table_3_file: Path, flags: list[str], said: str):
    done = call("solve", table_3_file, *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_next_best_mix_is_of_a_packing_and_its_cost(tmp_path: Path):
    save(five_jobs(), tmp_path / "sia.json")
    save(table_3("net-saving"), tmp_path / "saving.json")
    for name, said in (("sia", "there is one of eva-packing, got sia-oracle"), ("saving", "takes the objective cost")):
        done = call("solve", tmp_path / f"{name}.json", "--next-best")
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    many = call("solve", tmp_path / "sia.json", tmp_path / "saving.json", "--plan", tmp_path / "p.csv")
    assert many.returncode == 2
    assert "--plan: takes one instance file, got 2" in many.stderr
    assert not (tmp_path / "p.csv").exists()
