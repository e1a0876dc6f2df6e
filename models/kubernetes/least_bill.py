"""Where any pod may be moved, a cluster is a packing of all pods into new nodes, and into those that run.

What no type to rent is as good and as cheap as counts as a type of its own, of which there are only so many. A bound on
such packings is one on all plans: a node that may be given up may hold anything here, also where nodes are drained
whole. On one that is kept stay all pods then, and where pods are moved one by one those that are pinned.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from instances import InputError, Options
from instances.arrays import IntArray
from instances.eva import EvaPacking, InstanceType, Running, Task
from instances.eva.packing import DEFAULT
from instances.kubernetes import ClusterArrays
from models.bounds import real_bound
from models.eva import exact as least_packing


@dataclass(frozen=True)
class LeastBill:
    """A `bound` in price units; what comes to `nodes` that run, by their places; types `rented`, and what they hold."""

    bound: int
    nodes: list[tuple[int, IntArray]]
    rented: list[tuple[int, IntArray]]


def least_bill(arrays: ClusterArrays, options: Options) -> LeastBill | None:
    """The least bill with any evictions; `None` where it is no packing that Eva's exact method takes or solves."""
    rooms = _Rooms(arrays)
    try:
        data = rooms.packing()
    except InputError:
        return None
    result = least_packing(data, options)
    if result.bound is None or result.solution is None:
        return None
    return rooms.read(result.bound, result.solution)


class _Rooms:
    """The rooms of a cluster as types of `eva-packing`, in which a price unit is a dollar."""

    def __init__(self, arrays: ClusterArrays) -> None:
        self.arrays = a = arrays
        self.count = a.count - a.staying.sum(axis=0)
        free = a.room - a.staying @ a.need
        self.groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for m, leaves in enumerate(a.leaves):
            price = int(a.held_price[m]) if leaves else 0
            if not leaves or not self._dominated(free[m], price):
                self.groups[(price, *free[m].tolist())].append(m)
        self.kept = int(a.held_price[~a.leaves].sum())

    def _dominated(self, room: IntArray, price: int) -> bool:
        a = self.arrays
        return bool(((a.capacity >= room).all(axis=1) & (a.price <= price) & (a.most_new < 0)).any())

    def packing(self) -> EvaPacking:
        """The packing. Raises InputError where it cannot be stated, as for amounts that are too large."""
        a = self.arrays
        resources = [f"r{r}" for r in range(a.need.shape[1])]

        def amounts(row: IntArray) -> dict[str, float]:
            return {name: float(q) for name, q in zip(resources, row.tolist(), strict=True)}

        kinds = [
            InstanceType(
                name=f"new-{k}",
                family="new",
                capacity=amounts(a.capacity[k]),
                usd_per_hour=float(a.price[k]),
                max_instances=None if a.most_new[k] < 0 else int(a.most_new[k]),
            )
            for k in range(len(a.price))
        ]
        running = []
        for g, (key, nodes) in enumerate(self.groups.items()):
            room = amounts(np.array(key[1:], dtype=np.int64))
            price = float(max(1, key[0]))
            kinds.append(
                InstanceType(
                    name=f"node-{g}", family="new", capacity=room, usd_per_hour=price, max_instances=len(nodes)
                )
            )
            if not key[0]:
                running.append(Running(type=f"node-{g}", count=len(nodes), usd_per_hour=0.0))
        tasks = [
            Task(workload=str(c), count=int(n), demand={DEFAULT: amounts(a.need[c])})
            for c, n in enumerate(self.count.tolist())
            if n
        ]
        return EvaPacking(resources=resources, instance_types=kinds, tasks=tasks, running=running, objective="cost")

    def read(self, bound: float, solution: object) -> LeastBill:
        """What the bound and the solution of the packing say."""
        assert isinstance(solution, dict)
        a, found = self.arrays, LeastBill(self.kept + int(np.ceil(real_bound(bound, trivial=0.0))), [], [])
        groups = list(self.groups.values())
        free = [list(nodes) for nodes in groups]
        for instance in solution["instances"]:
            held = np.zeros(len(a.count), dtype=np.int64)
            for name, n in instance["tasks"].items():
                held[int(name)] = n
            what, place = instance["type"].split("-")
            for _ in range(instance["count"]):
                if what == "new":
                    found.rented.append((int(place), held))
                else:
                    found.nodes.append((free[int(place)].pop(), held))
        return found
