"""How BOA's exact allocation and its peer grow with the classes of jobs."""

from __future__ import annotations

from experiments.boa.peers import EXACT, PEERS
from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S
from experiments.peers.growth import Ladder, climbed
from instances import Instance, Options
from instances.boa import BoaAllocation, random_allocation


def _classes(size: int, seed: int) -> Instance[BoaAllocation]:
    return random_allocation(size, (30, 60), 64, seed=seed)


LADDERS = (
    Ladder("BOA, 30 to 60 epochs, 64 widths", "classes", (3, 12, 50, 200, 800), _classes, EXACT, *PEERS, small=1),
)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact allocation and of its peer grow with the size of the instance."""
    return climbed(LADDERS, limited(options, LIMIT_S), quick)
