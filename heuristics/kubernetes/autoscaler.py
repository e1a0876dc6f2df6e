"""The cluster autoscaler's rules for `node-consolidation`, applied until none of them acts.

The source is GitHub `kubernetes-sigs/cluster-autoscaler` at commit `33c3f97`, in pkg: estimator
(`binpacking_estimator.go`, `decreasing_pod_orderer.go`), expander (`waste.go`, `mostpods.go`), core/scaledown
(`planner.go`, `eligibility.go`) and simulator (`cluster.go`, `utilization/info.go`). Each instance type is a node group
whose growth only `max_new` limits.

kube-scheduler places evicted pods. Nodes are rented for those that then fit nowhere.
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
THRESHOLD = Fraction(1, 2)  # maximum utilisation of a node that is scaled down, the autoscaler's default
EMPTY_AT_ONCE, DRAINED_AT_ONCE = 10, 1  # maximum number of empty and of drained nodes per round


@dataclass(frozen=True)
class Option:
    """A number of new nodes of a type, and the pods they are for."""

    kind: int
    nodes: int
    pods: tuple[int, ...]


Expander = Callable[[Cluster, Sequence[Option]], list[Option]]


def choose_least_waste(cluster: Cluster, options: Sequence[Option]) -> list[Option]:
    """Return the options with the minimum sum of idle fractions of CPU and memory."""
    return _best(options, lambda option: -_idle(cluster, option))


def choose_most_pods(cluster: Cluster, options: Sequence[Option]) -> list[Option]:
    """Return the options with the maximum number of pods."""
    return _best(options, lambda option: Fraction(len(option.pods)))


@method("heuristic", honours=SEEDED)
def ca_least_waste(data: NodeConsolidation, options: Options) -> Answer:
    """Scale up by the option of least waste, the default; scale down by utilisation."""
    return Autoscaler(data, options.seed, choose_least_waste).answer()


@method("heuristic", honours=SEEDED)
def ca_most_pods(data: NodeConsolidation, options: Options) -> Answer:
    """Scale up by the option for most pods; scale down by utilisation."""
    return Autoscaler(data, options.seed, choose_most_pods).answer()


class Autoscaler:
    """A cluster that is managed by the autoscaler."""

    def __init__(self, data: NodeConsolidation, seed: int, expander: Expander) -> None:
        self.cluster, self.expander = Cluster(data, seed, "least"), expander
        self.gpu = next((r for r, name in enumerate(data.resources) if "gpu" in name), None)

    def answer(self) -> Answer:
        """Apply the rules until none acts, and return the resulting cluster."""
        self.cluster.schedule()
        self.scale_up()
        return self.cluster.run(self.scale_down, COMMIT, LEFT_OUT)

    def scale_down(self) -> bool:
        """Remove unneeded nodes, rent others for pods that then fit nowhere, and return whether any was removed."""
        if nodes := self.find_unneeded():
            self.cluster.drain(nodes)
            self.cluster.reschedule()
            self.scale_up()
        return bool(nodes)

    def scale_up(self) -> None:
        """Apply one option at a time until no pending pod fits on any new node."""
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
        """Return the new nodes of a type for the pending pods.

        Groups of equal pods come by decreasing size, and each pod goes to the first node that it fits.
        """
        cluster, a = self.cluster, self.cluster.arrays
        capacity = a.capacity[kind]
        groups = sorted(Counter(cluster.waiting).items(), key=lambda group: -self._size(group[0], kind))
        free: list[np.ndarray] = []
        pods: list[int] = []
        max_nodes = int(cluster.left[kind])
        for e, n in groups:
            need = cluster.need[e]
            for _ in range(n):
                place = next((m for m, q in enumerate(free) if (q >= need).all()), None)
                if place is None:
                    if 0 <= max_nodes <= len(free) or not (capacity >= need).all():
                        break
                    free.append(capacity.copy())
                    place = len(free) - 1
                free[place] = free[place] - need
                pods.append(e)
        return Option(kind, len(free), tuple(pods))

    def _size(self, e: int, kind: int) -> Fraction:
        """Return the sum of a pod's fractions of the CPU and the memory of a node."""
        cluster, size = self.cluster, self.cluster.sizes[kind]
        main = (r for r in (cluster.cpu, cluster.memory) if size[r])
        return sum((Fraction(int(cluster.asks[e][r]), int(size[r])) for r in main), Fraction(0))

    def utilisation(self, node: RuledNode) -> Fraction:
        """Return the larger of the used fractions of CPU and memory; for nodes with GPUs, that of GPUs."""
        cluster = self.cluster
        main = [cluster.cpu, cluster.memory]
        if self.gpu is not None and node.size[self.gpu]:
            main = [self.gpu]
        return max(
            (Fraction(int(node.taken[r]), int(node.size[r])) for r in main if node.size[r]),
            default=Fraction(0),
        )

    def find_unneeded(self) -> list[RuledNode]:
        """Return the nodes to scale down now: empty ones, or the first drainable ones with low utilisation.

        Each node is tested after those before it are removed and their pods are moved.
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
            if all(self._place(e, then) for e in node.pods):
                free = then
                (drained if node.pods else empty).append(node)
        return empty[:EMPTY_AT_ONCE] or drained[:DRAINED_AT_ONCE]

    def _place(self, e: int, free: dict[int, np.ndarray]) -> bool:
        """Place a pod on the first node that it fits, and return whether there is one."""
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
    """Return the sum of the idle fractions of CPU and memory of an option."""
    size = cluster.sizes[option.kind]
    idle = Fraction(0)
    for r in (cluster.cpu, cluster.memory):
        if total := option.nodes * int(size[r]):
            idle += Fraction(total - sum(int(cluster.asks[e][r]) for e in option.pods), total)
    return idle
