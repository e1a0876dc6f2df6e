"""Two label-settings for BOA, one in arrays and one compiled, that share no loop."""

from __future__ import annotations

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.boa import least_budget, random_allocation
from models.boa import exact
from models.boa.frontier import frontier, with_budget
from models.boa.rescaling.compiled_labels import class_paths_compiled
from models.boa.rescaling.labels import ClassPaths, class_paths
from models.boa.rescaling.limits import Limits, OutOfMemory
from models.boa.rescaling.micp import prepare
from models.boa.rescaling.path_dual import affordable
from models.boa.rescaling.reduced_costs import ReducedCosts, reduced_costs

FREE = Limits(Stopwatch(), 10**9)


def reduced(seed: int) -> tuple[ReducedCosts, int]:
    """Reduced costs of a random network, and the latest end of a path, in units."""
    data = random_allocation(3, (4, 12), 8, seed=seed, budget_over_least=1.2 + seed % 4).data
    prepared = prepare(data)
    inside = prepared.dual.maximise(data.budget)[1]
    time = sum(q.time for q in affordable(prepared.net, inside.mu, data.budget))
    r = reduced_costs(prepared.net, inside, data.budget, time)
    return r, 2**r.bits


def corners(found: ClassPaths) -> dict[int, int]:
    """The least time for each cost."""
    pairs = list(zip(found.paths.cost.tolist(), found.paths.time.tolist(), strict=True))
    return {cost: min(t for c, t in pairs if c == cost) for cost, _ in pairs}


def adds_up(r: ReducedCosts, i: int, found: ClassPaths) -> None:
    """Every path has the cost and the time that its label says."""
    for position in range(len(found.paths)):
        k = found.path(position)
        j, new = np.arange(len(k)), np.concatenate([[True], k[1:] != k[:-1]])
        assert r.cost[j, i, k].sum() + r.change_cost[i, k[new]].sum() == found.paths.cost[position]
        assert r.time[j, i, k].sum() + new.sum() * r.change_time[i, 0] == found.paths.time[position]


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.02, 0.1])
def test_compiled_and_array_labels_find_the_same_nondominated_paths(share: float):
    for seed in range(8):
        r, latest = reduced(seed)
        for i in range(len(r.epochs)):
            one, other = (f(r, i, share * r.least, latest, None, FREE) for f in (class_paths, class_paths_compiled))
            assert one.complete
            assert other.complete
            assert corners(one) == corners(other)
            adds_up(r, i, one)
            adds_up(r, i, other)


def test_truncated_labels_are_paths_and_said_to_be_truncated():
    r, latest = reduced(1)
    for i in range(len(r.epochs)):
        whole = class_paths(r, i, 0.3 * r.least, latest, None, FREE)
        for set_labels in (class_paths, class_paths_compiled):
            found = set_labels(r, i, 0.3 * r.least, latest, 10, FREE)
            assert not found.complete
            assert len(found.paths) <= 10
            assert found.labels < whole.labels
            adds_up(r, i, found)


def test_compiled_labels_keep_the_limit_of_memory():
    r, latest = reduced(1)
    with pytest.raises(OutOfMemory):
        class_paths_compiled(r, 0, 0.3 * r.least, latest, None, Limits(Stopwatch(), 100))


def test_every_point_of_a_frontier_is_the_optimum_of_its_budget():
    data = random_allocation(4, 20, 16, seed=3, budget_over_least=5).data
    shared = frontier(data)
    for budget in np.linspace(least_budget(data), data.budget, 7):
        point = shared.at(float(budget), Options(gap=1e-9))
        alone = exact(with_budget(data, float(budget)), Options(gap=1e-9))
        assert point.status == alone.status == "optimal"
        assert point.objective == pytest.approx(alone.objective, rel=3e-9)
