"""The spending bound against enumeration, and the cuts of pricing against configurations."""

from itertools import product

import numpy as np
import pytest

from models.eva.column_generation.packing import Packing
from models.eva.column_generation.pricing import Pricer
from models.eva.column_generation.spending import Cut, Purses, SpendingBound
from tests.random_packings import literal_optimum, random_packing


def three_types() -> Packing:
    return Packing.of([4, 4], [7, 11, 26], [[2, 2], [3, 4], [8, 9]], [0, 1, 2], np.ones((3, 2, 2)))


@pytest.mark.parametrize("seed", range(30))
def test_bound_is_the_cheapest_whole_spending(seed):
    random = np.random.default_rng(seed)
    packing = three_types()
    purses = Purses.by_family(packing)
    spending = SpendingBound(packing, purses)
    cuts = [Cut(tuple(int(w) for w in random.integers(1, 40, 3)), int(random.integers(20, 90))) for _ in range(4)]
    for cut in cuts:
        spending.add(cut)
    choices = product(range(91), range(91), range(91))
    meets = [z for z in product(range(14), repeat=3) if not any(spending.violates(z, cut) for cut in cuts)]
    assert choices
    best = min((spending.cost(z) for z in meets), default=10_000)
    answer = spending.solve(10_000, 10_000, 10.0)
    assert answer.cost <= best
    if best <= 13 * 7:
        assert answer.cost == best
    assert answer.units is not None
    assert spending.cost(answer.units) == answer.cost
    assert not any(spending.violates(answer.units, cut) for cut in cuts)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("table_limit", [10_000_000, 40])
def test_cuts_of_any_duals_are_bounds(seed, table_limit):
    packing = random_packing(seed)
    if packing.counts.sum() > 7:
        pytest.skip("the literal program would be slow")
    random = np.random.default_rng(seed)
    optimum = literal_optimum(packing)
    pricer = Pricer(packing, table_limit)
    for purses in (Purses.by_family(packing), Purses.by_type(packing)):
        spending = SpendingBound(packing, purses)
        for _ in range(5):
            duals = random.uniform(0, max(packing.prices), len(packing.counts))
            spending.add(pricer.price(duals, [float(p) for p in packing.prices], 3).cut)
        assert spending.solve(10 * optimum, 1000, 5.0).cost <= optimum


def test_purses_by_type_count_only_what_no_larger_type_replaces():
    packing = Packing.of([1], [10, 20, 41], [[1], [2], [4]], [0, 0, 0], np.ones((1, 1, 1)))
    purses = Purses.by_type(packing)
    assert purses.units == (10, 20, 41)
    assert purses.most == (1, None, None)


def test_the_unit_of_a_family_ignores_types_that_fit_no_task():
    packing = Packing.of([1], [7, 20, 30], [[1], [2], [3]], [0, 0, 0], np.full((1, 1, 1), 2))
    assert Purses.by_family(packing).units == (10,)
