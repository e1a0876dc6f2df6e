"""Reference sets of pods on given nodes."""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from instances.kubernetes import random_cluster, two_halves

SCORES = ("least-allocated", "most-allocated", "balanced-allocation")


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """Clusters whose pods can be placed, but not as they come."""
    seeds = range(2 if quick else 10)
    return [
        InstanceSet("two halves", [two_halves()], ("all",)),
        InstanceSet("20 nodes", [random_cluster(20, seed, load=0.97) for seed in seeds], ("exact", *SCORES)),
    ]
