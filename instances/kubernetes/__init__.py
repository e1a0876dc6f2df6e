"""Kubernetes: place pods on the nodes of a cluster, serve pending pods, and remove nodes.

After Christensen, Giallorenzo and Mauro, "Priority Matters: Optimising Kubernetes Clusters Usage with Constraint-Based
Pod Packing", arXiv:2511.08373. This package contains the data, examples, generators and checkers of the problems
`node-placement` and `node-consolidation`. Pods and their constraints are those of Eva's packing.
"""

from typing import TYPE_CHECKING

from instances.kubernetes.arrays import ClusterArrays, PlacementArrays, cluster_arrays
from instances.kubernetes.checker import check_consolidation, check_placement
from instances.kubernetes.dump import read_dump
from instances.kubernetes.examples import build_two_halves
from instances.kubernetes.generators import random_cluster, shrunk_cluster
from instances.kubernetes.node_consolidation import ConsolidatedPod, NodeConsolidation, RentedType, RunningNode
from instances.kubernetes.placement import ClusterNode, NodePlacement, Pod
from instances.kubernetes.prices import read_prices
from instances.kubernetes.readings import Reader
from instances.kubernetes.synthetic import synthetic_dump
from instances.renamed import find_old_names

__all__ = [
    "ClusterArrays",
    "ClusterNode",
    "ConsolidatedPod",
    "NodeConsolidation",
    "NodePlacement",
    "PlacementArrays",
    "Pod",
    "Reader",
    "RentedType",
    "RunningNode",
    "build_two_halves",
    "check_consolidation",
    "check_placement",
    "cluster_arrays",
    "random_cluster",
    "read_dump",
    "read_prices",
    "shrunk_cluster",
    "synthetic_dump",
]

if not TYPE_CHECKING:  # names of the previous version
    __getattr__ = find_old_names(
        __name__,
        {
            "two_halves": "build_two_halves",
        },
    )
