"""Test pricing over items against all subsets of few items."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from models.eva.configuration import Column
from models.eva.item_pricer import ItemPricer
from models.eva.parameters import ItemParameters
from models.eva.pricer import PatternPrices
from tests.eva_cases import packing_by_numbers
from tests.sampling import few


def drawn(seed):
    """Nine tasks, one to three resources of any fineness, two families, prices with pairs."""
    draw = np.random.default_rng(seed)
    n, resources = 9, int(draw.integers(1, 4))
    fine = 10 ** int(draw.integers(1, 9))
    capacity = np.sort(draw.integers(fine, 3 * fine, (3, resources)), axis=0)
    demand = draw.integers(0, fine + 1, (2, n, resources))
    arrays = packing_by_numbers([1] * n, [3, 5, 7], capacity, [0, 1, 0], demand)
    assert arrays.classes == n
    a, b, c, d = draw.permutation(n)[:4].tolist()
    value = draw.integers(0, 1000, (2, n))[arrays.family]
    prices = PatternPrices(
        value,
        tuple(int(t) for t in draw.integers(500, 3000, 3)),
        together=((min(a, b), max(a, b)),) if seed % 2 else (),
        apart=((min(c, d), max(c, d)),) if seed % 3 else (),
    )
    return arrays, prices


def worths(arrays, prices, kind):
    """Compute the value of every pattern of a type by enumerating all subsets."""
    found = {}
    family = int(arrays.family[kind])
    for size in range(arrays.classes + 1):
        for chosen in combinations(range(arrays.classes), size):
            load = arrays.demand[family][list(chosen)].sum(axis=0)
            held = set(chosen)
            split = any((a in held) != (b in held) for a, b in prices.together)
            joined = any(a in held and b in held for a, b in prices.apart)
            if (load <= arrays.capacity[kind]).all() and not split and not joined:
                worth = int(prices.value[kind][list(chosen)].sum())
                found[Column.of(kind, ((c, 1) for c in chosen))] = worth
    return found


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_the_bound_is_the_best_worth_and_the_best_pattern_is_found(seed):
    arrays, prices = drawn(seed)
    priced = ItemPricer(arrays).price(prices, 5)
    for k, target in enumerate(prices.target):
        every = worths(arrays, prices, k)
        best = max(every.values())
        found = [column for column in priced.columns if column.type == k]
        assert priced.bound[k] >= best
        assert all(every[column] > target for column in found)
        if best > target:
            assert priced.bound[k] == best
            assert max(every[column] for column in found) == best
        else:
            assert priced.bound[k] <= target
            assert not found


@pytest.mark.parametrize("seed", few(range(20), 5))
def test_a_search_cut_short_still_bounds(seed):
    arrays, prices = drawn(seed)
    pricer = ItemPricer(arrays, ItemParameters(proof_nodes=3, quick_nodes=2, levels=8))
    for exact in (True, False):
        bound = pricer.price(prices, 5, exact).bound
        assert all(bound[k] >= max(worths(arrays, prices, k).values()) for k in range(3))


@pytest.mark.parametrize("seed", few(range(20), 5))
def test_every_pattern_above_a_worth_is_listed(seed):
    arrays, prices = drawn(seed)
    least = tuple(t // 2 for t in prices.target)
    expected = {
        c for k in range(3) for c, worth in worths(arrays, prices, k).items() if worth >= least[k] and c.pattern
    }
    found = ItemPricer(arrays).list_all(prices, least, 10_000)
    assert set(found) == expected
    assert len(found) == len(expected)


def test_too_many_patterns_are_not_listed():
    arrays, prices = drawn(1)
    assert ItemPricer(arrays).list_all(prices, (0, 0, 0), 3) is None
