"""Prices from one end of their range to the other: numbers that HiGHS refuses or cannot solve lose no answer."""

from __future__ import annotations

import pytest

from instances import Options, check
from instances.eva import EvaPacking, InstanceType, Task, packing_arrays
from models.eva.exact import solve_columns


def packing(low: float, high: float, families: str) -> EvaPacking:
    kinds = zip("abc", families, (3, 10, 4), (low, high, 2 * low), strict=True)
    return EvaPacking(
        resources=("r",),
        instance_types=tuple(
            InstanceType(name=name, family=family, capacity={"r": room}, usd_per_hour=price)
            for name, family, room, price in kinds
        ),
        tasks=tuple(Task(workload=f"w{d}", count=3 + d % 2, demand={"default": {"r": d}}) for d in (1, 2, 3, 4, 5)),
        objective="cost",
    )


@pytest.mark.parametrize("families", ["fff", "abc", "aba"])
@pytest.mark.parametrize(("low", "high"), [(1e-9, 1e8), (1.0, 1e8), (0.333333333, 1e6)])
def test_an_answer_is_checked_and_its_bound_holds(families, low, high):
    data = packing(low, high, families)
    answer = solve_columns(packing_arrays(data), Options(gap=0.0, effort=100))
    verdict = check(data, answer.solution)
    assert not verdict.violations
    assert 0 < answer.bound <= verdict.objective * (1 + 1e-15)
    assert answer.termination == "finished" or answer.reason


def test_prices_of_nine_digits_do_not_stop_the_integer_program():
    """With its presolve, HiGHS did not end here, and heeded no limit."""
    rooms = ((3, 0.768242883), (9, 0.702507397))
    tasks = ((2, 97), (4, 44), (3, 57), (5, 29))
    data = EvaPacking(
        resources=("r",),
        instance_types=tuple(
            InstanceType(name=f"t{room}", family="f", capacity={"r": room}, usd_per_hour=price) for room, price in rooms
        ),
        tasks=tuple(Task(workload=f"w{d}", count=n, demand={"default": {"r": d}}) for d, n in tasks),
        objective="cost",
    )
    answer = solve_columns(packing_arrays(data), Options(gap=0.0, time_limit=5.0))
    assert check(data, answer.solution).objective == pytest.approx(77 * 0.702507397)
    assert answer.bound == pytest.approx(77 * 0.702507397)
