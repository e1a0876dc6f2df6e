"""Compare BOA's whole widths with HiGHS."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from instances import Options
from instances.boa import newtrace, random_allocation

EXACT = "models.boa:exact"
PEERS = (Peer("HiGHS, network of paths", "experiments.peers.highs.boa:network"),)
LOADS = (1.1, 1.25, 1.5, 2.0, 3.0)


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact allocation with the best compact model for another solver, at equal CPU limits."""
    rows = {
        "BOA, newTrace": [newtrace(load) for load in LOADS],
        "BOA, 3 classes x 20 epochs x 32 widths": [
            random_allocation(3, 20, 32, rescale=0.5, budget_over_least=2.0, seed=seed) for seed in range(5)
        ],
        "BOA, 5 classes x 60 epochs x 64 widths": [random_allocation(5, 60, 64, seed=seed) for seed in range(5)],
    }
    made = [PeerRow(work, instances, EXACT, PEERS) for work, instances in rows.items()]
    return comparison(made, limited(options, LIMIT_S), (0, 1) if quick else ())
