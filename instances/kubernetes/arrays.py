"""Convert a `node-placement` instance to arrays of integers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.eva.arrays import PackingArrays, packing_arrays
from instances.kubernetes.placement import NodePlacement
from instances.options import Solution


@dataclass(frozen=True)
class PlacementArrays:
    """The arrays of an instance with M nodes, N classes of identical pods and R resources.

    Allowed nodes and spreading constraints are represented by additional resources.

    - `packing`: nodes as types and pods as tasks.
    - `need` (N, R): the demand of a pod of each class.
    - `fixed` (M, N): the pods that must stay on their node.
    - `now` (M, N): the pods on a node that may move.
    - `room` (M, R): the usable capacity of each node without its fixed pods.
    - `count` (N,): the pods of each class that are not fixed.
    """

    data: NodePlacement
    packing: PackingArrays
    need: IntArray
    fixed: IntArray
    now: IntArray
    room: IntArray
    count: IntArray

    @classmethod
    def of(cls, data: NodePlacement) -> PlacementArrays:
        """Build the arrays of `data`, which must have pods."""
        packing = packing_arrays(data.packing())
        each = np.array([[node.pods.get(pod.name, 0) for pod in data.pods] for node in data.nodes], dtype=np.int64)
        here = np.stack([each[:, list(some)].sum(axis=1) for some in packing.members], axis=1)
        fixed = here * int(not data.movable)
        need = np.asarray(packing.demand[0])
        unit = np.maximum(1, np.gcd.reduce(need, axis=0))  # all demands are multiples of it
        room = packing.capacity // unit * unit - fixed @ need
        return cls(data, packing, need, fixed, here - fixed, room, packing.count - fixed.sum(axis=0))

    @cached_property
    def overfull(self) -> BoolArray:
        """Return whether the present pods of each node exceed its capacity (M,)."""
        return np.asarray((self.now @ self.need > self.room).any(axis=1))

    def moves(self, placed: IntArray) -> int:
        """Return the number of moved pods if the nodes hold `placed` (M, N) in addition to the fixed pods."""
        return int(np.maximum(0, self.now - placed).sum())

    def placed(self, solution: Solution) -> IntArray:
        """Return the pods on each node in a solution (M, N) without the fixed pods, the inverse of `solution`."""
        on_node = solution["nodes"]
        each = np.array(
            [[on_node.get(n.name, {}).get(p.name, 0) for p in self.data.pods] for n in self.data.nodes], dtype=np.int64
        )
        return np.stack([each[:, list(some)].sum(axis=1) for some in self.packing.members], axis=1) - self.fixed

    def solution(self, placed: IntArray) -> Solution:
        """Convert `placed` to a solution: pods in place stay first, and other pods of the class fill the rest."""
        data, held = self.data, placed + self.fixed
        on_node: list[dict[str, int]] = [{} for _ in data.nodes]
        for c, members in enumerate(self.packing.members):
            names = [data.pods[entry].name for entry in members]
            others = {data.pods[entry].name: data.pods[entry].count for entry in members}
            room = held[:, c].tolist()
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
