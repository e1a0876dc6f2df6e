"""Test that exact methods agree with brute force, without a start and as commands run them.

`GAPWISE_BRUTE` sets how many instances of each family the command's way is tried on, `GAPWISE_BRUTE_SEED` which.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from experiments.harness.run import apply
from experiments.plan import methods_for
from instances import Instance, Options
from models.core.highs import SolveFailed
from models.eva import exact
from models.eva.pricers import ListedPricer
from tests.attacks.brute import FAMILIES
from tests.attacks.families import PLAIN, attack, attack_as_commanded, faults
from tests.sampling import sample

COUNT = int(os.environ.get("GAPWISE_BRUTE", sample(1, 40)))
SEED = int(os.environ.get("GAPWISE_BRUTE_SEED", "1"))


@pytest.mark.parametrize("name", FAMILIES)
def test_exact_methods_without_a_start_agree_with_brute_force(name):
    tally = attack(FAMILIES[name], sample(3, 200), SEED)
    assert tally.wrong == []
    assert len(tally.unproven) <= tally.runs // 20


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if "exact" in family.methods])
def test_solve_with_any_start_and_limit_agrees_with_brute_force(name):
    tally = attack_as_commanded(FAMILIES[name], COUNT, SEED)
    assert tally.wrong == []
    assert len(tally.unproven) <= tally.runs // 20


@pytest.mark.parametrize(
    ("name", "instance"),
    [*(("types", name) for name in ("1-953", "1-1025", "1-1538", "1-605")), ("types rescaling", "2-607")],
)
def test_a_budget_with_room_for_rounding_alone_is_not_called_infeasible(name, instance):
    family = FAMILIES[f"boa-allocation {name}"]
    data = family.instance(instance)
    result = family.slow["literal"](data)
    assert list(faults(result, family.optimum(data), PLAIN, [])) == []
    assert result.status != "infeasible"


@pytest.mark.parametrize(
    ("name", "instance"),
    [
        ("eva-packing cost, long amounts", "3-29"),
        ("aryl-elastic mean-jct", "21-102"),
        ("boa-allocation types", "21-1019"),
        ("boa-allocation integer rescaling", "21-1280"),
    ],
)
def test_literal_models_whose_optimum_highs_had_cut_off(name, instance):
    """Bounds were 6 where 3 can be had, and 1100 s where 1055.6 are; a budget paid for nothing; a weight was tiny."""
    family = FAMILIES[name]
    data, optimum = family.instance(instance), family.optimum(family.instance(instance))
    assert list(faults(family.slow["literal"](data), optimum, PLAIN, [])) == []


@pytest.mark.parametrize("instance", ["500-1", "600-1"])
def test_a_limit_of_instances_pays_for_a_pattern_only_where_that_proves_more(instance):
    """The duals of a limit and a raised scale, both at once, left a node open that its linear program closes."""
    data = FAMILIES["eva-packing cost, many tasks"].instance(instance)
    assert exact(data).status == "optimal"


def solve_as_commanded(name: str, instance: str):
    """Return the result of `gapwise solve` without a start, and the optimum."""
    family = FAMILIES[name]
    data = family.instance(instance)
    entry, *_ = methods_for(Instance.of(data, instance), ["all"])
    return apply(replace(entry, starts=()), Instance.of(data, instance), Options(time_limit=10.0)), family.optimum(data)


def test_tasks_left_out_of_the_first_linear_program_have_duals_that_can_be_priced():
    """There may be no instance of the type with the least price per task: 102 tasks had duals of 6e13."""
    result, optimum = solve_as_commanded("eva-packing cost, many tasks", "91-148")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(float(optimum))


def test_a_tree_that_fails_leaves_the_problem_to_the_stage_after_it(monkeypatch: pytest.MonkeyPatch):
    def fail(*_):
        raise SolveFailed("numbers too far apart")

    monkeypatch.setattr(ListedPricer, "price", fail)
    result, optimum = solve_as_commanded("eva-packing cost, many tasks", "91-148")
    assert result.objective == pytest.approx(float(optimum))
    assert result.bound == pytest.approx(float(optimum))
