"""Test that extreme prices lose no answer, even if HiGHS rejects the numbers."""

from __future__ import annotations

import pytest

from instances import Options, check
from instances.eva import EvaPacking, InstanceType, Task, packing_arrays
from models.eva.columns import solve_columns
from models.eva.parameters import ColumnGenerationParameters
from tests.sampling import few


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


PRICES = [(1e-9, 1e8), (1.0, 1e8), (0.333333333, 1e6)]


@pytest.mark.parametrize(("families", "low", "high"), few([(f, *p) for p in PRICES for f in ("fff", "abc", "aba")], 5))
def test_an_answer_is_checked_and_its_bound_holds(families, low, high):
    data = packing(low, high, families)
    answer = solve_columns(packing_arrays(data), Options(gap=0.0, effort=100))
    verdict = check(data, answer.solution)
    assert not verdict.violations
    assert 0 < answer.bound <= verdict.objective * (1 + 1e-15)
    assert answer.termination == "finished" or answer.reason


def test_prices_of_nine_digits_do_not_stop_the_integer_program():
    """HiGHS did not end here, and heeded no limit, as long as an integer variable counted billions of units."""
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


def test_an_integer_program_of_costs_of_ten_digits_ends():
    """HiGHS did not end here either, and heeded no limit."""
    rooms = ((9, 19, 0.635976469), (12, 31, 0.317158696))
    tasks = (
        (2, 1, 5),
        (4, 3, 5),
        (3, 2, 5),
        (1, 4, 5),
        (2, 3, 8),
        (4, 1, 4),
        (3, 3, 4),
        (4, 4, 2),
        (2, 4, 2),
        (3, 1, 4),
    )
    data = EvaPacking(
        resources=("cpu", "ram"),
        instance_types=tuple(
            InstanceType(name=f"t{cpu}", family="f", capacity={"cpu": cpu, "ram": ram}, usd_per_hour=price)
            for cpu, ram, price in rooms
        ),
        tasks=tuple(
            Task(workload=f"w{cpu}-{ram}", count=n, demand={"default": {"cpu": cpu, "ram": ram}})
            for cpu, ram, n in tasks
        ),
        objective="cost",
    )
    few_entries = ColumnGenerationParameters(table_entries=12)
    answer = solve_columns(packing_arrays(data), Options(gap=0.0, time_limit=5.0), parameters=few_entries)
    assert 0 < answer.bound <= check(data, answer.solution).objective


def test_weights_that_highs_refuses_end_no_search():
    """A type of 1e-9 USD/h beside one of 402,000 has a weight of 1e17 in a cut; column generation crashed."""
    rooms = (("f", 1_000_000, 1e-9), ("g", 31, 402_000.0), ("f", 5, 1_000_000.103425562))
    tasks = ((0, 2, 1), (0, 0, 1000), (3, 4, 1000), (1, 1, 1))
    data = EvaPacking(
        resources=("r",),
        instance_types=tuple(
            InstanceType(name=f"t{room}", family=family, capacity={"r": room}, usd_per_hour=price)
            for family, room, price in rooms
        ),
        tasks=tuple(
            Task(workload=f"w{i}", count=n, demand={"default": {"r": on_f}, "g": {"r": on_g}})
            for i, (on_f, on_g, n) in enumerate(tasks)
        ),
        objective="cost",
    )
    answer = solve_columns(packing_arrays(data), Options(gap=0.0, time_limit=5.0))
    assert 0 < answer.bound <= check(data, answer.solution).objective
