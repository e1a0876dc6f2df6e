"""Test that BOA's methods reject, in one line and before they run, instances that they cannot solve."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.papers import METHODS
from experiments.plan import methods_for
from heuristics.boa import equal_share, one_width
from instances import InputError, Instance, Options, check
from instances.boa import BoaAllocation, random_allocation
from models.boa import build_literal, exact, literal, randomised
from models.boa.frontier import frontier


def case(budget: float, speedup: dict[str, Any], rescale: float = 0.0, **changes: Any) -> Instance:
    epoch = {"size_hours": 1.0, "speedup": speedup}
    job_class = {"name": "a", "arrivals_per_hour": 1.0, "rescale_hours": rescale, "epochs": [epoch]}
    content = {"budget": budget, "classes": [job_class], "widths": "integer"} | changes
    return Instance.of(BoaAllocation.model_validate(content), "case")


def fitting(instance: Instance) -> set[str]:
    return {m.name for m in methods_for(instance, ["all"])}


def test_continuous_widths_with_rescaling_are_solved_by_exact_and_refused_by_what_else_claims_an_optimum():
    instance = case(1.45, {"amdahl": 0.9}, 1e-9, widths="continuous")
    calculators = {"width-calculator" + kind for kind in ("", "-artifact", "-nearest", "-whole-job")}
    whole = {*calculators, "one-width", "equal-share"}
    assert fitting(instance) == {"exact", *whole}
    for name in ("literal", "randomised"):
        with pytest.raises(InputError, match=f"{name} cannot take case: continuous widths with rescaling"):
            methods_for(instance, [name])
    for method in (literal, randomised, build_literal):
        with pytest.raises(InputError, match=r"^data\.widths: continuous widths with rescaling[^\n]*$"):
            method(instance.data)
    assert check(instance.data, {"widths": {"a": [5.4]}}).violations == ()
    assert exact(instance.data).status == frontier(instance.data).at(1.45).status == "optimal"


@pytest.mark.parametrize("speedup", [{"amdahl": 1.0}, {"power": 1.0}])
@pytest.mark.parametrize("widths", ["integer", "continuous"])
def test_a_linear_speedup_that_nothing_ends_is_taken_by_no_method(speedup: dict[str, Any], widths: str):
    instance = case(2.0, speedup, widths=widths)
    assert fitting(instance) == set()
    with pytest.raises(InputError, match="max_width must be given, since a speedup of class a is linear"):
        methods_for(instance, ["exact"])
    assert "exact" in fitting(case(2.0, speedup, widths=widths, max_width=8))
    assert "exact" in fitting(case(2.0, speedup, 0.1))  # the price of a change ends it


@pytest.mark.parametrize("budget", [1e6, 1e9])
def test_arrays_without_end_are_refused_with_their_size_and_the_limit(budget: float):
    instance = case(budget, {"power": 0.5})
    assert fitting(instance) == {"randomised"}  # which needs fewer widths, or says how many
    for method in (exact, one_width, equal_share, randomised):
        with pytest.raises(
            InputError, match=r"^max_width: must be given, or smaller: [^\n]* over the limit of [\d,]+$"
        ):
            method(instance.data)


def test_a_wide_budget_ends():
    """A million widths for each of two classes: a step at a time, one width once took for ever."""
    epochs = [[{"size_hours": 1.0, "speedup": s}] for s in ({"amdahl": 0.8}, {"power": 0.5})]
    classes = [
        {"name": f"c{i}", "arrivals_per_hour": 0.4, "rescale_hours": 0.0, "epochs": e} for i, e in enumerate(epochs)
    ]
    instance = case(400.0, {"power": 0.5}, classes=classes)
    for method in (one_width, equal_share):
        assert method(instance.data).objective >= exact(instance.data).objective * (1 - 1e-6)


@pytest.mark.parametrize("widths", ["integer", "continuous"])
@pytest.mark.parametrize("off", [-9e-9, -5e-9, 0.0, 1e-9, 1e-8])
def test_the_bound_at_the_least_budget_is_a_bound(widths: str, off: float):
    """A budget a hair under the least, here 10, once gave 49999.76 and 5e190 as bounds on 1.0."""
    job_class = {
        "name": "a",
        "arrivals_per_hour": 10.0,
        "rescale_hours": 0.0,
        "epochs": [{"size_hours": 1.0, "speedup": {"amdahl": 0.9}}],
    }
    data = case(10.0 + off, {}, widths=widths, classes=[job_class]).data
    for method in (exact, literal, randomised):
        result = method(data)
        assert result.objective == pytest.approx(1.0, rel=1e-7)
        assert result.status in ("optimal", "violates" if method is randomised else "optimal")
    for method in (one_width, equal_share):
        assert method(data).objective == 1.0


def test_a_start_is_reported_at_once_and_never_lost():
    data = random_allocation(5, 60, 64, seed=1).data
    best = exact(data)
    seen: list[Any] = []
    again = exact(data, Options(time_limit=1e-6), lambda s, b: seen.append(s), best.solution)
    assert seen[0] == best.solution
    assert again.objective == best.objective
    assert again.bound <= again.objective
    poor = one_width(data)
    assert exact(data, Options(time_limit=1e-6), start=poor.solution).objective <= poor.objective
    assert exact(data, start=poor.solution).objective == pytest.approx(best.objective, rel=1e-6)
    small = random_allocation(2, 5, 8, rescale=0.5).data
    begun = one_width(small).solution
    assert literal(small, start=begun).objective == pytest.approx(exact(small).objective, rel=1e-6)


@pytest.mark.parametrize("name", ["exact", "literal"])
def test_starts_are_methods_of_the_problem(name: str):
    known = {m.name: m for m in METHODS["boa-allocation"]}
    assert [start.name for start in known[name].starts] == ["one-width"]
    assert set(known[name].starts) < set(known.values())
