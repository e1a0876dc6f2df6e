"""Pods on given nodes beside CP-SAT."""

from __future__ import annotations

from experiments.harness.experiment import Study, limited
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from instances import Options
from instances.kubernetes import random_cluster

PODS = "experiments.peers.kubernetes.pods:pods"
PEERS = Peer("CP-SAT, pods on nodes", PODS), Peer("CP-SAT, pods on nodes, 8 workers", PODS, workers=8)


def peers(options: Options) -> Study:
    """The exact placement beside the best compact model for another solver, at equal CPU limits."""
    clusters = [random_cluster(20, seed, load=0.97) for seed in range(5)]
    row = PeerRow("20 nodes, fewest moves", clusters, "models.kubernetes:exact", PEERS)
    return comparison([row], limited(options, LIMIT_S))
