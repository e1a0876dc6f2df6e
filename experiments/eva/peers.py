"""Compare Eva's packing with HiGHS."""

from __future__ import annotations

from typing import get_args

from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from instances import Options
from instances.eva import pod_requests, price_list, table_7
from instances.eva.price_lists import Cloud

EXACT = "models.eva:exact"
PATTERNS = Peer("HiGHS, all maximal patterns", "experiments.peers.highs.eva:patterns")
CONTENTS = Peer("HiGHS, all contents", "experiments.peers.highs.eva:contents")
COLUMNS = Peer("HiGHS, column generation", "experiments.peers.highs.eva:columns")


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact packing with the best compact model for another solver, at equal CPU limits."""
    few, more = ([price_list(n, 0, cloud=cloud) for cloud in get_args(Cloud)] for n in (20, 60))
    rows = (
        PeerRow("Eva, 200 tasks of Table 7", [table_7(200, s) for s in range(5)], EXACT, [PATTERNS]),
        PeerRow(
            "Eva, net saving of 200 tasks of Table 7",
            [table_7(200, s, objective="net-saving") for s in range(5)],
            EXACT,
            [CONTENTS],
        ),
        PeerRow("Eva, 20 pods on a price list", few, EXACT, [COLUMNS]),
        PeerRow("Eva, 60 pods on a price list", more, EXACT, [COLUMNS]),
        PeerRow("Eva, 100 distinct pods", [pod_requests(100, s) for s in range(5)], EXACT, [COLUMNS]),
    )
    return comparison(rows, limited(options, LIMIT_S), (0, 1) if quick else ())
