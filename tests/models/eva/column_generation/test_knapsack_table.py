"""Test the knapsack table and its search against enumeration."""

from itertools import product

import numpy as np
import pytest

from models.eva.knapsack_pricer import KnapsackTable
from tests.sampling import few


def all_packings(size, limit, room):
    """Every packing that fits, as tuples of copies."""
    return [copies for copies in product(*(range(u + 1) for u in limit)) if (np.array(copies) @ size <= room).all()]


def random_items(seed):
    random = np.random.default_rng(seed)
    items, resources = int(random.integers(1, 5)), int(random.integers(1, 4))
    size = random.integers(0, 4, (items, resources))
    limit = random.integers(1, 5, items)
    return size, limit, random.integers(0, 12, items), random.integers(2, 9, resources)


def filled(size, limit, values, room, axes):
    table = KnapsackTable(size[:, axes], [int(room[a]) for a in axes])
    table.limit(limit)
    table.fill(values)
    return table


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_every_capacity_is_exact(seed):
    size, limit, values, room = random_items(seed)
    table = filled(size, limit, values, room, list(range(len(room))))
    for capacity in product(*(range(int(c) + 1) for c in room)):
        best = max(np.array(p) @ values for p in all_packings(size, limit, np.array(capacity)))
        assert table.best(capacity) == best
        chosen = table.packing(capacity)
        copies = np.array([chosen.get(j, 0) for j in range(len(values))])
        assert copies @ values == best
        assert (copies @ size <= capacity).all()
        assert (copies <= limit).all()


@pytest.mark.parametrize("axes", [1, 2])
def test_large_and_tiny_items_in_any_number_agree_with_the_recursion(axes):
    """Large items go slab by slab and tiny ones in bundles; a state after the other is the definition."""
    capacity, values = [1_200 // axes**4] * axes, np.array([7, 3, 911])
    size = np.array([[w] * axes for w in (3, 1, capacity[0] // 3 - 1)])
    table = KnapsackTable(size, capacity)
    table.limit(np.full(3, 10**6))
    table.fill(values)
    best = np.zeros([c + 1 for c in capacity], dtype=np.int64)
    for w, value in zip(size, values, strict=True):
        for state in product(*(range(int(a), c + 1) for a, c in zip(w, capacity, strict=True))):
            best[state] = max(best[state], best[tuple(np.array(state) - w)] + value)
    assert all(table.best(state) == best[state] for state in np.ndindex(*best.shape))


@pytest.mark.parametrize("seed", few(range(40), 10))
@pytest.mark.parametrize("charge", [0, 1, 2])
def test_search_finds_the_best_packing_when_a_resource_is_charged(seed, charge):
    size, limit, values, room = random_items(seed)
    axes = list(range(len(room) - 1))
    charges = np.array([0] * len(axes) + [charge])
    table = filled(size, limit, values - size @ charges, room, axes)
    best = max(np.array(p) @ values for p in all_packings(size, limit, room))
    found = table.search([int(room[a]) for a in axes], room, size, values, charges, limit, -1, 100_000)
    assert found.complete
    assert found.packings[-1][0] == best
    assert table.best([int(room[a]) for a in axes]) + int(charges @ room) >= best


def test_search_says_when_it_stopped_early():
    size, values, limit = np.ones((6, 1), dtype=np.int64), np.arange(1, 7), np.full(6, 3)
    table = filled(size, limit, values, np.array([9]), [0])
    assert not table.search([9], np.array([9]), size, values, np.zeros(1, dtype=np.int64), limit, 0, 1).complete
