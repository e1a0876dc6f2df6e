"""Compute the room of a node for pods by the published formulas of EKS, GKE and AKS.

Each formula subtracts the amounts that a node reserves for the system, and the memory that is free before a pod is
evicted. Amounts are CPUs, MiB and pods. `data/README.md` has the sources.
"""

from __future__ import annotations

GIB = 1024
EVICTION = 100  # MiB that are free before a pod is evicted: `memory.available<100Mi` of all three
POOL_PODS = 110  # pods per node of GKE and AKS, and of EKS below 30 CPUs, unless configured otherwise


def cpu_room(cpus: int) -> int:
    """Return the milli-CPUs left: 6% of the first CPU, 1% of the next, 0.5% of two, 0.25% of others are reserved."""
    kept = sum((6000, 1000, 500, 500)[:cpus]) + 250 * max(0, cpus - 4)  # in thousandths of a thousandth
    return 1000 * cpus - -(-kept // 100)


def eks_room(cpus: int, mib: int, pods: int) -> tuple[int, int]:
    """Return milli-CPUs and MiB on EKS: CPUs as on GKE, 255 MiB and 11 per pod."""
    return cpu_room(cpus), mib - (255 + 11 * pods) - EVICTION


def gke_room(cpus: int, mib: int) -> tuple[int, int]:
    """Return milli-CPUs and MiB on GKE: reserve 25% of 4 GiB, 20% of 4, 10% of 8, 6% of 112, 2% of the rest."""
    kept, left = 0, mib
    for most, percent in ((4 * GIB, 25), (4 * GIB, 20), (8 * GIB, 10), (112 * GIB, 6), (left, 2)):
        part = min(left, most)
        kept, left = kept + percent * part, left - part
    return cpu_room(cpus), mib - -(-kept // 100) - EVICTION


def aks_room(cpus: int, mib: int, pods: int) -> tuple[int, int]:
    """Return milli-CPUs and MiB on AKS since 1.29: a table of CPUs; 50 MiB and 20 per pod, at most a quarter.

    Between its rows the table is straight, and so beyond.
    """
    kept = (
        60 if cpus == 1 else 100 if cpus == 2 else 140 + 20 * (min(cpus, 8) - 4) // 2 if cpus <= 8 else 100 + 10 * cpus
    )
    return 1000 * cpus - kept, mib - min(20 * pods + 50, mib // 4) - EVICTION
