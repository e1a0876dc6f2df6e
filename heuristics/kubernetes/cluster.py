"""The cluster that a rule changes: nodes with their pods, pending pods, and kube-scheduler, which places pods.

kube-scheduler alone is the simplest rule: pending pods are placed on free nodes, and no node is rented or removed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heuristics.kubernetes.scores import Score, score_balance, score_least_allocated, score_most_allocated
from instances.arrays import IntArray
from instances.fields import steps
from instances.kubernetes import ClusterArrays, NodeConsolidation, cluster_arrays
from instances.method import SEEDED, method
from instances.options import Options, Solution
from instances.result import Answer

SCORES: Mapping[str, Score] = {"least": score_least_allocated, "most": score_most_allocated}
COMMIT = "kubernetes/kubernetes@05c351a, 046d201 and 02d7708"
LEFT_OUT = ("preemption", "default spreading by owner", "scores of images, taints and affinity", "priorities")
MAX_ROUNDS = 10  # times the number of nodes, plus 100; then a rule stops, because moves may cycle


@dataclass
class RuledNode:
    """A node.

    - `name`: its name; new nodes have one of their own.
    - `origin`: its index in the data, or `None` for a new node.
    - `kind`: its type, or `None` if unknown.
    - `price`: its price, in the units of the arrays.
    - `pods`: its pods, as entries of the data.
    - `free`: free amounts of the resources of the arrays, which include constraints.
    - `size`, `taken`: total and used amounts of the resources, from which fractions are computed.
    - `leaves`: whether it may be removed.
    """

    name: str
    origin: int | None
    kind: int | None
    price: int
    pods: list[int]
    free: IntArray
    size: IntArray
    taken: IntArray
    leaves: bool = True


@dataclass
class Count:
    """The actions of a rule.

    - `evictions`: number of evictions; a pod counts once per eviction.
    - `pending_again`: number of evicted pods that fitted nowhere.
    - `drained`, `rented`: numbers of nodes.
    - `rounds`: number of rounds.
    """

    evictions: int = 0
    pending_again: int = 0
    drained: int = 0
    rented: int = 0
    rounds: int = 0


class Cluster:
    """The nodes and the pending pods, as entries of the data.

    The arrays determine whether a pod fits; constraints are resources there, and amounts are scaled down as far as
    possible. Fractions use the true amounts: `asks` of a pod, and `sizes` of a type.

    - `scores`: kube-scheduler's score, `least` or `most` allocated, which is added to the balance score. Pending pods
      come in random order, and ties between nodes are random.
    """

    def __init__(self, data: NodeConsolidation, seed: int, scores: str) -> None:
        self.data, self.draw, self.score = data, random.Random(seed), SCORES[scores]
        self.arrays: ClusterArrays = cluster_arrays(data)
        self.count = Count()
        a = self.arrays
        class_of = {entry: c for c, members in enumerate(a.members) for entry in members}
        self.need = [a.need[class_of[e]] for e in range(len(data.pods))]
        self.asks = [_amounts(data, pod.demand) for pod in data.pods]
        self.sizes = [_amounts(data, kind.capacity) for kind in data.instance_types]
        self.cpu, self.memory = main_resources(data)
        kinds = {kind.name: k for k, kind in enumerate(data.instance_types)}
        place = {pod.name: e for e, pod in enumerate(data.pods)}
        self.nodes: list[RuledNode] = []
        waiting = [pod.count for pod in data.pods]
        for m, node in enumerate(data.nodes):
            pods = [place[name] for name, n in node.pods.items() for _ in range(n)]
            for e in pods:
                waiting[e] -= 1
            kind = kinds.get(node.type or "")
            price = int(a.held_price[m])
            size = _amounts(data, node.capacity)
            taken = sum((self.asks[e] for e in pods), np.zeros_like(size))
            free = a.free[m].copy()
            self.nodes.append(RuledNode(node.name, m, kind, price, pods, free, size, taken, bool(a.leaves[m])))
        self.waiting = [e for e, n in enumerate(waiting) for _ in range(n)]
        self.left = a.most_new.copy()

    def eviction_cost(self, node: RuledNode) -> float:
        """Return Karpenter's cost of evicting all pods of a node; negative costs of pods count 0."""
        return sum(max(0.0, self.data.pods[e].eviction_cost) for e in node.pods)

    def sort_by_size(self, pods: Iterable[int]) -> list[int]:
        """Return pods by decreasing CPU, then by decreasing memory."""
        return sorted(pods, key=lambda e: (-int(self.need[e][self.cpu]), -int(self.need[e][self.memory])))

    def rent(self, kind: int) -> RuledNode:
        """Add a new node."""
        a = self.arrays
        self.count.rented += 1
        size, free = self.sizes[kind], a.capacity[kind].copy()
        name = f"~{self.count.rented:06d}"
        node = RuledNode(name, None, kind, int(a.price[kind]), [], free, size, np.zeros_like(size))
        self.nodes.append(node)
        if self.left[kind] > 0:
            self.left[kind] -= 1
        return node

    def drain(self, nodes: Sequence[RuledNode]) -> None:
        """Remove nodes; their pods become pending."""
        for node in nodes:
            self.nodes.remove(node)
            self.count.drained += 1
            self.count.evictions += len(node.pods)
            self.waiting += node.pods
            if node.origin is None and node.kind is not None and self.arrays.most_new[node.kind] >= 0:
                self.left[node.kind] += 1

    def schedule(self) -> None:
        """Run kube-scheduler: place the pending pods one by one, each on the fitting node of the highest score."""
        pods, self.waiting = self.waiting, []
        self.draw.shuffle(pods)
        for e in pods:
            node = self._choose_node(e)
            if node is None:
                self.waiting.append(e)
            else:
                self.put(e, node)

    def put(self, e: int, node: RuledNode) -> None:
        """Put a pod on a node."""
        node.pods.append(e)
        node.free = node.free - self.need[e]
        node.taken = node.taken + self.asks[e]

    def reschedule(self) -> None:
        """Run kube-scheduler for evicted pods, and count those that fit nowhere."""
        self.schedule()
        self.count.pending_again += len(self.waiting)

    def _choose_node(self, e: int) -> RuledNode | None:
        asks, best, ties = self.asks[e], -1, list[RuledNode]()
        if not self.nodes:
            return None
        fits = (np.array([node.free for node in self.nodes]) >= self.need[e]).all(axis=1)
        for node in (self.nodes[m] for m in np.flatnonzero(fits)):
            taken = [(int(node.taken[r] + asks[r]), int(node.size[r])) for r in (self.cpu, self.memory) if node.size[r]]
            score = self.score(taken) + score_balance(taken)
            if score > best:
                best, ties = score, []
            if score == best:
                ties.append(node)
        return self.draw.choice(ties) if ties else None

    def run(self, act: Callable[[], bool], commit: str, left_out: Sequence[str]) -> Answer:
        """Apply a rule until it does not act any more, and return the final cluster."""
        max_rounds = MAX_ROUNDS * len(self.nodes) + 100
        while self.count.rounds < max_rounds and act():
            self.count.rounds += 1
        return self.answer(commit, left_out, ended=self.count.rounds < max_rounds)

    def answer(self, commit: str, left_out: Sequence[str], **more: Any) -> Answer:
        """Return the final cluster as an answer; pods that are still pending violate a constraint."""
        names = [pod.name for pod in self.data.pods]
        kept: dict[str, dict[str, int]] = {}
        new: list[dict[str, Any]] = []
        for node in self.nodes:
            held: dict[str, int] = {}
            for e in node.pods:
                held[names[e]] = held.get(names[e], 0) + 1
            if node.origin is not None:
                kept[node.name] = held
            else:
                assert node.kind is not None
                new.append({"type": self.data.instance_types[node.kind].name, "count": 1, "tasks": held})
        solution: Solution = {"nodes": kept, "instances": new}
        info = {**vars(self.count), "waiting": len(self.waiting), "commit": commit, "left_out": list(left_out), **more}
        return Answer(solution, info=info)


