"""Test the bound by pooling a family against the best packings of small instances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from instances import Options
from instances.eva import packing_arrays, pod_requests
from instances.eva.arrays import PackingArrays
from models.eva.aggregate_bound import pool_family
from models.eva.branch_and_price import branch_and_price
from models.eva.column_generation import column_generation
from models.eva.parameters import DEFAULTS
from models.eva.pricers import list_patterns
from tests.eva_cases import packing_by_numbers
from tests.sampling import few


def two_families(seed: int) -> PackingArrays:
    """Draw a family of multiples, some smaller or more expensive, and another; some tasks fit only on one."""
    draw = np.random.default_rng(seed)
    base = draw.integers(3, 6, 2)
    times = [1, 2, 4]
    capacity = [base * m - (draw.integers(0, 2, 2) if m > 1 else 0) for m in times]
    price = [10 * m + int(draw.integers(0, 2) if m > 1 else 0) for m in times]
    capacity += [[4, 4], [7, 9]]
    price += [8, 15]
    tasks = 6
    demand = draw.integers(1, 4, (2, tasks, 2))
    demand[1, : int(draw.integers(1, 4)), 0] = 9  # fits on the first family alone
    demand[0, tasks - int(draw.integers(0, 2)) :, 1] = 99
    return packing_by_numbers(draw.integers(1, 3, tasks).tolist(), price, capacity, [0, 0, 0, 1, 1], demand)


def bound_of(pool: PackingArrays) -> int:
    """Return the cost of the best packing of a problem with a pooled family."""
    outcome = branch_and_price(pool, list_patterns(pool, DEFAULTS.branch_and_price), Options(effort=2_000))
    assert outcome.bound == outcome.cost
    return outcome.bound


@pytest.mark.parametrize("seed", few(range(40), 12))
def test_no_packing_costs_less_than_with_a_family_pooled(seed: int):
    arrays = two_families(seed)
    best = branch_and_price(arrays, list_patterns(arrays, DEFAULTS.branch_and_price)).cost
    pool = pool_family(arrays, 0, best + 1, 60, 40)
    assert pool is not None
    assert bound_of(pool) <= best
    assert pool.count.sum() == arrays.count[arrays.fits[arrays.family == 1].any(axis=0)].sum() + 1


def test_a_whole_number_of_units_proves_what_the_linear_program_does_not():
    arrays = packing_arrays(pod_requests(100, 0).data)
    outcome = column_generation(arrays, Options(effort=20))
    pool = pool_family(arrays, 0, outcome.cost, 60, 40)
    assert pool is not None
    assert bound_of(pool) == outcome.cost == outcome.bound


def test_a_linear_solution_that_breaks_a_decision_is_not_branched_on_there():
    arrays = packing_arrays(pod_requests(100, 1).data)
    pool = pool_family(arrays, 0, 2_174_737, 60, 40)
    assert pool is not None
    outcome = branch_and_price(pool, list_patterns(pool, DEFAULTS.branch_and_price), Options(effort=100))
    assert outcome.reason == "effort limit"


@pytest.mark.parametrize(
    "change",
    [
        lambda a: replace(a, most=(1,) + (None,) * 4),
        lambda a: replace(a, price=a.price - np.array([0, 0, 9, 0, 0])),
        lambda a: replace(a, capacity=a.capacity + np.array([[0, 0], [0, 0], [99, 0], [0, 0], [0, 0]])),
        lambda a: replace(a, demand=np.minimum(a.demand, 3)),
        lambda a: replace(a, family=np.zeros(5, dtype=np.int64)),
    ],
    ids=["limit", "cheaper", "roomier", "no task needs it", "one family"],
)
def test_other_families_are_not_pooled(change):
    arrays = two_families(1)
    assert pool_family(arrays, 0, 100, 60, 40) is not None
    assert pool_family(change(arrays), 0, 100, 60, 40) is None
