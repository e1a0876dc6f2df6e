"""A lower bound on the cost of all plans: a packing of all pods onto new nodes and existing ones, without evictions.

In this relaxation, an existing node that may be drained is a bin that may hold any pods, and is paid only if used. Bins
that a type to rent dominates are omitted. Pods on nodes that must stay do not move. If pods move one by one, pinned
pods do not move either.
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
from models.core.safe_bounds import real_bound
from models.eva import exact as solve_packing


@dataclass(frozen=True)
class Repacking:
    """A `bound` in price units, and a packing.

    - `nodes`: indices of existing nodes and the pods (N,) that they receive.
    - `rented`: types of new nodes and the pods (N,) on them.
    """

    bound: int
    nodes: list[tuple[int, IntArray]]
    rented: list[tuple[int, IntArray]]


def solve_repacking(arrays: ClusterArrays, options: Options) -> Repacking | None:
    """Solve the relaxation by Eva's exact method; `None` if that method rejects or does not solve it."""
    problem = _RepackingProblem(arrays)
    try:
        data = problem.build()
    except InputError:
        return None
    result = solve_packing(data, options)
    if result.bound is None or result.solution is None:
        return None
    return problem.read(result.bound, result.solution)


class _RepackingProblem:
    """The relaxation as an instance of `eva-packing`, with one dollar per price unit.

    `groups`: the existing nodes of each pair of a price and a residual capacity.
    """

    def __init__(self, arrays: ClusterArrays) -> None:
        self.arrays = a = arrays
        free = a.room - a.staying @ a.need
        self.groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for m, leaves in enumerate(a.leaves):
            price = int(a.held_price[m]) if leaves else 0
            dominates = (a.capacity >= free[m]).all(axis=1) & (a.price <= price) & (a.most_new < 0)
            if not (leaves and dominates.any()):
                self.groups[(price, *free[m].tolist())].append(m)

    def build(self) -> EvaPacking:
        """Build the instance. Raises InputError if an amount exceeds the limits of `eva-packing`."""
        a = self.arrays
        resources = [f"r{r}" for r in range(a.need.shape[1])]

        def name_amounts(row: IntArray) -> dict[str, float]:
            return {name: float(q) for name, q in zip(resources, row.tolist(), strict=True)}

        def make_type(name: str, capacity: IntArray, price: int, max_instances: int | None) -> InstanceType:
            capacities = name_amounts(capacity)
            return InstanceType(
                name=name, family="new", capacity=capacities, usd_per_hour=float(price), max_instances=max_instances
            )

        limits = [None if n < 0 else n for n in a.most_new.tolist()]
        prices = a.price.tolist()
        types = [make_type(f"new-{k}", a.capacity[k], prices[k], limits[k]) for k in range(len(prices))]
        running = []
        for g, (key, nodes) in enumerate(self.groups.items()):
            types.append(make_type(f"node-{g}", np.array(key[1:], dtype=np.int64), max(1, key[0]), len(nodes)))
            if not key[0]:
                running.append(Running(type=f"node-{g}", count=len(nodes), usd_per_hour=0.0))
        count = a.count - a.staying.sum(axis=0)
        tasks = [
            Task(workload=str(c), count=int(n), demand={DEFAULT: name_amounts(a.need[c])})
            for c, n in enumerate(count.tolist())
            if n
        ]
        return EvaPacking(resources=resources, instance_types=types, tasks=tasks, running=running, objective="cost")

    def read(self, bound: float, solution: object) -> Repacking:
        """Convert the bound and the solution of the instance."""
        assert isinstance(solution, dict)
        a = self.arrays
        base = int(a.held_price[~a.leaves].sum())  # nodes that must stay are free bins of the instance
        repacking = Repacking(base + int(np.ceil(real_bound(bound, trivial=0.0))), [], [])
        unused = [list(nodes) for nodes in self.groups.values()]
        for instance in solution["instances"]:
            held = np.zeros(len(a.count), dtype=np.int64)
            for name, n in instance["tasks"].items():
                held[int(name)] = n
            origin, index = instance["type"].split("-")
            for _ in range(instance["count"]):
                if origin == "new":
                    repacking.rented.append((int(index), held))
                else:
                    repacking.nodes.append((unused[int(index)].pop(), held))
        return repacking
