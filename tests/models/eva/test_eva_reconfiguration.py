"""Test that two formulations and brute force agree on Eva's rounds, and no heuristic is better."""

from __future__ import annotations

import random

import numpy as np
import pytest

from heuristics.eva.round import eva_choice, full, partial, stay
from instances import InputError, Options, Solution, check
from instances.eva import EvaReconfiguration, random_round, table_3_round
from instances.eva.reconfiguration_arrays import NEW, reconfiguration_arrays
from models.eva.parameters import CountParameters, SavingParameters
from models.eva.reconfiguration import exact_reconfiguration, literal_reconfiguration, short_list
from models.eva.saving_columns import SavingColumns, SavingMaster
from tests.eva_rounds import best_by_brute_force, small_round
from tests.sampling import sample

HEURISTICS = (stay, full, partial, eva_choice)
TOLERANCE = 1e-6
HARD = ((40, 1, 2, 11.622857106786), (60, 1, 8, 25.156792204970))
"""Tasks, tasks of a job, seed and the best: very many numbers of instances are nearly as good."""


@pytest.mark.parametrize("seeds", [range(0, 20), range(140, 170)])
def test_both_formulations_equal_brute_force_and_no_heuristic_is_better(seeds: range):
    for seed in seeds[:: sample(2, 1)]:
        data = small_round(seed)
        best = best_by_brute_force(data)
        close = TOLERANCE * max(1.0, abs(best))
        for solve in (exact_reconfiguration, literal_reconfiguration):
            found = solve(data)
            assert found.objective == pytest.approx(best, abs=close), (seed, found.method)
            assert found.bound >= best - close, (seed, found.method)
        for heuristic in HEURISTICS:
            said = heuristic(data)
            assert said.objective <= best + close, (seed, said.method)
            assert said.status == "feasible"


@pytest.mark.parametrize(
    "few",
    [
        SavingParameters(count_share=1e-3, counted=4, programs=False),
        SavingParameters(count_share=1e-6, counted=64, listing_nodes=8, programs=False),
        SavingParameters(counts=CountParameters(nodes=1), probe_nodes=0, counted=2, programs=False),
    ],
)
@pytest.mark.parametrize("limit", [None, 60.0])
def test_no_list_is_too_short_for_a_true_bound(few: SavingParameters, limit: float | None):
    for seed in range(20, sample(26, 45)):
        data = small_round(seed)
        best = best_by_brute_force(data)
        found = exact_reconfiguration(data, Options(time_limit=limit), parameters=few)
        close = TOLERANCE * max(1.0, abs(best))
        assert found.objective - close <= best <= found.bound + close, seed
        assert found.status == "optimal" or found.reason, seed


@pytest.mark.parametrize(("tasks", "tasks_per_job", "seed", "best"), HARD)
def test_a_round_whose_contents_are_worth_nearly_the_same_is_proven(
    tasks: int, tasks_per_job: int, seed: int, best: float
):
    found = exact_reconfiguration(random_round(tasks, seed, tasks_per_job=tasks_per_job).data)
    assert (found.status, found.objective) == ("optimal", pytest.approx(best))


@pytest.mark.parametrize("tasks_per_job", [1, 2, 4])
def test_exact_proves_rounds_of_twenty_tasks_and_is_never_below_a_heuristic(tasks_per_job: int):
    data = random_round(20, 0, tasks_per_job=tasks_per_job).data
    found = exact_reconfiguration(data)
    assert found.status == "optimal"
    for heuristic in HEURISTICS:
        assert heuristic(data).objective <= found.objective


