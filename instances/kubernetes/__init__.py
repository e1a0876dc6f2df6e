"""Kubernetes: pods on the nodes that a cluster has, and pods that wait for room.

After Zhou et al., "Priority Matters: Optimising Kubernetes Clusters Usage with Constraint-Based Pod Packing",
arXiv:2511.08373. The problem `node-placement`: data, examples, generators and checker; pods and their constraints are
those of Eva's packing.
"""

from instances.kubernetes.arrays import PlacementArrays
from instances.kubernetes.checker import check_placement
from instances.kubernetes.examples import two_halves
from instances.kubernetes.generators import random_cluster
from instances.kubernetes.placement import ClusterNode, NodePlacement, Pod

__all__ = [
    "ClusterNode",
    "NodePlacement",
    "PlacementArrays",
    "Pod",
    "check_placement",
    "random_cluster",
    "two_halves",
]
