"""Test that exact, literal and enumeration agree with limits, running instances, types and spreading."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from heuristics.eva import full_reconfiguration, full_reconfiguration_artifact, full_reconfiguration_first, no_packing
from instances import InputError, Options, Result, check
from instances.eva import EvaPacking, InstanceType, Task, packing_arrays, table_7
from instances.options import ignore
from instances.proofs.eva import prove_packing
from models.core.highs import SolveFailed
from models.eva import branch_and_price as tree
from models.eva import exact, literal
from models.eva.certificate import certificate
from models.eva.covering import solve_covering
from models.eva.net_saving import saving_patterns
from models.eva.parameters import DEFAULTS
from models.eva.trees import solve_unlisted
from models.eva.true_speed import maximise_true_saving
from tests.branch_and_price_cases import listed
from tests.eva_cases import kind, packing, task
from tests.eva_constrained_cases import FIELDS, best_by_enumeration, random_constrained

HEURISTICS = (no_packing, full_reconfiguration, full_reconfiguration_first, full_reconfiguration_artifact)
TOGETHER = [FIELDS, *((field,) for field in FIELDS)]


def agrees(result: Result, optimum: float | None) -> bool:
    """Return whether a result is the optimum, proven to the digits of a float, or says that there is no plan."""
    if optimum is None:
        return result.status == "infeasible"
    near = result.objective is not None and abs(result.objective - optimum) < 1e-7
    return near and result.bound is not None and abs(result.bound - optimum) < 1e-5


@pytest.mark.parametrize("fields", TOGETHER, ids=lambda fields: "-".join(fields))
def test_exact_and_literal_find_what_enumeration_finds(fields: tuple[str, ...]):
    seeds = range(24 if len(fields) > 1 else 8)
    for seed in seeds:
        data = random_constrained(seed, fields, most_tasks=5)
        optimum = best_by_enumeration(data)
        results = [exact(data), *([literal(data)] if seed % 4 == 0 else [])]
        assert all(agrees(result, optimum) for result in results), (seed, optimum, results)


@pytest.mark.parametrize("fields", TOGETHER, ids=lambda fields: "-".join(fields))
def test_exact_finds_the_net_saving_that_enumeration_finds(fields: tuple[str, ...]):
    for seed in range(16 if len(fields) > 1 else 6):
        data = random_constrained(seed, fields, "net-saving", most_tasks=5)
        optimum, result = best_by_enumeration(data), exact(data)
        assert agrees(result, optimum), (seed, optimum, result)


def test_a_tree_that_prices_its_patterns_finds_what_enumeration_finds():
    for seed in range(30):
        data = random_constrained(seed, most_tasks=5)
        optimum, arrays = best_by_enumeration(data), packing_arrays(data)
        answer = solve_unlisted(arrays, Options(effort=300), ignore)
        if optimum is None:
            assert answer.solution is None
        else:
            assert answer.solution is not None
            assert answer.bound == pytest.approx(optimum)
            assert check(data, answer.solution).objective == pytest.approx(optimum)


def test_the_integer_program_over_all_maximal_patterns_finds_what_enumeration_finds():
    reached = 0
    for seed in range(30):
        data = random_constrained(seed, most_tasks=5)
        optimum, arrays = best_by_enumeration(data), packing_arrays(data)
        patterns = listed(arrays)
        if arrays.has_limits:
            known = full_reconfiguration(data).solution
            for start in (None, None if known is None else arrays.groups(known)):
                covered = solve_covering(arrays, patterns, Options(), start=start)
                if optimum is None:
                    assert covered.solved.termination == "infeasible"
                else:
                    assert (
                        arrays.usd(arrays.cost(covered.groups)) == arrays.usd(covered.bound) == pytest.approx(optimum)
                    )
                    assert not check(data, arrays.solution(covered.groups)).violations
                reached += optimum is not None
    assert reached > 20


def test_certificates_prove_the_optimum_with_limits_and_running_instances():
    proven = 0
    for seed in range(20):
        data = random_constrained(seed, most_tasks=5)
        optimum = best_by_enumeration(data)
        if optimum is not None:
            made = certificate(data, None, optimum, Options(effort=300))
            assert float(prove_packing(data, made.text).bound) == pytest.approx(optimum)
            proven += 1
    assert proven > 10


def test_heuristics_never_break_a_constraint_nor_beat_the_optimum():
    seen: Counter[str] = Counter()
    for seed in range(60):
        data = random_constrained(seed, objective="net-saving" if seed % 3 == 0 else "cost")
        optimum = best_by_enumeration(data)
        for heuristic in HEURISTICS:
            result = heuristic(data)
            seen[result.status] += 1
            if result.objective is not None:
                assert optimum is not None
                assert result.objective >= optimum - 1e-9 or data.objective == "net-saving"
                assert result.objective <= optimum + 1e-9 or data.objective == "cost"
    assert set(seen) == {"feasible", "no_solution"}


def constrained_table_7(n: int, seed: int) -> EvaPacking:
    """Tasks of Table 7, with half of the dearest instances that are best, a few that run, and tasks kept apart."""
    draw = random.Random(seed)
    content: dict[str, Any] = table_7(n, seed, objective="cost").data.model_dump(exclude_defaults=True)
    used: Counter[str] = Counter()
    for group in exact(EvaPacking.model_validate(content)).solution["instances"]:
        used[group["type"]] += group["count"]
    for instance_type in content["instance_types"]:
        if instance_type["name"] in ("p3.16xlarge", "c7i.4xlarge"):
            instance_type["max_instances"] = used[instance_type["name"]] // 2
    content["running"] = [{"type": "p3.8xlarge", "count": 2, "usd_per_hour": 0.0}, {"type": "r7i.4xlarge", "count": 1}]
    for entry in content["tasks"]:
        if entry["workload"] in ("GCN", "A3C"):
            entry["max_per_instance"] = draw.randint(1, 2)
    return EvaPacking.model_validate(content)


def test_no_plan_of_chance_is_cheaper_than_the_bound():
    """Plans by first fit in a random order, on types at random as long as there are some, judged by the checker."""
    data, draw, feasible = constrained_table_7(12, 1), random.Random(0), 0
    result = exact(data)
    assert result.status == "optimal"
    most = {k.name: 99 if k.max_instances is None else k.max_instances for k in data.instance_types}
    items = [t.key for t in data.tasks for _ in range(t.count)]
    for _ in range(12):
        plan: list[tuple[str, Counter[str]]] = []
        for key in draw.sample(items, len(items)):
            for name, held in plan:
                if not misfits(data, name, held + Counter([key])):
                    held[key] += 1
                    break
            else:
                used = Counter(name for name, _ in plan)
                names = [n for n in draw.sample(sorted(most), len(most)) if used[n] < most[n]]
                name = next((n for n in names if not misfits(data, n, Counter([key]))), names[0])
                plan.append((name, Counter([key])))
        groups = [{"type": name, "count": 1, "tasks": dict(held)} for name, held in plan]
        verdict = check(data, {"instances": groups})
        feasible += not verdict.violations
        assert verdict.violations or verdict.objective >= result.bound - 1e-9
    assert feasible > 5


def misfits(data: EvaPacking, name: str, held: Counter[str]) -> bool:
    """Return whether an instance cannot hold some tasks by itself."""
    said = check(data, {"instances": [{"type": name, "count": 1, "tasks": dict(held)}]}).violations
    return any("holds" in violation or "may not use" in violation for violation in said)


def test_constraints_that_bind_nothing_change_nothing():
    data = table_7(12, 5, objective="cost").data
    content: dict[str, Any] = data.model_dump(exclude_defaults=True)
    names = [k["name"] for k in content["instance_types"]]
    for entry in content["tasks"]:
        entry |= {"allowed_types": names, "max_per_instance": entry["count"]}
    content["spread"] = [{"tasks": [data.tasks[0].key], "max_per_instance": 12}]
    loose = EvaPacking.model_validate(content)
    assert exact(loose).solution == exact(data).solution
    for instance_type in content["instance_types"]:
        instance_type["max_instances"] = 12
    assert exact(EvaPacking.model_validate(content)).objective == pytest.approx(exact(data).objective)


def test_a_running_instance_is_used_before_one_is_rented_and_a_dearer_one_is_given_up():
    kinds = [kind("a", 4, 2.0), kind("b", 8, 3.0)]
    free = [{"type": "a", "count": 1, "usd_per_hour": 0.0}, {"type": "b", "count": 5, "usd_per_hour": 9.0}]
    data = packing(kinds, [task("x", 3, 4.0)], running=free)
    result = exact(data)
    assert (result.status, result.objective) == ("optimal", 3.0)
    assert check(data, {"instances": [{"type": "a", "count": 3, "tasks": {"x": 1}}]}).objective == 4.0
    assert check(data, {"instances": [{"type": "b", "count": 3, "tasks": {"x": 1}}]}).objective == 9.0


def test_the_checker_names_each_broken_constraint():
    kinds = [kind("a", 8, 2.0) | {"max_instances": 1}, kind("b", 8, 3.0)]
    tasks = [task("x", 2, 1.0, max_per_instance=1), task("y", 2, 1.0, allowed_types=["b"]), task("z", 1, 1.0)]
    data = packing(kinds, tasks, spread=[{"tasks": ["y", "z"]}])
    groups = [
        {"type": "a", "count": 1, "tasks": {"x": 2, "y": 1, "z": 1}},
        {"type": "a", "count": 1, "tasks": {"y": 1}},
    ]
    assert check(data, {"instances": groups}).violations == (
        "task y is on a a, which it may not use",
        "a a holds 2 tasks x, at most 1",
        "a a holds 2 tasks of y, ..., at most 1",
        "task y is on a a, which it may not use",
        "2 instances of a, at most 1",
    )


def test_fewer_instances_than_needed_are_infeasible_with_a_reason():
    data = packing([kind("a", 4, 2.0) | {"max_instances": 1}], [task("x", 2, 3.0)])
    for result in (exact(data), literal(data)):
        assert (result.status, result.objective) == ("infeasible", None)
    assert exact(data).reason == "the limits of instances leave tasks without a place"
    assert full_reconfiguration(data).status == "no_solution"


def test_a_start_is_never_lost_where_instances_are_limited():
    for seed in range(12):
        data = random_constrained(seed, objective="net-saving" if seed % 2 else "cost")
        known = full_reconfiguration(data)
        if known.solution is not None:
            result = exact(data, Options(effort=1), start=known.solution)
            better = (
                known.objective - result.objective if data.objective == "cost" else result.objective - known.objective
            )
            assert better >= -1e-9


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"running": [{"type": "c", "count": 1}]}, 'running[0].type: unknown type, must be one of a, b, got "c"'),
        ({"running": [{"type": "a", "count": 0}]}, "running[0].count: must be >= 1, got 0"),
        (
            {"running": [{"type": "a", "count": 1, "usd_per_hour": -1.0}]},
            "running[0].usd_per_hour: must be >= 0, got -1.0",
        ),
        (
            {"spread": [{"tasks": ["w"]}]},
            'spread[0].tasks[0]: unknown task, must be workload, or workload@job, got "w"',
        ),
        ({"spread": [{"tasks": ["x", "x"]}]}, 'spread[0].tasks: must be unique, occurs 2 times, got "x"'),
        ({"tasks": [task("x", 1, 1.0, allowed_types=["z"])]}, "tasks[0].allowed_types[0]: unknown type"),
        ({"tasks": [task("x", 1, 1.0, allowed_types=[])]}, "tasks[0].allowed_types: "),
        ({"tasks": [task("x", 1, 1.0, max_per_instance=0)]}, "tasks[0].max_per_instance: must be >= 1, got 0"),
        (
            {"tasks": [task("x", 1, 6.0, allowed_types=["a"])]},
            'tasks[0].allowed_types: task x fits on none of them, got "a"',
        ),
        (
            {"instance_types": [kind("a", 4, 2.0) | {"max_instances": -1}]},
            "instance_types[0].max_instances: must be >= 0",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line(change: dict[str, Any], line: str):
    content = {
        "resources": ["c"],
        "objective": "cost",
        "instance_types": [kind("a", 4, 2.0), kind("b", 8, 3.0)],
        "tasks": [task("x", 2, 3.0)],
    }
    with pytest.raises(InputError) as refused:
        EvaPacking.model_validate(content | change)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize(("throughput", "saved"), [(0.5, 0.0), (0.8, 0.0), (0.800000001, 2e-9), (0.9, 0.2)])
def test_a_saving_of_nothing_is_proven_to_the_last_digit_and_a_tiny_one_is_not_overlooked(
    limited: bool, throughput: float, saved: float
):
    small = {**kind("small", 1.0, 1.0), **({"max_instances": 4} if limited else {})}
    tasks = [task("a", 1, 1.0), task("b", 1, 1.0)]
    data = packing([small, kind("large", 2.0, 1.6)], tasks, objective="net-saving", throughput={"default": throughput})
    found = exact(data, Options(gap=0.0))
    assert found.objective == pytest.approx(saved, abs=3e-9)
    assert (
        found.bound >= check(data, {"instances": [{"type": "large", "count": 1, "tasks": {"a": 1, "b": 1}}]}).objective
    )
    if saved == 0.0:
        assert (found.status, found.objective, found.bound) == ("optimal", 0.0, 0.0)


def test_a_bound_below_nothing_is_kept_where_limits_cost_more_than_is_saved():
    kinds = [{**kind("small", 1.0, 1.0), "max_instances": 1}, kind("large", 2.0, 1.6)]
    tasks = [task("a", 1, 1.0), task("b", 1, 1.0)]
    found = exact(packing(kinds, tasks, objective="net-saving", throughput={"default": 0.5}))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(-0.6)
    assert found.bound == pytest.approx(-0.6, rel=1e-6)


def test_what_no_method_can_do_is_refused_in_one_line():
    data = random_constrained(0, ("max_instances",), "net-saving")
    few = replace(DEFAULTS, saving_patterns=1)
    assert saving_patterns(packing_arrays(data), 1) is None
    with pytest.raises(InputError, match="net-saving with limits of instances needs all patterns, more than 1"):
        exact(data, parameters=few)
    with pytest.raises(InputError, match=r"data\.max_instances: the saving at true speeds has no such constraint"):
        maximise_true_saving(data)


@pytest.mark.parametrize(
    ("few", "other", "ones", "twos", "least"),
    [
        ((2, 1000, 1), (2, 2000.000000001), 5, 0, 5000.000000002),
        ((96, 90.589552147, 3), (48, 48.663076802), 400, 3, 417.757886847),
        ((192, 2.819406322, 3), (96, 1.514534327), 2000, 3, 31.176233871),
        ((8, 90.589552147, 3), (4, 48.663076802), 50, 3, 661.073270857),
        ((96, 190.07106097, 3), (48, 76.392797232), 51, 4, 152.785594464),  # HiGHS failed at costs of 1e14 and more
    ],
    ids=["huge", "converted", "many", "in-part", "dear"],
)
def test_prices_of_nine_decimals_are_proven_without_a_start_or_a_limit(few, other, ones, twos, least):
    size, usd, most = few
    kinds = [{**kind("a", size, usd), "max_instances": most}, kind("b", *other)]
    data = packing(kinds, [task("w", ones, 1), *([task("v", twos, 2)] if twos else [])])
    for options in (Options(), Options(time_limit=60.0)):
        found = exact(data, options)
        assert (found.status, found.objective) == ("optimal", least)
    proven = prove_packing(data, certificate(data, found.solution, found.bound, Options()).text)
    assert float(proven.bound) <= least
    assert float(proven.bound) == pytest.approx(found.bound, rel=1e-6)


def test_the_tree_that_prices_ends_where_all_instances_are_free_and_too_few():
    """What is left out of the linear program has to cost something there, too."""
    free = {"type": "k", "count": 5, "usd_per_hour": 0.0}
    data = EvaPacking.model_validate(
        {
            "resources": ["c"],
            "instance_types": [
                {"name": "k", "family": "f", "capacity": {"c": 3.0}, "usd_per_hour": 1e-9, "max_instances": 1}
            ],
            "tasks": [
                {"workload": "a", "count": 3, "demand": {"default": {"c": 1.0}}},
                {"workload": "b", "count": 1, "demand": {"default": {"c": 2.0}, "f": {"c": 1.0}}},
            ],
            "running": [free],
            "objective": "cost",
        }
    )
    answer = solve_unlisted(packing_arrays(data), Options(time_limit=5.0), ignore)
    assert (answer.termination, answer.solution) == ("infeasible", None)


def test_a_tree_whose_linear_programs_fail_ends_with_what_it_has_proved(monkeypatch: pytest.MonkeyPatch):
    data = table_7(200, 1).data
    tries = 0

    def failed(*_: Any) -> None:
        nonlocal tries
        tries += 1
        assert tries < 100, "the same node is tried for ever"
        raise SolveFailed("numbers too far apart")

    best = exact(data).objective
    monkeypatch.setattr(tree, "strong_branching", failed)
    made = certificate(data, None, best, Options())
    assert tries == 2  # of two trees
    assert 0 < float(prove_packing(data, made.text).bound) <= best


def test_prices_of_a_million_that_are_a_step_apart_prove_no_false_bound():
    """HiGHS called a packing of three instances optimal where two do, with prices of 1e15 units."""
    kinds = (
        InstanceType(name="k0", family="g", capacity={"r": 0.5}, usd_per_hour=999999.999999999),
        InstanceType(name="k1", family="f", capacity={"r": 0.6}, usd_per_hour=1e6),
    )
    tasks = (
        Task(workload="a", count=1, demand={"default": {"r": 0.3}}, job="i"),
        Task(workload="b", count=2, demand={"default": {"r": 0.1}, "f": {"r": 0.3}}),
        Task(workload="c", count=1, demand={"default": {"r": 0.1}}),
    )
    data = EvaPacking(resources=("r",), instance_types=kinds, tasks=tasks, objective="cost")
    result, least = exact(data), 1999999.999999998
    assert result.objective == pytest.approx(least, rel=1e-15)
    assert result.bound is not None
    assert result.bound <= least


def test_amounts_of_many_digits_are_not_cut_off():
    """HiGHS called 10.25 optimal where instances that run already hold everything for 3.5."""
    names, sizes = (
        ("r0", "r1", "r2"),
        {"k0": (1.333333333, 1.333333333, 2.0), "k1": (1.666666667, 1.333333333, 1.666666667)},
    )
    needs = ((0.333333333, 1.0, 0.666666667), (0.666666667, 0.666666667, 1.0), (0.666666667, 0.0, 1.0))
    data = EvaPacking.model_validate(
        {
            "resources": names,
            "instance_types": [
                {
                    "name": name,
                    "family": name,
                    "capacity": dict(zip(names, size, strict=True)),
                    "usd_per_hour": usd,
                    "max_instances": most,
                }
                for (name, size), usd, most in zip(sizes.items(), (7.5, 8.5), (None, 2), strict=True)
            ],
            "tasks": [
                {"workload": f"w{i}", "count": 1, "demand": {"default": dict(zip(names, need, strict=True))}}
                for i, need in enumerate(needs)
            ],
            "objective": "cost",
            "running": [{"type": "k1", "count": n, "usd_per_hour": 1.75} for n in (1, 2)],
        }
    )
    for method in (literal, exact):
        result = method(data)
        assert (result.status, result.objective) == ("optimal", 3.5)
