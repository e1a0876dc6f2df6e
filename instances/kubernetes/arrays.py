"""A `node-placement` instance as whole numbers in arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import IntArray
from instances.eva.arrays import PackingArrays, packing_arrays
from instances.kubernetes.placement import NodePlacement
from instances.options import Solution


@dataclass(frozen=True)
class PlacementArrays:
    """Nodes M, classes of pods alike N, resources R, to which allowed nodes and spreading add some of their own.

    `packing`: nodes as types and pods as tasks. `now` (M, N): pods of each class that are on a node. `count` (N,): all
    of them. `members` (N): the pod entries of a class.
    """

    data: NodePlacement
    packing: PackingArrays
    now: IntArray

    @classmethod
    def of(cls, data: NodePlacement) -> PlacementArrays:
        """The arrays of `data`, which has pods."""
        packing = packing_arrays(data.packing())
        now = np.array([[node.pods.get(pod.name, 0) for pod in data.pods] for node in data.nodes], dtype=np.int64)
        return cls(data, packing, np.stack([now[:, list(some)].sum(axis=1) for some in packing.members], axis=1))

    @property
    def room(self) -> IntArray:
        """What each node has (M, R)."""
        return self.packing.capacity

    @property
    def need(self) -> IntArray:
        """What a pod of each class takes (N, R)."""
        return np.asarray(self.packing.demand[0])

    @property
    def count(self) -> IntArray:
        """Pods of each class (N,)."""
        return self.packing.count

    def solution(self, placed: IntArray) -> Solution:
        """Which pods are where: of a class those that are in place stay, and others take what is left."""
        data = self.data
        on_node: list[dict[str, int]] = [{} for _ in data.nodes]
        for c, members in enumerate(self.packing.members):
            names = [data.pods[entry].name for entry in members]
            others = {data.pods[entry].name: data.pods[entry].count for entry in members}
            room = placed[:, c].tolist()
            for m, node in enumerate(data.nodes):
                for name in names:
                    staying = min(room[m], node.pods.get(name, 0))
                    on_node[m][name] = staying
                    room[m] -= staying
                    others[name] -= staying
            for m, on_it in enumerate(on_node):
                for name in names:
                    coming = min(room[m], others[name])
                    on_it[name] += coming
                    room[m] -= coming
                    others[name] -= coming
        return {
            "nodes": {
                node.name: {name: n for name, n in on_it.items() if n}
                for node, on_it in zip(data.nodes, on_node, strict=True)
                if any(on_it.values())
            }
        }
