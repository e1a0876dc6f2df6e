"""The cluster autoscaler's rules for `node-consolidation`, until none of them acts any more.

GitHub `kubernetes-sigs/cluster-autoscaler` at commit `33c3f97`, below pkg: estimator (`binpacking_estimator.go`,
`decreasing_pod_orderer.go`), expander (`waste.go`, `mostpods.go`), core/scaledown (`planner.go`, `eligibility.go`) and
simulator (`cluster.go`, `utilization/info.go`). Each instance type is a node group that may grow without limit but
`max_new`.

Where pods go that are evicted is kube-scheduler's choice; those that then fit nowhere wait, and nodes are rented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from heuristics.kubernetes.cluster import Cluster, RuledNode
from instances.kubernetes import NodeConsolidation
from instances.method import SEEDED, method
from instances.options import Options
from instances.result import Answer

COMMIT = "kubernetes-sigs/cluster-autoscaler@33c3f97"
LEFT_OUT = (
    "the price and priority expanders",
    "balancing of similar node groups",
    "limits of time and of nodes in one scale-up",
    "waste over capacity: it is over what pods may use",
    "hints of where pods went before",
    "nodes that are not ready",
)
THRESHOLD = Fraction(1, 2)  # of what a node may be used for, to be scaled down
EMPTY_AT_ONCE, DRAINED_AT_ONCE = 10, 1
MOST_ROUNDS = 10  # times the number of nodes, and a hundred


@dataclass(frozen=True)
class Option:
    """So many new nodes of a type, for these pods."""

    kind: int
    nodes: int
    pods: tuple[int, ...]


Expander = Callable[[Cluster, Sequence[Option]], list[Option]]


def least_waste(cluster: Cluster, options: Sequence[Option]) -> list[Option]:
    """The options of which the least shares of CPU and memory, added up, are idle."""
    return _best(options, lambda option: -_idle(cluster, option))


def most_pods(cluster: Cluster, options: Sequence[Option]) -> list[Option]:
    """The options for most pods."""
    return _best(options, lambda option: Fraction(len(option.pods)))


@method("heuristic", honours=SEEDED)
def ca_least_waste(data: NodeConsolidation, options: Options) -> Answer:
    """Scale up by the option of least waste, the default; scale down by utilisation."""
    return Autoscaler(data, options.seed, least_waste).answer()


@method("heuristic", honours=SEEDED)
def ca_most_pods(data: NodeConsolidation, options: Options) -> Answer:
    """Scale up by the option for most pods; scale down by utilisation."""
    return Autoscaler(data, options.seed, most_pods).answer()


class Autoscaler:
    """A cluster under the autoscaler."""

    def __init__(self, data: NodeConsolidation, seed: int, expander: Expander) -> None:
        self.cluster, self.expander = Cluster(data, seed, "least"), expander
        self.gpu = next((r for r, name in enumerate(data.resources) if "gpu" in name), None)

    def answer(self) -> Answer:
        """The cluster once nothing acts any more."""
        cluster = self.cluster
        cluster.schedule()
        self.scale_up()
        most = MOST_ROUNDS * len(cluster.nodes) + 100
        while cluster.count.rounds < most:
            nodes = self.unneeded()
            if not nodes:
                break
            cluster.drain(nodes)
            cluster.schedule()
            cluster.count.pending_again += len(cluster.waiting)
            self.scale_up()
            cluster.count.rounds += 1
        return cluster.answer(COMMIT, LEFT_OUT, ended=cluster.count.rounds < most)

    def scale_up(self) -> None:
        """One option a loop, until no pod waits that fits anywhere."""
        cluster = self.cluster
        while cluster.waiting:
            options = [self.estimate(kind) for kind in range(len(cluster.arrays.price))]
            best = self.expander(cluster, [option for option in options if option.pods])
            if not best:
                return
            chosen = cluster.draw.choice(best)
            for _ in range(chosen.nodes):
                cluster.rent(chosen.kind)
            cluster.schedule()

    def estimate(self, kind: int) -> Option:
        """The new nodes of a type for the pods that wait: groups alike by size, into the first node that takes one."""
        cluster, a = self.cluster, self.cluster.arrays
        room = a.capacity[kind]
        groups = sorted(Counter(cluster.waiting).items(), key=lambda group: -self._size(group[0], kind))
        free: list[np.ndarray] = []
        pods: list[int] = []
        most = int(cluster.left[kind])
        for e, n in groups:
            need = cluster.need[e]
            for _ in range(n):
                place = next((m for m, q in enumerate(free) if (q >= need).all()), None)
                if place is None:
                    if 0 <= most <= len(free) or not (room >= need).all():
                        break
                    free.append(room.copy())
                    place = len(free) - 1
                free[place] = free[place] - need
                pods.append(e)
        return Option(kind, len(free), tuple(pods))

    def _size(self, e: int, kind: int) -> Fraction:
        """A pod's shares of the CPU and the memory of a node, added up."""
        cluster, size = self.cluster, self.cluster.sizes[kind]
        main = (r for r in (cluster.cpu, cluster.memory) if size[r])
        return sum((Fraction(int(cluster.asks[e][r]), int(size[r])) for r in main), Fraction(0))

    def utilisation(self, node: RuledNode) -> Fraction:
        """The larger of the shares of CPU and memory that are taken; of GPUs alone where a node has some."""
        cluster = self.cluster
        main = [cluster.cpu, cluster.memory]
        if self.gpu is not None and node.size[self.gpu]:
            main = [self.gpu]
        return max(
            (Fraction(int(node.taken[r]), int(node.size[r])) for r in main if node.size[r]),
            default=Fraction(0),
        )

    def unneeded(self) -> list[RuledNode]:
        """Nodes to be scaled down now: empty ones, or the first of those that are little used and can be drained.

        Each is looked at in turn, once those before it are gone and their pods on others.
        """
        cluster = self.cluster
        nodes = sorted(cluster.nodes, key=lambda node: node.name)
        free = {id(node): node.free.copy() for node in nodes}
        empty: list[RuledNode] = []
        drained: list[RuledNode] = []
        for node in nodes:
            if not node.leaves or self.utilisation(node) > THRESHOLD:
                continue
            then = dict(free)
            del then[id(node)]
            if all(self._find(e, then) for e in node.pods):
                free = then
                (drained if node.pods else empty).append(node)
        return empty[:EMPTY_AT_ONCE] or drained[:DRAINED_AT_ONCE]

    def _find(self, e: int, free: dict[int, np.ndarray]) -> bool:
        """Whether a pod fits on a node, the first of which it then takes."""
        need = self.cluster.need[e]
        for name, room in free.items():
            if (room >= need).all():
                free[name] = room - need
                return True
        return False


def _best(options: Sequence[Option], value: Callable[[Option], Fraction]) -> list[Option]:
    values = [value(option) for option in options]
    return [option for option, v in zip(options, values, strict=True) if v == max(values)]


def _idle(cluster: Cluster, option: Option) -> Fraction:
    """The idle shares of CPU and memory of an option, added up."""
    size = cluster.sizes[option.kind]
    idle = Fraction(0)
    for r in (cluster.cpu, cluster.memory):
        if held := option.nodes * int(size[r]):
            idle += Fraction(held - sum(int(cluster.asks[e][r]) for e in option.pods), held)
    return idle
