"""Test BOA's compiled label-setting against plain code that shares no loop with it."""

from __future__ import annotations

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.boa import compute_min_budget, random_allocation
from models.boa import exact
from models.boa.frontier import frontier, replace_budget
from models.boa.labels import ClassPaths, Limits, OutOfMemory, class_paths
from models.boa.micp import prepare
from models.boa.path_dual import ReducedCosts, compute_reduced_costs, find_affordable_paths

FREE = Limits(Stopwatch(), 10**9)
ALL = 10**9


def reduced(seed: int) -> tuple[ReducedCosts, int]:
    """Reduced costs of a random network, and the latest end of a path, in units."""
    data = random_allocation(3, (4, 12), 8, seed=seed, budget_over_least=1.2 + seed % 4).data
    prepared = prepare(data)
    inside = prepared.dual.maximise(data.budget)[1]
    time = sum(q.time for q in find_affordable_paths(prepared.net, inside.mu, data.budget))
    r = compute_reduced_costs(prepared.net, inside, data.budget, time)
    return r, 2**r.bits


def corners(found: ClassPaths) -> dict[int, int]:
    """Return the minimum time for each cost."""
    pairs = list(zip(found.paths.cost.tolist(), found.paths.time.tolist(), strict=True))
    return {cost: min(t for c, t in pairs if c == cost) for cost, _ in pairs}


def adds_up(r: ReducedCosts, i: int, found: ClassPaths) -> None:
    """Every path has the cost and the time that its label says."""
    for position in range(len(found.paths)):
        k = found.path(position)
        j, new = np.arange(len(k)), np.concatenate([[True], k[1:] != k[:-1]])
        assert r.cost[j, i, k].sum() + r.change_cost[i, k[new]].sum() == found.paths.cost[position]
        assert r.time[j, i, k].sum() + new.sum() * r.change_time[i, 0] == found.paths.time[position]


def plain(r: ReducedCosts, i: int, limit: float, latest: int) -> dict[int, int]:
    """Return the minimum time for each cost of the nondominated paths of a class, by a loop over single paths."""
    last = int(r.epochs[i]) - 1
    stay, leave, enter = r.arcs(i)
    after = {
        k: [(float(enter[0, k]), _cost(r, 0, i, k, True), _time(r, 0, i, k, True))] for k in range(len(r.cost[0, i]))
    }
    for j in range(last + 1):
        if j:
            ahead: dict[int, list[tuple[float, int, int]]] = {k: [] for k in after}
            for k, paths in after.items():
                for reduced_cost, cost, time in paths:
                    for to in after:
                        more = stay[j, k] if to == k else leave[j, k] + enter[j, to]
                        found = float(reduced_cost + more), cost + _cost(r, j, i, to, to != k)
                        ahead[to].append((*found, time + _time(r, j, i, to, to != k)))
            after = ahead
        after = {
            k: _best([p for p in paths if p[0] <= limit and p[1] <= r.budget and p[2] <= latest])
            for k, paths in after.items()
        }
    return {cost: time for _, cost, time in _best([p for paths in after.values() for p in paths])}


def _cost(r: ReducedCosts, j: int, i: int, k: int, changes: bool) -> int:
    return int(r.cost[j, i, k]) + int(r.change_cost[i, k]) * changes


def _time(r: ReducedCosts, j: int, i: int, k: int, changes: bool) -> int:
    return int(r.time[j, i, k]) + int(r.change_time[i, 0]) * changes


def _best(paths: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """Return the nondominated paths (reduced cost, cost, time) of some paths."""
    found: list[tuple[float, int, int]] = []
    for path in sorted(paths, key=lambda p: p[1:]):
        if not found or path[2] < found[-1][2]:
            found.append(path)
    return found


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.02, 0.1])
def test_labels_are_the_nondominated_paths(share: float):
    for seed in range(8):
        r, latest = reduced(seed)
        for i in range(len(r.epochs)):
            found = class_paths(r, i, share * r.lagrangian, latest, ALL, FREE)
            assert found.complete
            assert corners(found) == plain(r, i, share * r.lagrangian, latest)
            adds_up(r, i, found)


def test_truncated_labels_are_paths_and_said_to_be_truncated():
    r, latest = reduced(1)
    for i in range(len(r.epochs)):
        whole = class_paths(r, i, 0.3 * r.lagrangian, latest, ALL, FREE)
        found = class_paths(r, i, 0.3 * r.lagrangian, latest, 10, FREE)
        assert not found.complete
        assert len(found.paths) <= 10
        assert found.labels < whole.labels
        adds_up(r, i, found)


def test_labels_keep_the_limit_of_memory():
    r, latest = reduced(1)
    with pytest.raises(OutOfMemory):
        class_paths(r, 0, 0.3 * r.lagrangian, latest, ALL, Limits(Stopwatch(), 100))


def test_every_point_of_a_frontier_is_the_optimum_of_its_budget():
    data = random_allocation(4, 20, 16, seed=3, budget_over_least=5).data
    shared = frontier(data)
    for budget in np.linspace(compute_min_budget(data), data.budget, 7):
        point = shared.at(float(budget), Options(gap=1e-9))
        alone = exact(replace_budget(data, float(budget)), Options(gap=1e-9))
        assert point.status == alone.status == "optimal"
        assert point.objective == pytest.approx(alone.objective, rel=3e-9)
