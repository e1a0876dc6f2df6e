"""A small example: the total free capacity suffices for a pending pod, but that of each node does not."""

from __future__ import annotations

from instances.envelope import Instance, Reference
from instances.kubernetes.placement import ClusterNode, NodePlacement, Pod


def build_two_halves() -> Instance[NodePlacement]:
    """Build an instance with two half-filled nodes and a pod that needs a whole node, so that one pod must move."""
    demand = {"cpu_milli": 2000.0, "memory_gib": 4.0}
    data = NodePlacement(
        resources=("cpu_milli", "memory_gib"),
        nodes=tuple(
            ClusterNode(name=name, capacity={"cpu_milli": 4000.0, "memory_gib": 8.0}, pods={"web": 1})
            for name in ("a", "b")
        ),
        pods=(
            Pod(name="web", count=2, demand=demand),
            Pod(name="batch", count=1, demand={r: 2 * amount for r, amount in demand.items()}),
        ),
    )
    reference = Reference(objective=1.0, bound=1.0, proved_by="a pod that fits on neither node as they are")
    return Instance.of(data, "two-halves", "Two half-filled nodes and a pod that needs a whole one", reference)
