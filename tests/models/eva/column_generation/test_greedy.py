"""Test that greedy packing and trimming put all tasks on types that can hold them."""

import numpy as np
import pytest

from instances import Stopwatch
from models.eva.configuration import (
    Column,
    holds,
    missing,
    on_cheapest_type,
    pack_alone,
    price,
    single_class_columns,
    trim,
)
from models.eva.greedy import pack_greedily, start_duals
from models.eva.knapsack_pricer import TablePricer
from models.eva.parameters import ColumnGenerationParameters
from models.eva.pricer import PatternPrices
from tests.eva_cases import packing_by_numbers, random_packing
from tests.sampling import few


@pytest.mark.parametrize("seed", few(range(40), 12))
@pytest.mark.parametrize("tables", [(10_000_000, 0), (40, 0), (40, 10_000_000)])
def test_greedy_packing_holds_exactly_the_tasks_that_are_left(seed, tables):
    packing = random_packing(seed)
    left = np.maximum(packing.count - seed % 3, 0)
    pricer = TablePricer(packing, ColumnGenerationParameters(table_entries=tables[0], exact_entries=tables[1]))
    configuration = pack_greedily(packing, pricer, start_duals(packing), left, Stopwatch())
    assert (packing.count - missing(packing, configuration) == left).all()
    assert all(holds(packing, column) for column in configuration)


def test_at_the_limit_greedy_packing_leaves_each_task_alone():
    packing = random_packing(0)
    pricer = TablePricer(packing, ColumnGenerationParameters())
    found = pack_greedily(packing, pricer, start_duals(packing), packing.count, Stopwatch(0.0))
    assert found == pack_alone(packing)


@pytest.mark.parametrize("seed", range(40))
def test_trimming_a_cover_leaves_each_task_once_and_costs_no_more(seed):
    packing = random_packing(seed)
    cover = {column: 2 * int(packing.count.max()) for column in single_class_columns(packing)}
    trimmed = trim(packing, cover)
    assert (missing(packing, trimmed) == 0).all()
    assert all(holds(packing, column) for column in trimmed)
    assert price(packing, trimmed) <= price(packing, cover)


def test_a_pattern_moves_to_the_cheapest_type_that_holds_it():
    packing = packing_by_numbers([3], [50, 20, 30], [[9], [2], [4]], [0, 0, 0], np.full((1, 1, 1), 2))
    assert on_cheapest_type(packing, Column(0, ((0, 1),))).type == 1
    assert on_cheapest_type(packing, Column(0, ((0, 2),))).type == 2
    assert on_cheapest_type(packing, Column(0, ((0, 3),))).type == 0


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_start_duals_price_no_pattern_above_its_type(seed):
    packing = random_packing(seed)
    duals = start_duals(packing)
    pricer = TablePricer(packing)
    scale, types = pricer.scale(duals[None], packing.price.astype(float)), len(packing.price)
    value = np.tile(np.floor(duals * scale).astype(np.int64), (types, 1))
    priced = pricer.price(PatternPrices(value, (0,) * types), 1)
    for kind, (value, cost) in enumerate(zip(priced.bound, packing.price, strict=True)):
        assert value <= cost * scale * (1 + 1e-6), kind
