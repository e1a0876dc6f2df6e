"""Pods on given nodes: random small clusters that are nearly full, with the fewest moves by depth-first search."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import heuristics.kubernetes as heuristics
from instances import InputError
from instances.kubernetes import NodePlacement
from models.kubernetes import exact, literal
from tests.attacks.families import Family, names


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


SCORES = {name: getattr(heuristics, name) for name in ("least_allocated", "most_allocated", "balanced_allocation")}
FAMILIES = (Family("node-placement", placement, fewest_moves, {"exact": exact}, {"literal": literal}, SCORES),)
