"""Test the bound by assignment to families against the best packings of small instances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.eva import packing_arrays, pod_requests
from instances.eva.arrays import PackingArrays
from models.core.tree import Node, Tree
from models.eva.branch_and_price import branch_and_price
from models.eva.family_shares import FINE, FamilyShares, ShareSearch, families
from models.eva.parameters import DEFAULTS
from models.eva.pricers import list_patterns
from tests.eva_cases import packing_by_numbers
from tests.sampling import few

PLAIN = Options()


def some_families(seed: int) -> PackingArrays:
    """Types of one to three families whose prices and rooms need not be multiples; some tasks fit on one alone."""
    draw = np.random.default_rng(seed)
    number = int(draw.integers(1, 4))
    family = np.sort(np.concatenate([np.arange(number), draw.integers(0, number, 2)]))
    capacity = draw.integers(3, 14, (len(family), 2))
    price = draw.integers(1, 5, len(family)) * int(draw.integers(1, 9))
    tasks = int(draw.integers(2, 6))
    demand = draw.integers(0, 4, (number, tasks, 2))
    demand[:, :, 0] = np.maximum(demand[:, :, 0], 1)
    for f in range(number - 1):
        demand[f, draw.random(tasks) < 0.3] = 99
    return packing_by_numbers(
        draw.integers(1, 4, tasks).tolist(), price.tolist(), capacity.tolist(), family.tolist(), demand
    )


def bound_by_shares(arrays: PackingArrays, ceiling: int, nodes: int) -> int:
    return ShareSearch(arrays, ceiling, PLAIN).run(ceiling, nodes, Stopwatch())


def best_of(arrays: PackingArrays) -> int:
    """Return the cost of the best packing that a limited number of nodes finds."""
    cost = branch_and_price(arrays, list_patterns(arrays, DEFAULTS.branch_and_price), Options(effort=2_000)).cost
    assert cost is not None
    return cost


@pytest.mark.parametrize("seed", few(range(80), 20))
def test_no_packing_costs_less_than_the_bound(seed: int):
    arrays = some_families(seed)
    best = best_of(arrays)
    bounds = [bound_by_shares(arrays, best + 50, nodes) for nodes in (1, 10, 1_000)]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= best


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_no_weights_prove_more_than_a_packing_costs(seed: int):
    arrays = some_families(seed)
    best, pools, draw = best_of(arrays), families(arrays), np.random.default_rng(seed)
    assert pools is not None
    problem = FamilyShares(arrays, pools, best, PLAIN)
    for _ in range(20):
        weights = [(draw.random(2) * FINE * pool.unit).astype(np.int64).tolist() for pool in pools]
        proven = problem.proven(problem.root, weights)
        assert proven is not None
        assert proven <= best


def test_a_whole_task_proves_what_shares_of_it_do_not():
    """Tasks of 5 and of 2 cost 7 where they are shared out among rooms of 3 and of 2, at 1 each, and 8 where not."""
    capacity, demand = [[3], [6], [2], [6]], np.array([[[5], [2]], [[5], [2]]])
    arrays = packing_by_numbers([1, 1], [3, 6, 2, 6], capacity, [0, 0, 1, 1], demand)
    pools = families(arrays)
    assert pools is not None
    problem = FamilyShares(arrays, pools, 100, PLAIN)
    root = Node(0, (problem.root,))
    problem.bound(root)
    assert root.bound == 7
    assert bound_by_shares(arrays, 100, 1_000) == best_of(arrays) == 8


def test_a_type_without_a_price_bounds_nothing():
    arrays = some_families(0)
    assert bound_by_shares(replace(arrays, price=arrays.price * 0), 100, 10) == 0


@pytest.mark.parametrize("seed", range(10))
def test_a_search_that_is_gone_on_with_proves_as_much(seed: int):
    arrays = some_families(seed)
    best = best_of(arrays)
    search = ShareSearch(arrays, best + 50, PLAIN)
    bounds = [search.run(best + more, 3, Stopwatch()) for more in (50, 20, 3)]
    bounds.append(search.run(best, 1_000, Stopwatch()))
    assert bounds == sorted(bounds)
    assert bounds[-1] == bound_by_shares(arrays, best, 1_000)


def test_a_node_that_time_ran_out_on_stays_open():
    arrays = packing_arrays(pod_requests(60, 0).data)
    pools = families(arrays)
    assert pools is not None
    problem = FamilyShares(arrays, pools, arrays.price_alone, PLAIN)
    tree = Tree(problem, Node(0, (problem.root,)), eager=False)
    assert tree.expand()
    problem.clock = Stopwatch(1e-9)
    assert not tree.expand()
    assert not tree.is_settled


def test_distinct_pods_are_proven_by_shares_alone():
    arrays = packing_arrays(pod_requests(100, 1).data)
    assert arrays.usd(bound_by_shares(arrays, 2_174_736, 2_000)) == pytest.approx(326.2104)
