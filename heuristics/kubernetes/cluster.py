"""A cluster that a rule changes: nodes with what is on them, pods that wait, and kube-scheduler, which places them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heuristics.kubernetes.scores import Score, balanced, least, most
from instances.arrays import IntArray
from instances.fields import steps
from instances.kubernetes import ClusterArrays, NodeConsolidation, cluster_arrays
from instances.options import Solution
from instances.result import Answer

SCORES: Mapping[str, Score] = {"least": least, "most": most}


@dataclass
class RuledNode:
    """A node: its place among those of the data, or `None` for a new one, its type, price and pods, what is free of its
    constraints, and what of its resources is there and `taken`, of which shares are shares."""

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
    """What a rule did: pods evicted, a pod as often as it was, and of these those that fitted nowhere and waited."""

    evictions: int = 0
    pending_again: int = 0
    drained: int = 0
    rented: int = 0
    rounds: int = 0


class Cluster:
    """The nodes and the pods that wait, by their entries in the data; constraints are resources, as in the arrays.

    Whether a pod fits is told by the arrays, whose amounts are made smaller as far as that allows; shares are those of
    the true amounts: what a pod `asks` for, and the `sizes` of types.

    `scores`: by which kube-scheduler places pods, `least` or `most` allocated, beside that of balance; pods that wait
    come in random order, and of nodes with the same score one is taken at random.
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
        """What Karpenter counts for the eviction of all pods of a node, none of them less than 0."""
        return sum(max(0.0, self.data.pods[e].eviction_cost) for e in node.pods)

    def by_size(self, pods: Iterable[int]) -> list[int]:
        """Pods by CPU, then by memory, the largest first."""
        return sorted(pods, key=lambda e: (-int(self.need[e][self.cpu]), -int(self.need[e][self.memory])))

    def rent(self, kind: int) -> RuledNode:
        """A new node."""
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
        """Take nodes away; their pods wait."""
        for node in nodes:
            self.nodes.remove(node)
            self.count.drained += 1
            self.count.evictions += len(node.pods)
            self.waiting += node.pods
            if node.origin is None and node.kind is not None and self.arrays.most_new[node.kind] >= 0:
                self.left[node.kind] += 1

    def schedule(self) -> None:
        """kube-scheduler: the pods that wait, one after another, each on the node of the highest score that it fits."""
        pods, self.waiting = self.waiting, []
        self.draw.shuffle(pods)
        for e in pods:
            node = self._chosen(e)
            if node is None:
                self.waiting.append(e)
            else:
                self.put(e, node)

    def put(self, e: int, node: RuledNode) -> None:
        """Put a pod on a node."""
        node.pods.append(e)
        node.free = node.free - self.need[e]
        node.taken = node.taken + self.asks[e]

    def fitting(self, need: IntArray) -> list[RuledNode]:
        """The nodes on which a pod fits."""
        if not self.nodes:
            return []
        fits = (np.array([node.free for node in self.nodes]) >= need).all(axis=1)
        return [self.nodes[m] for m in np.flatnonzero(fits)]

    def _chosen(self, e: int) -> RuledNode | None:
        asks, best, found = self.asks[e], -1, list[RuledNode]()
        for node in self.fitting(self.need[e]):
            taken = [(int(node.taken[r] + asks[r]), int(node.size[r])) for r in (self.cpu, self.memory) if node.size[r]]
            score = self.score(taken) + balanced(taken)
            if score > best:
                best, found = score, []
            if score == best:
                found.append(node)
        return self.draw.choice(found) if found else None

    def answer(self, commit: str, left_out: Sequence[str], **more: Any) -> Answer:
        """What the rule has come to; pods that still wait are nowhere, which breaks a constraint."""
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
    """Amounts of the resources."""
    return np.array([steps(amounts[r]) for r in data.resources], dtype=np.int64)


def main_resources(data: NodeConsolidation) -> tuple[int, int]:
    """The places of CPU and memory among the resources, by their names, or else the first and the last one."""
    cpu = next((r for r, name in enumerate(data.resources) if name.startswith("cpu")), 0)
    names = ("memory", "ram", "mem")
    memory = next((r for r, name in enumerate(data.resources) if name.startswith(names)), len(data.resources) - 1)
    return cpu, memory
