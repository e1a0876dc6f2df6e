"""Draw small clusters for placement and consolidation, with their optima by brute force."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from functools import partial
from typing import Any

from instances import InputError
from instances.kubernetes import NodeConsolidation, NodePlacement
from models.kubernetes import exact, exact_consolidation, literal, literal_consolidation
from tests.attacks.families import Family, names
from tests.consolidation_cases import least_cost, small_cluster
from tests.rows import heuristics_of


def placement(rng: random.Random) -> NodePlacement | None:
    """Nodes with nothing of some resources, pods for some of the nodes, few to a node, and more there than fits."""
    resources = names(rng, rng.choice([1, 1, 2, 2, 5]))
    unit = rng.choice([1, 1, 0.1, 10.0**6])
    most, large = rng.choice([(4, 2), (5, 3), (9, 5), (9, 4)])

    def amounts(least: int, greatest: int, nothing: float) -> dict[str, float]:
        return {r: 0.0 if rng.random() < nothing else rng.randint(least, greatest) * unit for r in resources}

    rooms = {name: amounts(most - 1, most, 0.1) for name in names(rng, rng.randint(1, 4))}
    movable, pods = rng.random() < 0.8, list[dict[str, Any]]()
    held: dict[str, dict[str, int]] = {name: {} for name in rooms}
    for name in names(rng, rng.randint(2, 4)):
        pod: dict[str, Any] = {"name": name, "count": rng.choice([1, 1, 2, 3]), "demand": amounts(1, large, 0.3)}
        if rng.random() < 0.3:
            pod["allowed_nodes"] = rng.sample(list(rooms), rng.randint(1, len(rooms)))
        if rng.random() < 0.3:
            pod["max_per_node"] = rng.randint(1, 2)
        for _ in range(rng.randint(0, pod["count"]) if movable else rng.choice([0, 0, 1])):
            on_it = held[rng.choice(list(rooms))]
            on_it[name] = on_it.get(name, 0) + 1
        pods.append(pod)
    spread = []
    if len(pods) > 1 and rng.random() < 0.3:
        tasks = [pod["name"] for pod in rng.sample(pods, 2)]
        spread.append({"tasks": tasks, "max_per_instance": rng.randint(1, 2)})
    nodes = [{"name": name, "capacity": room, "pods": held[name]} for name, room in rooms.items()]
    try:
        return NodePlacement.model_validate(
            {"resources": resources, "nodes": nodes, "pods": pods, "spread": spread, "movable": movable}
        )
    except InputError:
        return None


def fewest_moves(data: NodePlacement) -> Fraction | None:
    """Each pod on each node in turn, those of an entry on none before that of the last one."""
    left = {n.name: {r: Fraction(str(n.capacity[r])) for r in data.resources} for n in data.nodes}
    held: dict[str, dict[str, int]] = {n.name: dict.fromkeys((p.name for p in data.pods), 0) for n in data.nodes}
    each = [(pod, {r: Fraction(str(pod.demand[r])) for r in data.resources}) for pod in data.pods]
    turns = [(pod, asked, i == 0) for pod, asked in each for i in range(pod.count)]
    best: int | None = None

    def fits(node: str, pod: Any, asked: dict[str, Fraction]) -> bool:
        groups = [g for g in data.spread if pod.name in g.tasks]
        return (
            (pod.allowed_nodes is None or node in pod.allowed_nodes)
            and (pod.max_per_node is None or held[node][pod.name] < pod.max_per_node)
            and all(sum(held[node][name] for name in g.tasks) < g.max_per_instance for g in groups)
            and all(asked[r] <= left[node][r] for r in data.resources)
        )

    def go(turn: int, first: int) -> None:
        nonlocal best
        if turn == len(turns):
            gone = [n - held[node.name][name] for node in data.nodes for name, n in node.pods.items()]
            moves = sum(max(0, n) for n in gone)
            if (data.movable or moves == 0) and (best is None or moves < best):
                best = moves
            return
        pod, asked, anew = turns[turn]
        for k in range(0 if anew else first, len(data.nodes)):
            node = data.nodes[k].name
            if fits(node, pod, asked):
                held[node][pod.name] += 1
                for r in data.resources:
                    left[node][r] -= asked[r]
                go(turn + 1, k)
                held[node][pod.name] -= 1
                for r in data.resources:
                    left[node][r] += asked[r]

    go(0, 0)
    return None if best is None else Fraction(best)


def consolidation(rng: random.Random, ends: bool = False) -> NodeConsolidation:
    """Draw a cluster with all constraints; nodes may be overfull or free of cost, and pods may request nothing."""
    return small_cluster(rng.randrange(10**9), ends)


def consolidation_optimum(data: NodeConsolidation) -> Fraction | None:
    """Return the minimum cost of all plans; the project's checker computes the cost of each."""
    best = least_cost(data)
    return None if best is None else Fraction(str(best))


