"""How the exact methods for nodes and their peers grow with nodes and pods."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study, limited
from experiments.kubernetes.peers import PEERS
from experiments.peers.comparison import LIMIT_S, Peer
from experiments.peers.growth import Ladder, climbed
from instances import Instance, Options
from instances.kubernetes import NodeConsolidation, NodePlacement, random_cluster, shrunk_cluster

PLACED, CONSOLIDATED = "models.kubernetes:exact", "models.kubernetes:exact_consolidation"
LITERAL = Peer("HiGHS, the literal program", "models.kubernetes:literal_consolidation")


def _nodes(size: int, seed: int) -> Instance[NodePlacement]:
    return random_cluster(size, seed, load=0.97)


def _pods(size: int, seed: int) -> Instance[NodeConsolidation]:
    return shrunk_cluster(size, seed)


LADDERS = (
    Ladder("Node placement, load 0.97", "nodes", (5, 10, 20, 40, 80, 160, 320, 640, 1_280), _nodes, PLACED, PEERS[0]),
    Ladder("Node consolidation", "pods", (6, 12, 25, 50, 100, 200, 400, 1_600, 6_400), _pods, CONSOLIDATED, LITERAL),
)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact methods and of their peers grow with the size of the instance."""
    return climbed(LADDERS, limited(options, LIMIT_S), quick)
