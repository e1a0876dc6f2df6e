"""kube-scheduler alone: pods that wait go where there is room, and nothing is rented or given up."""

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
    """The node of which the most is left over, and whose resources are taken most evenly."""
    return _scheduled(data, options.seed, "least")


@method("heuristic", honours=SEEDED)
def kube_most(data: NodeConsolidation, options: Options) -> Answer:
    """The node of which the least is left over, and whose resources are taken most evenly."""
    return _scheduled(data, options.seed, "most")


def _scheduled(data: NodeConsolidation, seed: int, scores: str) -> Answer:
    cluster = Cluster(data, seed, scores)
    cluster.schedule()
    return cluster.answer(COMMIT, LEFT_OUT)
