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
