"""Test the aggregate bound and the pricing cuts against enumeration."""

from itertools import product

import numpy as np
import pytest

from models.eva.aggregate_bound import AggregateBound, PriceGroups, TypeCut
from models.eva.greedy import resource_cut, resource_prices
from models.eva.knapsack_pricer import TablePricer
from models.eva.parameters import ColumnGenerationParameters
from models.eva.pricer import PatternPrices
from tests.eva_cases import literal_optimum_of_seed, packing_by_numbers, random_packing
from tests.sampling import few


def three_types():
    return packing_by_numbers([4, 4], [7, 11, 26], [[2, 2], [3, 4], [8, 9]], [0, 1, 2], np.ones((3, 2, 2)))


@pytest.mark.parametrize("seed", few(range(30), 8))
def test_bound_is_the_cheapest_whole_spend(seed):
    random = np.random.default_rng(seed)
    packing = three_types()
    groups = PriceGroups.group_by_family(packing)
    bound = AggregateBound(packing, groups)
    cuts = [TypeCut(tuple(int(w) for w in random.integers(1, 40, 3)), int(random.integers(20, 90))) for _ in range(4)]
    for cut in cuts:
        bound.add(cut)
    meets = [z for z in product(range(14), repeat=3) if not any(bound.violates(z, cut) for cut in cuts)]
    best = min((bound.cost(z) for z in meets), default=10_000)
    answer = bound.solve(10_000, 10_000, 10.0)
    assert answer <= best
    if best <= 13 * 7:
        assert answer == best
    spend = bound.propose(10_000, 10.0)
    assert bound.cost(spend) == answer
    assert not any(bound.violates(spend, cut) for cut in cuts)


@pytest.mark.parametrize("seed", few(range(30), 8))
def test_bound_does_not_need_a_proposed_spend(seed):
    random = np.random.default_rng(seed)
    packing = three_types()
    bound = AggregateBound(packing, PriceGroups.group_by_family(packing))
    for _ in range(4):
        bound.add(TypeCut(tuple(int(w) for w in random.integers(1, 40, 3)), int(random.integers(20, 90))))
    with_proposal = bound.solve(10_000, 10_000, 10.0)
    assert bound.solve(10_000, 10_000, 0.0) == with_proposal


@pytest.mark.parametrize("seed", few(range(30), 8))
def test_cuts_of_resource_prices_are_bounds(seed):
    packing = random_packing(seed)
    if packing.count.sum() > 7:
        pytest.skip("the literal program would be slow")
    random, optimum = np.random.default_rng(seed), literal_optimum_of_seed(seed)
    groups = PriceGroups.group_by_family(packing)
    bound = AggregateBound(packing, groups)
    for _ in range(5):
        spend = [int(u * z) for u, z in zip(groups.unit, random.integers(0, 5, len(groups.unit)), strict=True)]
        prices = resource_prices(packing, spend=spend)
        cut = resource_cut(packing, prices)
        bound.add(cut)
        units = [s // u for s, u in zip(spend, groups.unit, strict=True)]
        assert bound.violates(units, cut) == (prices.worth > 1e-6 * optimum)
    assert bound.solve(10 * optimum, 1000, 5.0) <= optimum


@pytest.mark.parametrize("fits", [False, True], ids=["values beyond the table", "values within it"])
@pytest.mark.parametrize("tables", [(10_000_000, 0), (40, 0), (40, 10_000_000)])
@pytest.mark.parametrize("seed", few(range(40), 6))
def test_cuts_of_any_duals_are_bounds(seed, tables, fits):
    packing = random_packing(seed)
    if packing.count.sum() > 7:
        pytest.skip("the literal program would be slow")
    random = np.random.default_rng(seed)
    optimum = literal_optimum_of_seed(seed)
    pricer = TablePricer(packing, ColumnGenerationParameters(table_entries=tables[0], exact_entries=tables[1]))
    for groups in (PriceGroups.group_by_family(packing), PriceGroups.group_by_type(packing)):
        bound = AggregateBound(packing, groups)
        for _ in range(5):
            duals = random.uniform(0, max(packing.price), len(packing.count))
            scale = (
                pricer.scale(duals[None], packing.price.astype(float)) if fits else 2**61 // max(1, int(duals.max()))
            )
            value = (duals * scale).astype(np.int64)
            target = tuple(int(p) * scale for p in packing.price)
            priced = pricer.price(PatternPrices(np.tile(value, (len(packing.price), 1)), target), 3)
            bound.add(
                TypeCut(priced.bound, sum(v * n for v, n in zip(value.tolist(), packing.count.tolist(), strict=True)))
            )
        assert bound.solve(10 * optimum, 1000, 5.0) <= optimum


def test_price_groups_by_type_count_only_what_no_larger_type_replaces():
    packing = packing_by_numbers([1], [10, 20, 41], [[1], [2], [4]], [0, 0, 0], np.ones((1, 1, 1)))
    groups = PriceGroups.group_by_type(packing)
    assert groups.unit == (10, 20, 41)
    assert groups.upper == (1, None, None)


def test_the_unit_of_a_family_ignores_types_that_fit_no_task():
    packing = packing_by_numbers([1], [7, 20, 30], [[1], [2], [3]], [0, 0, 0], np.full((1, 1, 1), 2))
    assert PriceGroups.group_by_family(packing).unit == (10,)
