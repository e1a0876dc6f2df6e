"""Test the bundle table against the layer table, and a pool's columns against all of them."""

import numpy as np
import pytest

from instances.eva import packing_arrays, pod_requests
from models.eva.configuration import Column
from models.eva.knapsack_pricer import KnapsackTable, TablePricer
from models.eva.knapsack_table import BundleTable
from models.eva.parameters import ColumnGenerationParameters
from models.eva.pattern_pool import ColumnPool
from tests.eva_cases import packing_by_numbers


@pytest.mark.parametrize("seed", range(60))
def test_a_table_of_bundles_finds_what_a_table_of_layers_finds(seed):
    random = np.random.default_rng(seed)
    axes, items = int(random.integers(1, 4)), int(random.integers(1, 20))
    largest = random.integers(1, 9, axes).tolist()
    size = random.integers(0, 5, (items, axes))
    size[size.sum(axis=1) == 0, 0] = 1
    copies, values = random.integers(0, 6, items), random.integers(0, 2**44, items)
    layers, bundles = KnapsackTable(size, largest), BundleTable(size, largest)
    for table in (layers, bundles):
        table.limit(copies)
        table.fill(values)
    rounding = int(copies.sum()) << bundles.shift
    for capacity in random.integers(0, np.array(largest) + 1, (5, axes)).tolist():
        best = layers.best(capacity)
        assert best <= bundles.best(capacity) <= best + rounding
        packing = bundles.packing(capacity)
        assert best - rounding <= sum(n * int(values[j]) for j, n in packing.items()) <= best
        assert all(0 < n <= copies[j] for j, n in packing.items())
        assert all(sum((n * size[j] for j, n in packing.items()), np.zeros(axes)) <= capacity)
        least, most = layers.best_with_each(capacity), bundles.best_with_each(capacity)
        assert ((least == -1) == (most == -1)).all()
        assert (least <= most).all()
        assert (most <= least + rounding).all()


@pytest.mark.parametrize("free", [0, 10**9])
def test_a_table_of_bundles_holds_the_largest_values_that_pricing_has(free):
    """Items of no size may be a billion: greedy packing gives them a value that the scale of prices does not know."""
    table = BundleTable(np.array([[1], [2], [0]]), [5])
    table.limit(np.array([1, 2, free]))
    table.fill(np.array([2**50 + 1, 2**51 - 1, 2**30]))
    most = 2**50 + 2**52 - 1 + free * 2**30
    assert most <= table.best([5]) <= most + (33 << table.shift)
    assert table.packing([5]) == {0: 1, 1: 2} | ({2: free} if free else {})


def test_many_distinct_tasks_are_priced_exactly_where_layers_do_not_fit():
    arrays = packing_arrays(pod_requests(30, 0).data)
    assert not TablePricer(arrays, ColumnGenerationParameters()).exact  # bytes of memory are too fine for a table
    few = ColumnGenerationParameters(table_entries=1, exact_entries=10**30)
    assert TablePricer(arrays, few).exact


def test_a_pool_gives_the_columns_that_pay_and_the_best_first():
    pool = ColumnPool(packing_by_numbers([1] * 3, [4, 5], [[9], [9]], [0, 0], np.array([[[1], [2], [3]]])))
    assert pool.paying(np.ones(3), np.ones(2), 5) == []
    pool.add([Column(0, ((0, 2),)), Column(1, ((1, 1), (2, 1)))])
    duals = np.array([3.0, 2.0, 2.0])
    assert pool.paying(duals, np.array([4.0, 5.0]), 9) == [Column(0, ((0, 2),))]
    pool.add([Column(1, ((2, 3),)), Column(0, ((0, 2),))])
    assert pool.paying(duals, np.array([4.0, 3.0]), 9) == [
        Column(1, ((2, 3),)),
        Column(0, ((0, 2),)),
        Column(1, ((1, 1), (2, 1))),
    ]
    assert pool.paying(duals, np.array([4.0, 3.0]), 1) == [Column(1, ((2, 3),))]


def test_a_pool_gives_no_second_column_of_classes_that_better_columns_hold():
    pool = ColumnPool(packing_by_numbers([3] * 2, [4], [[9]], [0], np.array([[[1], [2]]])))
    best, other, worse = (Column(0, pattern) for pattern in (((0, 3),), ((0, 1), (1, 2)), ((0, 2), (1, 1))))
    pool.add([worse, other, best])
    duals = np.array([3.0, 2.0])
    assert pool.paying(duals, np.array([4.0]), 9) == [best, worse]
