"""Test Eva's exact methods at the ends of file ranges, and from heuristic solutions."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest

from experiments.papers import METHODS
from heuristics.eva import full_reconfiguration, full_reconfiguration_first, no_packing
from instances import InputError, Options, check
from instances.eva import EvaPacking, packing_arrays, pod_requests, table_7
from instances.eva.arrays import WholeAmounts
from models.core.pyomo_model import write_model
from models.eva import build_literal, exact, literal
from models.eva.columns import solve_columns
from tests.eva_cases import kind, packing, requests, task

HEURISTICS = (full_reconfiguration, full_reconfiguration_first, no_packing)
ODD = ["ghost", "a b", "a_b", "ü'\"\n", "x[0,1]:; end", "-1", "0", "a" * 200]


def best_start(data: EvaPacking):
    results = [heuristic(data) for heuristic in HEURISTICS]
    choose = min if data.sense == "minimize" else max
    return choose(results, key=lambda result: result.objective)


@pytest.mark.parametrize("name", ODD)
def test_no_name_of_a_type_changes_the_literal_model(name):
    data = packing([kind(name, 4.0, 1.0), kind("b", 8.0, 1.5)], [task("w", 3, 3.0)])
    assert (literal(data).status, literal(data).objective) == ("optimal", 2.5)
    only = packing([kind(name, 4.0, 1.0)], [task("w", 3, 3.0)])
    assert literal(only).objective == exact(only).objective == 3.0


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("families", [{}, {"a b": 3.0}])
def test_an_exported_model_with_odd_names_has_the_same_optimum(tmp_path: Path, ending, families):
    kinds = [kind(name, 3.0 + i, 0.9 + i / 10, ("a b", "a_b")[i % 2]) for i, name in enumerate(ODD)]
    data = packing(kinds, [task("ghost", 2, 3.0, families), task("a b", 1, 4.0), task("a_b", 1, 0.0)])
    write_model(build_literal(data), tmp_path / f"model.{ending}")
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("mip_rel_gap", 0.0)
    assert h.readModel(str(tmp_path / f"model.{ending}")) == highspy.HighsStatus.kOk
    h.run()
    assert h.getInfo().objective_function_value == pytest.approx(exact(data).objective, abs=1e-9)


def test_a_demand_beyond_64_bits_on_another_family_drops_no_pattern():
    """Ten tasks of 1e9 would wrap round a 64-bit integer, and seem to fit on B at 9 USD/h."""
    kinds = [kind("A", 10.000000001, 10.0), kind("B", 1e9, 9.0, "g")]
    data = packing(kinds, [task("w", 10, 1.0, {"g": 1e9})])
    assert (exact(data).status, exact(data).objective, exact(data).bound) == ("optimal", 10.0, 10.0)
    assert literal(data).objective == 10.0


def test_column_generation_drops_digits_only_where_64_bits_end():
    """Capacities of 1e18 units: the bound holds, and no instance of the solution is overfull."""
    kinds = [kind("A", 10.000000001, 10.0), kind("B", 1e9, 9.0, "g")]
    data = packing(kinds, [task("w", 10, 1.0, {"g": 1e9}), task("v", 7, 0.000000001, {"g": 123456789.012345})])
    answer = solve_columns(packing_arrays(data), Options(time_limit=20))
    verdict = check(data, answer.solution)
    assert not verdict.violations
    assert answer.bound <= exact(data).objective <= verdict.objective
    assert (exact(data).status, exact(data).objective) == ("optimal", 19.0)


def test_column_generation_caps_the_amounts_of_each_family_by_its_own_capacities():
    """Both tasks fit on A. If the capacity of A were capped by demands on family g, no task would fit on A."""
    kinds = [kind("A", 1e9, 1.0), kind("B", 2e-9, 10.0, "g")]
    data = packing(kinds, [task("w", 2, 5e8, {"g": 1e-9})])
    answer = solve_columns(packing_arrays(data), Options(time_limit=20))
    assert (check(data, answer.solution).objective, answer.bound) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("kinds", "tasks", "optimum"),
    [
        ([kind("A", 1.0, 1.0), kind("B", 2.0, 5.0)], [task("w", 1, 1.000000001)], 5.0),
        ([kind("A", 1.0, 1.0)], [task("w", 3, 0.333333334)], 2.0),
        ([kind("A", 1.0, 1.0)], [task("w", 3, 0.333333333)], 1.0),
        ([kind("A", 1e-9, 1.0)], [task("w", 3, 1e-9)], 3.0),
        ([kind("A", 1e9, 1.0)], [task("w", 3, 1e9)], 3.0),
        ([kind("A", 0.0, 1.0), kind("B", 5.0, 1.5)], [task("w", 3, 1e-9)], 1.5),
    ],
)
def test_exact_and_literal_hold_a_capacity_to_the_last_digit(kinds, tasks, optimum):
    data = packing(kinds, tasks)
    result = exact(data)
    assert (result.status, result.objective) == ("optimal", optimum)
    rounded = literal(data)  # HiGHS is not believed at so many digits: its bound is that of rounded rows
    assert rounded.objective == optimum >= rounded.bound
    assert rounded.status == ("optimal" if rounded.bound == optimum else "feasible")


def test_where_highs_errs_by_its_tolerances_the_literal_model_claims_nothing_false():
    data = packing([kind("A", 1.0, 1.0), kind("B", 2.0, 10.0)], [task("w", 3, 1.000000001)])
    result = literal(data)
    assert exact(data).objective == exact(data).bound == 30.0
    assert result.objective in (None, 30.0)
    assert result.bound is None or result.bound <= 30.0
    assert result.solved or result.reason


def test_prices_of_1e9_and_1e_minus_9_in_one_file():
    """In USD/h the small ones are below every tolerance of HiGHS."""
    kinds = [kind("A", 1.0, 1e9), kind("B", 1.0, 1e-9), kind("C", 2.0, 2e-9), kind("D", 3.0, 2e-9)]
    data = packing(kinds, [task("w", 7, 1.0)])
    for method in (exact, literal):
        result = method(data)
        assert (result.status, result.objective) == ("optimal", 5e-9)


def test_amounts_that_highs_cannot_tell_apart_are_refused_by_the_literal_model():
    data = packing([kind("A", 9.000000001, 1.0)], [task("w", 2, 3.0), task("v", 1, 4.999999999)])
    assert WholeAmounts.of(data).largest > 4 * 10**9
    with pytest.raises(InputError, match="more than HiGHS can tell apart"):
        literal(data)
    method = next(m for m in METHODS["eva-packing"] if m.name == "literal")
    assert "more than HiGHS can tell apart" in method.unfit(data)


@pytest.mark.parametrize("count", [999_999_999, 10**9])
def test_a_billion_tasks_are_proven(count):
    data = packing([kind("A", 1.0, 1.0), kind("B", 2.0, 1.5)], [task("w", count, 1.0)])
    start = best_start(data)
    result = exact(data, Options(), start=start.solution)
    assert result.status == "optimal"
    assert result.objective == start.objective == 1.5 * (count // 2) + count % 2


def test_a_billion_tasks_of_the_smallest_size_share_an_instance():
    data = packing([kind("A", 1.0, 1e9), kind("B", 2.0, 1.5)], [task("w", 10**9, 1e-9)])
    assert (exact(data).status, exact(data).objective) == ("optimal", 1.5)


@pytest.mark.parametrize(
    ("count", "default", "price"), [(1_000, 0.999999999, 100.0), (2_000, 0.999999, 1e9), (3, 0.999999999, 1e-9)]
)
def test_small_losses_of_throughput_keep_their_digits(count, default, price):
    """The bound is above what the checker says of all tasks on one instance, by a relative 1e-6 at most."""
    kinds = [kind("A", 1.0, 1e9 if price == 1e9 else price / 5 if price > 1 else 1e-9), kind("B", float(count), price)]
    data = packing(kinds, [task("w", count, 1.0)], objective="net-saving", throughput={"default": default})
    together = check(data, {"instances": [{"type": "B", "count": 1, "tasks": {"w": count}}]})
    result = exact(data)
    assert result.status == "optimal"
    assert result.objective >= together.objective
    assert together.objective <= result.bound * (1 + 1e-15)


@pytest.mark.parametrize(("entries", "seed"), [(30, 0), (100, 0)])
def test_a_start_that_meets_the_bound_ends_column_generation(entries, seed):
    data = requests(entries, seed)
    start = best_start(data)
    told: list = []
    result = exact(data, Options(time_limit=60), lambda solution, bound: told.append(solution), start=start.solution)
    assert result.info["method"] == "column generation"
    assert result.status == "optimal"
    assert result.objective <= start.objective
    assert check(data, told[0]).objective == start.objective
    assert result.info["dives"] == 0


@pytest.mark.parametrize("objective", ["cost", "net-saving"])
@pytest.mark.parametrize("limit", [0.001, 5.0])
def test_exact_is_never_worse_than_its_start(objective, limit):
    for data in (table_7(60, 3, objective=objective).data, requests(6, 2, objective)):
        for heuristic in HEURISTICS:
            start = heuristic(data)
            told: list = []
            options = Options(time_limit=limit)
            result = exact(
                data, options, lambda solution, bound, told=told: told.append(solution), start=start.solution
            )
            values = [check(data, solution).objective for solution in told if solution is not None]
            worst = max if data.sense == "minimize" else min
            assert worst(result.objective, start.objective, *values) == start.objective


def test_the_optimum_as_a_start_comes_back():
    data = table_7(200, 0, objective="net-saving").data
    first = exact(data)
    again = exact(data, start=first.solution)
    assert (again.status, again.solution) == (first.status, first.solution) or again.objective >= first.objective


def test_a_start_on_a_type_dearer_than_it_needs_is_improved():
    """It once counted as worth what it is on the cheapest type, so that nothing seemed better."""
    data = packing([kind("dear", 6, 4.5), kind("cheap", 5, 2)], [task("w", 3, 1.5)], objective="net-saving")
    start = {"instances": [{"type": "dear", "count": 1, "tasks": {"w": 3}}]}
    assert check(data, start).objective == 1.5
    result = exact(data, start=start)
    assert (result.status, result.objective) == ("optimal", 4)


def test_a_limit_leaves_no_packing_dearer_than_a_greedy_one():
    data = pod_requests(70, 0).data
    result = exact(data, Options(time_limit=1e-3))
    assert result.status == "feasible"
    assert result.objective <= full_reconfiguration(data).objective * (1 + 1e-9)
