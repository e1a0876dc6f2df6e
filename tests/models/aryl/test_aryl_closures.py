"""Test the branch and bound over closures against enumeration and HiGHS."""

from __future__ import annotations

import itertools
import math
import random

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from instances import Options
from instances.aryl import ArylReclaim, LoanedJob, loaned_servers, spread_jobs
from models.aryl import exact, literal
from models.aryl.closure_tree import ClosureTree
from models.aryl.parameters import ArylParameters, ClosureParameters, ReclaimParameters
from models.aryl.server_groups import ServerGroups
from tests.sampling import few


def drawn(seed: int, n_servers: int = 14, n_jobs: int = 9) -> ArylReclaim:
    """Servers of which several have the same jobs, and jobs on few or on many of them."""
    rng = random.Random(seed)
    servers = tuple(f"s{s}" for s in range(n_servers))
    jobs = tuple(
        LoanedJob(id=f"j{j}", servers=tuple(rng.sample(servers, rng.choice([1, 2, 2, 3, 4, 7])))) for j in range(n_jobs)
    )
    return ArylReclaim(servers=servers, jobs=jobs, reclaim=0)


def fewest_jobs(groups: ServerGroups) -> list[int]:
    """Enumerate all sets of jobs, and return the minimum jobs that free a given number of servers, for every number."""
    total = int(groups.count.sum())
    fewest = [groups.n_jobs] * (total + 1)
    for size in range(groups.n_jobs, -1, -1):
        for hit in itertools.combinations(range(groups.n_jobs), size):
            freed = sum(int(n) for jobs, n in zip(groups.jobs, groups.count, strict=True) if set(jobs) <= set(hit))
            fewest[: freed + 1] = [size] * (freed + 1)
    return fewest


@pytest.mark.parametrize("seed", range(8))
def test_the_tree_finds_what_enumeration_finds_and_no_bound_on_the_way_is_beaten(seed: int):
    groups = ServerGroups.from_data(drawn(seed))
    for need, fewest in enumerate(fewest_jobs(groups)):
        tree = ClosureTree(groups, need, set(range(groups.n_jobs)), ClosureParameters(tries=2, rounds=3))
        for _ in range(10_000):
            assert tree.bound <= fewest <= tree.min_jobs
            if tree.is_done:
                break
            tree.run(1)
        assert tree.is_done
        assert (tree.bound, tree.min_jobs, len(tree.best)) == (fewest, fewest, fewest)
        freed = sum(int(n) for jobs, n in zip(groups.jobs, groups.count, strict=True) if tree.best.issuperset(jobs))
        assert freed >= need


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_of_the_root_is_that_of_the_linear_relaxation(seed: int):
    from models.aryl.closure_kernels import PRICE, UNIT, evaluate

    data = spread_jobs(40, 40, seed, 0, most=6).data
    groups, need = ServerGroups.from_data(data), 12
    n, kinds = groups.n_jobs, len(groups.jobs)
    tree = ClosureTree(groups, need, set(range(n)))
    bound, _ = evaluate(tree.network, tree.memory, tree.memory.state[PRICE], 100, False)
    rows = []
    for g, jobs in enumerate(groups.jobs):
        for j in jobs:
            row = np.zeros(n + kinds)
            row[j], row[n + g] = -1.0, 1.0
            rows.append(row)
    rows.append(np.concatenate([np.zeros(n), -groups.count]))
    limits = np.concatenate([np.zeros(len(rows) - 1), [-need]])
    relaxed = linprog(np.concatenate([np.ones(n), np.zeros(kinds)]), np.array(rows), limits, bounds=(0, 1)).fun
    assert relaxed - 0.001 <= bound / UNIT <= relaxed + 1e-7


@pytest.mark.parametrize("seed", few(range(6), 3))
def test_a_flow_that_goes_on_from_another_price_is_the_maximum_flow_and_its_cut_a_minimum_cut(seed: int):
    from models.aryl.closure_kernels import UNIT, augment_flow, restrict_flow

    groups = ServerGroups.from_data(spread_jobs(40, 40, seed, 0, most=6).data)
    tree, rng = ClosureTree(groups, 12, set(range(groups.n_jobs))), random.Random(seed)
    net, memory = tree.network, tree.memory
    for _ in range(20):
        memory.fixed[:] = [rng.choice([-1, -1, -1, 0, 1]) for _ in memory.fixed]
        price = rng.randrange(UNIT)
        graph, ends = nx.DiGraph([("from", "to", {"capacity": 0})]), range(len(groups.jobs))
        for g in ends:
            free = [j for j in groups.jobs[g] if memory.fixed[j] < 0]
            memory.alive[g] = bool(free) and all(memory.fixed[j] for j in groups.jobs[g])
            if memory.alive[g]:
                graph.add_edge("from", ("group", g), capacity=price * int(groups.count[g]))
                graph.add_edges_from((("group", g), ("job", j)) for j in free)
                graph.add_edges_from((("job", j), "to", {"capacity": UNIT}) for j in free)
        restrict_flow(net, memory, price)
        augment_flow(net, memory, 0)
        sent = sum(price * int(groups.count[g]) - int(memory.spare[g]) for g in ends if memory.alive[g])
        assert sent == nx.maximum_flow_value(graph, "from", "to")
        cut = [price * int(groups.count[g]) for g in ends if memory.alive[g] and not _inside(groups, memory, g)]
        assert sent == sum(cut) + UNIT * int(memory.reached.sum())
        least = int(memory.spare.sum())
        memory.flow[:] = 0
        restrict_flow(net, memory, price)
        augment_flow(net, memory, least + UNIT)
        assert least <= memory.spare.sum() < least + UNIT


def _inside(groups: ServerGroups, memory, g: int) -> bool:
    """Return whether all jobs of group `g` that are not fixed are on the side of the groups."""
    return all(memory.reached[j] for j in groups.jobs[g] if memory.fixed[j] < 0)


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_hard_pools_have_the_optimum_of_the_literal_model(seed: int):
    for data in (loaned_servers(60, 1.0, seed, 20).data, spread_jobs(50, 50, seed, 20, most=5).data):
        fast, slow = exact(data), literal(data)
        assert fast.status == slow.status == "optimal"
        assert fast.objective == slow.objective


def test_the_same_seed_and_effort_have_the_same_answer_and_nodes():
    data = spread_jobs(150, 150, 1, 40).data
    constants = ArylParameters(reclaim=ReclaimParameters(spectral_jobs=0))
    one, other = (exact(data, Options(effort=5), parameters=constants) for _ in range(2))
    assert (one.solution, one.bound, one.info) == (other.solution, other.bound, other.info)
    assert (one.termination, one.info["nodes"]) == ("effort_limit", 5)
    assert math.isfinite(one.bound)
    assert one.bound <= one.objective
