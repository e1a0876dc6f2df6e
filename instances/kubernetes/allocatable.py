"""Estimate the room for pods on machines of EC2, Compute Engine and Azure, for types that no node of a dump has.

The formulas are those of EKS, GKE and AKS. The estimate counts less memory than a type states, as Karpenter does.
`data/README.md` has the sources.
"""

from __future__ import annotations

from math import floor
from typing import Literal

from instances.eva.node_room import POOL_PODS, aks_room, eks_room, gke_room
from instances.kubernetes.pods import Amounts

Cloud = Literal["aws", "gcp", "azure"]
MIB, GIB, GB = 2**20, 2**30, 10**9
MISSING_MEMORY = 0.075  # share of the stated memory that a node does not see: the default of Karpenter
EVICTED = 0.1  # share of the disk that is free before a pod is evicted: `nodefs.available<10%`


def estimate_room(cloud: Cloud, cpus: int, ram_gb: float) -> Amounts:
    """Return CPU and memory for pods on a machine."""
    mib = floor(ram_gb * 1024 * (1 - MISSING_MEMORY))
    if cloud == "aws":
        return _amounts(eks_room(cpus, mib, POOL_PODS))
    return _amounts(gke_room(cpus, mib) if cloud == "gcp" else aks_room(cpus, mib, POOL_PODS))


def default_room(cloud: Cloud) -> Amounts:
    """Return the pods and the ephemeral storage of a node whose pool shows neither: those of the default disk."""
    if cloud == "aws":
        disk, kept = 20 * GIB, GIB
    elif cloud == "gcp":
        disk = 100 * GB
        kept = min(disk // 2, 6 * GIB + 35 * disk // 100, 100 * GIB)
    else:
        disk, kept = 128 * GIB, 0
    return {"pods": POOL_PODS, "ephemeral-storage": floor(disk * (1 - EVICTED)) - kept}


def _amounts(room: tuple[int, int]) -> dict[str, int]:
    return {"cpu": max(0, room[0]), "memory": MIB * max(0, room[1])}
