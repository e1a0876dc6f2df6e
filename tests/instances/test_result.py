"""Test the definition of a gap, and the conversion of an answer to a result."""

from __future__ import annotations

import pytest

from instances import Answer, CheckFailed, Options, conclude, gap
from instances.eva import table_3

DATA = table_3().data
BEST = {
    "instances": [
        {"type": "it1", "count": 1, "tasks": {"t1": 1, "t2": 1, "t4": 1}},
        {"type": "it3", "count": 1, "tasks": {"t3": 1}},
    ]
}
OVERFULL = {"instances": [{"type": "it1", "count": 1, "tasks": {"t1": 1, "t2": 1, "t3": 1, "t4": 1}}]}


def result(solution, bound=None, kind="exact", options=Options(), **more):
    return conclude(DATA, "m", Answer(solution, bound, **more), options, kind=kind)


def test_gap():
    assert gap(12.0, 9.0, "minimize") == pytest.approx(0.25)
    assert gap(9.0, 12.0, "maximize") == pytest.approx(1 / 3)
    assert gap(-9.0, -12.0, "minimize") == pytest.approx(1 / 3)
    assert gap(12.0, 12.0 + 1e-9, "minimize") == 0
    assert gap(0.0, -1e-3, "minimize") == pytest.approx(1e6)
    assert gap(None, 9.0, "minimize") is None
    assert gap(12.0, None, "minimize") is None
    for objective, bound, sense in ((9.0, 12.0, "minimize"), (12.0, 9.0, "maximize")):
        with pytest.raises(ValueError, match="wrong side"):
            gap(objective, bound, sense)


def test_statuses():
    assert result(BEST, 12.8).status == "optimal"
    assert result(BEST, 12.8 * (1 - 1e-7)).status == "optimal"
    assert result(BEST, 12.0).status == "feasible"
    assert result(BEST, 12.0, options=Options(gap=0.1)).status == "optimal"
    assert result(BEST).status == "feasible"
    assert result(BEST).gap is None
    assert result(None, 3.0, termination="time_limit").status == "no_solution"
    assert result(None, termination="infeasible", reason="why").status == "infeasible"
    assert result(None, termination="error").status == "error"
    assert result(OVERFULL, kind="heuristic").status == "violates"


def test_an_exact_method_that_ended_without_a_proof_says_so():
    assert "not met" in (result(BEST, 12.0).reason or "")
    assert result(BEST, 12.0, reason="why").reason == "why"
    assert result(BEST, 12.0, kind="heuristic").reason is None
    assert result(BEST, 12.0, termination="time_limit").reason is None
    assert result(BEST, 12.8).reason is result(BEST).reason is None


def test_a_bound_a_solver_s_tolerance_too_high_counts_as_met():
    met = result(BEST, 12.8 + 1e-6)
    assert (met.status, met.bound, met.gap) == ("optimal", 12.8, 0.0)


@pytest.mark.parametrize(("solution", "bound"), [(BEST, 12.9), (OVERFULL, None), ({"instances": 1}, None)])
def test_an_exact_method_s_false_claim_is_an_error(solution, bound):
    with pytest.raises(CheckFailed):
        result(solution, bound)


def test_the_objective_is_the_checker_s():
    assert result(BEST).objective == 12.8
    assert result(BEST).method == "m"
