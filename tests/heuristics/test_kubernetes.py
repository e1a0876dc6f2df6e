"""Test the rules of Karpenter, the cluster autoscaler and kube-scheduler on hand-computed clusters."""

from __future__ import annotations

from typing import Any

import pytest

from heuristics.kubernetes import (
    ca_least_waste,
    ca_most_pods,
    karpenter_1_13,
    karpenter_1_14,
    karpenter_1_14_balanced,
    kube_least,
    kube_most,
    least_allocated,
    most_allocated,
)
from instances import Options
from instances.kubernetes import NodeConsolidation, NodePlacement, shrunk_cluster

SIZES = {"small": (2, 0.10), "medium": (4, 0.19), "large": (8, 0.40)}  # CPUs, USD/h; memory is four times as much


def room(cpu: float, memory: float | None = None) -> dict[str, float]:
    return {"cpu": float(cpu), "memory": float(4 * cpu if memory is None else memory)}


def node(name: str, size: str, pods: dict[str, int], **more: Any) -> dict[str, Any]:
    cpu, usd = SIZES[size]
    return {"name": name, "type": size, "capacity": room(cpu), "usd_per_hour": usd, "pods": pods} | more


def cluster(nodes: list[dict[str, Any]], pods: dict[str, tuple[int, float]], **more: Any) -> NodeConsolidation:
    """Nodes, and of each kind of pods how many there are, and their CPUs; memory is as much."""
    kinds = [
        {"name": name, "family": "f", "capacity": room(cpu), "usd_per_hour": usd} for name, (cpu, usd) in SIZES.items()
    ]
    entries = [{"name": name, "count": n, "demand": room(cpu, cpu)} for name, (n, cpu) in pods.items()]
    data = {"resources": ["cpu", "memory"], "nodes": nodes, "instance_types": kinds, "pods": entries}
    return NodeConsolidation.model_validate(data | more)


def three_nodes() -> NodeConsolidation:
    """Price by cost of disruption: a 0.40 / 5, b 0.19 / 2, c 0.19 / 3; so b, a, c. By cost: b, c, a."""
    nodes = [node("a", "large", {"p": 4}), node("b", "medium", {"p": 1}), node("c", "medium", {"p": 2})]
    return cluster(nodes, {"p": (7, 1)})


def test_karpenter_opens_a_claim_that_keeps_all_types_which_hold_its_pods():
    """3 CPUs: medium or large; with 2 more, and 1, and 1: large alone, where medium and two small ones cost 0.39."""
    result = karpenter_1_14(cluster([], {"x": (1, 3), "y": (1, 2), "z": (2, 1)}))
    assert result.solution is not None
    assert [new["type"] for new in result.solution["instances"]] == ["large"]
    assert result.objective == 0.40


def test_karpenter_puts_a_pod_on_the_claim_with_the_fewest_pods():
    """x and y leave no memory for each other; the first z goes to the claim of x, the second to that of y."""
    data = {
        "resources": ["cpu", "memory"],
        "nodes": [],
        "instance_types": [{"name": "k", "family": "f", "capacity": room(8, 16), "usd_per_hour": 1.0}],
        "pods": [
            {"name": "x", "count": 1, "demand": room(2, 9)},
            {"name": "y", "count": 1, "demand": room(2, 8)},
            {"name": "z", "count": 2, "demand": room(1, 1)},
        ],
    }
    result = karpenter_1_14(NodeConsolidation.model_validate(data), Options(), destinations="simulated")
    assert result.solution is not None
    assert sorted(new["tasks"].get("z", 0) for new in result.solution["instances"]) == [1, 1]


def test_karpenter_gives_up_empty_nodes_as_the_budget_allows():
    """10% of three nodes is one at a time, of two nodes too; a node with a pod, which no type replaces, stays."""
    nodes = [node("a", "medium", {"p": 1}, keep=True), node("b", "large", {}), node("c", "large", {})]
    result = karpenter_1_14(cluster(nodes, {"p": (1, 3)}))
    assert (result.info["rounds"], result.info["drained"], result.info["evictions"]) == (2, 2, 0)
    assert karpenter_1_14(cluster(nodes, {"p": (1, 3)}), Options(), budget=1.0).info["rounds"] == 1


def test_karpenter_1_14_takes_candidates_by_price_for_each_cost():
    """b and a first: 5 pods, 2 of them to c, 3 to a medium node, whose type is given up and is no cheaper: no move.

    b alone: its pod to a. a and c then: 7 pods need a large node: no. a alone: 2 of its 5 pods to c, 3 to a medium node
    for 0.19. Nothing is cheaper than these two medium nodes.
    """
    result = karpenter_1_14(three_nodes(), Options(), budget=1.0, destinations="simulated")
    assert result.objective == pytest.approx(0.38)
    assert (result.info["rounds"], result.info["evictions"], result.info["rented"]) == (2, 6, 1)


