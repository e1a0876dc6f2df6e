"""Draw clusters: pods on given nodes, clusters with more nodes than their pods need, and dumps."""

from __future__ import annotations

from experiments.drawing import Drawing, Flag
from instances.kubernetes import random_cluster, shrunk_cluster, synthetic_dump

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
