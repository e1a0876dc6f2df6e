"""More named instances of Kubernetes: smaller clusters of which nodes can be given up."""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from experiments.kubernetes.reference import tenth_evicted
from instances.kubernetes import shrunk_cluster


def instance_sets() -> list[InstanceSet]:
    """Return the sets in addition to those of the reference study."""
    seeds = range(5)
    return [
        InstanceSet("42 pods, 30% gone", [shrunk_cluster(60, seed) for seed in seeds], ("exact",)),
        InstanceSet("42 pods, a tenth evicted", [tenth_evicted(60, seed) for seed in seeds], ("exact",)),
    ]
