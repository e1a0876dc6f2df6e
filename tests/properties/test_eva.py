"""Test properties of Eva's methods on random small instances."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics import eva as heuristics
from instances import Instance, Options, check, parse
from instances.eva import EvaPacking, InstanceType, packing_arrays
from instances.files import dump
from models import eva as models
from models.eva.columns import solve_columns
from models.eva.parameters import EvaExactParameters
from tests.eva_cases import best_packing, packings
from tests.sampling import sample

CLOSE = {"rel": 1e-6, "abs": 1e-7}
relaxed = settings(max_examples=sample(20, 60))
HEURISTICS = (heuristics.no_packing, heuristics.full_reconfiguration, heuristics.full_reconfiguration_first)


@relaxed
@given(packings())
def test_exact_cost_is_the_optimum_by_enumeration(data: EvaPacking) -> None:
    result = models.exact(data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best_packing(data), **CLOSE)


@relaxed
@given(packings("net-saving"))
def test_exact_net_saving_is_the_optimum_by_enumeration(data: EvaPacking) -> None:
    result = models.exact(data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best_packing(data), **CLOSE)


@relaxed
@given(packings("net-saving"))
def test_generated_net_saving_is_the_optimum_by_enumeration(data: EvaPacking) -> None:
    result = models.exact(data, parameters=EvaExactParameters(saving_patterns=0))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best_packing(data), **CLOSE)


@settings(max_examples=sample(10, 30))
@given(packings())
def test_column_generation_is_the_optimum_by_enumeration(data: EvaPacking) -> None:
    answer = solve_columns(packing_arrays(data), Options(gap=0.0))
    assert answer.bound == pytest.approx(best_packing(data), **CLOSE)
    assert check(data, answer.solution).objective == pytest.approx(answer.bound, **CLOSE)


@settings(max_examples=sample(10, 25))
@given(packings(most_tasks=4))
def test_the_literal_model_agrees(data: EvaPacking) -> None:
    literal, exact = models.literal(data), models.exact(data)
    assert literal.status == exact.status == "optimal"
    assert literal.objective == pytest.approx(exact.objective, **CLOSE)


@relaxed
@given(st.sampled_from(["cost", "net-saving"]).flatmap(lambda objective: packings(objective, most_tasks=9)))
def test_bound_optimum_heuristic_in_order(data: EvaPacking) -> None:
    exact = models.exact(data)
    sign = 1 if data.sense == "minimize" else -1
    assert sign * exact.bound <= sign * exact.objective + 1e-9
    for heuristic in HEURISTICS:
        result = heuristic(data)
        assert result.status == "feasible"
        assert not check(data, result.solution).violations
        assert sign * result.objective >= sign * exact.objective - 1e-6


@relaxed
@given(packings(most_tasks=8), st.randoms(use_true_random=False))
def test_relabelling_and_reordering_change_nothing(data: EvaPacking, random: object) -> None:
    tasks = [t.model_copy(update={"workload": f"other-{t.workload}"}) for t in data.tasks]
    kinds = [k.model_copy(update={"name": f"other-{k.name}"}) for k in data.instance_types]
    random.shuffle(tasks)  # type: ignore[attr-defined]
    random.shuffle(kinds)  # type: ignore[attr-defined]
    other = EvaPacking.model_validate({**data.model_dump(), "tasks": tasks, "instance_types": kinds})
    assert models.exact(other).objective == pytest.approx(models.exact(data).objective, **CLOSE)


@relaxed
@given(packings(most_tasks=8), st.integers(0, 6), st.integers(0, 6), st.integers(1, 60))
def test_a_new_instance_type_never_raises_the_optimum(data: EvaPacking, gpu: int, cpu: int, price: int) -> None:
    new = InstanceType(name="new", family="f", capacity={"gpu": gpu, "cpu": cpu}, usd_per_hour=price / 5)
    more = data.model_copy(update={"instance_types": (*data.instance_types, new)})
    assert models.exact(more).objective <= models.exact(data).objective + 1e-9


@relaxed
@given(st.sampled_from(["cost", "net-saving"]).flatmap(packings))
def test_json_round_trip(data: EvaPacking) -> None:
    instance = Instance.of(data, "random")
    assert parse(dump(instance)) == instance
