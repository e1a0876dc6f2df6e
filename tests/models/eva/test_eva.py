"""Test Eva's exact models on the paper's instances."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

from heuristics.eva import full_reconfiguration, no_packing
from instances import InputError, Options, Stopwatch
from instances.eva import EvaPacking, Task, packing_arrays, table_3, table_7
from models.eva import build_literal, exact, literal
from models.eva.columns import solve_columns
from models.eva.covering import feasible_patterns, solve_covering
from models.eva.parameters import BranchAndPriceParameters, EvaExactParameters
from models.eva.pattern_kernels import has_more_patterns
from tests.branch_and_price_cases import listed, maximal
from tests.sampling import few


@pytest.mark.parametrize("method", [exact, literal])
def test_table_3_costs_12_80(method):
    result = method(table_3().data)
    assert (result.status, result.objective, result.gap) == ("optimal", 12.8, 0.0)
    assert result.bound == 12.8


def test_table_3_with_interference():
    """Alone t1 and t2 would share it1 for 12.3 of 12 USD/h; with t3 in the place of t2 more is saved."""
    result = exact(table_3("net-saving").data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(3))
def test_literal_and_patterns_agree_on_table_7(seed):
    data = table_7(7, seed).data
    assert literal(data).objective == pytest.approx(exact(data).objective, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_200_tasks_are_proven_at_no_gap(seed):
    result = exact(table_7(200, seed).data)
    assert (result.status, result.gap) == ("optimal", 0.0)


@pytest.mark.parametrize(("n", "seed"), few([(8, 0), (8000, 0), (1000, 0), (200, 0), (60, 1)], 2))
def test_patterns_and_column_generation_agree(n, seed):
    """Two methods that share no code but the arrays; the second one's bound is exact."""
    arrays = packing_arrays(table_7(n, seed).data)
    patterns = solve_covering(arrays, listed(arrays), Options(gap=0.0))
    columns = solve_columns(arrays, Options(gap=0.0))
    assert arrays.usd(patterns.bound) == pytest.approx(columns.bound, rel=1e-12)


def many_classes(seed):
    """Forty distinct demands on the EC2 types: too many patterns to list."""
    base = table_7(200, 0).data
    rng = np.random.default_rng(seed)
    amounts = {(int(rng.integers(0, 2)), int(rng.integers(1, 13)), int(rng.integers(1, 49))) for _ in range(40)}
    tasks = [
        Task(
            workload=f"w{i}",
            count=int(rng.integers(1, 6)),
            demand={"default": dict(zip(base.resources, a, strict=True))},
        )
        for i, a in enumerate(sorted(amounts))
    ]
    return EvaPacking.model_validate({**base.model_dump(), "tasks": tasks})


def test_many_classes_are_solved_by_column_generation():
    data = many_classes(0)
    result = exact(data, Options(time_limit=30, gap=1e-3))
    assert result.info["method"] == "column generation"
    assert result.status == "optimal"
    assert result.gap <= 1e-3
    assert result.bound <= result.objective <= full_reconfiguration(data).objective


def test_column_generation_reports_and_keeps_to_a_time_limit():
    told = []
    result = exact(many_classes(1), Options(time_limit=0.3, gap=0.0), lambda solution, bound: told.append(bound))
    assert result.status in ("feasible", "optimal")
    assert told
    assert result.bound is not None


def test_known_optima_of_table_7():
    """Recorded 2026-11-21, patterns and HiGHS; equal by column generation."""
    optima = [exact(table_7(200, seed).data).objective for seed in range(3)]
    assert optima == pytest.approx([696.864, 617.253, 626.994], abs=1e-9)


def test_the_literal_model_has_the_paper_s_size():
    data = table_3().data
    model = build_literal(data)
    assert len(model.x) == 4 * (4 + 1)  # |I| = |T| instances, four types and the ghost
    assert len(model.y) == 4 * 4
    assert len(model.each_task_once) == 4
    assert len(model.one_type) == 4
    assert len(model.capacity) == 4 * 3


def test_the_literal_model_refuses_net_saving():
    with pytest.raises(InputError, match="cost"):
        build_literal(table_3("net-saving").data)


def test_demand_by_family_binds_the_literal_model():
    """One task that fits beside another on family c only: with p3's demand it would need a second instance."""
    base = table_3().data
    tasks = (
        Task(
            workload="t",
            count=2,
            demand={"default": {"gpu": 0, "cpu": 8, "ram_gb": 8}, "c": {"gpu": 0, "cpu": 4, "ram_gb": 8}},
        ),
    )
    data = EvaPacking.model_validate({**base.model_dump(), "tasks": tasks})
    assert literal(data).objective == exact(data).objective == pytest.approx(0.8)


