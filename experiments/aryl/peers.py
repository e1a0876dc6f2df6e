"""Compare Aryl's knapsack and reclaims with HiGHS and CP-SAT."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from instances import Options
from instances.aryl import elastic_jobs, loaned_servers, spread_jobs

EXACT = "models.aryl:exact"
RECLAIMED = "experiments.peers.cp_sat.aryl:reclaimed"
ITEMS = (Peer("HiGHS, items", "experiments.peers.highs.aryl:items"),)
RECLAIMS = (
    Peer("HiGHS, k-union", "experiments.peers.highs.aryl:union"),
    Peer("CP-SAT, k-union", RECLAIMED, extra=True),
    Peer("CP-SAT, k-union, 8 workers", RECLAIMED, workers=8, extra=True),
)
BEST = RECLAIMS[0], RECLAIMS[2]


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact methods with the best compact models for other solvers, at equal CPU limits."""
    rows = (
        PeerRow("Aryl, knapsack of 200 jobs", [elastic_jobs(200, s) for s in range(5)], EXACT, ITEMS),
        PeerRow(
            "Aryl, knapsack of 2,000 jobs", [elastic_jobs(2000, s, spare_gpus=3544) for s in range(5)], EXACT, ITEMS
        ),
        PeerRow(
            "Aryl, 20 of 200 servers, random", [loaned_servers(200, 1.0, s, 20) for s in range(5)], EXACT, RECLAIMS
        ),
        PeerRow(
            "Aryl, 60 of 600 servers, random", [loaned_servers(600, 1.0, s, 60) for s in range(5)], EXACT, RECLAIMS
        ),
        PeerRow(
            "Aryl, 180 of 600 servers, 90% random", [loaned_servers(600, 0.9, s, 180) for s in range(5)], EXACT, BEST
        ),
        PeerRow("Aryl, 8 of 40 servers, spread", [spread_jobs(40, 40, s, 8) for s in range(5)], EXACT, RECLAIMS),
        PeerRow("Aryl, 12 of 60 servers, spread", [spread_jobs(60, 60, s, 12) for s in range(5)], EXACT, RECLAIMS),
        PeerRow("Aryl, 60 of 300 servers, spread", [spread_jobs(300, 300, s, 60) for s in range(5)], EXACT, BEST),
    )
    return comparison(rows, limited(options, LIMIT_S), (0, 2) if quick else ())
