"""Pods one after another on the node of the highest score, as kube-scheduler does by its resource plugins.

The rules are those of GitHub `kubernetes/kubernetes`, in pkg/scheduler/framework/plugins/noderesources:
`least_allocated.go` at commit `05c351a`, `most_allocated.go` at `046d201`, `balanced_allocation.go` at `02d7708`. Here
every resource counts the same, pods come in the order of the file, and of nodes with the same score the first is taken,
where kube-scheduler takes one at random. Nothing that is in place is moved: a pod that fits nowhere is not placed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt

from instances import Solution
from instances.fields import steps
from instances.kubernetes.placement import NodePlacement, Pod
from instances.method import ANY, method

MOST = 100  # of a score
Score = Callable[[Sequence[tuple[int, int]]], int]
"""The score of a node by what would be taken of each resource that it has, and how much it has."""


@method("heuristic", honours=ANY)
def least_allocated(data: NodePlacement) -> Solution:
    """NodeResourcesFit, LeastAllocated: the node of which the most is left over."""
    return _placed(data, least)


@method("heuristic", honours=ANY)
def most_allocated(data: NodePlacement) -> Solution:
    """NodeResourcesFit, MostAllocated: the node of which the least is left over."""
    return _placed(data, most)


@method("heuristic", honours=ANY)
def balanced_allocation(data: NodePlacement) -> Solution:
    """NodeResourcesBalancedAllocation: the node whose resources are then taken most evenly, by standard deviation."""
    return _placed(data, balanced)


def least(taken: Sequence[tuple[int, int]]) -> int:
    """Return the mean share that is left over, in hundredths; a resource that is exceeded counts 0."""
    return sum((q - min(a, q)) * MOST // q for a, q in taken) // max(1, len(taken))


def most(taken: Sequence[tuple[int, int]]) -> int:
    """Return the mean share that is taken, in hundredths; a resource that is exceeded counts as full."""
    return sum(min(a, q) * MOST // q for a, q in taken) // max(1, len(taken))


def balanced(taken: Sequence[tuple[int, int]]) -> int:
    """Return one less the standard deviation of the shares taken, at most 1 each, in hundredths."""
    fine = 10**12  # parts of 1 in which shares are counted
    shares = [min(a, q) * fine // q for a, q in taken]
    n = max(1, len(shares))
    mean = sum(shares) // n
    return MOST * (fine - isqrt(sum((s - mean) ** 2 for s in shares) // n)) // fine


def _placed(data: NodePlacement, score: Score) -> Solution:
    """The placement by a score."""
    need = {pod.name: [steps(pod.demand[r]) for r in data.resources] for pod in data.pods}
    room = {node.name: [steps(node.capacity[r]) for r in data.resources] for node in data.nodes}
    held = {node.name: dict(node.pods) for node in data.nodes}
    taken = {
        name: [sum(n * need[key][r] for key, n in on_it.items()) for r in range(len(data.resources))]
        for name, on_it in held.items()
    }
    for pod in data.pods:
        for _ in range(pod.count - sum(on_it.get(pod.name, 0) for on_it in held.values())):
            scores: dict[str, int] = {}
            for name, on_it in held.items():
                then = [a + d for a, d in zip(taken[name], need[pod.name], strict=True)]
                fits = all(a <= q for a, q in zip(then, room[name], strict=True))
                if fits and _allowed(data, pod, name, on_it):
                    scores[name] = score([(a, q) for a, q in zip(then, room[name], strict=True) if q])
            if not scores:
                break
            best = max(scores, key=scores.__getitem__)
            held[best][pod.name] = held[best].get(pod.name, 0) + 1
            taken[best] = [a + d for a, d in zip(taken[best], need[pod.name], strict=True)]
    return {"nodes": {name: on_it for name, on_it in held.items() if on_it}}


def _allowed(data: NodePlacement, pod: Pod, node: str, on_it: dict[str, int]) -> bool:
    """Whether one more of these pods may be on a node that holds `on_it`."""
    if pod.allowed_nodes is not None and node not in pod.allowed_nodes:
        return False
    if pod.max_per_node is not None and on_it.get(pod.name, 0) >= pod.max_per_node:
        return False
    groups = (group for group in data.spread if pod.name in group.tasks)
    return all(sum(on_it.get(name, 0) for name in group.tasks) < group.max_per_instance for group in groups)
