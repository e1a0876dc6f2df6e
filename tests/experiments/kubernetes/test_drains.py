"""Test that executed plans follow kube-scheduler's rules and break none of the dump's constraints."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.kubernetes.drains import Director, DrainPlan, Orders, carry_out, plan_of, score_node
from experiments.kubernetes.reach import RentalLimits, reachable, state_of
from heuristics.kubernetes.scores import score_balance, score_least_allocated
from instances import Options, Stopwatch
from instances.kubernetes import (
    ConsolidatedPod,
    NodeConsolidation,
    RentedType,
    RunningNode,
    cluster_arrays,
    shrunk_cluster,
    synthetic_dump,
)
from instances.kubernetes.synthetic import DAEMONS, PLUGIN
from models.kubernetes import exact_consolidation
from tests.kubernetes_dumps import ZONE, Json, reader
from tests.sampling import few

SIZE = {"cpu_milli": 4000.0, "memory_mib": 4000.0, "pods": 10.0}


def sized(share: int) -> dict[str, float]:
    return {"cpu_milli": 1000.0 * share, "memory_mib": 1000.0 * share, "pods": 1.0}


def box(name: str, held: dict[str, int], size: int = 4, price: float = 1.0) -> RunningNode:
    """Return a node with pods, of some quarters of the usual size."""
    return RunningNode(name=name, capacity=sized(size) | {"pods": 10.0}, pods=held, type="box", usd_per_hour=price)


def cluster(nodes: Sequence[RunningNode], shares: dict[str, int], *types: RentedType) -> NodeConsolidation:
    """Nodes with pods of some quarters of a node, all of which run."""
    counts = {name: sum(node.pods.get(name, 0) for node in nodes) for name in shares}
    pods = [ConsolidatedPod(name=name, count=counts[name], demand=sized(share)) for name, share in shares.items()]
    return NodeConsolidation(resources=tuple(SIZE), nodes=tuple(nodes), instance_types=types, pods=tuple(pods))


def tight() -> NodeConsolidation:
    """Two nodes with three quarters free, and a third one with pods of three, two and one quarters."""
    nodes = [box("a", {"stays": 1}), box("b", {"stays": 1}), box("c", {"three": 1, "two": 1, "one": 1}, 6)]
    small = RentedType(name="small", family="f", capacity=sized(2) | {"pods": 9.0}, usd_per_hour=0.3)
    return cluster(nodes, {"stays": 1, "three": 3, "two": 2, "one": 1}, small)


def without_c(data: NodeConsolidation) -> tuple[Any, Any]:
    arrays = cluster_arrays(data)
    return arrays, plan_of(arrays, np.array([True, True, False]), [])


def test_a_third_of_the_orders_leaves_the_largest_pod_without_a_place():
    """One and two come before three: the scheduler puts them on different nodes, for each looks the emptiest."""
    arrays, plan = without_c(tight())
    went = carry_out(arrays, plan, seed=0, orders=300)
    assert 75 < went.orders < 125
    lost = went.pending.sum(axis=0)
    assert np.count_nonzero(lost) == 1
    assert arrays.need[lost.argmax()][0] == arrays.need[:, 0].max()
    assert not went.succeeds


def found(data: NodeConsolidation, kept: list[bool], number: list[int]) -> tuple[float, DrainPlan]:
    """Return the bill and the plan that is found from a state."""
    arrays = cluster_arrays(data)
    plan = reachable(arrays, [(np.array(kept), np.array(number, dtype=np.int64))], seed=0, work=10**7)
    assert carry_out(arrays, plan, seed=0).orders == 0
    return arrays.usd(plan.bill(arrays)), plan


def test_where_such_a_plan_fails_another_is_found():
    usd, plan = found(tight(), [True, True, False], [0])
    assert (usd, sorted(plan.order), plan.new) == (1.3, [0, 1], (0,)), "c is full, and the small node holds the others"
    large = [{"name": "large", "family": "f", "capacity": SIZE, "usd_per_hour": 0.6}]
    usd, plan = found(tight().with_(instance_types=large), [True, True, False], [0])
    assert (usd, plan.new) == (1.2, (0, 0)), "c's six quarters and the two others on two large nodes"


def test_a_node_stays_in_the_place_of_one_that_would_be_rented_at_its_price():
    same = [{"name": "same", "family": "f", "capacity": SIZE, "usd_per_hour": 1.0}]
    usd, plan = found(tight().with_(instance_types=same), [True, False, True], [1])
    assert usd == 2.0
    assert plan.steps in ((0,), (1,))


def in_two_turns() -> NodeConsolidation:
    """Build an empty node and a half-full one, which take the pods of two others: three quarters and a half."""
    held = {"a": {}, "b": {"two": 1}, "c": {"three": 1}, "d": {"two": 1}}
    return cluster([box(*node) for node in held.items()], {"three": 3, "two": 2})


def test_the_turn_of_the_drains_decides_and_a_turn_that_succeeds_is_found():
    arrays = cluster_arrays(in_two_turns())
    kept = np.array([True, True, False, False])
    right, wrong = (carry_out(arrays, DrainPlan(kept, steps), seed=0).orders for steps in ((2, 3), (3, 2)))
    assert (right, wrong) == (0, 100), "the half would go to the empty node, where the larger one has to go"
    assert plan_of(arrays, kept, ()).steps == (2, 3)
    usd, plan = found(in_two_turns(), [True] * 4, [])
    assert (usd, plan.evictions(arrays)) == (2.0, 1), "the half of b beside that of d is as cheap"


def test_a_node_that_is_rented_late_is_not_there_for_pods_that_come_before():
    data = tight().with_(instance_types=[{"name": "large", "family": "f", "capacity": SIZE, "usd_per_hour": 0.5}])
    arrays = cluster_arrays(data)
    kept = np.array([False, True, False])
    early, late = (carry_out(arrays, DrainPlan(kept, steps), seed=0) for steps in ((~0, 0, 2), (0, 2, ~0)))
    assert early.pods < late.pods
    assert (late.pending.sum(axis=1) >= 1).all(), "seven quarters, and room for three"


def test_evictions_that_are_allowed_and_nodes_that_may_be_rented_are_all_that_a_plan_takes():
    large = {"name": "large", "family": "f", "capacity": SIZE, "usd_per_hour": 0.6}
    usd, plan = found(tight().with_(instance_types=[large], max_evictions=1), [True] * 3, [0])
    assert (usd, len(plan.order), plan.new) == (2.0, 1, ())
    usd, plan = found(tight().with_(instance_types=[large | {"max_new": 1}]), [True] * 3, [0])
    assert (usd, plan.new) == (1.6, (0,))


def test_the_search_for_a_plan_ends_by_its_time_limit():
    """By its work it would take far longer, though its clusters are small."""
    arrays = cluster_arrays(shrunk_cluster(120, 1).data)
    state = np.ones_like(arrays.leaves), np.zeros(len(arrays.price), dtype=np.int64)
    reachable(arrays, [state], seed=0, work=10**5)  # compiled from here on
    with Stopwatch() as watch:
        plan = reachable(arrays, [state], seed=0, time_limit=0.3)
    assert watch.cpu_s < 1
    assert carry_out(arrays, plan, seed=0).succeeds


def test_a_plan_that_is_known_is_taken_if_the_search_finds_none_that_is_cheaper():
    arrays = cluster_arrays(in_two_turns())
    known = DrainPlan(np.array([True, True, False, False]), (2, 3))
    state = np.ones(4, dtype=bool), np.zeros(0, dtype=np.int64)
    assert reachable(arrays, [state], seed=0, time_limit=1e-9).order == ()
    assert reachable(arrays, [state], seed=0, time_limit=1e-9, known=[known]) is known


def test_new_nodes_together_are_within_limits():
    """Of two types, of each of which there may be two, and two in all."""
    large = [{"name": f"large-{i}", "family": "f", "capacity": SIZE, "usd_per_hour": 0.6, "max_new": 2} for i in (1, 2)]
    data = tight().with_(instance_types=large)
    pods = [pod.with_(count=7) if pod.name == "three" else pod for pod in data.pods]
    arrays = cluster_arrays(data.with_(pods=pods))
    state = np.ones(3, dtype=bool), np.array([2, 2])
    free = reachable(arrays, [state], seed=0, work=10**6)
    assert len(free.new) == 4
    limits = RentalLimits(np.array([[4], [4]], dtype=object), [15])
    assert limits.allow(np.array([1, 2]))
    assert not limits.allow(np.array([2, 2]))
    few = reachable(arrays, [state], seed=0, work=10**6, limits=limits)
    assert limits.allow(np.bincount(few.new, minlength=2))


def test_pods_that_wait_are_rented_for_though_that_is_dearer_than_what_runs():
    data = tight().with_(instance_types=[{"name": "large", "family": "f", "capacity": SIZE, "usd_per_hour": 0.6}])
    pods = [pod.with_(count=3) if pod.name == "three" else pod for pod in data.pods]
    usd, plan = found(data.with_(pods=pods, max_evictions=0), [True] * 3, [0])
    assert (usd, plan.order, plan.new) == (3.0, (), ()), "there is room on a and b"
    pods = [pod.with_(count=4) if pod.name == "three" else pod for pod in data.pods]
    usd, plan = found(data.with_(pods=pods, max_evictions=0), [True] * 3, [0])
    assert (usd, plan.order, plan.new) == (3.6, (), (0,))


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_a_plan_is_never_below_the_bound_and_succeeds_in_orders_that_no_search_has_seen(seed: int):
    data = shrunk_cluster(60, seed).data
    arrays = cluster_arrays(data)
    best = exact_consolidation(data, Options(time_limit=0.7, seed=0))
    plan = reachable(arrays, [state_of(arrays, best.solution)], seed=0, work=3 * 10**7)
    assert best.bound is not None
    assert best.bound - 1e-9 <= arrays.usd(plan.bill(arrays)) < arrays.usd(int(arrays.held_price.sum()))
    assert carry_out(arrays, plan, seed=0).succeeds
    again = reachable(arrays, [state_of(arrays, best.solution)], seed=0, work=3 * 10**7)
    assert again.steps == plan.steps


def test_the_compiled_loop_is_the_interpreted_one():
    """With fewer orders of a plan in which pods are lost, and its tie-breaks."""
    arrays, plan = without_c(tight())
    orders = Orders(arrays, 3, 20)
    found = orders.carry_out(plan).pending
    assert 0 < (found.sum(axis=1) > 0).sum() < 20
    assert orders.lost(plan, 20, np.inf) == found.sum() / 20
    assert orders.lost(plan, 20, 1 / 20) == 2 / 20, "it ends with the first pod above the limit"
    assert orders.fails(plan)
    assert found[orders.turn[0]].any(), "the order that told comes first"


def test_the_compiled_scores_are_those_of_the_rules():
    """In floats, as kube-scheduler's are: where a score is a whole number but for the last digits, one less may be."""
    draw = random.Random(0)
    for _ in range(3000):
        cpus, memories = (draw.choice([1, 7, 96_000, draw.randint(1, 10**9)]) for _ in range(2))
        cpu, memory = draw.randint(0, cpus), draw.randint(0, memories)
        taken = [(cpu, cpus), (memory, memories)]
        exact = 100 - 50 * abs(Fraction(cpu, cpus) - Fraction(memory, memories))
        apart = score_node(cpu, cpus, memory, memories) - score_least_allocated(taken) - score_balance(taken)
        assert apart == 0 or (abs(apart) == 1 and abs(exact - round(exact)) < 1e-9)


