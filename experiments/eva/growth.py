"""How Eva's exact packing and its peers grow with tasks, pods and workloads."""

from __future__ import annotations

from experiments.eva.methods import METHODS
from experiments.eva.peers import COLUMNS, CONTENTS, EXACT, PATTERNS
from experiments.harness.entry import named
from experiments.harness.experiment import Quick, Study, limited
from experiments.peers.comparison import LIMIT_S, Peer
from experiments.peers.growth import Ladder, climbed
from instances import Instance, Options
from instances.eva import (
    EvaPacking,
    EvaReconfiguration,
    pod_requests,
    price_list,
    random_round,
    random_workloads,
    table_7,
)

ROUND = "models.eva.reconfiguration:exact_reconfiguration"
(_LITERAL,) = named(METHODS["eva-reconfiguration"], "literal")
LITERAL = Peer("HiGHS, the literal program", _LITERAL.target)


def _table_7(size: int, seed: int) -> Instance[EvaPacking]:
    return table_7(size, seed)


def _workloads(size: int, seed: int) -> Instance[EvaPacking]:
    return random_workloads(200, size, seed, least_throughput=0.8)


def _price_list(size: int, seed: int) -> Instance[EvaPacking]:
    return price_list(size, seed)


def _distinct(size: int, seed: int) -> Instance[EvaPacking]:
    return pod_requests(size, seed)


def _round(size: int, seed: int) -> Instance[EvaReconfiguration]:
    return random_round(size, seed)


LADDERS = (
    Ladder("Eva, Table 7", "tasks", (50, 200, 1_000, 8_000, 80_000), _table_7, EXACT, PATTERNS),
    Ladder("Eva, net saving of 200 tasks", "workloads", (5, 10, 20, 40, 60), _workloads, EXACT, CONTENTS),
    Ladder("Eva, EKS price list", "pods", (5, 20, 60, 200, 600, 2_000), _price_list, EXACT, COLUMNS),
    Ladder("Eva, distinct pods", "pods", (5, 20, 50, 100, 200, 500, 1_000, 2_000), _distinct, EXACT, COLUMNS),
    Ladder("Eva, a round", "tasks", (5, 10, 20, 40, 80, 160, 320), _round, ROUND, LITERAL, _LITERAL.unfit),
)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact packing and of its peers grow with the size of the instance."""
    return climbed(LADDERS, limited(options, LIMIT_S), quick)
