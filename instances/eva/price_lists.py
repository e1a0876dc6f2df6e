"""Pods to be hosted on a cloud's price list, each from a seed: families of multiples, and the room nodes keep back.

A family has a fixed memory per CPU, its sizes are multiples of one another, and prices are linear in them or
nearly so. The provider's published formula gives the capacity of a node for pods. Amounts are thousandths of a CPU, MiB
and pods, all of them integers. `data/README.md` has the sources of formulas and prices; `drawn` is synthetic.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from instances.envelope import Instance
from instances.eva.node_room import GIB, POOL_PODS, aks_room, eks_room, gke_room
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Task
from instances.eva.tables import table
from instances.fields import MOST_DRAWN, refuse_outside, refuse_seed

Cloud = Literal["eks", "gke", "aks", "drawn", "karpenter"]
RESOURCES = ("cpu_milli", "memory_mib", "pods")
# Pods of the benchmark of Karpenter's scheduler (scheduling_benchmark_test.go), and larger ones.
CPU_MILLI = (100, 250, 500, 1000, 1500, 2000, 4000)
MEMORY_MIB = (100, 256, 512, 1024, 2048, 4096)
MEMORY_FACTORS = (1, 2, 4)  # of one instance all pods' memory is multiplied with one of these

Room = Callable[[int, int], tuple[int, int, int]]
"""A function from CPUs and GiB of a node to its capacity for pods: thousandths of a CPU, MiB and pods."""


@dataclass(frozen=True)
class Family:
    """GiB for each CPU, USD/h for each CPU and for each GiB, and the sizes in CPUs."""

    name: str
    gib: int
    usd: float
    sizes: Sequence[int]

    def types(self, room: Room) -> list[InstanceType]:
        """Return the instance types, smallest first."""
        return [self._type(cpus, room(cpus, self.gib * cpus), self.usd * cpus) for cpus in self.sizes]

    def _type(self, cpus: int, room: tuple[int, int, int], usd: float) -> InstanceType:
        capacity = dict(zip(RESOURCES, map(float, room), strict=True))
        return InstanceType(name=f"{self.name}-{cpus}", family=self.name, capacity=capacity, usd_per_hour=round(usd, 9))


def price_list(n: int, seed: int, *, cloud: Cloud = "eks") -> Instance[EvaPacking]:
    """Draw an instance of `n` pods to be hosted on the price list of a cloud.

    - `n`: number of pods.
    - `seed`: seed of all draws.
    - `cloud`: `eks` (EC2's M6i, C6i and R6i), `gke` (N2), `aks` (Dsv5, Fsv2 and Esv5), `drawn` (families, ratios and
      prices from the seed), or `karpenter`, the catalogue that Karpenter's simulated provider comes with.

    Raises InputError for a number out of range.
    """
    refuse_seed(seed)
    refuse_outside("n", n, 1, MOST_DRAWN)
    draw = random.Random(f"{cloud}-{seed}")
    factor = draw.choice(MEMORY_FACTORS)
    pods = Counter((draw.choice(CPU_MILLI), factor * draw.choice(MEMORY_MIB)) for _ in range(n))
    tasks = tuple(
        Task(
            workload=f"{milli}m-{mib}mi",
            count=count,
            demand={DEFAULT: dict(zip(RESOURCES, (float(milli), float(mib), 1.0), strict=True))},
        )
        for (milli, mib), count in sorted(pods.items(), reverse=True)
    )
    kinds = tuple(_types(cloud, draw))
    data = EvaPacking(resources=RESOURCES, instance_types=kinds, tasks=tasks, objective="cost")
    return Instance.of(data, f"price-list-{cloud}-{n}-seed-{seed}", f"{n} pods on the {cloud} price list, seed {seed}")


def _types(cloud: Cloud, draw: random.Random) -> list[InstanceType]:
    if cloud == "karpenter":
        return _catalogue()
    families, room = _draw_families(draw) if cloud == "drawn" else CLOUDS[cloud]
    return [kind for family in families for kind in family.types(room)]


def _catalogue() -> list[InstanceType]:
    """Return the types of `data/karpenter_types.csv` without the capacity that the simulated provider reserves."""
    return [
        InstanceType(
            name=row["name"],
            family=row["name"].split("-")[0],
            capacity=dict(
                zip(
                    RESOURCES,
                    (float(1000 * row["cpus"] - 100), float(GIB * row["memory_gib"] - 10), float(row["pods"])),
                    strict=True,
                )
            ),
            usd_per_hour=float(row["usd_per_hour"]),
        )
        for row in table("karpenter_types").to_dict("records")
    ]


def _draw_families(draw: random.Random) -> tuple[list[Family], Room]:
    """Draw two to four families of five to ten sizes each, at prices within a tenth of a common one, in 1e-4 USD/h."""
    ratios = draw.sample((1, 2, 4, 6, 8, 12, 16), draw.randint(2, 4))
    sizes = (2, 4, 8, 16, 24, 32, 48, 64, 96, 128)[: draw.randint(5, 10)]
    cpu, gib = draw.randint(200, 400) / 1e4, draw.randint(20, 50) / 1e4
    families = [
        Family(f"f{ratio}", ratio, round((cpu + ratio * gib) * draw.uniform(0.95, 1.05), 4), sizes)
        for ratio in sorted(ratios)
    ]
    return families, draw.choice((_eks, _gke, _aks))


def _eks(cpus: int, gib: int) -> tuple[int, int, int]:
    """Return the capacity on EKS with prefixes of addresses: 110 pods, 250 above 30 CPUs."""
    pods = 250 if cpus > 30 else POOL_PODS
    return *eks_room(cpus, GIB * gib, pods), pods


def _gke(cpus: int, gib: int) -> tuple[int, int, int]:
    """Return the capacity on GKE."""
    return *gke_room(cpus, GIB * gib), POOL_PODS


def _aks(cpus: int, gib: int) -> tuple[int, int, int]:
    """Return the capacity on AKS."""
    return *aks_room(cpus, GIB * gib, POOL_PODS), POOL_PODS


_SIZES = (2, 4, 8, 16, 32, 48, 64, 96, 128)
CLOUDS: dict[str, tuple[Sequence[Family], Room]] = {
    # On-demand prices of us-east-1, us-central1 (a CPU 0.031611, a GB 0.004237) and East US.
    "eks": (
        [Family("c6i", 2, 0.0425, _SIZES), Family("m6i", 4, 0.048, _SIZES), Family("r6i", 8, 0.063, _SIZES)],
        _eks,
    ),
    "gke": (
        [
            Family("n2-highcpu", 1, 0.031611 + 0.004237, _SIZES[:8]),
            Family("n2-standard", 4, 0.031611 + 4 * 0.004237, _SIZES),
            Family("n2-highmem", 8, 0.031611 + 8 * 0.004237, _SIZES),
        ],
        _gke,
    ),
    "aks": (
        [
            Family("f-v2", 2, 0.0423, (2, 4, 8, 16, 32, 48, 64, 72)),
            Family("d-v5", 4, 0.048, (2, 4, 8, 16, 32, 48, 64, 96)),
            Family("e-v5", 8, 0.063, (2, 4, 8, 16, 20, 32, 48, 64, 96)),
        ],
        _aks,
    ),
}
