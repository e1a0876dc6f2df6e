"""Karpenter's rules for `node-consolidation`, by version, applied until none of them acts.

The source is GitHub `kubernetes-sigs/karpenter` at commit `2266468` (v1.14), in pkg/controllers:
provisioning/scheduling (`queue.go`, `scheduler.go`, `nodeclaim.go`) and disruption (`emptiness.go`,
`multinodeconsolidation.go`, `singlenodeconsolidation.go`, `consolidation.go`, `balanced.go`, `types.go`). Up to v1.13,
candidates are ordered by the cost of their disruption alone. There is one NodePool with all types, and a budget of 10%
of its nodes.

kube-scheduler places the evicted pods, not the simulation by which Karpenter decides. Nodes are rented for pods that
then fit nowhere.
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
BUDGET = 0.1  # fraction of the nodes, rounded up; Karpenter's default
MAX_AT_ONCE = 101  # candidates of a move of several nodes, as in the source
BALANCED_K = 2  # the default of the balanced rule


@method("heuristic", honours=SEEDED, name="karpenter-1.14")
def karpenter_1_14(
    data: NodeConsolidation, options: Options, *, budget: float = BUDGET, destinations: Destinations = "least"
) -> Answer:
    """Remove empty nodes, several nodes or one node; candidates come by their price per cost of disruption.

    - `budget`: fraction of the nodes that may be disrupted at once.
    - `destinations`: the score by which kube-scheduler places evicted pods, or `simulated` for the simulation's
      placement.
    """
    return Karpenter(data, options.seed, "price per cost", budget, destinations, None).answer(COMMIT)


@method("heuristic", honours=SEEDED, name="karpenter-1.13")
def karpenter_1_13(
    data: NodeConsolidation, options: Options, *, budget: float = BUDGET, destinations: Destinations = "least"
) -> Answer:
    """Apply the rules of `karpenter_1_14`, but order candidates by the cost of their disruption."""
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
    """Apply `karpenter_1_14`, limited to moves that save a price share of at least 1/k of their cost share."""
    return Karpenter(data, options.seed, "price per cost", budget, destinations, k).answer(COMMIT)


@dataclass
class NodeClaim:
    """A node that will be rented: its pods, the amounts they use, and the types that fit."""

    pods: list[int]
    taken: IntArray
    kinds: BoolArray


@dataclass(frozen=True)
class SimulatedBatch:
    """The simulated placement of a batch of pods.

    - `placed`: pods on running nodes.
    - `claims`: new nodes.
    - `failed`: pods that fit nowhere.
    """

    placed: list[tuple[int, RuledNode]]
    claims: list[NodeClaim]
    failed: list[int]


@dataclass(frozen=True)
class Move:
    """The nodes to be disrupted, the type of the replacement, if any, and the simulated placement of their pods."""

    nodes: Sequence[RuledNode]
    kind: int | None
    simulated: SimulatedBatch | None


class Karpenter:
    """A cluster that is managed by Karpenter."""

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
        """Apply the rules until none acts, and return the resulting cluster."""
        self.provision()
        return self.cluster.run(self.disrupt, commit, LEFT_OUT)

    def disrupt(self) -> bool:
        """Execute the first move that the rules find, and return whether there is one."""
        move = self.find_empty() or self.find_multi_node() or self.find_single_node()
        if move is not None:
            self._execute(move)
        return move is not None

    def provision(self) -> None:
        """Rent nodes for the pending pods, until none fits on any node or a round changes nothing."""
        cluster = self.cluster
        while cluster.waiting:
            previous = len(cluster.waiting)
            batch = self.simulate(cluster.waiting, cluster.nodes)
            if len(batch.failed) == previous:
                return
            rented = [(claim, cluster.rent(self._cheapest(claim.kinds))) for claim in batch.claims]
            if self.simulated:
                cluster.waiting = batch.failed
                for e, node in (*batch.placed, *((e, node) for claim, node in rented for e in claim.pods)):
                    cluster.put(e, node)
            else:
                cluster.schedule()
            if len(cluster.waiting) == previous and not rented:
                return  # kube-scheduler rejects a node that the simulation accepts

    def simulate(self, pods: Sequence[int], nodes: Sequence[RuledNode]) -> SimulatedBatch:
        """Place pods by decreasing size in a simulation.

        Each pod goes to the first node by name that it fits, otherwise to the claim with the fewest pods, otherwise to
        a new claim.
        """
        cluster, a = self.cluster, self.cluster.arrays
        nodes = sorted(nodes, key=lambda node: node.name)
        free = np.array([node.free for node in nodes]).reshape(len(nodes), a.need.shape[1])
        left = cluster.left.copy()
        batch = SimulatedBatch([], [], [])
        for e in cluster.sort_by_size(pods):
            need = cluster.need[e]
            fits = (free >= need).all(axis=1)
            if fits.any():
                m = int(fits.argmax())
                free[m] -= need
                batch.placed.append((e, nodes[m]))
                continue
            batch.claims.sort(key=lambda claim: len(claim.pods))
            for claim in batch.claims:
                kinds = claim.kinds & (a.capacity >= claim.taken + need).all(axis=1)
                if kinds.any():
                    claim.pods.append(e)
                    claim.taken, claim.kinds = claim.taken + need, kinds
                    break
            else:
                kinds = (a.capacity >= need).all(axis=1) & (left != 0)
                if kinds.any():
                    batch.claims.append(NodeClaim([e], need.copy(), kinds))
                    left[kinds & (left > 0)] -= 1  # it may become any of these types
                else:
                    batch.failed.append(e)
        return batch

    def candidates(self) -> list[RuledNode]:
        """Return the nodes that may be disrupted, in the order of the version."""
        nodes = [node for node in self.cluster.nodes if node.leaves]
        if self.order == "cost":
            return sorted(nodes, key=lambda node: sum(self.cluster.data.pods[e].eviction_cost for e in node.pods))
        return sorted(nodes, key=lambda node: -node.price / (1 + self.cluster.eviction_cost(node)))

    def max_disruptions(self) -> int:
        """Return how many nodes may be disrupted at once."""
        return ceil(round(self.budget * len(self.cluster.nodes), 9))

    def is_empty(self, node: RuledNode) -> bool:
        """Return whether no pod of a node has a positive eviction cost; up to v1.13, whether it has no pods."""
        return not node.pods if self.order == "cost" else self.cluster.eviction_cost(node) <= 0

    def find_empty(self) -> Move | None:
        """Return the move that removes all empty nodes within the budget, if any."""
        nodes = [node for node in self.candidates() if self.is_empty(node)][: self.max_disruptions()]
        return Move(nodes, None, None) if nodes else None

    def find_multi_node(self) -> Move | None:
        """Return the move of the longest prefix of the candidates that a binary search finds, if any."""
        nodes = self._nonempty_candidates()[: self.max_disruptions()]
        low, high = 1, min(len(nodes), MAX_AT_ONCE) - 1
        best = None
        while low <= high:
            middle = (low + high) // 2
            move = self.plan_move(nodes[: middle + 1])
            if move is not None:
                best, low = move, middle + 1
            else:
                high = middle - 1
        return best

    def find_single_node(self) -> Move | None:
        """Return the move of the first candidate that has one."""
        if not self.max_disruptions():
            return None
        moves = (self.plan_move([node]) for node in self._nonempty_candidates())
        return next((move for move in moves if move is not None), None)

    def plan_move(self, nodes: Sequence[RuledNode]) -> Move | None:
        """Return the move of nodes whose pods fit on other nodes, or on these and one new, cheaper node."""
        cluster, a = self.cluster, self.cluster.arrays
        others = [node for node in cluster.nodes if all(node is not removed for removed in nodes)]
        pods = [e for node in nodes for e in node.pods]
        batch = self.simulate([*cluster.waiting, *pods], others)
        if set(batch.failed) & set(pods) or len(batch.claims) > 1:
            return None
        price, kind = sum(node.price for node in nodes), None
        if batch.claims:
            limit = price
            kinds = batch.claims[0].kinds & (a.price < limit)
            if len(nodes) > 1:
                same = [node.price for node in nodes if node.kind is not None and kinds[node.kind]]
                kinds &= a.price < min([limit, *same])
            if not kinds.any():
                return None
            kind = self._cheapest(kinds)
        saved = price - (0 if kind is None else int(a.price[kind]))
        return Move(nodes, kind, batch) if self._is_balanced(nodes, saved) else None

    def _is_balanced(self, nodes: Sequence[RuledNode], saved: int) -> bool:
        """Return whether the fraction of the price saved is large enough for the fraction of the cost disrupted."""
        if self.k is None:
            return True
        cluster = self.cluster
        price = sum(node.price for node in cluster.nodes)
        cost = sum(1 + cluster.eviction_cost(node) for node in cluster.nodes)
        disrupted = sum(1 + cluster.eviction_cost(node) for node in nodes)
        return saved > 0 and price > 0 and saved * cost * self.k >= disrupted * price

    def _nonempty_candidates(self) -> list[RuledNode]:
        return [node for node in self.candidates() if not self.is_empty(node) and node.kind is not None]

    def _cheapest(self, kinds: BoolArray) -> int:
        """Return the cheapest of some types, in a tie the first by name."""
        names = [kind.name for kind in self.cluster.data.instance_types]
        return min(np.flatnonzero(kinds).tolist(), key=lambda k: (int(self.cluster.arrays.price[k]), names[k]))

    def _execute(self, move: Move) -> None:
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
            cluster.reschedule()
        self.provision()
