"""Reference sets of pods on given nodes and of clusters with more nodes than needed, and what `gapwise draw` draws."""

from __future__ import annotations

from experiments.drawing import Drawing, Flag
from experiments.harness.instance_set import InstanceSet
from instances import Instance
from instances.kubernetes import NodeConsolidation, build_two_halves, random_cluster, shrunk_cluster, synthetic_dump

RULES = ("karpenter-1.14", "karpenter-1.14-balanced", "karpenter-1.13", "ca-least-waste")


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """Clusters whose pods can be placed, but not as they come; clusters of which nodes can be given up."""
    seeds = range(2 if quick else 10)
    return [
        InstanceSet("two halves", [build_two_halves()], ("all",)),
        InstanceSet("20 nodes", [random_cluster(20, seed, load=0.97) for seed in seeds], ("exact", "heuristics")),
        InstanceSet("8 pods, a third gone", [shrunk_cluster(12, seed) for seed in range(1 if quick else 3)], ("all",)),
        InstanceSet("140 pods, 30% gone", [shrunk_cluster(200, seed) for seed in seeds], ("exact", *RULES)),
        InstanceSet("140 pods, a tenth evicted", [tenth_evicted(200, seed) for seed in seeds], ("exact",)),
    ]


def tenth_evicted(pods: int, seed: int) -> Instance[NodeConsolidation]:
    """Return a cluster of which at most a tenth of the pods may lose their node."""
    made = shrunk_cluster(pods, seed)
    most = sum(pod.count for pod in made.data.pods) // 10
    return Instance.of(
        made.data.with_(max_evictions=most), f"{made.name}-{most}-evictions", f"{made.source}, {most} evictions"
    )


placement = Drawing(
    "Pods on the nodes of a cluster, and pods that wait.",
    drawn=random_cluster,
    flags={
        "nodes": Flag(help="Number of nodes.", default=20, least=1),
        "seed": Flag(help="Seed of all draws.", default=0),
    },
)

consolidation = Drawing(
    "A cluster with more nodes than its pods need, and what could be rented instead.",
    drawn=shrunk_cluster,
    flags={
        "pods": Flag(help="Number of pods before some of them go.", default=200, least=1),
        "seed": Flag(help="Seed of all draws.", default=0),
    },
)

dump = Drawing(
    "A synthetic dump of a Kubernetes cluster and its price table: dump.json and types.csv, in a folder.",
    drawn=synthetic_dump,
    flags={"seed": Flag(help="Seed of all draws.", default=0)},
)