def billions(rng: random.Random) -> NodeConsolidation | None:
    """One class of up to billions of pods on up to three nodes, and one type to rent."""
    unit, step = 10 ** rng.choice([2, 7, 8, 9]), rng.choice([1e-9, 1e-6])
    nodes, names = list[dict[str, Any]](), ("a", "b", "c")[: rng.randint(1, 3)]
    for name in names:
        room = rng.randint(1, 3)
        held = rng.randint(0, room) * unit // rng.choice([1, 1, 3])
        node = {"name": name, "capacity": {"cpu": room * unit * step}, "usd_per_hour": rng.randint(0, 9)}
        nodes.append(node | {"pods": {"p": held} if held else {}, "keep": rng.random() < 0.2})
    here = sum(node["pods"].get("p", 0) for node in nodes)
    pod = {"name": "p", "count": here + rng.choice([0, 0, unit // 2]), "demand": {"cpu": step}}
    kind = {"name": "t", "family": "f", "capacity": {"cpu": rng.randint(1, 4) * unit * step}}
    kind |= {"usd_per_hour": rng.randint(1, 5), "max_new": rng.choice([None, None, 1])}
    data = {"resources": ["cpu"], "nodes": nodes, "instance_types": [kind], "pods": [pod] if pod["count"] else []}
    data |= {"moves": rng.choice(["nodes", "pods"]), "eviction_usd_per_hour": rng.choice([0, 0, 1e-9, 1e-8])}
    try:
        return NodeConsolidation.model_validate(data)
    except InputError:
        return None


def billions_optimum(data: NodeConsolidation) -> Fraction | None:
    """Each set of nodes that is kept, with as few rented ones as hold what has no room."""
    asked = Fraction(str(data.pods[0].demand["cpu"])) if data.pods else Fraction(1, 10**9)
    count = data.pods[0].count if data.pods else 0
    (kind,) = data.instance_types
    each = Fraction(str(kind.capacity["cpu"])) // asked
    found = list[Fraction]()
    for kept in itertools.product((False, True), repeat=len(data.nodes)):
        if any(node.keep and not is_kept for node, is_kept in zip(data.nodes, kept, strict=True)):
            continue
        nodes = [node for node, is_kept in zip(data.nodes, kept, strict=True) if is_kept]
        room = sum(Fraction(str(node.capacity["cpu"])) // asked for node in nodes)
        rented = -(-max(0, count - room) // each)
        if kind.max_new is not None and rented > kind.max_new:
            continue
        gone = sum(sum(n.pods.values()) for n, is_kept in zip(data.nodes, kept, strict=True) if not is_kept)
        usd = sum(Fraction(str(node.usd_per_hour)) for node in nodes) + rented * Fraction(str(kind.usd_per_hour))
        found.append(usd + gone * Fraction(str(data.eviction_usd_per_hour)))
    return min(found, default=None)


SCORES = heuristics_of("node-placement")
CONSOLIDATION, LITERAL_CONSOLIDATION = {"exact": exact_consolidation}, {"literal": literal_consolidation}
FAMILIES = (
    Family("node-placement", placement, fewest_moves, {"exact": exact}, {"literal": literal}, SCORES),
    Family("node-consolidation", consolidation, consolidation_optimum, CONSOLIDATION, LITERAL_CONSOLIDATION),
    Family("node-consolidation ends", partial(consolidation, ends=True), consolidation_optimum, CONSOLIDATION),
    Family("node-consolidation billions", billions, billions_optimum, CONSOLIDATION),
)
