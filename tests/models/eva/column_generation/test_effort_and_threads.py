"""Test that `solve_columns` reports limits of effort and uses the given threads."""

from __future__ import annotations

from instances import Options, check
from models.eva.columns import solve_columns
from tests.models.eva.column_generation.test_column_generation import gapped_packing, medium_packing


def test_a_limit_of_effort_is_told_and_leaves_a_valid_answer():
    arrays = medium_packing(6, classes=12, most=29)
    answer = solve_columns(arrays, Options(gap=0.0, effort=1))
    verdict = check(arrays.data, answer.solution)
    assert (answer.termination, answer.reason) == ("effort_limit", "effort limit")
    assert not verdict.violations
    assert 0 < answer.bound < verdict.objective


def test_threads_make_no_difference_to_what_is_proven():
    arrays = gapped_packing()
    one, two, again = (solve_columns(arrays, Options(gap=0.0, threads=threads)) for threads in (1, 2, 1))
    assert one.termination == two.termination == "finished"
    assert one.bound == two.bound == again.bound
    assert one.solution == again.solution
