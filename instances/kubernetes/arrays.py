"""Convert `node-placement` and `node-consolidation` instances to arrays of integers, and arrays back to solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.eva.arrays import PackingArrays, packing_arrays
from instances.fields import STEPS, steps
from instances.kubernetes.node_consolidation import NodeConsolidation
from instances.kubernetes.placement import NodePlacement, Pod
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

    def read_placed(self, solution: Solution) -> IntArray:
        """Return the pods on each node in a solution (M, N) without the fixed pods, the inverse of `solution`."""
        on_node = solution["nodes"]
        each = np.array(
            [[on_node.get(n.name, {}).get(p.name, 0) for p in self.data.pods] for n in self.data.nodes], dtype=np.int64
        )
        return np.stack([each[:, list(some)].sum(axis=1) for some in self.packing.members], axis=1) - self.fixed

    def solution(self, placed: IntArray) -> Solution:
        """Convert `placed` to a solution: pods in place stay first, and other pods of the class fill the rest."""
        places = zip((node.pods for node in self.data.nodes), (placed + self.fixed).tolist(), strict=True)
        on_node = _assign_entries(self.data.pods, self.packing.members, list(places))
        return {"nodes": {node.name: on_it for node, on_it in zip(self.data.nodes, on_node, strict=True) if on_it}}


def _assign_entries(
    pods: Sequence[Pod],
    members: Sequence[Sequence[int]],
    places: Sequence[tuple[Mapping[str, int], Sequence[int]]],
) -> list[dict[str, int]]:
    """Return the pods of each entry on each place: pods in place stay first, and other pods of the class fill the rest.

    - `pods`, `members`: the pod entries, and those of each class.
    - `places`: the pods on each place before, by name, and the number of each class there now.
    """
    found: list[dict[str, int]] = [{} for _ in places]
    for c, entries in enumerate(members):
        left = {pods[entry].name: pods[entry].count for entry in entries}
        room = [held[c] for _, held in places]
        for staying in (True, False):
            for m, (before, _) in enumerate(places):
                for name in left:
                    if n := min(room[m], before.get(name, 0) if staying else left[name]):
                        found[m][name] = found[m].get(name, 0) + n
                        room[m] -= n
                        left[name] -= n
    return found


New = tuple[int, Mapping[int, int]]
"""A new node: its type, and the number of pods of each class on it."""


@dataclass(frozen=True)
class ClusterArrays:
    """The arrays of M running nodes, K types, N classes of interchangeable pods and R resources.

    Constraints are additional resources. For allowed places, only these have the resource; for a spread group, each pod
    takes a unit of it. Prices are in units of `unit` steps of the grid.

    - `need` (N, R): the demand of a pod of each class.
    - `now` (M, N): the pods in place.
    - `pending` (N,): the pending pods.
    - `room` (M, R): the capacity of each node, including its pods in place.
    - `capacity` (K, R): the capacity of each type.
    - `held_price` (M,), `price` (K,), `eviction_price`: the prices of nodes, types and one eviction.
    - `most_new` (K,): the limit on new nodes, -1 for no limit.
    - `leaves` (M,): whether a node may be removed.
    - `comes` (M, N): whether a pod is allowed to come to a node.
    - `pinned` (N,): whether the pods of a class must stay.
    - `members`: the indices of the pod entries of each class.
    """

    data: NodeConsolidation
    need: IntArray
    now: IntArray
    pending: IntArray
    room: IntArray
    capacity: IntArray
    held_price: IntArray
    price: IntArray
    eviction_price: int
    unit: int
    most_new: IntArray
    leaves: BoolArray
    comes: BoolArray
    pinned: BoolArray
    members: tuple[tuple[int, ...], ...]

    @cached_property
    def free(self) -> IntArray:
        """Return the residual capacity of each node (M, R)."""
        return np.asarray(self.room - self.now @ self.need)

    @cached_property
    def on_node(self) -> IntArray:
        """Return the number of pods on each node (M,)."""
        return np.asarray(self.now.sum(axis=1))

    @cached_property
    def count(self) -> IntArray:
        """Return the number of pods of each class (N,)."""
        return np.asarray(self.pending + self.now.sum(axis=0))

    @cached_property
    def fits_type(self) -> BoolArray:
        """Return whether a pod of each class fits alone on a new node (K, N)."""
        return np.asarray((self.need[None] <= self.capacity[:, None]).all(axis=2))

    @cached_property
    def staying(self) -> IntArray:
        """Return the pods that always stay (M, N): all of a kept node or, if pods move one by one, pinned pods."""
        return self.now * (~self.leaves[:, None] if self.data.moves == "nodes" else self.pinned[None])

    @property
    def most_evictions(self) -> int:
        """Return the limit on evicted pods."""
        most = self.data.max_evictions
        return int(self.on_node.sum()) if most is None else most

    def usd(self, price: int) -> float:
        """Convert a price to USD/h."""
        return float(Fraction(price * self.unit, STEPS))

    def evictions(self, kept: BoolArray, placed: IntArray) -> int:
        """Return the number of pods that lose their node if the nodes `kept` (M,) hold `placed` (M, N)."""
        stay = np.minimum(self.now, placed * kept[:, None])
        return int((self.now - stay).sum())

    def cost(self, kept: BoolArray, placed: IntArray, new: Sequence[New]) -> int:
        """Return the objective in price units."""
        bill = int(self.held_price[kept].sum()) + sum(int(self.price[k]) for k, _ in new)
        return bill + self.eviction_price * self.evictions(kept, placed)

    def read(self, solution: Solution) -> tuple[BoolArray, IntArray, list[New]]:
        """Return the nodes that a solution keeps (M,), the pods on them (M, N), and the new nodes."""
        data = self.data
        class_of = {data.pods[entry].name: c for c, members in enumerate(self.members) for entry in members}
        kinds = {kind.name: k for k, kind in enumerate(data.instance_types)}

        def row(pods: Mapping[str, int]) -> IntArray:
            found = np.zeros(len(self.members), dtype=np.int64)
            for name, n in pods.items():
                found[class_of[name]] += n
            return found

        kept = np.array([node.name in solution["nodes"] for node in data.nodes], dtype=bool)
        placed = [row(solution["nodes"].get(node.name, {})) for node in data.nodes]
        new: list[New] = []
        for group in solution["instances"]:
            held = {c: n for c, n in enumerate(row(group["tasks"]).tolist()) if n}
            new += [(kinds[group["type"]], held)] * group.get("count", 1)
        return kept, np.array(placed, dtype=np.int64).reshape(len(data.nodes), len(self.members)), new

    def solution(self, kept: BoolArray, placed: IntArray, new: Sequence[New]) -> Solution:
        """Build the solution: pods in place stay first, and other pods of the class fill the rest."""
        data, classes = self.data, range(len(self.members))
        held = [*(placed * kept[:, None]).tolist(), *([on_it.get(c, 0) for c in classes] for _, on_it in new)]
        before = [*(node.pods for node in data.nodes), *({} for _ in new)]
        on = _assign_entries(data.pods, self.members, list(zip(before, held, strict=True)))
        on_node, on_new = on[: len(data.nodes)], on[len(data.nodes) :]
        return {
            "nodes": {node.name: on_it for node, on_it, keep in zip(data.nodes, on_node, kept, strict=True) if keep},
            "instances": [
                {"type": data.instance_types[k].name, "count": 1, "tasks": held}
                for (k, _), held in zip(new, on_new, strict=True)
            ],
        }


def cluster_arrays(data: NodeConsolidation) -> ClusterArrays:
    """Return the arrays of `data`, whose sums `NodeConsolidation` keeps within 64-bit integers."""
    nodes, kinds, pods = data.nodes, data.instance_types, data.pods
    demand = [[steps(pod.demand[r]) for r in data.resources] for pod in pods]
    capacities = [*(node.capacity for node in nodes), *(kind.capacity for kind in kinds)]
    places = [[steps(capacity[r]) for r in data.resources] for capacity in capacities]
    now = np.array([[node.pods.get(pod.name, 0) for pod in pods] for node in nodes], dtype=np.int64)
    now = now.reshape(len(nodes), len(pods))
    for r in range(len(data.resources)):
        unit = gcd(*(d[r] for d in demand)) or 1
        for d in demand:
            d[r] //= unit
        total = sum(pod.count * d[r] for pod, d in zip(pods, demand, strict=True))
        for q in places:
            q[r] = min(q[r] // unit, total)
    everybody = sum(pod.count for pod in pods)
    masks, groups = [_mask(data, pod) for pod in pods], _groups(data)
    some = [mask for mask in dict.fromkeys(masks) if not all(mask)]
    for allowed in some:
        for d, mask in zip(demand, masks, strict=True):
            d.append(int(mask == allowed))
        for q, may in zip(places, allowed, strict=True):
            q.append(everybody if may else 0)
    for names, together in groups:
        for d, pod in zip(demand, pods, strict=True):
            d.append(int(pod.name in names))
        for q in places:
            q.append(together)
    classes: dict[tuple[Any, ...], list[int]] = {}
    for i, pod in enumerate(pods):
        classes.setdefault((*demand[i], pod.pinned), []).append(i)
    members = tuple(tuple(of_it) for of_it in classes.values())
    first = [of_it[0] for of_it in members]
    width = len(data.resources) + len(some) + len(groups)
    need = np.array([demand[i] for i in first], dtype=np.int64).reshape(len(first), width)
    held = np.array(places, dtype=np.int64).reshape(len(places), width)
    in_place = np.zeros((len(nodes), len(first)), dtype=np.int64)
    for c, of_it in enumerate(members):
        in_place[:, c] = now[:, of_it].sum(axis=1)
    count = np.array([sum(pods[i].count for i in of_it) for of_it in members], dtype=np.int64)
    amounts = [steps(node.usd_per_hour or 0.0) for node in nodes], [steps(kind.usd_per_hour) for kind in kinds]
    eviction = steps(data.eviction_usd_per_hour)
    unit = gcd(*amounts[0], *amounts[1], eviction) or 1
    return ClusterArrays(
        data=data,
        need=need,
        now=in_place,
        pending=count - in_place.sum(axis=0),
        room=np.maximum(held[: len(nodes)], in_place @ need),
        capacity=held[len(nodes) :],
        held_price=np.array([p // unit for p in amounts[0]], dtype=np.int64),
        price=np.array([p // unit for p in amounts[1]], dtype=np.int64),
        eviction_price=eviction // unit,
        unit=unit,
        most_new=np.array([-1 if kind.max_new is None else kind.max_new for kind in kinds], dtype=np.int64),
        leaves=np.array([not data.is_kept(node) for node in nodes], dtype=bool),
        comes=np.array([masks[i][: len(nodes)] for i in first], dtype=bool).reshape(len(first), len(nodes)).T,
        pinned=np.array([pods[i].pinned for i in first], dtype=bool),
        members=members,
    )


def _mask(data: NodeConsolidation, pod: Any) -> tuple[bool, ...]:
    """Return whether a pod may come to each node, followed by whether it may be on each type."""
    types = (pod.allowed_types is None or kind.name in pod.allowed_types for kind in data.instance_types)
    return (*(data.may_come(pod, node) for node in data.nodes), *types)


def _groups(data: NodeConsolidation) -> list[tuple[frozenset[str], int]]:
    """Return groups of pods by name, with the limit of their total number on a node."""
    alone = [(frozenset([pod.name]), pod.max_per_node) for pod in data.pods if pod.max_per_node is not None]
    return [*alone, *((frozenset(group.tasks), group.max_per_instance) for group in data.spread)]
