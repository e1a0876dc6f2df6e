"""Filling and trimming: configurations that hold the tasks they should, on types that hold them."""

import numpy as np
import pytest

from models.eva.column_generation.filling import fill
from models.eva.column_generation.packing import Column, Packing
from models.eva.column_generation.pricing import Pricer
from models.eva.column_generation.resources import resource_duals
from models.eva.column_generation.trimming import cheapest, trim
from tests.random_packings import random_packing


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("table_limit", [10_000_000, 40])
def test_filling_holds_exactly_the_tasks_that_are_left(seed, table_limit):
    packing = random_packing(seed)
    left = np.maximum(packing.counts - seed % 3, 0)
    configuration = fill(packing, Pricer(packing, table_limit), resource_duals(packing), left)
    assert (packing.counts - packing.missing(configuration) == left).all()
    assert all(packing.holds(column) for column in configuration)


@pytest.mark.parametrize("seed", range(40))
def test_trimming_a_cover_leaves_each_task_once_and_costs_no_more(seed):
    packing = random_packing(seed)
    cover = {column: 2 * int(packing.counts.max()) for column in packing.solo_columns()}
    trimmed = trim(packing, cover)
    assert (packing.missing(trimmed) == 0).all()
    assert all(packing.holds(column) for column in trimmed)
    assert packing.cost(trimmed) <= packing.cost(cover)


def test_a_pattern_moves_to_the_cheapest_type_that_holds_it():
    packing = Packing.of([3], [50, 20, 30], [[9], [2], [4]], [0, 0, 0], np.full((1, 1, 1), 2))
    assert cheapest(packing, Column(0, ((0, 1),))).type == 1
    assert cheapest(packing, Column(0, ((0, 2),))).type == 2
    assert cheapest(packing, Column(0, ((0, 3),))).type == 0


@pytest.mark.parametrize("seed", range(40))
def test_resource_duals_price_no_pattern_above_its_type(seed):
    packing = random_packing(seed)
    duals = resource_duals(packing)
    pricer = Pricer(packing)
    scale = pricer.scale(duals)
    cut = pricer.price(duals, [float(p) for p in packing.prices], 1).cut
    for kind, (worth, price) in enumerate(zip(cut.worth, packing.prices, strict=True)):
        assert worth <= price * scale * (1 + 1e-6), kind
