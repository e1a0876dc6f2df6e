"""SIA's oracle beside CP-SAT."""

from __future__ import annotations

from experiments.harness.experiment import Study, limited
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.sia.reference import HALF_DAYS
from instances import Options
from instances.sia import synthetic

EXACT = "models.sia:exact"
START_TIMES = "experiments.peers.sia.start_times:start_times"
PEERS = Peer("CP-SAT, start times", START_TIMES), Peer("CP-SAT, start times, 8 workers", START_TIMES, workers=8)
UNSEEN = (0, 1, 2, 7, 10)


def peers(options: Options) -> Study:
    """The exact oracle beside the best compact model for another solver, at equal CPU limits."""
    rows = {
        "SIA, half a day, of the reference": [synthetic("base", s, days=0.5) for s in HALF_DAYS[:5]],
        "SIA, half a day, seeds 0, 1, 2, 7, 10": [synthetic("base", s, days=0.5) for s in UNSEEN],
    }
    return comparison((PeerRow(work, made, EXACT, PEERS) for work, made in rows.items()), limited(options, LIMIT_S))