def _amounts(data: NodeConsolidation, amounts: Mapping[str, float]) -> IntArray:
    """Return amounts of the resources as an array."""
    return np.array([steps(amounts[r]) for r in data.resources], dtype=np.int64)


def main_resources(data: NodeConsolidation) -> tuple[int, int]:
    """Return the indices of CPU and memory among the resources by name, otherwise the first and the last index."""
    cpu = next((r for r, name in enumerate(data.resources) if name.startswith("cpu")), 0)
    names = ("memory", "ram", "mem")
    memory = next((r for r, name in enumerate(data.resources) if name.startswith(names)), len(data.resources) - 1)
    return cpu, memory


@method("heuristic", honours=SEEDED)
def kube_least(data: NodeConsolidation, options: Options) -> Answer:
    """Place each pod on the node with the most free resources, and with balanced use of resources."""
    return _schedule(data, options.seed, "least")


@method("heuristic", honours=SEEDED)
def kube_most(data: NodeConsolidation, options: Options) -> Answer:
    """Place each pod on the node with the fewest free resources, and with balanced use of resources."""
    return _schedule(data, options.seed, "most")


def _schedule(data: NodeConsolidation, seed: int, scores: str) -> Answer:
    cluster = Cluster(data, seed, scores)
    cluster.schedule()
    return cluster.answer(COMMIT, LEFT_OUT)
