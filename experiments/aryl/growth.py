"""How Aryl's exact methods and their peers grow with jobs and servers."""

from __future__ import annotations

from experiments.aryl.peers import EXACT, ITEMS, RECLAIMS
from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S, Peer
from experiments.peers.growth import Ladder, climbed
from instances import Instance, Options
from instances.aryl import ArylElastic, ArylReclaim, elastic_jobs, loaned_servers, spread_jobs

LITERAL = Peer("HiGHS, the literal program", "models.aryl:literal")


def _knapsack(size: int, seed: int) -> Instance[ArylElastic]:
    return elastic_jobs(size, seed)


def _mean_jct(size: int, seed: int) -> Instance[ArylElastic]:
    return elastic_jobs(size, seed, objective="mean-jct")


def _random(size: int, seed: int) -> Instance[ArylReclaim]:
    return loaned_servers(size, 0.9, seed, 3 * size // 10)


def _spread(size: int, seed: int) -> Instance[ArylReclaim]:
    return spread_jobs(size, size, seed, size // 5)


LADDERS = (
    Ladder("Aryl, knapsack", "jobs", (20, 200, 2_000, 20_000), _knapsack, EXACT, ITEMS[0]),
    Ladder("Aryl, mean JCT", "jobs", (2, 3, 4, 6, 8, 10, 12, 14), _mean_jct, EXACT, LITERAL),
    Ladder(
        "Aryl, reclaiming 30%, 90% random", "servers", (20, 60, 200, 600, 1_200, 2_400), _random, EXACT, RECLAIMS[0]
    ),
    Ladder("Aryl, reclaiming 20%, spread", "servers", (20, 40, 60, 100, 150, 200, 300), _spread, EXACT, RECLAIMS[2]),
)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact methods and of their peers grow with the size of the instance."""
    return climbed(LADDERS, limited(options, LIMIT_S), quick)
