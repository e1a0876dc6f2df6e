"""Check solutions of `node-placement` and `node-consolidation` independently, from the data alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from instances.errors import MalformedSolution
from instances.eva.checker import exact, groups_of, see_tasks
from instances.fields import Verdict, steps
from instances.kubernetes.node_consolidation import NodeConsolidation, RentedType, RunningNode
from instances.kubernetes.placement import ClusterNode, NodePlacement
from instances.options import Solution


def check_placement(data: NodePlacement, solution: Solution) -> Verdict:
    """Check `{"nodes": {node: {pod: n}}}`: every pod is on one node, and no node exceeds its capacity.

    The objective is the number of pods that have left their node. Raises MalformedSolution.
    """
    placed = solution.get("nodes") if isinstance(solution, Mapping) else None
    if not isinstance(placed, Mapping) or set(solution) != {"nodes"}:
        raise MalformedSolution("must be an object with the object `nodes` alone")
    pods = {pod.name: pod for pod in data.pods}
    for name, on_it in placed.items():
        see_tasks(on_it)
        if name not in {node.name for node in data.nodes}:
            raise MalformedSolution(f"unknown node {name!r:.80}")
        if unknown := [key for key in on_it if key not in pods]:
            raise MalformedSolution(f"unknown pod {unknown[0]!r:.80}")
    violations = [v for node in data.nodes for v in _check_node(data, node, placed.get(node.name, {}))]
    for pod in data.pods:
        number = sum(on_it.get(pod.name, 0) for on_it in placed.values())
        if number != pod.count:
            violations.append(f"pod {pod.name} is placed {number} times, not {pod.count}")
    moved = sum(
        max(0, n - placed.get(node.name, {}).get(name, 0)) for node in data.nodes for name, n in node.pods.items()
    )
    if moved and not data.movable:
        violations.append(f"{moved} pods are moved, and none may be")
    return Verdict(float(moved), tuple(violations))


def _check_node(data: NodePlacement, node: ClusterNode, on_it: Mapping[str, int]) -> list[str]:
    """Return the constraints that the pods on a node violate."""
    found = []
    pods = [(pod, on_it[pod.name]) for pod in data.pods if on_it.get(pod.name)]
    for r in data.resources:
        if (taken := sum(n * steps(pod.demand[r]) for pod, n in pods)) > steps(node.capacity[r]):
            found.append(f"node {node.name} holds {taken} steps of {r}, at most {steps(node.capacity[r])}")
    for pod, n in pods:
        if pod.allowed_nodes is not None and node.name not in pod.allowed_nodes:
            found.append(f"pod {pod.name} is on node {node.name}, where it may not be")
        if pod.max_per_node is not None and n > pod.max_per_node:
            found.append(f"node {node.name} holds {n} pods {pod.name}, at most {pod.max_per_node}")
    for group in data.spread:
        if (together := sum(on_it.get(name, 0) for name in group.tasks)) > group.max_per_instance:
            found.append(
                f"node {node.name} holds {together} pods of {group.tasks[0]}, at most {group.max_per_instance}"
            )
    return found


Held = Mapping[str, int]


def check_consolidation(data: NodeConsolidation, solution: Solution) -> Verdict:
    """Check `{"nodes": {node: {pod: n}}, "instances": [{"type": name, "count": n, "tasks": {pod: k}}]}`.

    `nodes` are the kept nodes with the pods on them after the plan; `instances` are new nodes. All pods must be placed.
    The objective is the price of all nodes and of the evictions, which are pods that have left their node. Raises
    MalformedSolution.
    """
    if not isinstance(solution, Mapping) or set(solution) != {"nodes", "instances"}:
        raise MalformedSolution("must be an object with `nodes` and `instances` alone")
    kept, groups = solution["nodes"], groups_of(solution)
    if not isinstance(kept, Mapping):
        raise MalformedSolution("`nodes` must be an object")
    nodes, kinds = {node.name: node for node in data.nodes}, {kind.name: kind for kind in data.instance_types}
    for name, held in kept.items():
        see_tasks(held)
        if name not in nodes:
            raise MalformedSolution(f"unknown node {name!r:.80}")
    for group in groups:
        if group["type"] not in kinds:
            raise MalformedSolution(f"unknown instance type {group['type']!r:.80}")
    pods = {pod.name: pod for pod in data.pods}
    if unknown := [key for held in (*kept.values(), *(g["tasks"] for g in groups)) for key in held if key not in pods]:
        raise MalformedSolution(f"unknown pod {unknown[0]!r:.80}")
    found = [
        f"node {node.name} is given up, and must be kept"
        for node in data.nodes
        if node.name not in kept and data.is_kept(node)
    ]
    placed, rented, bill = dict.fromkeys(pods, 0), dict.fromkeys(kinds, 0), Fraction(0)
    for name, held in kept.items():
        found += _find_violations(data, nodes[name], held)
        bill += exact(nodes[name].usd_per_hour or 0.0)
        for key, n in held.items():
            placed[key] += n
    for group in groups:
        kind = kinds[group["type"]]
        found += _check_new_node(data, kind, group["tasks"])
        bill += group["count"] * exact(kind.usd_per_hour)
        rented[kind.name] += group["count"]
        for key, n in group["tasks"].items():
            placed[key] += group["count"] * n
    found += [
        f"pod {p.name} is placed {placed[p.name]} times, not {p.count}" for p in data.pods if placed[p.name] != p.count
    ]
    found += [
        f"{rented[kind.name]} new nodes of {kind.name}, at most {kind.max_new}"
        for kind in data.instance_types
        if kind.max_new is not None and rented[kind.name] > kind.max_new
    ]
    evictions = sum(_count_evicted(node, kept.get(node.name, {})) for node in data.nodes)
    if data.max_evictions is not None and evictions > data.max_evictions:
        found.append(f"{evictions} pods are evicted, at most {data.max_evictions}")
    return Verdict(float(bill + evictions * exact(data.eviction_usd_per_hour)), tuple(found))


def _count_evicted(node: RunningNode, held: Held) -> int:
    return sum(max(0, n - held.get(key, 0)) for key, n in node.pods.items())


def _find_violations(data: NodeConsolidation, node: RunningNode, held: Held) -> list[str]:
    """Return the constraints that the pods on a kept node violate."""
    found, was = [], node.pods
    if data.moves == "nodes" and _count_evicted(node, held):
        found.append(f"node {node.name} is kept, and not all of its pods stay")
    for pod in data.pods:
        n, before = held.get(pod.name, 0), was.get(pod.name, 0)
        if pod.pinned and n < before:
            found.append(f"pod {pod.name} is pinned to node {node.name}, and moved")
        may_come = not node.cordoned and (pod.allowed_nodes is None or node.name in pod.allowed_nodes)
        if n > before and not may_come:
            found.append(f"pod {pod.name} comes to node {node.name}, where it may not be")
    room = {
        r: max(steps(node.capacity[r]), sum(was.get(p.name, 0) * steps(p.demand[r]) for p in data.pods))
        for r in data.resources
    }
    return found + _overfull(data, f"node {node.name}", room, held, was)


def _check_new_node(data: NodeConsolidation, kind: RentedType, held: Held) -> list[str]:
    """Return the constraints that the pods on a new node violate."""
    found = [
        f"pod {pod.name} is on a new {kind.name}, where it may not be"
        for pod in data.pods
        if held.get(pod.name) and pod.allowed_types is not None and kind.name not in pod.allowed_types
    ]
    room = {r: steps(kind.capacity[r]) for r in data.resources}
    return found + _overfull(data, f"a new {kind.name}", room, held, {})


def _overfull(data: NodeConsolidation, where: str, room: Mapping[str, int], held: Held, was: Held) -> list[str]:
    """Return the resources and groups of pods that exceed both their limit and their amount before the plan."""
    found = []
    for r in data.resources:
        if (taken := sum(held.get(p.name, 0) * steps(p.demand[r]) for p in data.pods)) > room[r]:
            found.append(f"{where} holds {taken} steps of {r}, at most {room[r]}")
    alone = [((p.name,), p.max_per_node) for p in data.pods if p.max_per_node is not None]
    for names, most in (*alone, *((group.tasks, group.max_per_instance) for group in data.spread)):
        together, before = (sum(on_it.get(name, 0) for name in names) for on_it in (held, was))
        if together > max(most, before):
            found.append(f"{where} holds {together} pods of {names[0]}, at most {max(most, before)}")
    return found
