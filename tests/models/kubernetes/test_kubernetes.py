"""Test exact and literal placement against brute force, scores by hand, and rejections."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from heuristics.kubernetes import balanced_allocation, least_allocated, most_allocated
from instances import Options, check
from instances.errors import InputError, MalformedSolution
from instances.kubernetes import NodePlacement, random_cluster
from models.kubernetes import exact, literal
from models.kubernetes.node_patterns import find_best_patterns, make_mixes
from tests.kubernetes_cases import fewest, tiny
from tests.sampling import sample


@pytest.mark.parametrize("seed", range(sample(60, 500)))
def test_exact_finds_the_fewest_moves_or_that_there_is_no_placement(seed: int):
    data = tiny(seed)
    best = fewest(data)
    methods = [exact] + [literal] * (seed % 5 == 0)
    for method in methods:
        result = method(data, Options(gap=0.0))
        assert result.status == ("infeasible" if best is None else "optimal")
        assert result.objective == best
    for heuristic in (least_allocated, most_allocated, balanced_allocation):
        result = heuristic(data)
        if result.status == "feasible":
            assert result.objective == best == 0


def test_a_planted_cluster_has_a_placement_and_one_with_more_than_its_room_has_none():
    planted = random_cluster(12, 1, load=0.97).data
    result = exact(planted, Options(effort=500))
    assert result.objective is not None
    assert exact(random_cluster(12, 1, load=1.05, planted=False).data).status == "infeasible"


def cluster(**changes: Any) -> NodePlacement:
    return NodePlacement.model_validate(
        {
            "resources": ["cpu", "memory"],
            "nodes": [
                {"name": "a", "capacity": {"cpu": 10, "memory": 10}, "pods": {"x": 2}},
                {"name": "b", "capacity": {"cpu": 10, "memory": 10}},
                {"name": "c", "capacity": {"cpu": 10, "memory": 10}, "pods": {"y": 1}},
            ],
            "pods": [
                {"name": "x", "count": 2, "demand": {"cpu": 2, "memory": 2}},
                {"name": "y", "count": 1, "demand": {"cpu": 1, "memory": 8}},
                {"name": "z", "count": 1, "demand": {"cpu": 6, "memory": 1}},
            ],
        }
        | changes
    )


@pytest.mark.parametrize("seed", range(sample(60, 1000)))
def test_no_content_is_worth_more_than_the_search_says(seed: int):
    """Of some resources some nodes have nothing; what takes none of them is there all the same."""
    draw = np.random.default_rng(seed)
    m, n, resources = draw.integers(1, [4, 5, 7])
    room = draw.integers(0, 8, (m, resources)) * (draw.random((m, resources)) < 0.7)
    need = draw.integers(0, 4, (n, resources)) * (draw.random((n, resources)) < 0.7)
    now, price = draw.integers(0, 2, (m, n)), draw.integers(0, 9, n) / 3
    count = now.sum(axis=0) + draw.integers(0, 2, n)
    margin = 1e-3
    content, most = find_best_patterns(
        price, now, room, need, count, make_mixes(resources), np.zeros(m), margin, 10_000
    )
    for k in range(m):

        def worth(held: Any, k: int = k) -> float:
            return float(price @ held + np.minimum(held, now[k]).sum())

        every = (np.array(held) for held in itertools.product(*(range(c + 1) for c in count)))
        best = max(worth(held) for held in every if (held @ need <= room[k]).all())
        assert (content[k] @ need <= room[k]).all()
        assert (content[k] <= count).all()
        assert best - margin - 1e-9 <= worth(content[k]) <= best + 1e-9 <= most[k] + 2e-9
        assert most[k] <= best + margin + 1e-9


def test_a_zone_that_is_short_of_nodes_is_seen_by_contents():
    """Three pods of three fifths of a node in a zone of two; elsewhere there is room, and they may not be there."""
    pod = {"name": "x", "count": 3, "demand": {"cpu": 3, "memory": 1}, "allowed_nodes": ["a", "b"]}
    nodes = [{"name": name, "capacity": {"cpu": 5, "memory": 9}} for name in "abcd"]
    result = exact(cluster(nodes=nodes, pods=[pod, {"name": "y", "count": 9, "demand": {"cpu": 1, "memory": 1}}]))
    assert (result.status, result.info["bound_by"]) == ("infeasible", "contents")


@pytest.mark.parametrize(
    ("heuristic", "node"),
    [
        (least_allocated, "b"),  # left over: (0 + 50) / 2, (40 + 90) / 2, (30 + 10) / 2
        (most_allocated, "c"),  # taken: (100 + 50) / 2 on a, which is most: see below
        (balanced_allocation, "c"),  # apart: |1 - .5| / 2, |.6 - .1| / 2, |.7 - .9| / 2
    ],
)
def test_scores_by_hand(heuristic: Any, node: str):
    data = cluster()
    taken = {"a": (10, 5), "b": (6, 1), "c": (7, 9)}
    if heuristic is most_allocated:
        assert max(taken, key=lambda n: sum(taken[n])) == node
    assert heuristic(data).solution["nodes"][node]["z"] == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nodes": []}, "nodes"),
        ({"pods": [{"name": "x", "count": 1, "demand": {"cpu": 2, "memory": 2}}]}, "unknown pod"),
        ({"pods": [{"name": "x", "count": 1, "demand": {"cpu": 99, "memory": 2}}]}, "unknown pod|fits on none"),
        ({"resources": ["cpu"]}, "an amount of each resource"),
        ({"spread": [{"tasks": ["q"]}]}, "unknown pod"),
        ({"movable": 1}, "movable"),
        (
            {"pods": [{"name": n, "count": 10**9, "demand": {"cpu": 0, "memory": 0}} for n in "xyz"]},
            "no more than 1000000000",
        ),
    ],
)
def test_what_is_no_cluster_is_refused_in_a_line(changes: dict[str, Any], said: str):
    with pytest.raises(InputError, match=said):
        cluster(**changes)


def test_no_pods_at_all_are_placed():
    data = cluster(pods=[], nodes=[{"name": "a", "capacity": {"cpu": 1, "memory": 1}}])
    for method in (exact, literal, least_allocated):
        assert method(data).objective == 0


@pytest.mark.parametrize("solution", [None, {}, {"nodes": []}, {"nodes": {"q": {}}}, {"nodes": {"a": {"q": 1}}}])
def test_a_malformed_solution_is_called_so(solution: Any):
    with pytest.raises(MalformedSolution):
        check(cluster(), solution)


def test_the_checker_sees_what_is_wrong():
    everything = {"x": 2, "y": 1, "z": 1}
    assert len(check(cluster(), {"nodes": {"a": everything}}).violations) == 2
    assert check(cluster(), {"nodes": {"a": {"x": 2}, "c": {"y": 1}}}).violations == ("pod z is placed 0 times, not 1",)
    moved = {"nodes": {"b": {"x": 2}, "c": {"y": 1}, "a": {"z": 1}}}
    assert check(cluster(), moved).objective == 2
    assert check(cluster(movable=False), moved).violations == ("2 pods are moved, and none may be",)