@pytest.mark.parametrize("tasks_per_job", [1, 3])
def test_no_change_of_a_few_tasks_beats_the_bound(tasks_per_job: int):
    data = random_round(16, 3, tasks_per_job=tasks_per_job).data
    found = exact_reconfiguration(data, Options(effort=2))
    draw = random.Random(1)
    tried = 0
    for start in (found.solution, eva_choice(data).solution, stay(data).solution):
        solution = start
        for _ in range(40):
            changed = _changed(draw, data, solution)
            verdict = check(data, changed)
            if verdict.violations:
                continue
            tried += 1
            assert verdict.objective <= found.bound * (1 + 1e-9)
            if verdict.objective >= check(data, solution).objective - 0.1:
                solution = changed
    assert tried > 20


def _changed(draw: random.Random, data: EvaReconfiguration, solution: Solution) -> Solution:
    """Move one task of a solution: to an instance of the solution, a terminated one, or one of its own."""
    types = {e.id: e.type for e in data.existing}
    there = [(name, types[name], dict(solution["existing"].get(name, {}))) for name in types]
    new = [(None, g["type"], dict(g["tasks"])) for g in solution["instances"] for _ in range(g["count"])]
    there += [*new, (None, draw.choice(data.instance_types).name, {})]
    start = draw.choice([i for i in there if any(i[2].values())])
    key = draw.choice([key for key, k in start[2].items() if k])
    start[2][key] -= 1
    end = draw.choice(there)[2]
    end[key] = end.get(key, 0) + 1
    return {
        "existing": {name: tasks for name, _, tasks in there if name and any(tasks.values())},
        "instances": [
            {"type": t, "count": 1, "tasks": tasks} for n, t, tasks in there if n is None and any(tasks.values())
        ],
    }


def test_a_new_instance_is_of_the_cheapest_type_that_holds_its_tasks():
    draw = np.random.default_rng(0)
    master = SavingMaster(reconfiguration_arrays(random_round(40, 0).data))
    packing, shape = master.arrays.packing, (100, master.arrays.packing.classes)
    columns = SavingColumns.of(NEW, draw.integers(0, 3, shape) * (draw.random(shape) < 0.3))
    for kind, on_it in zip(master.kind_of(columns), columns.on_it, strict=True):
        holding = [
            k
            for k in np.argsort(master.arrays.new, kind="stable")
            if packing.fits[k].any()
            and packing.fits[k][on_it > 0].all()
            and (on_it @ packing.demand_of_type[k] <= packing.capacity[k]).all()
        ]
        assert kind == next(iter(holding), -1)


def test_a_longer_horizon_pays_for_more_moves():
    data = table_3_round().data
    moved = [
        exact_reconfiguration(data.model_copy(update={"horizon_hours": hours})).objective for hours in (0.5, 1.0, 100.0)
    ]
    assert moved == pytest.approx([0.35, 0.75, 79.95])


def test_the_result_is_never_worse_than_the_start_and_a_limit_is_no_error():
    data = random_round(40, 0, tasks_per_job=2).data
    start = eva_choice(data)
    limited = exact_reconfiguration(data, Options(effort=1), start=start.solution)
    assert limited.objective >= start.objective
    assert limited.bound >= exact_reconfiguration(data).objective
    assert (
        exact_reconfiguration(data, Options(effort=1)).solution
        == exact_reconfiguration(data, Options(effort=1)).solution
    )


def test_an_instance_that_can_hold_too_many_tasks_has_a_bound_and_the_start():
    data = random_round(20, 0).data
    tiny = dict.fromkeys(data.resources, 0.0)
    tasks = (data.tasks[0].model_copy(update={"demand": {"default": tiny}, "count": 300}),)
    many = data.model_copy(update={"tasks": tasks, "existing": ()})
    found = exact_reconfiguration(many)
    assert (found.status, found.termination) == ("feasible", "finished")  # no effort was asked for
    assert found.reason == "an instance can hold more than 256 tasks"
    assert found.bound >= found.objective


def test_literal_refuses_what_it_cannot_list():
    with pytest.raises(InputError, match="can hold more than 2,000 different things"):
        literal_reconfiguration(random_round(60, 0).data)


def units(amount: float) -> dict:
    """Return the demand of a task."""
    return {"demand": {"default": {"r": amount}}}