def directing() -> NodeConsolidation:
    """Where pods of three and two quarters have to go to nodes with three and two free; a node is dear to rent."""
    nodes = [box("a", {"one": 1}), box("b", {"two": 1}), box("c", {"three": 1, "two": 1}, 5, 2.0)]
    return cluster(nodes, {"one": 1, "two": 2, "three": 3})


def test_a_plan_directs_pods_where_kube_scheduler_alone_would_strand_one():
    arrays = cluster_arrays(directing())
    kept = np.array([True, True, False])
    plain = plan_of(arrays, kept, [])
    assert carry_out(arrays, plain, seed=0).orders > 20, "the two comes before the three, and goes to a"
    directed, lost = Director(arrays).direct(plain), Director(arrays).lost(plain)
    assert (dict(directed.open), lost) == ({2: (1, 0)}, 0), "b, which the three does not fit, and then a"
    assert carry_out(arrays, directed, seed=0).orders == 0
    assert carry_out(arrays, replace(directed, open={2: (0, 1)}), seed=0).orders > 20
    assert carry_out(arrays, replace(directed, open={2: (0,)}), seed=0).orders == 100
    usd, plan = found(directing(), [True, True, False], [])
    assert (usd, dict(plan.open)) == (2.0, {2: (1, 0)})
    usd, plan = found(directing().with_(max_evictions=1), [True, True, False], [])
    assert (usd, plan.steps) == (3.0, (0,)), "the one beside the two"


