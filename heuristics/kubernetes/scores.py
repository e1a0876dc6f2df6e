"""kube-scheduler's resource plugins: pods one by one on the node of the highest score.

The source is GitHub `kubernetes/kubernetes`, in pkg/scheduler/framework/plugins/noderesources: `least_allocated.go` at
commit `05c351a`, `most_allocated.go` at `046d201`, `balanced_allocation.go` at `02d7708`. Here every resource has equal
weight, and pods come in file order. In a tie the first node is taken; kube-scheduler takes a random one. Placed pods
are not moved: a pod that fits nowhere is not placed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt

from instances import Solution
from instances.fields import steps
from instances.kubernetes.placement import NodePlacement, Pod
from instances.method import ANY, method

MAX_SCORE = 100  # as in kube-scheduler
Score = Callable[[Sequence[tuple[int, int]]], int]
"""Return the score of a node from the amount used and the capacity of each resource that it has."""


@method("heuristic", honours=ANY)
def least_allocated(data: NodePlacement) -> Solution:
    """Place each pod on the node that then has the most free resources: NodeResourcesFit, LeastAllocated."""
    return _place(data, score_least_allocated)


@method("heuristic", honours=ANY)
def most_allocated(data: NodePlacement) -> Solution:
    """Place each pod on the node that then has the fewest free resources: NodeResourcesFit, MostAllocated."""
    return _place(data, score_most_allocated)


@method("heuristic", honours=ANY)
def balanced_allocation(data: NodePlacement) -> Solution:
    """Place each pod on the node with the smallest standard deviation of use: NodeResourcesBalancedAllocation."""
    return _place(data, score_balance)


def score_least_allocated(taken: Sequence[tuple[int, int]]) -> int:
    """Return the mean free fraction, in hundredths; a resource that is exceeded counts 0."""
    return sum((q - min(a, q)) * MAX_SCORE // q for a, q in taken) // max(1, len(taken))


def score_most_allocated(taken: Sequence[tuple[int, int]]) -> int:
    """Return the mean used fraction, in hundredths; a resource that is exceeded counts as full."""
    return sum(min(a, q) * MAX_SCORE // q for a, q in taken) // max(1, len(taken))


def score_balance(taken: Sequence[tuple[int, int]]) -> int:
    """Return 1 minus the standard deviation of the used fractions, at most 1 each, in hundredths."""
    fine = 10**12  # units of 1 in which fractions are counted
    shares = [min(a, q) * fine // q for a, q in taken]
    n = max(1, len(shares))
    mean = sum(shares) // n
    return MAX_SCORE * (fine - isqrt(sum((s - mean) ** 2 for s in shares) // n)) // fine


def _place(data: NodePlacement, score: Score) -> Solution:
    """Return the placement by a score."""
    need = {pod.name: [steps(pod.demand[r]) for r in data.resources] for pod in data.pods}
    room = {node.name: [steps(node.capacity[r]) for r in data.resources] for node in data.nodes}
    held = {node.name: dict(node.pods) for node in data.nodes}
    taken = {
        name: [sum(n * need[key][r] for key, n in counts.items()) for r in range(len(data.resources))]
        for name, counts in held.items()
    }
    for pod in data.pods:
        for _ in range(pod.count - sum(counts.get(pod.name, 0) for counts in held.values())):
            scores: dict[str, int] = {}
            for name, counts in held.items():
                then = [a + d for a, d in zip(taken[name], need[pod.name], strict=True)]
                fits = all(a <= q for a, q in zip(then, room[name], strict=True))
                if fits and _is_allowed(data, pod, name, counts):
                    scores[name] = score([(a, q) for a, q in zip(then, room[name], strict=True) if q])
            if not scores:
                break
            best = max(scores, key=scores.__getitem__)
            held[best][pod.name] = held[best].get(pod.name, 0) + 1
            taken[best] = [a + d for a, d in zip(taken[best], need[pod.name], strict=True)]
    return {"nodes": {name: counts for name, counts in held.items() if counts}}


def _is_allowed(data: NodePlacement, pod: Pod, node: str, counts: dict[str, int]) -> bool:
    """Return whether one more of these pods may be on a node that holds `counts`."""
    if pod.allowed_nodes is not None and node not in pod.allowed_nodes:
        return False
    if pod.max_per_node is not None and counts.get(pod.name, 0) >= pod.max_per_node:
        return False
    groups = (group for group in data.spread if pod.name in group.tasks)
    return all(sum(counts.get(name, 0) for name in group.tasks) < group.max_per_instance for group in groups)
