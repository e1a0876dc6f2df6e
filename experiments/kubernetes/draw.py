"""What can be drawn of clusters: pods on given nodes."""

from __future__ import annotations

from experiments.drawing import Drawing, Flag
from instances.kubernetes import random_cluster

placement = Drawing(
    "Pods on the nodes of a cluster, and pods that wait.",
    drawn=random_cluster,
    flags={
        "nodes": Flag(help="Number of nodes.", default=20, least=1),
        "seed": Flag(help="Seed of all draws.", default=0),
    },
)
