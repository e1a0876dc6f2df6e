"""How SIA's oracle and its peer grow with the hours of a workload."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S
from experiments.peers.growth import Ladder, climbed
from experiments.sia.peers import EXACT, PEERS
from instances import Instance, Options
from instances.sia import SiaOracle, synthetic


def _hours(size: float, seed: int) -> Instance[SiaOracle]:
    return synthetic("base", seed, days=size / 24)


LADDERS = (Ladder("SIA, base workload", "hours", (3, 6, 12, 24, 48, 72), _hours, EXACT, PEERS[1]),)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact oracle and of its peer grow with the size of the instance."""
    return climbed(LADDERS, limited(options, LIMIT_S), quick)
