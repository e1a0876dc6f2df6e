"""What can be drawn of clusters: pods on given nodes, and clusters with more nodes than their pods need."""

from __future__ import annotations

from experiments.drawing import Drawing, Flag
from instances.kubernetes import random_cluster, shrunk_cluster

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
