"""Reference sets of pods on given nodes, and of clusters with more nodes than their pods need."""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from instances import Instance
from instances.kubernetes import NodeConsolidation, random_cluster, shrunk_cluster, two_halves

RULES = ("karpenter-1.14", "karpenter-1.14-balanced", "karpenter-1.13", "ca-least-waste")


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """Clusters whose pods can be placed, but not as they come; clusters of which nodes can be given up."""
    seeds = range(2 if quick else 10)
    return [
        InstanceSet("two halves", [two_halves()], ("all",)),
        InstanceSet("20 nodes", [random_cluster(20, seed, load=0.97) for seed in seeds], ("exact", "heuristics")),
        InstanceSet("8 pods, a third gone", [shrunk_cluster(12, seed) for seed in range(1 if quick else 3)], ("all",)),
        InstanceSet("140 pods, 30% gone", [shrunk_cluster(200, seed) for seed in seeds], ("exact", *RULES)),
        InstanceSet("140 pods, a tenth evicted", [tenth_evicted(200, seed) for seed in seeds], ("exact",)),
    ]


def tenth_evicted(pods: int, seed: int) -> Instance[NodeConsolidation]:
    """A cluster of which at most a tenth of the pods may lose their node."""
    made = shrunk_cluster(pods, seed)
    most = sum(pod.count for pod in made.data.pods) // 10
    return Instance.of(
        made.data.with_(max_evictions=most), f"{made.name}-{most}-evictions", f"{made.source}, {most} evictions"
    )