def test_patterns_of_one_resource_by_hand():
    found = feasible_patterns(np.array([5]), np.array([[2], [3]]), np.array([9, 9]), 100)
    assert sorted(map(tuple, found)) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    most = maximal(found, np.array([5]), np.array([[2], [3]]), np.array([9, 9]))
    assert sorted(map(tuple, most)) == [(1, 1), (2, 0)]


def test_too_many_patterns_are_not_listed():
    assert feasible_patterns(np.array([5]), np.array([[2], [3]]), np.array([9, 9]), 4) is None


@pytest.mark.parametrize("seed", range(10))
def test_patterns_are_counted_as_they_are_listed(seed):
    draw = np.random.default_rng(seed)
    capacity, demand = draw.integers(0, 9, 2), draw.integers(0, 4, (3, 2))
    most = draw.integers(0, 4, 3)
    number = len(feasible_patterns(capacity, demand, most, 10**6))
    assert has_more_patterns(number - 1, capacity, demand, most)
    assert not has_more_patterns(number, capacity, demand, most)


def test_tasks_are_dealt_out_to_their_own_entries():
    """The two rows of ResNet18 are one class to the model and two entries to the checker."""
    data = table_7(60, 1, rows="ten").data
    arrays = packing_arrays(data)
    assert arrays.classes == len(data.tasks) - 1
    assert exact(data).status == "optimal"


def test_a_time_limit_keeps_what_is_known():
    result = literal(table_7(16, 0).data, Options(time_limit=0.5))
    assert result.status in ("feasible", "optimal", "no_solution")
    assert result.objective is None or result.bound is None or result.bound <= result.objective


def test_a_task_that_needs_nothing_goes_along():
    base = table_3().data
    free = Task(workload="free", count=3, demand={"default": {"gpu": 0, "cpu": 0, "ram_gb": 0}})
    data = EvaPacking.model_validate({**base.model_dump(), "tasks": (*base.tasks, free)})
    assert exact(data).objective == literal(data).objective == pytest.approx(12.8)
    assert no_packing(data).objective == pytest.approx(16.2 + 3 * 0.4)


def test_a_task_that_needs_nothing_needs_an_instance():
    base = table_3().data
    free = Task(workload="free", count=3, demand={"default": {"gpu": 0, "cpu": 0, "ram_gb": 0}})
    data = EvaPacking.model_validate({**base.model_dump(), "tasks": (free,)})
    assert exact(data).objective == literal(data).objective == pytest.approx(0.4)


def test_the_incumbents_are_reported():
    told = []
    exact(table_7(200, 3).data, Options(), lambda solution, bound: told.append((solution, bound)))
    assert any(solution is not None for solution, _ in told)


def test_the_parameters_of_the_exact_method_decide_how_patterns_are_found():
    data = table_7(40, 0).data
    few_steps = BranchAndPriceParameters(listed_patterns=10)
    branched, generated = exact(data), exact(data, parameters=EvaExactParameters(branch_and_price=few_steps))
    assert [result.info["method"] for result in (branched, generated)] == ["branch-and-price", "column generation"]
    assert branched.objective == generated.objective
    assert branched.status == generated.status == "optimal"


def test_numba_is_imported_where_patterns_are_listed_alone():
    code = "import sys; from models.eva import exact; raise SystemExit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_pyomo_is_imported_by_the_literal_model_alone():
    code = "import sys; from models.eva import exact, literal; raise SystemExit('pyomo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_seconds_of_a_result_include_patterns_that_were_listed_in_vain(monkeypatch: pytest.MonkeyPatch):
    """The sum over the parts of the method once left out the parts that found nothing: 1.2 s of 11.4 s were shown."""
    data = table_7(60, seed=2).data
    listed_in_vain = 0

    def list_in_vain(*_: object) -> None:
        nonlocal listed_in_vain
        listed_in_vain += 1
        listing = Stopwatch(0.5)
        while not listing.has_expired:
            pass

    method = importlib.import_module("models.eva.trees")
    monkeypatch.setattr(method, "list_patterns", list_in_vain)
    with Stopwatch() as clock:
        result = exact(data, Options(time_limit=2.0))
    assert listed_in_vain > 0
    assert result.cpu_s == pytest.approx(clock.cpu_s, rel=0.1)
