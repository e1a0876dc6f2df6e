"""Amounts of an `eva-packing` instance as small whole numbers, for solvers that compare with a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from instances.eva.packing import EvaPacking
from instances.fields import steps

LARGEST_AMOUNT = 4 * 10**9  # Beyond so many units HiGHS, at its finest tolerance of 1e-10, misses a whole one.
BEYOND = -1  # This stands for a demand that no type can meet until the number for such a demand is known.


@dataclass(frozen=True)
class WholeAmounts:
    """Demands and capacities in whole multiples of the greatest common unit of each resource.

    `demand` by family, task entry and resource, `capacity` by type and resource. A demand beyond what any type of the
    family has is one unit more than the largest; a capacity beyond what all tasks demand is as good as that.
    """

    demand: list[list[list[int]]]
    capacity: list[list[int]]

    @staticmethod
    def of(data: EvaPacking) -> WholeAmounts:
        """The whole amounts of `data`."""
        demand = [[[steps(t.demand_on(f)[r]) for r in data.resources] for t in data.tasks] for f in data.families]
        capacity = [[steps(k.capacity[r]) for r in data.resources] for k in data.instance_types]
        capacities = [
            [held for held, k in zip(capacity, data.instance_types, strict=True) if k.family == f]
            for f in data.families
        ]
        for r in range(len(data.resources)):
            for needs, held in zip(demand, capacities, strict=True):
                most = max(q[r] for q in held)
                together = sum(t.count * d[r] for t, d in zip(data.tasks, needs, strict=True) if d[r] <= most)
                for q in held:
                    q[r] = min(q[r], together)
                for d in needs:
                    d[r] = d[r] if d[r] <= most else BEYOND
            unit = gcd(*(q[r] for q in capacity), *(d[r] for needs in demand for d in needs if d[r] != BEYOND)) or 1
            for needs, held in zip(demand, capacities, strict=True):
                for q in held:
                    q[r] //= unit
                for d in needs:
                    d[r] = d[r] // unit if d[r] != BEYOND else 1 + max(q[r] for q in held)
        return WholeAmounts(demand, capacity)

    @property
    def largest(self) -> int:
        """The largest demand or capacity."""
        return max(max(map(max, self.capacity)), *(max(d) for needs in self.demand for d in needs))