@pytest.mark.parametrize("cloud", ["eks", "table-7"])
def test_a_plan_that_directs_all_pods_succeeds_in_every_order(cloud: str):
    draw, whole = np.random.default_rng(0), 0
    for seed in range(4):
        arrays = cluster_arrays(shrunk_cluster(40, seed, cloud=cloud).data)
        director, orders = Director(arrays), Orders(arrays, seed, 50)
        for _ in range(60):
            kept = draw.random(len(arrays.leaves)) < draw.uniform(0.5, 1.0)
            new = draw.integers(len(arrays.price), size=int(draw.integers(0, 4))).tolist()
            plain = plan_of(arrays, kept, new)
            plan, lost = director.direct(plain), director.lost(plain)
            assert (orders.carry_out(plan).pending.sum(axis=1) == lost).all()
            whole += lost == 0 and bool(plan.order)
    assert whole > 20


def test_pods_that_wait_are_placed_first_and_constraints_hold():
    pods = [
        ConsolidatedPod(name="stays", count=2, demand=sized(1)),
        ConsolidatedPod(name="waits", count=2, demand=sized(1), allowed_nodes=("a",), max_per_node=1, allowed_types=()),
    ]
    data = tight().with_(pods=pods, nodes=tight().nodes[:2])
    arrays = cluster_arrays(data)
    went = carry_out(arrays, plan_of(arrays, np.array([True, True]), []), seed=0)
    assert (went.orders, went.pods) == (100, 1), "one is enough for a, and none may be on b"


