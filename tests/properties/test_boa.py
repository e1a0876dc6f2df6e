"""Test properties of BOA's methods on random small instances."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heuristics import boa as heuristics
from instances import Instance, Options, check, parse
from instances.boa import BoaAllocation, compute_min_budget, concave_hull, random_allocation, width_arrays
from instances.boa.checker import find_hull, read_hull
from instances.files import dump
from models import boa as models
from models.boa.cone_program import literal_cone
from models.boa.convex_dual import exact_convex
from models.boa.gap_closing import GapClosingParameters
from models.boa.micp import prepare, solve_micp
from models.boa.path_dual import build_network, compute_reduced_costs
from models.boa.share_program import literal_lp
from tests.boa_cases import allocations, exact_mean_jct, policies
from tests.boa_optima import best_paths
from tests.sampling import sample

CLOSE = {"rel": 2e-6, "abs": 1e-9}
relaxed = settings(max_examples=sample(16, 50))
few = settings(max_examples=sample(10, 20))
HEURISTICS = (
    heuristics.width_calculator,
    heuristics.width_calculator_whole_job,
    heuristics.one_width,
    heuristics.equal_share,
)


@relaxed
@given(allocations())
def test_exact_is_the_optimum_by_enumeration(data: BoaAllocation) -> None:
    result, best = models.exact(data), best_paths(data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best, **CLOSE)
    assert result.bound <= best * (1 + 1e-12)


@relaxed
@given(allocations(), st.integers(2, 6), st.integers(2, 4))
def test_no_room_is_too_small_for_the_optimum(data: BoaAllocation, room: int, widening: int) -> None:
    """Whatever is truncated in a pass is neither called enumerated nor lost: the next passes have the room for it."""
    assume(not data.convex and not data.real)
    narrow = GapClosingParameters(probe_labels=room, probe_policies=room, widening=widening)
    answer, best = solve_micp(prepare(data), data.budget, Options(), parameters=narrow), best_paths(data)
    assert check(data, answer.solution).objective == pytest.approx(best, **CLOSE)
    assert best * (1 - 2e-6) <= answer.bound <= best * (1 + 1e-12)


@few
@given(allocations(types=2, most_epochs=2, most_widths=2))
def test_exact_with_types_and_rescaling_is_the_optimum_by_enumeration(data: BoaAllocation) -> None:
    assume(data.rescales)
    assert models.exact(data).objective == pytest.approx(best_paths(data), **CLOSE)


@few
@given(allocations(most_epochs=4, most_widths=5))
def test_the_literal_model_agrees(data: BoaAllocation) -> None:
    result = models.literal(data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(models.exact(data).objective, rel=5e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(sample(2, 4)))
def test_the_bound_holds_in_rational_numbers(seed: int) -> None:
    """At a gap of 0 the bound is within rounding of the optimum, and still no larger than it is in exact arithmetic."""
    data = random_allocation(2, 3, 4, rescale=0.5, seed=seed).data
    budget = Fraction(data.budget)
    exact = (exact_mean_jct(data, solution) for solution in policies(data))
    optimum = min(time for time, cost in exact if cost <= budget)
    result = models.exact(data, Options(gap=0.0))
    assert Fraction(result.bound) <= optimum
    assert float(optimum) == pytest.approx(result.bound, rel=1e-11)


@relaxed
@given(allocations(most_epochs=6, most_widths=6))
def test_units_never_exceed_what_they_round(data: BoaAllocation) -> None:
    net = build_network(data)
    prepared = prepare(data)
    over, inside = prepared.dual.maximise(data.budget)
    r = compute_reduced_costs(net, inside, data.budget, 10.0)
    finite = np.isfinite(net.time)
    assert (r.time[finite] * r.unit <= net.time[finite]).all()
    assert (r.cost * (data.budget / r.budget) <= net.cost).all()
    for i in range(len(r.epochs)):
        assert all((arcs >= -r.margin).all() for arcs in r.arcs(i))
    assert over.cost >= inside.cost


@relaxed
@given(allocations(most_epochs=5, most_widths=5))
def test_the_randomised_policy_attains_the_lagrangian_bound(data: BoaAllocation) -> None:
    mixed, exact = models.randomised(data), models.exact(data)
    assert mixed.objective == pytest.approx(mixed.info["lagrangian_bound"], rel=1e-9)
    assert mixed.objective <= exact.objective * (1 + 1e-9)
    paths = [len(p) for p in mixed.solution["paths"].values()]
    assert sum(n > 1 for n in paths) <= 1
    assert mixed.status == ("violates" if max(paths) > 1 else "optimal")


@relaxed
@given(allocations(most_epochs=5, most_widths=5))
def test_heuristics_are_feasible_and_never_beat_the_optimum(data: BoaAllocation) -> None:
    optimum = models.exact(data).objective
    for heuristic in HEURISTICS:
        result = heuristic(data)
        assert result.status in ("feasible", "no_solution")
        if result.objective is not None:
            assert result.objective >= optimum * (1 - 1e-6)


@few
@given(allocations(), st.floats(1, 2))
def test_more_budget_never_hurts(data: BoaAllocation, factor: float) -> None:
    richer = data.model_copy(update={"budget": data.budget * factor})
    assert models.exact(richer).objective <= models.exact(data).objective * (1 + 1e-6)


@few
@given(allocations(most_widths=4))
def test_a_further_width_never_hurts(data: BoaAllocation) -> None:
    """Cutting every class at one width less is the same instance with a width taken away."""
    widest = int(width_arrays(data).width.max())
    assume(widest > 1)
    fewer = data.model_copy(update={"max_width": widest - 1})
    fewer = BoaAllocation.model_construct(**{name: getattr(fewer, name) for name in type(fewer).model_fields})
    assume(compute_min_budget(fewer) <= data.budget)
    assert models.exact(data).objective <= models.exact(fewer).objective * (1 + 1e-6)


@relaxed
@given(allocations(rescale=False, most_epochs=6, most_widths=6))
def test_without_rescaling_the_lagrangian_bound_is_the_convex_optimum(data: BoaAllocation) -> None:
    """Whole widths without rescaling times: the randomised policy does what fractional widths do on hulls."""
    smooth = data.model_copy(update={"widths": "continuous"})
    assert models.randomised(data).objective == pytest.approx(models.exact(smooth).objective, rel=1e-8)
    assert models.exact(data).objective >= models.exact(smooth).objective * (1 - 1e-9)


@few
@given(allocations(types=2, rescale=False, most_epochs=6, most_widths=5))
def test_cone_linear_program_and_multiplier_agree_on_types(data: BoaAllocation) -> None:
    options, smooth = Options(), data.model_copy(update={"widths": "continuous"})
    optimum = check(data, exact_convex(data, options).solution).objective
    for method, case in ((exact_convex, smooth), (literal_cone, smooth), (literal_lp, data)):
        verdict = check(case, method(case, options).solution)
        assert not verdict.violations
        assert verdict.objective == pytest.approx(optimum, rel=1e-7)


@relaxed
@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=12))
def test_two_hulls_agree(raw: list[float]) -> None:
    """The library's and the checker's: both concave, non-decreasing, above the points and touching some."""
    hull = concave_hull(np.array([raw]))[0]
    corners = find_hull(range(1, len(raw) + 1), raw, None)
    assert hull == pytest.approx([read_hull(corners, k) for k in range(1, len(raw) + 1)], rel=1e-12)
    assert (hull >= np.array(raw) * (1 - 1e-12)).all()
    assert (np.diff(hull) >= 0).all()
    assert (np.diff(hull, n=2) <= 1e-12 * max(raw)).all()


@few
@given(allocations())
def test_files_and_processes_carry_an_instance_whole(data: BoaAllocation) -> None:
    instance = Instance.of(data, "case")
    assert parse(dump(instance)) == instance
    copy = pickle.loads(pickle.dumps(data))
    assert copy == data
    assert models.exact(copy).objective == models.exact(data).objective


@few
@given(allocations(), st.floats(0.2, 1))
def test_a_smaller_budget_can_share_the_arrays(data: BoaAllocation, share: float) -> None:
    least = compute_min_budget(data)
    budget = least + share * (data.budget - least)
    shared = solve_micp(prepare(data), budget, Options())
    alone = models.exact(data.model_copy(update={"budget": budget}))
    assert check(data, shared.solution).objective == pytest.approx(alone.objective, **CLOSE)
