"""Heuristics of Kubernetes: kube-scheduler's node scores, Karpenter's rules and the cluster autoscaler's."""

from heuristics.kubernetes.autoscaler import ca_least_waste, ca_most_pods
from heuristics.kubernetes.cluster import kube_least, kube_most
from heuristics.kubernetes.karpenter import karpenter_1_13, karpenter_1_14, karpenter_1_14_balanced
from heuristics.kubernetes.scores import balanced_allocation, least_allocated, most_allocated

__all__ = [
    "balanced_allocation",
    "ca_least_waste",
    "ca_most_pods",
    "karpenter_1_13",
    "karpenter_1_14",
    "karpenter_1_14_balanced",
    "kube_least",
    "kube_most",
    "least_allocated",
    "most_allocated",
]