def test_karpenter_1_13_takes_candidates_by_cost():
    """b and c first: their 3 pods to a. With a as well 7 pods need a large node, which is no cheaper than a."""
    result = karpenter_1_13(three_nodes(), Options(), budget=1.0, destinations="simulated")
    assert result.objective == pytest.approx(0.40)
    assert (result.info["rounds"], result.info["evictions"], result.info["rented"]) == (1, 3, 0)


def test_karpenter_balanced_passes_moves_by_their_share_of_price_and_cost():
    """b: (0.19 / 0.78) / (2 / 10) = 1.2. Then a by a medium node: (0.21 / 0.59) / (6 / 9) = 0.53; c: 0.32 / 0.33."""
    whole = karpenter_1_14_balanced(three_nodes(), Options(), budget=1.0, destinations="simulated")
    assert whole.objective == pytest.approx(0.38)
    half = karpenter_1_14_balanced(three_nodes(), Options(), budget=1.0, destinations="simulated", k=1)
    assert (half.objective, half.info["evictions"]) == (pytest.approx(0.59), 1)


def test_karpenter_leaves_what_is_kept_and_what_has_a_pinned_pod():
    nodes = [node("a", "large", {"p": 1}, keep=True), node("b", "large", {"q": 1})]
    pods = [{"name": n, "count": 1, "demand": room(1, 1), "pinned": n == "q"} for n in "pq"]
    result = karpenter_1_14(cluster(nodes, {"p": (1, 1), "q": (1, 1)}).with_(pods=pods))
    assert (result.objective, result.info["rounds"]) == (0.80, 0)


def test_evicted_pods_go_where_kube_scheduler_puts_them_and_those_that_wait_are_counted():
    """d has pods of 3 and 1 CPUs; x has 3 free, y has 1. If that of 1 comes first it goes to x, which is emptier."""
    nodes = [
        node("d", "large", {"three": 1, "one": 1}),
        node("x", "medium", {"one": 1}, keep=True),
        node("y", "medium", {"three": 1}, keep=True),
    ]
    data = cluster(nodes, {"three": (2, 3), "one": (2, 1)})
    seen = set()
    for seed in range(10):
        result = karpenter_1_14(data, Options(seed=seed))
        assert result.status == "feasible"
        seen.add((result.info["pending_again"], round(result.objective or 0, 9)))
    assert seen == {(0, 0.38), (1, 0.57)}


def test_the_least_waste_is_not_the_least_price():
    """Three pods of 1 CPU: three quarters of two nodes for 2 are used, all of one for 3, which costs more."""
    kinds = [
        {"name": f"for-{n}", "family": "f", "capacity": room(n, n), "usd_per_hour": usd}
        for n, usd in ((2, 0.1), (3, 0.5))
    ]
    data = cluster([], {"p": (3, 1)}, instance_types=kinds)
    assert ca_least_waste(data).objective == 0.5
    limited = cluster([], {"p": (3, 1)}, instance_types=[kinds[0], kinds[1] | {"max_new": 0}])
    assert ca_least_waste(limited).objective == 0.2


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_over_is_that_of_the_node_and_not_of_what_pods_ask_for_in_all(seed: int):
    """Before: one pod took all of any node that holds it, and the type or the node was a random one."""
    waiting = {"p": (1, 1.0)}
    result = ca_least_waste(cluster([], waiting), Options(seed=seed))
    assert result.solution is not None
    assert [new["type"] for new in result.solution["instances"]] == ["small"]
    nodes = [node("a", "small", {}), node("b", "large", {}), node("c", "medium", {})]
    assert kube_least(cluster(nodes, waiting), Options(seed=seed)).solution == {
        "nodes": {"a": {}, "b": {"p": 1}, "c": {}},
        "instances": [],
    }


def test_most_pods_takes_the_option_for_most_pods():
    """Of the type for two there is one node, which holds two of three pods without waste; the type for eight all."""
    kinds = [
        {"name": "for-2", "family": "f", "capacity": room(2, 2), "usd_per_hour": 0.1, "max_new": 1},
        {"name": "for-8", "family": "f", "capacity": room(8, 8), "usd_per_hour": 0.5},
    ]
    data = cluster([], {"p": (3, 1)}, instance_types=kinds)
    assert ca_most_pods(data).objective == 0.5
    assert ca_least_waste(data).objective == 0.6, "two, and then one"


