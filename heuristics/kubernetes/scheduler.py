"""kube-scheduler alone: pending pods are placed on free nodes, and no node is rented or removed."""

from __future__ import annotations

from heuristics.kubernetes.cluster import Cluster
from instances.kubernetes import NodeConsolidation
from instances.method import SEEDED, method
from instances.options import Options
from instances.result import Answer

COMMIT = "kubernetes/kubernetes@05c351a, 046d201 and 02d7708"
LEFT_OUT = ("preemption", "default spreading by owner", "scores of images, taints and affinity", "priorities")


@method("heuristic", honours=SEEDED)
def kube_least(data: NodeConsolidation, options: Options) -> Answer:
    """Place each pod on the node with the most free resources, and with balanced use of resources."""
    return _schedule(data, options.seed, "least")


@method("heuristic", honours=SEEDED)
def kube_most(data: NodeConsolidation, options: Options) -> Answer:
    """Place each pod on the node with the fewest free resources, and with balanced use of resources."""
    return _schedule(data, options.seed, "most")


def _schedule(data: NodeConsolidation, seed: int, scores: str) -> Answer:
    cluster = Cluster(data, seed, scores)
    cluster.schedule()
    return cluster.answer(COMMIT, LEFT_OUT)
