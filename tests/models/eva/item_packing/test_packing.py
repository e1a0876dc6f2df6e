"""Test item packing against a second formulation, all partitions and random packings."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from instances import Options
from instances.eva import packing_arrays
from instances.eva.vector_packing import caprara_toth, paper_sizes
from models.eva import exact
from models.eva.branch_and_price import branch_and_price
from models.eva.configuration import Column, holds, missing, price
from models.eva.item_packing import pack_items
from models.eva.item_pricer import ItemPricer
from models.eva.parameters import ColumnGenerationParameters, ItemParameters
from models.eva.single_tasks import SingleTasks
from tests.eva_cases import literal_optimum, packing_by_numbers, random_packing
from tests.sampling import few

SMALL = [seed for seed in range(50) if random_packing(seed).count.sum() <= 6]
TREE_ONLY = ItemParameters(columns=ColumnGenerationParameters(dive_steps=0))


def tight(seed, tasks=7, kinds=1):
    """Few tasks that often need more bins than the linear program says, of two resources."""
    draw = np.random.default_rng(seed)
    room = draw.integers(8, 14, 2)
    demand = draw.integers(2, 8, (1, tasks, 2))
    capacity = [room * (1 + k) for k in range(kinds)]
    return packing_by_numbers([1] * tasks, [10, 17, 23][:kinds], capacity, [0] * kinds, demand)


def odd_cycles(sizes, seed, kinds=1):
    """Two tasks to a bin, and only neighbours on one of some odd cycles: the linear program is half a bin too low each.

    A resource for each pair that must not meet, and one that counts.
    """
    n = sum(sizes)
    place = np.random.default_rng(seed).permutation(n)
    edges, first = set(), 0
    for size in sizes:
        edges |= {frozenset((int(place[first + i]), int(place[first + (i + 1) % size]))) for i in range(size)}
        first += size
    apart = [pair for pair in combinations(range(n), 2) if frozenset(pair) not in edges]
    demand = [[[1, *(int(i in pair) for pair in apart)] for i in range(n)]]
    room = [2] + [1] * len(apart)
    capacity = [room, [2 * q for q in room]][:kinds]
    return packing_by_numbers([1] * n, [10, 19][:kinds], capacity, [0] * kinds, demand)


def least_cost(arrays):
    """Compute the minimum price of a partition of the tasks by enumerating all."""
    items = [c for c, n in enumerate(arrays.count.tolist()) for _ in range(n)]
    cheapest = {}

    def cost(chosen):
        if chosen not in cheapest:
            load = arrays.demand[:, [items[i] for i in chosen]].sum(axis=1)[arrays.family]
            kinds = (load <= arrays.capacity).all(axis=1)
            cheapest[chosen] = min(arrays.price[kinds].tolist(), default=None)
        return cheapest[chosen]

    def rest(left):
        if not left:
            return 0
        totals = []
        for size in range(len(left)):
            for others in combinations(left[1:], size):
                chosen = (left[0], *others)
                if cost(chosen) is not None:
                    totals.append(cost(chosen) + rest(tuple(i for i in left if i not in chosen)))
        return min(totals)

    return rest(tuple(range(len(items))))


def partitions(items):
    """All partitions of a list."""
    if not items:
        yield []
        return
    for size in range(len(items)):
        for others in combinations(items[1:], size):
            block = (items[0], *others)
            for more in partitions([i for i in items if i not in block]):
                yield [block, *more]


def obeys(blocks, decisions):
    """Return whether the pairs of a leaf share a block, or do not, as its decisions say."""
    where = {i: b for b, block in enumerate(blocks) for i in block}
    return all((where[d.of[0]] == where[d.of[1]]) == (d.kind == "together") for d in decisions)


@pytest.mark.parametrize("seed", few(SMALL, 10))
def test_the_literal_program_agrees_on_small_instances(seed):
    """Families with demands of their own, one to three resources, several types, equal tasks."""
    arrays = random_packing(seed)
    outcome = pack_items(arrays)
    assert outcome.cost == outcome.bound == literal_optimum(arrays)
    assert price(arrays, outcome.configuration) == outcome.cost
    assert (missing(arrays, outcome.configuration) == 0).all()
    assert all(holds(arrays, column) for column in outcome.configuration)


@pytest.mark.parametrize("parameters", [ItemParameters(), TREE_ONLY])
@pytest.mark.parametrize(("seed", "kinds"), few([(seed, 1 + seed % 3) for seed in range(24)], 8))
def test_all_partitions_agree(seed, kinds, parameters):
    arrays = tight(seed, kinds=kinds)
    outcome = pack_items(arrays, parameters=parameters)
    assert outcome.cost == outcome.bound == least_cost(arrays)


@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize(("sizes", "seed"), [((3, 3), 0), ((3, 3), 1), ((5, 3), 0), ((5, 3), 1)])
def test_the_tree_proves_what_the_linear_program_cannot(sizes, seed, kinds):
    arrays = odd_cycles(sizes, seed, kinds)
    outcome = pack_items(arrays, parameters=TREE_ONLY)
    assert outcome.cost == outcome.bound == least_cost(arrays)
    if kinds == 1:
        assert outcome.info["lp_value"] == pytest.approx(outcome.cost - 1)
        assert outcome.info["nodes"] > 1


@pytest.mark.parametrize(("sizes", "seed"), [((3, 3), 0), ((3, 3), 1), ((5, 3), 0), ((3,), 0), ((5,), 1)])
def test_the_leaves_leave_no_packing_out_and_their_duals_prove_the_bound(sizes, seed):
    """Recomputed here from the record alone: feasible duals on all subsets, and a leaf for each partition."""
    arrays = SingleTasks(odd_cycles(sizes, seed)).arrays
    n = arrays.classes
    outcome = branch_and_price(arrays, ItemPricer(arrays))
    proof = outcome.proof
    assert proof is not None
    assert len(proof.leaves) == (1 if len(sizes) == 1 else len({leaf.decisions for leaf in proof.leaves}))
    for leaf in proof.leaves:
        for size in range(1, n + 1):
            for chosen in combinations(range(n), size):
                held = [(d.kind, sum(i in chosen for i in d.of)) for d in leaf.decisions]
                if ("together", 1) in held or ("apart", 2) in held:
                    continue
                if (arrays.demand[0, list(chosen)].sum(axis=0) <= arrays.capacity[0]).all():
                    assert sum(leaf.duals.cover[i] for i in chosen) <= leaf.duals.scale * int(arrays.price[0])
        assert -(-sum(leaf.duals.cover) // leaf.duals.scale) >= leaf.bound >= outcome.bound
    assert proof.bound == outcome.bound
    for blocks in partitions(list(range(n))):
        assert any(obeys(blocks, leaf.decisions) for leaf in proof.leaves)


@pytest.mark.parametrize("number", few(range(1, 11), 3))
def test_random_packings_never_beat_the_bound(number):
    """First fit of tasks in random orders, 200 times."""
    arrays = packing_arrays(caprara_toth(number, paper_sizes(number)[0], 5).data)
    outcome = pack_items(arrays, Options(effort=30))
    draw = random.Random(number)
    order = [c for c, n in enumerate(arrays.count.tolist()) for _ in range(n)]
    for _ in range(200):
        draw.shuffle(order)
        bins = []
        for c in order:
            for left in bins:
                if (left >= arrays.demand[0, c]).all():
                    left -= arrays.demand[0, c]
                    break
            else:
                bins.append(arrays.capacity[0] - arrays.demand[0, c])
        assert outcome.bound <= len(bins)


def test_triplets_are_packed_as_they_were_made():
    result = exact(caprara_toth(10, 51, 0).data)
    assert (result.status, result.objective, result.bound) == ("optimal", 17.0, 17.0)
    assert result.info["method"] == "branch-and-price over tasks"


def test_effort_makes_the_same_outcome_twice():
    data = caprara_toth(9, 50, 1).data
    one, two = (exact(data, Options(effort=3, seed=4)) for _ in range(2))
    assert (one.solution, one.bound, one.objective) == (two.solution, two.bound, two.objective)


def test_a_start_is_never_lost_and_a_wrong_one_is_refused():
    arrays = packing_arrays(caprara_toth(1, 25, 0).data)
    best = pack_items(arrays)
    again = pack_items(arrays, Options(effort=1), start=best.configuration)
    assert again.cost == best.cost
    everything = Column.of(0, [(c, 1) for c in range(arrays.classes)])
    with pytest.raises(ValueError, match="do not fit"):
        pack_items(arrays, start={everything: 1})
    with pytest.raises(ValueError, match="does not hold all tasks"):
        pack_items(arrays, start={Column.of(0, [(0, 1)]): 1})


def test_a_time_limit_leaves_a_packing_and_a_bound():
    result = exact(caprara_toth(9, 200, 0).data, Options(time_limit=0.5))
    assert result.solution is not None
    assert 0 < result.bound <= result.objective


def test_few_or_equal_tasks_and_many_types_are_left_to_the_other_methods():
    assert not ItemParameters().suits(packing_by_numbers([16, 16], [1], [[10, 10]], [0], [[[3, 4], [5, 2]]]))
    assert not ItemParameters().suits(tight(0))
    assert ItemParameters().suits(packing_arrays(caprara_toth(2, 25, 0).data))
    assert not ItemParameters(most_types=2).suits(packing_arrays(caprara_toth(2, 25, 0, types="three").data))
