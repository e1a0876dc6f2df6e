"""Test pricing over enumerated patterns against enumeration."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from models.core.column_generation import Relaxed
from models.core.highs import SolveFailed
from models.eva.node_program import prove
from models.eva.parameters import BranchAndPriceParameters
from models.eva.pattern_kernels import best_places
from models.eva.pricer import Holding, PatternPrices, SumsOfPrices
from models.eva.pricers import list_patterns
from tests.branch_and_price_cases import every_pattern, linear_prices, maximal, stood_in_for, sums
from tests.eva_cases import random_packing


def maximal_by_enumeration(arrays, k):
    most = np.where(arrays.fits[k], arrays.count, 0)
    return maximal(every_pattern(arrays, k), arrays.capacity[k], arrays.demand_of_type[k], most)


def prices(arrays, seed, **more):
    draw = np.random.default_rng(seed)
    value = draw.integers(0, 1_000, (len(arrays.price), arrays.classes))
    return PatternPrices(value, tuple(draw.integers(0, 3_000, len(arrays.price)).tolist()), **more)


@pytest.mark.parametrize("seed", range(20))
def test_the_list_is_all_maximal_patterns(seed):
    arrays = random_packing(seed)
    listed = list_patterns(arrays, BranchAndPriceParameters())
    for k in np.flatnonzero(arrays.fits.any(axis=1)).tolist():
        own = listed.on_it[listed.kind == k].astype(int).tolist()
        assert sorted(own) == sorted(maximal_by_enumeration(arrays, k).tolist())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("leave_out", [False, True])
def test_bounds_and_best_columns_are_those_of_enumeration(seed, leave_out):
    arrays = linear_prices(seed, classes=5)
    listed = list_patterns(arrays, BranchAndPriceParameters())
    if leave_out:
        listed.leave_out_replaceable()
    holding = Holding(0, ((1, 1),))
    asked = prices(arrays, seed, bonuses=((holding, 400),))
    priced = listed.price(asked, 3)
    for k in np.flatnonzero(arrays.fits.any(axis=1)).tolist():
        worth = [0]
        for a in maximal_by_enumeration(arrays, k):
            if leave_out and stood_in_for(arrays, k, a):
                continue
            bonus = 400 if k == 0 and a[1] >= 1 else 0
            worth.append(int(asked.value[k] @ a) + bonus)
        if max(worth) > asked.target[k]:
            assert priced.bound[k] == max(worth)
            assert any(c.type == k for c in priced.columns)
        else:
            assert max(worth) <= priced.bound[k] <= max(asked.target[k], max(worth))


@pytest.mark.parametrize("seed", range(10))
def test_sums_of_prices_are_those_of_a_table(seed):
    arrays = random_packing(seed)
    reached = sums(arrays, 120)
    table = SumsOfPrices(arrays.price.tolist(), 100)
    for bound in range(1, 101):
        least = next((s for s in range(bound, 121) if reached[s]), 121)
        found = table.round_up(bound)
        assert bound <= found <= least
        assert found == least or least > 100


@pytest.mark.parametrize("seed", range(10))
def test_the_best_places_are_the_first_of_all_places_sorted_by_worth(seed):
    draw = np.random.default_rng(seed)
    worth, state = draw.integers(0, 10, 30).astype(float), draw.integers(0, 3, 30).astype(np.int8)
    most, places = best_places(worth, 5, 25, 4.0, 6, state, 2)
    assert most == worth[5:25].max()
    allowed = [p for p in range(5, 25) if worth[p] > 4.0 and state[p] != 2]
    assert places.tolist() == sorted(allowed, key=lambda p: (-worth[p], p))[:6]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dual", [1e19, np.inf, np.nan])
def test_duals_beyond_64_bits_are_refused_and_not_cast(dual: float):
    arrays = random_packing(0)
    pricer = SimpleNamespace(scale=lambda *_: 1)
    relaxed = Relaxed(0.0, np.full(arrays.classes, dual), np.zeros(0))
    with pytest.raises(SolveFailed, match="too large for whole numbers"):
        prove(arrays, SimpleNamespace(), pricer, (), relaxed, 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dual", [np.inf, np.nan])
def test_a_listed_pricer_is_given_no_duals_that_are_not_finite(dual: float):
    arrays = random_packing(0)
    relaxed = Relaxed(0.0, np.full(arrays.classes, dual), np.zeros(0))
    with pytest.raises(SolveFailed, match="too large for whole numbers"):
        prove(arrays, SimpleNamespace(), list_patterns(arrays, BranchAndPriceParameters()), (), relaxed, 1)
