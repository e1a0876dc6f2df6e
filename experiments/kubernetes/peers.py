"""Compare the placement of pods on given nodes with CP-SAT."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from instances import Options
from instances.kubernetes import random_cluster

EXACT, PODS = "models.kubernetes:exact", "experiments.peers.cp_sat.kubernetes:pods"
PEERS = (
    Peer("CP-SAT, pods on nodes", PODS, extra=True),
    Peer("CP-SAT, pods on nodes, 8 workers", PODS, workers=8, extra=True),
)
LITERAL = Peer("HiGHS, the literal program", "models.kubernetes:literal")


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact placement with the best compact model for another solver, at equal CPU limits."""
    clusters = [random_cluster(20, seed, load=0.97) for seed in range(5)]
    if quick:
        few = PeerRow("5 nodes, fewest moves", [random_cluster(5, 0, load=0.97)], EXACT, [LITERAL])
        return comparison([few], limited(options, LIMIT_S))
    row = PeerRow("20 nodes, fewest moves", clusters, EXACT, PEERS)
    return comparison([row], limited(options, LIMIT_S))
