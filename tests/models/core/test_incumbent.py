"""Test what the shared incumbent of exact methods keeps, reports and closes."""

from __future__ import annotations

import pytest

from instances import Stopwatch
from models.core.incumbent import Incumbent


def noted(sense="minimize", **more):
    told = []
    return Incumbent(sense, Stopwatch(), lambda solution, bound: told.append((solution, bound)), **more), told


@pytest.mark.parametrize(("sense", "sign"), [("minimize", 1), ("maximize", -1)])
def test_only_better_solutions_and_bounds_are_kept_and_told(sense, sign):
    incumbent, told = noted(sense)
    kept = [incumbent.offer(sign * 9, "nine"), incumbent.offer(sign * 9, "again"), incumbent.offer(sign * 10, "ten")]
    kept += [incumbent.raise_bound(sign * 3), incumbent.raise_bound(sign * 2), incumbent.raise_bound(sign * 3)]
    kept += [incumbent.offer(sign * 7, "seven")]
    assert kept == [True, False, False, True, False, False, True]
    assert told == [("nine", None), (None, sign * 3), ("seven", sign * 3)]
    assert [(value, bound) for _, value, bound in incumbent.trace] == [
        (sign * 9, None),
        (sign * 9, sign * 3),
        (sign * 7, sign * 3),
    ]
    assert (incumbent.solution, incumbent.objective, incumbent.bound) == ("seven", sign * 7, sign * 3)


@pytest.mark.parametrize(("sense", "sign"), [("minimize", 1), ("maximize", -1)])
def test_a_bound_past_the_best_solution_is_cut_off_there(sense, sign):
    incumbent, _ = noted(sense)
    incumbent.offer(sign * 5, "five")
    assert incumbent.raise_bound(sign * 8)
    assert incumbent.bound == sign * 5
    assert not incumbent.raise_bound(sign * 9)
    assert incumbent.is_closed


def test_whole_numbers_stay_whole_and_exact():
    incumbent, _ = noted(gap=0.0)
    large = 10**20
    incumbent.offer(large + 1, "one more")
    incumbent.raise_bound(large)
    assert (incumbent.objective, incumbent.bound, incumbent.left) == (large + 1, large, 1)
    assert isinstance(incumbent.left, int)
    assert not incumbent.is_closed
    assert incumbent.offer(large, "proven")
    assert incumbent.is_closed


def test_the_gap_asked_for_closes_it():
    incumbent, _ = noted(gap=0.1)
    incumbent.offer(10.0, "ten")
    assert not incumbent.is_closed
    incumbent.raise_bound(8.9)
    assert not incumbent.is_closed
    incumbent.raise_bound(9.0)
    assert incumbent.is_closed


def test_a_trivial_bound_is_there_from_the_start_and_nothing_is_closed_without_a_solution():
    incumbent, told = noted(bound=0)
    assert not incumbent.is_closed
    assert incumbent.left is None
    assert not incumbent.raise_bound(0)
    incumbent.offer(0, "nothing")
    assert incumbent.is_closed
    assert told == [("nothing", 0)]
