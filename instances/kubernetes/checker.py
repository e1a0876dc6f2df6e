"""Check solutions of `node-placement` independently: capacity, constraints and moves, from the data alone."""

from __future__ import annotations

from collections.abc import Mapping

from instances.errors import MalformedSolution
from instances.eva.checker import see_tasks
from instances.fields import Verdict, steps
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