def test_the_autoscaler_drains_what_is_half_used_and_has_room_elsewhere():
    """u and w are half used or less, v is not. u first: its pods fit on v and w; w's then has no room but on u."""
    nodes = [node("u", "medium", {"p": 2}), node("v", "medium", {"p": 3}), node("w", "medium", {"p": 1})]
    result = ca_least_waste(cluster(nodes, {"p": (6, 1)}))
    assert result.solution is not None
    assert sorted(result.solution["nodes"]) == ["v", "w"]
    assert (result.info["evictions"], result.info["rounds"], result.info["pending_again"]) == (2, 1, 0)


def test_the_autoscaler_counts_gpus_alone_where_there_are_some():
    gpus = {"resources": ["cpu", "gpu", "memory"], "instance_types": []}
    nodes = [
        {"name": n, "capacity": room(8) | {"gpu": 2.0}, "usd_per_hour": 1.0, "pods": {"g": k}}
        for n, k in (("a", 2), ("b", 1))
    ]
    pods = [{"name": "g", "count": 3, "demand": room(1, 1) | {"gpu": 1.0}}]
    data = NodeConsolidation.model_validate({**gpus, "nodes": nodes, "pods": pods})
    result = ca_least_waste(data)
    assert (result.objective, result.info["rounds"]) == (2.0, 0), "a is full of GPUs, b has no place for its pod"
    three = [nodes[1] | {"name": n} for n in "bc"]
    pair = NodeConsolidation.model_validate({**gpus, "nodes": three, "pods": [pods[0] | {"count": 2}]})
    assert ca_least_waste(pair).objective == 1.0


def test_the_autoscaler_counts_cpu_and_memory_on_a_node_without_gpus():
    """The GPU node is full, so both nodes stay: three of four CPUs of the other node are used."""
    nodes = [
        {"name": n, "capacity": room(4) | {"gpu": gpu}, "usd_per_hour": 1.0, "pods": {pod: count}}
        for n, gpu, pod, count in (("a", 0.0, "p", 3), ("b", 1.0, "g", 1))
    ]
    pods = [
        {"name": "p", "count": 3, "demand": room(1, 1) | {"gpu": 0.0}},
        {"name": "g", "count": 1, "demand": room(1, 1) | {"gpu": 1.0}},
    ]
    data = {"resources": ["cpu", "gpu", "memory"], "instance_types": [], "nodes": nodes, "pods": pods}
    result = ca_least_waste(NodeConsolidation.model_validate(data))
    assert (result.objective, result.info["rounds"]) == (2.0, 0)


def test_kube_scheduler_takes_the_emptiest_or_the_fullest_node_and_rents_none():
    nodes = [node("a", "medium", {"p": 1}), node("b", "medium", {"p": 2})]
    data = cluster(nodes, {"p": (4, 1)})
    least, most = kube_least(data).solution, kube_most(data).solution
    assert least is not None
    assert most is not None
    assert (least["nodes"], most["nodes"]) == ({"a": {"p": 2}, "b": {"p": 2}}, {"a": {"p": 1}, "b": {"p": 3}})
    short = kube_least(cluster(nodes, {"p": (9, 1)}))
    assert (short.status, short.info["waiting"]) == ("violates", 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "rule", [karpenter_1_14, karpenter_1_13, karpenter_1_14_balanced, ca_least_waste, ca_most_pods]
)
def test_a_rule_ends_with_all_pods_placed_at_no_higher_bill_and_says_what_it_leaves_out(rule: Any, seed: int):
    data = shrunk_cluster(80, seed).data
    result, again = rule(data, Options(seed=seed)), rule(data, Options(seed=seed))
    assert result.status == "feasible"
    assert result.solution == again.solution
    assert result.info["ended"]
    assert result.objective is not None
    assert result.objective <= sum(node.usd_per_hour or 0 for node in data.nodes) + 1e-9
    assert "@" in result.info["commit"]
    assert result.info["left_out"]


@pytest.mark.parametrize(("score", "node"), [(least_allocated, "large"), (most_allocated, "small")])
def test_a_scheduler_places_by_its_score_and_never_beyond_one_resource(score: Any, node: str):
    data = NodePlacement.model_validate({
        "resources": ["cpu", "memory"],
        "nodes": [{"name": "small", "capacity": room(4, 4)}, {"name": "large", "capacity": room(8, 8)}],
        "pods": [
            {"name": "first", "count": 1, "demand": room(1, 1)},
            {"name": "full", "count": 1, "demand": room(1, 8)},
        ],
    })  # fmt: skip
    placed = score(data).solution["nodes"]
    assert "first" in placed[node]
    # The large node has CPUs for the second pod in both cases, but memory only if it is still empty.
    assert ("full" in placed.get("large", {})) == (node == "small")
