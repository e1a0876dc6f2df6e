"""Test that an ablation removes a part only within its run, and omits sets that do not use it."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from experiments.aryl import ablation as aryl_ablation
from experiments.boa import ablation as boa_ablation
from experiments.eva import ablation as eva_ablation
from experiments.eva.ablation import EXACT, JOINT, PARTS
from experiments.harness.experiment import following
from experiments.harness.runner import run_all
from experiments.kubernetes import ablation as kubernetes_ablation
from experiments.output.ablation import SEEDS, MethodPart, ablate, say_no
from experiments.sia import ablation as sia_ablation
from experiments.sia.reference import on_servers
from instances import Options
from instances.aryl import figure_5
from instances.boa import newtrace
from instances.eva import caprara_toth, random_round, random_workloads, table_3
from instances.kubernetes import build_two_halves
from instances.sia import synthetic
from models.eva.parameters import DEFAULTS, ItemParameters
from tests.commands import workers_copied

ITEMS = MethodPart(
    "task by task",
    ("models.eva.parameters:ItemParameters.suits",),
    say_no,
    entered=("models.eva.item_packing:pack_items",),
)
TREE = "models.eva.parameters:DEFAULTS.branch_and_price"
RESTARTS = MethodPart("restarts", constants={f"{TREE}.restarts": 0}, entered=("models.eva.exact:_solve_cost",))
DIVES = MethodPart("dives", constants={f"{TREE}.dive_steps": 0}, entered=("models.eva.exact:_solve_cost",))
NEVER = MethodPart(
    "never", ("models.eva.exact:_exceeds_total_capacity",), entered=("models.eva.net_saving:solve_net_saving",)
)


@pytest.fixture(autouse=True)
def copied() -> Iterator[None]:
    with workers_copied():
        yield


def outcomes_of(study):
    found = []
    while tasks := following(study, found):
        found += [outcome for _, outcome in run_all(tasks)]
    return found


def test_runs_without_a_part_differ_and_the_part_stays_in_this_process():
    draws = {"items": partial(caprara_toth, 1, 25), "table": lambda seed: table_3()}
    study = ablate(EXACT, [ITEMS, RESTARTS, NEVER], draws, Options(time_limit=20.0))
    found = outcomes_of(study)
    whole, without = found[0], found[2 * SEEDS]
    assert whole.info["entered"]["task by task"] == 1
    assert whole.info["bound_by"] != without.info["bound_by"]
    assert whole.objective == without.objective
    table, said = study.tables(found)
    assert [row[:3] for row in table.rows] == [
        ["task by task", "items", "3/3"],
        ["restarts", "table", "3/3"],
        ["restarts", "items", "3/3"],
    ]
    assert said == "No run enters: never."
    assert study.values(found)["task by task, items: proven"] == "3 to 3"
    assert ItemParameters.suits.__code__.co_name == "suits"


def test_constants_that_are_ablate_together_all_change():
    before = DEFAULTS.branch_and_price
    assert (before.restarts, before.dive_steps) != (0, 0)
    try:
        RESTARTS.leave_out()
        DIVES.leave_out()
        assert (DEFAULTS.branch_and_price.restarts, DEFAULTS.branch_and_price.dive_steps) == (0, 0)
    finally:
        fresh = type(before)()
        for name in ("restarts", "dive_steps"):
            object.__setattr__(before, name, getattr(fresh, name))


def test_every_part_of_eva_exists_and_can_be_counted():
    names = [part.name for part in PARTS]
    assert len(set(names)) == len(names)
    assert {name for of in JOINT.values() for name in of} <= set(names)
    with pytest.raises(ValueError, match="no part is named 'ghost'"):
        ablate(EXACT, PARTS, {}, Options(), {"all": ["ghost"]})
    study = ablate(EXACT, PARTS, {"table": lambda seed: table_3()}, Options(time_limit=20.0), quick=True)
    (result,) = [outcome for _, outcome in run_all(study.tasks)]
    assert result.status == "optimal"
    assert Counter(result.info["entered"])["surrogate relaxation"] + Counter(result.info["entered"])["listed patterns"]


def test_parts_that_enter_the_same_function_are_both_counted():
    study = ablate(EXACT, [RESTARTS, DIVES], {"table": lambda seed: table_3()}, Options(time_limit=20.0), quick=True)
    (result,) = [outcome for _, outcome in run_all(study.tasks)]
    assert result.info["entered"] == {"restarts": 1, "dives": 1}


OTHERS = [
    (sia_ablation.EXACT, sia_ablation.PARTS, sia_ablation.JOINT, synthetic("base", 3, days=0.5), "presolve"),
    (
        sia_ablation.LOCAL_EXACT,
        sia_ablation.LOCAL_PARTS,
        sia_ablation.LOCAL_JOINT,
        on_servers(seed=0),
        "bound without locality",
    ),
    (
        EXACT,
        eva_ablation.SAVING_PARTS,
        eva_ablation.SAVING_JOINT,
        random_workloads(12, 6, 0),
        "sifting of all patterns",
    ),
    (
        eva_ablation.EXACT_ROUND,
        eva_ablation.ROUND_PARTS,
        {},
        random_round(12, 0),
        "numbers of instances in a round",
    ),
    (aryl_ablation.EXACT, aryl_ablation.PARTS, aryl_ablation.JOINT, figure_5(), "greedy choice of servers"),
    (boa_ablation.EXACT, boa_ablation.PARTS, {}, newtrace(1.1), "gap closing"),
    (
        kubernetes_ablation.EXACT,
        kubernetes_ablation.PARTS,
        kubernetes_ablation.JOINT,
        build_two_halves(),
        "packing of what waits",
    ),
]


@pytest.mark.parametrize(("exact", "parts", "joint", "instance", "entered"), OTHERS)
def test_every_part_of_other_methods_exists_and_can_be_counted(exact, parts, joint, instance, entered):
    assert len({part.name for part in parts}) == len(parts)
    study = ablate(exact, parts, {"one": lambda seed: instance}, Options(time_limit=20.0), joint, quick=True)
    (result,) = [outcome for _, outcome in run_all(study.tasks)]
    assert result.status == "optimal"
    assert result.info["entered"][entered] > 0
    for target in (target for part in parts for target in part.constants):
        place, _, path = target.partition(":")
        owner = importlib.import_module(place)
        for name in path.split("."):
            owner = getattr(owner, name)