def test_the_same_seed_gives_the_same_orders():
    arrays, plan = without_c(tight())
    one, two, other = (carry_out(arrays, plan, seed).pending for seed in (1, 1, 2))
    assert (one == two).all()
    assert (one != other).any()


def amount(text: str) -> float:
    """Read an amount of the synthetic dump: thousandths, MiB, or units."""
    return float(text.removesuffix("Mi").removesuffix("m"))


def request(item: Json) -> Counter[str]:
    found: Counter[str] = Counter(pods=1)
    for container in item["spec"]["containers"]:
        for name, text in container["resources"]["requests"].items():
            found[name] += round(amount(text))
    return found


def broken(items: list[Json], where: dict[tuple[str, str], str], nodes: dict[str, Json]) -> list[str]:
    """Return the rules of a synthetic dump that a placement breaks, from its JSON alone."""
    found, taken = [], {name: Counter[str]() for name in nodes}
    volumes = {item["metadata"]["name"]: item for item in items if item["kind"] == "PersistentVolume"}
    by_app: dict[tuple[str, str], list[tuple[Json, str]]] = {}
    for item in items:
        if item["kind"] != "Pod" or item["status"]["phase"] != "Running":
            continue
        meta, spec = item["metadata"], item["spec"]
        node = where.get((meta["namespace"], meta["name"]), spec["nodeName"])
        if node not in nodes:
            found.append(f"{meta['name']} is on {node}, which is gone")
            continue
        taken[node] += request(item)
        labels = nodes[node]["metadata"]["labels"]
        moved = node != spec["nodeName"]
        owner = (meta.get("ownerReferences") or [{"kind": None}])[0]["kind"]
        if moved and (owner in (None, "DaemonSet") or "karpenter.sh/do-not-disrupt" in meta.get("annotations", {})):
            found.append(f"{meta['name']} was moved")
        if nodes[node]["spec"].get("taints") and not spec.get("tolerations") and owner != "DaemonSet":
            found.append(f"{meta['name']} does not tolerate {node}")
        if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
            found.append(f"{meta['name']} selects other nodes than {node}")
        for mounted in spec.get("volumes", []):
            volume = volumes[mounted["persistentVolumeClaim"]["claimName"].replace("data-", "pv-", 1)]
            (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            if labels[ZONE] not in term["matchExpressions"][0]["values"]:
                found.append(f"{meta['name']} is far from its volume")
        if "app" in meta["labels"]:
            by_app.setdefault((meta["namespace"], meta["labels"]["app"]), []).append((item, node))
    for name, sums in taken.items():
        room = nodes[name]["status"]["allocatable"]
        found += [f"{name} has too little {r}" for r, n in sums.items() if n > amount(room.get(r, "0"))]
    for (_, app), pods in by_app.items():
        on_node, in_zone = Counter(n for _, n in pods), Counter(nodes[n]["metadata"]["labels"][ZONE] for _, n in pods)
        spec = pods[0][0]["spec"]
        if "affinity" in spec and max(on_node.values()) > 1:
            found.append(f"{app} is not apart")
        for rule in spec.get("topologySpreadConstraints", []):
            zones = [in_zone[zone] for zone in ("zone-a", "zone-b")]
            if rule["topologyKey"] == ZONE and max(zones) - min(zones) > rule["maxSkew"]:
                found.append(f"{app} is not spread over zones")
            if rule["topologyKey"] != ZONE and max(on_node.values()) > rule["maxSkew"]:
                found.append(f"{app} is not spread over nodes")
    return found


@pytest.mark.parametrize("seed", few(range(2), 1))
def test_a_plan_breaks_nothing_in_the_dump_and_the_bound_is_below_it(seed: int, tmp_path: Path):
    files = synthetic_dump(seed, nodes=12, pods=150)
    items = json.loads(files["dump.json"])["items"]
    read = reader(tmp_path, items, files["types.csv"].decode()).read
    bound, plan = read("bound"), read("plan")
    nodes = {item["metadata"]["name"]: item for item in items if item["kind"] == "Node"}
    assert broken(items, {}, nodes) == []
    least = exact_consolidation(bound.data, Options(time_limit=0.3, seed=0))
    best = exact_consolidation(plan.data, Options(time_limit=0.3, seed=0))
    assert best.solved
    assert least.bound is None or least.bound <= best.objective + 1e-9
    assert best.objective <= sum(node.usd_per_hour for node in plan.data.nodes)
    kept = {name: nodes[name] for name in best.solution["nodes"]}
    where: dict[tuple[str, str], str] = {}
    left = {name: list(pods) for name, pods in plan.members.items()}

    def settle(name: str, held: dict[str, int]) -> None:
        """Of each entry those stay that are there; others come."""
        for entry, n in held.items():
            some = sorted(left[entry], key=lambda pod: pod.node != name)[:n]
            left[entry] = [pod for pod in left[entry] if pod not in some]
            where.update(((pod.namespace, pod.name), name) for pod in some)

    for name, held in best.solution["nodes"].items():
        staying = {entry: [pod for pod in left[entry] if pod.node == name][:n] for entry, n in held.items()}
        for entry, pods in staying.items():
            left[entry] = [pod for pod in left[entry] if pod not in pods]
            where.update(((pod.namespace, pod.name), name) for pod in pods)
    for name, held in best.solution["nodes"].items():
        here = Counter(
            entry
            for entry, pods in plan.members.items()
            for pod in pods
            if where.get((pod.namespace, pod.name)) == name
        )
        settle(name, {entry: n - here[entry] for entry, n in held.items() if n > here[entry]})
    for i, group in enumerate(best.solution["instances"]):
        offering = plan.offerings[group["type"]]
        pool = next(node for node in offering.pool.nodes)
        new = f"new-{i}"
        labels = dict(pool.labels) | {ZONE: offering.zone, "node.kubernetes.io/instance-type": offering.offer.type}
        room = offering.offer.room
        daemons = [*DAEMONS.values(), PLUGIN[1]] if room["gpu"] else list(DAEMONS.values())
        cpu, memory = (sum(request[r] for request in daemons) for r in (0, 1))
        gives = {"cpu": f"{room['cpu'] - cpu}m", "memory": f"{room['memory'] // 2**20 - memory}Mi"}
        gives["pods"] = str(room["pods"] - len(daemons))
        gives["nvidia.com/gpu"] = str(room["gpu"])
        kept[new] = {
            "metadata": {"labels": labels},
            "spec": {"taints": [vars(taint) for taint in pool.taints]} if pool.taints else {},
            "status": {"allocatable": gives},
        }
        settle(new, group["tasks"])
    daemons = [
        item for item in items if (item["metadata"].get("ownerReferences") or [{}])[0].get("kind") == "DaemonSet"
    ]
    gone = [item for item in daemons if item["spec"]["nodeName"] not in kept]
    there = [item for item in items if item not in gone]
    assert not any(left.values())
    assert broken(there, where, kept) == []
