"""Compare SIA's oracle with CP-SAT."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.sia.reference import HALF_DAYS
from instances import Options
from instances.sia import synthetic

EXACT = "models.sia:exact"
START_TIMES = "experiments.peers.cp_sat.sia:start_times"
PEERS = (
    Peer("CP-SAT, start times", START_TIMES, extra=True),
    Peer("CP-SAT, start times, 8 workers", START_TIMES, workers=8, extra=True),
)
LITERAL = Peer("HiGHS, the literal program", "models.sia:literal")
UNSEEN = (0, 1, 2, 7, 10)


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact oracle with the best compact model for another solver, at equal CPU limits."""
    rows = {
        "SIA, half a day, of the reference": [synthetic("base", s, days=0.5) for s in HALF_DAYS[:5]],
        "SIA, half a day, seeds 0, 1, 2, 7, 10": [synthetic("base", s, days=0.5) for s in UNSEEN],
    }
    made = [PeerRow(work, instances, EXACT, PEERS) for work, instances in rows.items()]
    if quick:
        few = [synthetic("base", 0, days=0.125, slot_minutes=10.0)]
        made = [PeerRow("SIA, an eighth of a day at 10 min", few, EXACT, [LITERAL])]
    return comparison(made, limited(options, LIMIT_S))
