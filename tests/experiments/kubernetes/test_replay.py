"""Test replays with kube-scheduler's default profile, on clusters where resource scores alone mislead a plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.api import cluster
from experiments.kubernetes.drains import DrainPlan
from experiments.kubernetes.repair import find_repeatable
from experiments.kubernetes.replay import ORDERS, Replay
from heuristics.kubernetes.kube_model import ClusterModel, KubeNode, PodKind
from heuristics.kubernetes.kube_scheduler import ClusterState, Layout, preempt
from instances.kubernetes.arrays import ClusterArrays, cluster_arrays
from instances.kubernetes.dump import Dump
from instances.kubernetes.facts import Facts
from instances.kubernetes.part import JsonPart
from tests.kubernetes_dumps import ZONE, Json, listed, node, pod, reader

BIG = {"room": {"cpu": "15", "memory": "58Gi", "pods": "58"}, "labels": {"kubernetes.io/arch": "amd64"}}
TYPES = "name,family,usd_per_hour,cpu,ram_gb,pods,gpu,arch\nbig,m,0.8,15,58,58,0,amd64\n"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def big(name: str, zone: str = "z-a") -> Json:
    return node(name, "big", zone, **{key: dict(value) for key, value in BIG.items()})


def own(name: str, on: str, cpu: str, app: str | None = None, when: str | None = None, **spec: Any) -> Json:
    """Build a pod of a ReplicaSet that is called as its label, with a spread over zones."""
    label = app or name
    if when is not None:
        rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": when}
        spec["topologySpreadConstraints"] = [rule | {"labelSelector": {"matchLabels": {"app": label}}}]
    return pod(name, on, cpu, owner=("ReplicaSet", label), meta={"labels": {"app": label}}, **spec)


def soft(when: str | None = SOFT) -> list[Json]:
    """Build a cluster where a spread sends s1 to the node that p needs; without one, the default spread does so."""
    return [
        *(big("a1"), big("a2"), big("b1", "z-b")),
        own("s1", "a1", "4", "s", when),
        own("p", "a1", "4", nodeSelector={ZONE: "z-a"}),
        own("x", "a2", "11"),
        own("s2", "b1", "4", "s", when),
        own("y", "b1", "6", nodeSelector={ZONE: "z-b"}),
    ]


def skew() -> list[Json]:
    """Build a cluster whose skew forbids that a pod returns to its zone, and whose other zone is full."""
    return [
        *(big("a1"), big("a2"), big("b1", "z-b")),
        own("w1", "a1", "1", "web", HARD),
        own("w2", "a2", "1", "web", HARD),
        own("db", "b1", "15"),
    ]


def prepared(folder: Path, items: Sequence[Json], types: str = TYPES) -> tuple[ClusterArrays, Replay]:
    read = reader(folder, items, types)
    plan = read.read("plan")
    return cluster_arrays(plan.data), Replay(read.facts, read.prices, plan, seed=0)


def drain(arrays: ClusterArrays, *order: int) -> DrainPlan:
    kept = np.ones_like(arrays.leaves)
    kept[list(order)] = False
    return DrainPlan(kept, order)


@pytest.mark.parametrize("when", [SOFT, None])
def test_soft_spreads_are_replayed_and_pods_directed(when: str | None, tmp_path: Path):
    arrays, replay = prepared(tmp_path, soft(when))
    plan = drain(arrays, 0)
    went = replay.replay(plan)
    assert went.orders == ORDERS
    assert 0 < went.failed < ORDERS
    found = find_repeatable(arrays, replay, [plan])
    assert (found.went.failed, found.plan.order, bool(found.plan.open)) == (0, (0,), True)
    assert found.refused == (plan, went)


def test_a_pod_that_may_not_return_is_pending_in_each_order(tmp_path: Path):
    arrays, replay = prepared(tmp_path, skew())
    plan = drain(arrays, 0)
    assert replay.replay(plan).failed == ORDERS
    assert find_repeatable(arrays, replay, [plan]).plan.steps == ()


@pytest.mark.parametrize(("items", "saved"), [(soft(), 0.8), (skew(), 0.0)], ids=["soft", "skew"])
def test_the_plan_of_the_command_does_not_fail(items: list[Json], saved: float, tmp_path: Path):
    (tmp_path / "dump.json").write_text(json.dumps(listed(*items)))
    (tmp_path / "types.csv").write_text(TYPES)
    found = cluster(tmp_path / "dump.json", tmp_path / "types.csv", rules=[], seed=1).content()
    assert (found["orders_with_pending_pods"], found["orders"]) == (0, ORDERS)
    assert found["bill_usd_per_hour"] - found["reachable_usd_per_hour"] == pytest.approx(saved)


def test_a_plan_is_repaired_by_skipping_a_drain(tmp_path: Path):
    items = [*soft(), big("a3"), own("q", "a3", "1", nodeSelector={ZONE: "z-a"})]
    arrays, replay = prepared(tmp_path, items)
    plan = drain(arrays, 3, 0)
    assert replay.find_failing(plan) is not None
    found = find_repeatable(arrays, replay, [plan])
    assert replay.replay(found.plan).failed == 0
    assert found.plan.bill(arrays) < arrays.held_price.sum()


def test_the_end_is_the_same_for_the_same_seed(tmp_path: Path):
    plans = []
    for _ in range(2):
        arrays, replay = prepared(tmp_path, soft())
        plans.append((find_repeatable(arrays, replay, [drain(arrays, 0)]).plan.open, replay.work))
    assert plans[0] == plans[1]


def test_unknown_storage_of_new_nodes_is_read_in_both_ways(tmp_path: Path):
    storage = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}
    items = [node("n1", room={"ephemeral-storage": "10Gi"}), pod(requests=storage), pod("q", cpu="1")]
    items[0]["metadata"]["labels"]["karpenter.sh/nodepool"] = "default"
    types = "name,family,usd_per_hour,cpu,ram_gb,pods,gpu,pool\nlarge,l,0.4,8,16,50,0,\nsmall,s,0.1,2,4,20,0,default\n"
    _, replay = prepared(tmp_path, items, types)
    rooms = [reading.model.room[reading.model.resources["ephemeral-storage"]] for reading in replay.readings]
    assert len(rooms) == 2
    assert rooms[0].max() == 10 * 2**30, "that of the pool's node"
    assert rooms[1].max() > rooms[0].max()


def placed(items: Sequence[Json], *, budgets: Sequence[int] = ()) -> tuple[ClusterState, list[str]]:
    """Return the state of a cluster with its pods, and their names by number."""
    dump = Dump()
    for item in items:
        dump.take(item["kind"], JsonPart(item))
    facts, pods = Facts(dump), list(dump.pods.values())
    kinds = [PodKind.read(one, facts.placement(one), {}) for one in pods]
    nodes = [KubeNode.read(one, {}, one.taints) for one in dump.nodes.values()]
    state = ClusterState.make_empty(Layout(ClusterModel(nodes, kinds), range(len(nodes))), range(len(kinds)))
    for p, one in enumerate(pods):
        if one.node is not None:
            state.put(p, list(dump.nodes).index(one.node))
    state.budgets, state.guards = list(budgets), {0: [0]} if budgets else {}
    return state, [one.name for one in pods]


def test_a_pod_of_higher_priority_takes_the_place_of_the_lowest():
    items = [node("n1"), node("n2"), pod("low", "n1", "8", priority=1), pod("mid", "n2", "8", priority=2)]
    state, names = placed([*items, pod("high", None, "5", priority=3)])
    n, victims = preempt(state, 2) or (None, [])
    assert (n, [names[victim] for victim in victims]) == (0, ["low"])
    state, names = placed([*items, pod("high", None, "5", priority=3)], budgets=[0])
    n, victims = preempt(state, 2) or (None, [])
    assert (n, [names[victim] for victim in victims]) == (1, ["mid"])  # a broken budget counts before priority
    state, _ = placed([*items, pod("high", None, "5", priority=3, preemptionPolicy="Never")])
    assert preempt(state, 2) is None
    state, _ = placed([*items, pod("equal", None, "5", priority=1)])
    assert preempt(state, 2) is None


def test_nodes_are_looked_at_zone_by_zone():
    state, _ = placed([node("a", zone="x"), node("b", zone="x"), node("c", zone="y"), node("d", zone="x")])
    assert state.list_nodes().tolist() == [0, 2, 1, 3]
    state.set_present(0, False)
    assert state.list_nodes().tolist() == [1, 2, 3]
