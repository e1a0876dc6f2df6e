"""Karpenter's rules for `node-consolidation`, by version, until none of them acts any more.

GitHub `kubernetes-sigs/karpenter` at commit `2266468` (v1.14), below pkg/controllers: provisioning/scheduling
(`queue.go`, `scheduler.go`, `nodeclaim.go`) and disruption (`emptiness.go`, `multinodeconsolidation.go`,
`singlenodeconsolidation.go`, `consolidation.go`, `balanced.go`, `types.go`). Up to v1.13 candidates come by the cost of
their disruption alone. There is one NodePool with all types, and a budget of 10% of its nodes.

Where pods go that a move evicts is kube-scheduler's choice, and not the simulation's by which Karpenter decides: those
that then fit nowhere wait, and nodes are rented for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from heuristics.kubernetes.cluster import Cluster, RuledNode
from instances.arrays import BoolArray, IntArray
from instances.kubernetes import NodeConsolidation
from instances.method import SEEDED, method
from instances.options import Options
from instances.result import Answer

Order = Literal["cost", "price per cost"]
Destinations = Literal["least", "most", "simulated"]
COMMIT = "kubernetes-sigs/karpenter@2266468"
COMMIT_13 = "kubernetes-sigs/karpenter@2266468 with the order of v1.13.0"
LEFT_OUT = (
    "spot and reserved capacity",
    "minValues",
    "limits of NodePools but max_new",
    "relaxing of preferences",
    "spreading over zones",
    "drift, expiry, interruption and repair",
    "validation after 15 s",
    "limits of time",
    "several NodePools",
    "lifetime left of a node",
)
BUDGET = 0.1  # of the nodes, rounded up
MOST_AT_ONCE = 101  # candidates of a move of several nodes
BALANCED_K = 2
MOST_ROUNDS = 10  # times the number of nodes, and a hundred: a cluster in which moves never end is left as it is


@method("heuristic", honours=SEEDED, name="karpenter-1.14")
def karpenter_1_14(
    data: NodeConsolidation, options: Options, *, budget: float = BUDGET, destinations: Destinations = "least"
) -> Answer:
    """Empty nodes, several nodes, one node: candidates by their price for each cost of their disruption.

    - `budget`: the share of the nodes that may be disrupted at once.
    - `destinations`: by which score kube-scheduler places pods that are evicted, or that they go where simulated.
    """
    return Karpenter(data, options.seed, "price per cost", budget, destinations, None).answer(COMMIT)


@method("heuristic", honours=SEEDED, name="karpenter-1.13")
def karpenter_1_13(
    data: NodeConsolidation, options: Options, *, budget: float = BUDGET, destinations: Destinations = "least"
) -> Answer:
    """As `karpenter_1_14`, with candidates by the cost of their disruption."""
    return Karpenter(data, options.seed, "cost", budget, destinations, None).answer(COMMIT_13)


@method("heuristic", honours=SEEDED, name="karpenter-1.14-balanced")
def karpenter_1_14_balanced(
    data: NodeConsolidation,
    options: Options,
    *,
    budget: float = BUDGET,
    destinations: Destinations = "least",
    k: float = BALANCED_K,
) -> Answer:
    """As `karpenter_1_14`, of moves those alone whose share of the price is at least 1/k of their share of the cost."""
    return Karpenter(data, options.seed, "price per cost", budget, destinations, k).answer(COMMIT)


@dataclass
class NodeClaim:
    """A node that is to be rented: its pods, what they take, and the types that hold them."""

    pods: list[int]
    taken: IntArray
    kinds: BoolArray


@dataclass(frozen=True)
class SimulatedBatch:
    """Where the pods of a batch would go: `placed` on nodes that run, and new `claims`; `failed` fit nowhere."""

    placed: list[tuple[int, RuledNode]]
    claims: list[NodeClaim]
    failed: list[int]


@dataclass(frozen=True)
class Move:
    """Nodes to be disrupted, the type that replaces them, if any, and where their pods would go."""

    nodes: Sequence[RuledNode]
    kind: int | None
    simulated: SimulatedBatch | None


class Karpenter:
    """A cluster under Karpenter."""

    def __init__(
        self,
        data: NodeConsolidation,
        seed: int,
        order: Order,
        budget: float,
        destinations: Destinations,
        k: float | None,
    ) -> None:
        scores = "least" if destinations == "simulated" else destinations
        self.cluster = Cluster(data, seed, scores)
        self.order, self.budget, self.k, self.simulated = order, budget, k, destinations == "simulated"

    def answer(self, commit: str) -> Answer:
        """The cluster once nothing acts any more."""
        cluster = self.cluster
        self.provision()
        most = MOST_ROUNDS * len(cluster.nodes) + 100
        while cluster.count.rounds < most:
            move = self.empty() or self.several() or self.one()
            if move is None:
                break
            self._carry_out(move)
            cluster.count.rounds += 1
        ended = cluster.count.rounds < most
        return cluster.answer(commit, LEFT_OUT, ended=ended)

    def provision(self) -> None:
        """Rent nodes for the pods that wait, until none fits anywhere or a round changes nothing."""
        cluster = self.cluster
        while cluster.waiting:
            before = len(cluster.waiting)
            found = self.simulate(cluster.waiting, cluster.nodes)
            if len(found.failed) == before:
                return
            rented = [(claim, cluster.rent(self._cheapest(claim.kinds))) for claim in found.claims]
            if self.simulated:
                cluster.waiting = found.failed
                for e, node in (*found.placed, *((e, node) for claim, node in rented for e in claim.pods)):
                    cluster.put(e, node)
            else:
                cluster.schedule()
            if len(cluster.waiting) == before and not rented:
                return  # kube-scheduler refuses a node that the simulation accepts

    def simulate(self, pods: Sequence[int], nodes: Sequence[RuledNode]) -> SimulatedBatch:
        """Pods by size, each on the first node by name that it fits, the claim of fewest pods, or a new one."""
        cluster, a = self.cluster, self.cluster.arrays
        nodes = sorted(nodes, key=lambda node: node.name)
        free = np.array([node.free for node in nodes]).reshape(len(nodes), a.need.shape[1])
        left = cluster.left.copy()
        found = SimulatedBatch([], [], [])
        for e in cluster.by_size(pods):
            need = cluster.need[e]
            fits = (free >= need).all(axis=1)
            if fits.any():
                m = int(fits.argmax())
                free[m] -= need
                found.placed.append((e, nodes[m]))
                continue
            found.claims.sort(key=lambda claim: len(claim.pods))
            for claim in found.claims:
                kinds = claim.kinds & (a.capacity >= claim.taken + need).all(axis=1)
                if kinds.any():
                    claim.pods.append(e)
                    claim.taken, claim.kinds = claim.taken + need, kinds
                    break
            else:
                kinds = (a.capacity >= need).all(axis=1) & (left != 0)
                if kinds.any():
                    found.claims.append(NodeClaim([e], need.copy(), kinds))
                    left[kinds & (left > 0)] -= 1  # as whichever it will be
                else:
                    found.failed.append(e)
        return found

    def candidates(self) -> list[RuledNode]:
        """Nodes that may be disrupted, in the order of the version."""
        nodes = [node for node in self.cluster.nodes if node.leaves]
        if self.order == "cost":
            return sorted(nodes, key=lambda node: sum(self.cluster.data.pods[e].eviction_cost for e in node.pods))
        return sorted(nodes, key=lambda node: -node.price / (1 + self.cluster.eviction_cost(node)))

    def allowed(self) -> int:
        """How many nodes may be disrupted at once."""
        return ceil(round(self.budget * len(self.cluster.nodes), 9))

    def is_empty(self, node: RuledNode) -> bool:
        """Whether no pod of a node has a cost of eviction above 0, and up to v1.13 whether it has none."""
        return not node.pods if self.order == "cost" else self.cluster.eviction_cost(node) <= 0

    def empty(self) -> Move | None:
        """All empty nodes, within the budget."""
        nodes = [node for node in self.candidates() if self.is_empty(node)][: self.allowed()]
        return Move(nodes, None, None) if nodes else None

    def several(self) -> Move | None:
        """The longest row of candidates, by binary search, from the first on, that makes a move."""
        nodes = self._underutilized()[: self.allowed()]
        low, high = 1, min(len(nodes), MOST_AT_ONCE) - 1
        best = None
        while low <= high:
            middle = (low + high) // 2
            move = self.moved(nodes[: middle + 1])
            if move is not None:
                best, low = move, middle + 1
            else:
                high = middle - 1
        return best

    def one(self) -> Move | None:
        """The first candidate that makes a move."""
        if not self.allowed():
            return None
        moves = (self.moved([node]) for node in self._underutilized())
        return next((move for move in moves if move is not None), None)

    def moved(self, nodes: Sequence[RuledNode]) -> Move | None:
        """The move of nodes whose pods all fit on others, or on these and one new node that is cheaper."""
        cluster, a = self.cluster, self.cluster.arrays
        others = [node for node in cluster.nodes if all(node is not gone for gone in nodes)]
        pods = [e for node in nodes for e in node.pods]
        found = self.simulate([*cluster.waiting, *pods], others)
        if set(found.failed) & set(pods) or len(found.claims) > 1:
            return None
        price, kind = sum(node.price for node in nodes), None
        if found.claims:
            limit = price
            kinds = found.claims[0].kinds & (a.price < limit)
            if len(nodes) > 1:
                same = [node.price for node in nodes if node.kind is not None and kinds[node.kind]]
                kinds &= a.price < min([limit, *same])
            if not kinds.any():
                return None
            kind = self._cheapest(kinds)
        saved = price - (0 if kind is None else int(a.price[kind]))
        return Move(nodes, kind, found) if self._approved(nodes, saved) else None

    def _approved(self, nodes: Sequence[RuledNode], saved: int) -> bool:
        """Balanced: whether the share that is saved is large enough for what is disrupted."""
        if self.k is None:
            return True
        cluster = self.cluster
        price = sum(node.price for node in cluster.nodes)
        cost = sum(1 + cluster.eviction_cost(node) for node in cluster.nodes)
        disrupted = sum(1 + cluster.eviction_cost(node) for node in nodes)
        return saved > 0 and price > 0 and saved * cost * self.k >= disrupted * price

    def _underutilized(self) -> list[RuledNode]:
        return [node for node in self.candidates() if not self.is_empty(node) and node.kind is not None]

    def _cheapest(self, kinds: BoolArray) -> int:
        """Of some types the cheapest, and of these the first by name."""
        names = [kind.name for kind in self.cluster.data.instance_types]
        return min(np.flatnonzero(kinds).tolist(), key=lambda k: (int(self.cluster.arrays.price[k]), names[k]))

    def _carry_out(self, move: Move) -> None:
        cluster = self.cluster
        new = None if move.kind is None else cluster.rent(move.kind)
        cluster.drain(move.nodes)
        if self.simulated and move.simulated is not None:
            cluster.waiting = move.simulated.failed
            for e, node in move.simulated.placed:
                cluster.put(e, node)
            for claim in move.simulated.claims:
                for e in claim.pods:
                    assert new is not None
                    cluster.put(e, new)
        else:
            cluster.schedule()
            cluster.count.pending_again += len(cluster.waiting)
        self.provision()