def of_one_unit(
    tasks: list[dict], existing: dict, usd_per_hour: float, horizon: float, **more: object
) -> EvaReconfiguration:
    """Build a round of unit tasks on a type of four, and one running instance."""
    entries = [{"count": 1, **units(1), **task} for task in tasks]
    kind = {"name": "k", "family": "g", "capacity": {"r": 4}, "usd_per_hour": usd_per_hour}
    return EvaReconfiguration.model_validate(
        {
            "resources": ["r"],
            "instance_types": [kind],
            "tasks": entries,
            "existing": [{"id": "e", "type": "k", "tasks": existing}] if existing else [],
            "horizon_hours": horizon,
            **more,
        }
    )


def test_a_task_that_pays_only_by_keeping_its_job_whole_is_not_passed_over():
    job, free = {"job": "k", "migration_usd": 2}, units(0)
    three = of_one_unit(
        [{"workload": "w0"}, {"workload": "w1", **job}, {"workload": "w2", **job}], {"w2@k": 1, "w1@k": 1}, 1.5, 0.5
    )
    pairs = [("w0", "w2", 0.9), ("w1", "w0", 0.9), ("w2", "w3", 0.9), ("w3", "w2", 0.5)]
    four = of_one_unit(
        [
            {"workload": "w0", **job},
            {"workload": "w1", **free},
            {"workload": "w2", **job},
            {"workload": "w3", **free, **job},
        ],
        {"w0@k": 1, "w3@k": 1, "w1": 1},
        1,
        10,
        throughput={"pairwise": pairs},
    )
    for data, best in ((three, 1.5), (four, 20.0)):
        for solve in (exact_reconfiguration, short_list):
            found = solve(data)
            assert (found.status, found.objective) == ("optimal", pytest.approx(best))
            assert found.bound >= best


def test_tiny_worths_are_no_zero_beside_large_costs_that_nobody_pays():
    """Prices of 2e-9 USD beside a migration of 223,163 USD, and a horizon of 1e-9 hours."""
    job, other = {"job": "i", "migration_usd": 123.652564459}, {"job": "j", "migration_usd": 223163.320804439}
    kinds = [
        {"name": "k0", "family": "f", "capacity": {"r": 4}, "usd_per_hour": 2e-9},
        {"name": "k1", "family": "f", "capacity": {"r": 0}, "usd_per_hour": 9e-9, "start_usd": 0.001163792},
    ]
    pairs = [("w0", "w2", 0.9), ("w1", "w0", 0.9), ("w1", "w1", 0.9), ("w1", "w2", 1.0)]
    dear = of_one_unit(
        [{"workload": "w0", **job}, {"workload": "w1", "count": 2, **other}, {"workload": "w2", **job, **units(3)}],
        {},
        1,
        0.5,
        instance_types=kinds,
        throughput={"pairwise": pairs},
    )
    kinds = [
        {"name": "k0", "family": "f", "capacity": {"r": 3}, "usd_per_hour": 2.5},
        {"name": "k1", "family": "f", "capacity": {"r": 2}, "usd_per_hour": 1.0},
    ]
    pairs = [("w0", "w0", 0.9), ("w0", "w1", 0.9), ("w1", "w2", 0.9)]
    free = {"workload": "w2", "count": 2, "job": "j", "migration_usd": 2.0, **units(0)}
    tasks = [{"workload": "w0", **units(2)}, {"workload": "w1", "job": "j", "migration_usd": 2.0}, free]
    short = of_one_unit(tasks, {}, 1, 1e-9, instance_types=kinds, throughput={"pairwise": pairs})
    for data, best in ((dear, 1.8e-9), (short, 2e-9)):
        for solve in (exact_reconfiguration, short_list, literal_reconfiguration):
            found = solve(data)
            assert found.objective == pytest.approx(best, rel=1e-9)
            assert found.bound >= best * (1 - 1e-9), found.method
