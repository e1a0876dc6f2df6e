"""A plan carried out: nodes are rented and others drained, one after another, and kube-scheduler places their pods.

Where an evicted pod goes is not the plan's to say. kube-scheduler takes the pods as they come, and for each the node of
the highest score of those that it may be on: LeastAllocated and BalancedAllocation of CPU and memory, ties at random.
Nothing comes to a node that is to be drained: all of them are cordoned first. A plan may cordon others, too, and
uncordon some for the pods of a node: what then fits nowhere waits for the next that is uncordoned. Many random orders
are carried out at once. Left out: its default spread of replicas, images, and preemption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from heuristics.kubernetes.cluster import main_resources
from instances.arrays import BoolArray, IntArray
from instances.compiled import compiled
from instances.kubernetes.consolidation_arrays import ClusterArrays
from instances.kubernetes.node_consolidation import RentedType
from instances.kubernetes.placement import ClusterNode

ORDERS = 100
WANTED = 0.95  # of the orders, in which every pod is to have a place
MOST = 100  # of a score
NO_REQUEST = {"cpu_milli": 100, "memory_mib": 200}  # what a pod that asks for none counts for in the score
PARTS = 1000  # of a unit, in which scores count
WAITING = -1  # in the place of a node, the pods that are on none
NEVER = 2**31  # when a place is uncordoned


@dataclass(frozen=True, eq=False)
class DrainPlan:
    """What is kept (M,), and the steps in turn: a node to be drained by its number, or `~k`, one of type k to rent.

    `open`: of a node that is drained, or `WAITING` for the pods that wait, the only places that are uncordoned then,
    one after another: a node by its number, or `~i`, the i-th that is rented. Where it says nothing, all places are.
    """

    kept: BoolArray
    steps: tuple[int, ...]
    open: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def new(self) -> tuple[int, ...]:
        """The types that are rented, in turn."""
        return tuple(~step for step in self.steps if step < 0)

    @property
    def order(self) -> tuple[int, ...]:
        """The nodes that are drained, in turn."""
        return tuple(step for step in self.steps if step >= 0)

    def bill(self, arrays: ClusterArrays) -> int:
        """Its price in price units."""
        return int(arrays.held_price[self.kept].sum()) + sum(int(arrays.price[k]) for k in self.new)

    def evictions(self, arrays: ClusterArrays) -> int:
        """How many pods it evicts."""
        return int(arrays.on_node[~self.kept].sum())


@dataclass(frozen=True)
class CarriedOut:
    """How a plan went: pods without a place in each order, and of each class (orders, N)."""

    pending: IntArray

    @property
    def orders(self) -> int:
        """In how many of them a pod is without a place."""
        return int((self.pending.sum(axis=1) > 0).sum())

    @property
    def pods(self) -> float:
        """How many pods are without a place on average."""
        return float(self.pending.sum(axis=1).mean())

    @property
    def succeeds(self) -> bool:
        return len(self.pending) - self.orders >= WANTED * len(self.pending)


def plan_of(arrays: ClusterArrays, kept: BoolArray, new: Sequence[int]) -> DrainPlan:
    """The plan that ends with these nodes: it rents first, and drains those with the largest pods before others."""
    largest = _largest(arrays)
    order = sorted(np.flatnonzero(~kept).tolist(), key=lambda m: (-largest[m], m))
    return DrainPlan(kept, (*(~k for k in new), *order))


def _largest(arrays: ClusterArrays) -> list[float]:
    """Of the pods of each node the largest share of a resource of the largest node."""
    width = len(arrays.data.resources)
    size = (arrays.need[:, :width] / np.maximum(1, arrays.room.max(axis=0, initial=1))[:width]).max(axis=1, initial=0.0)
    found: list[float] = np.where(arrays.now > 0, size, 0.0).max(axis=1, initial=0.0).tolist()
    return found


def carry_out(arrays: ClusterArrays, plan: DrainPlan, seed: int, orders: int = ORDERS) -> CarriedOut:
    """Carry a plan out in random orders of the pods of each node; pods that wait come first."""
    return Orders(arrays, seed, orders).carry_out(plan)


class Orders:
    """Random orders in which the pods of each node come, and those that wait: the same for all plans.

    `work`: how many pairs of a pod and a node have been looked at.
    """

    def __init__(self, arrays: ClusterArrays, seed: int | Sequence[int], orders: int = ORDERS) -> None:
        self.arrays, self.work, draw = arrays, 0, np.random.default_rng(seed)
        classes = np.arange(len(arrays.count))
        groups = [*(np.repeat(classes, row) for row in arrays.now), np.repeat(classes, arrays.pending)]
        self.begins = np.cumsum([0, *map(len, groups)])
        shuffled = [draw.permuted(np.tile(group, (orders, 1)), axis=1) for group in groups]
        self.coming = np.ascontiguousarray(np.concatenate(shuffled, axis=1), dtype=np.int64)
        self.ties = draw.integers(1, 2**31, size=orders)
        self.turn = np.arange(orders)
        data = arrays.data
        scored = [data.resources[r] for r in main_resources(data)]
        pods = [data.pods[members[0]] for members in arrays.members]
        asked = [[round(PARTS * (pod.demand[r] or NO_REQUEST.get(r, 0))) for r in scored] for pod in pods]
        self.weight = np.array(asked, dtype=np.int64).reshape(len(pods), len(scored))
        self.held_size, self.new_size = _sizes(data.nodes, scored), _sizes(data.instance_types, scored)
        self.load = arrays.now @ self.weight

    def carry_out(self, plan: DrainPlan) -> CarriedOut:
        """How the plan goes in all of the orders."""
        return CarriedOut(self._pending(plan, self.turn, self.coming.size)[0])

    def lost(self, plan: DrainPlan, few: int, most: float) -> float:
        """How many pods are without a place on average in the first few orders; more than `most` where it is more."""
        pods = int(min(self.coming.size, most * few))
        return float(self._pending(plan, self.turn[:few], pods)[0].sum()) / few

    def fails(self, plan: DrainPlan) -> bool:
        """Whether a pod is without a place in any order; the order that told so comes first from then on."""
        _, done = self._pending(plan, self.turn, 0)
        if done < len(self.turn):
            self.turn[: done + 1] = np.roll(self.turn[: done + 1], 1)
        return done < len(self.turn)

    def _pending(self, plan: DrainPlan, turn: IntArray, most: int) -> tuple[IntArray, int]:
        """The pods without a place until there are more than `most`, and in how many orders they were found."""
        a, new, kept = self.arrays, list(plan.new), np.flatnonzero(plan.kept)
        free = np.concatenate([a.free[kept], a.capacity[new]])
        size = np.concatenate([self.held_size[kept], self.new_size[new]])
        load = np.concatenate([self.load[kept], np.zeros((len(new), self.load.shape[1]), dtype=np.int64)])
        groups = np.array([len(plan.kept), *plan.order])
        opens = np.zeros((len(groups), len(free)), dtype=np.int64)
        rented = drained = 0
        for step in plan.steps:
            drained += step >= 0
            if step < 0:
                opens[: drained and drained + 1, len(kept) + rented] = NEVER
                rented += 1
        place = {m: i for i, m in enumerate([*kept.tolist(), *(~i for i in range(rented))])}
        for g, m in enumerate([WAITING, *plan.order]):
            if m in plan.open:
                turns = {place[p]: turn for turn, p in enumerate(plan.open[m])}
                opens[g] = [turns.get(p, NEVER) for p in range(len(free))]
        pending, done, work = _carried_out(
            free, load, size, opens, a.need, self.weight,
            self.coming, self.begins, groups, turn, self.ties, most,
        )  # fmt: skip
        self.work += work
        return pending, done


def _sizes(places: Sequence[ClusterNode | RentedType], scored: Sequence[str]) -> IntArray:
    """How much nodes or types have of what is scored."""
    rows = [[max(1, round(PARTS * place.capacity[r])) for r in scored] for place in places]
    return np.array(rows, dtype=np.int64).reshape(len(places), len(scored))


@compiled
def scored(cpu, cpus, memory, memories):  # type: ignore[no-untyped-def]
    """The scores LeastAllocated and BalancedAllocation of a node, added up, by what is taken of how much."""
    least = max(0, cpus - cpu) * MOST // cpus + max(0, memories - memory) * MOST // memories
    apart = abs(min(1.0, cpu / cpus) - min(1.0, memory / memories))
    return least // 2 + int((1.0 - apart / 2) * MOST)


@compiled
def _carried_out(free, load, size, opens, need, weight, coming, begins, groups, turn, ties, most):  # type: ignore[no-untyped-def]
    """The pods of each class without a place in each order; it ends once there are more than `most` of them.

    `opens`: of each group of pods and each place when it is there: pods that fit nowhere come again with the next.
    """
    places, resources = free.shape
    pending = np.zeros((len(turn), len(need)), dtype=np.int64)
    left, taken = np.empty_like(free), np.empty_like(load)
    waiting = np.empty(coming.shape[1], dtype=np.int64)
    last = np.zeros(len(groups), dtype=np.int64)
    for p in range(len(groups)):
        for m in range(places):
            if opens[p, m] < NEVER:
                last[p] = max(last[p], opens[p, m])
    lost, work = 0, 0
    for done in range(len(turn)):
        o = turn[done]
        left[:], taken[:] = free, load
        state = ties[o]
        for p in range(len(groups)):
            g = groups[p]
            many = begins[g + 1] - begins[g]
            waiting[:many] = coming[o, begins[g] : begins[g + 1]]
            for now in range(last[p] + 1):
                still = 0
                for t in range(many):
                    i = waiting[t]
                    best, best_score, equal = -1, -1, 0
                    work += places
                    for m in range(places):
                        fits = opens[p, m] <= now
                        for r in range(resources):
                            if need[i, r] > left[m, r]:
                                fits = False
                                break
                        if not fits:
                            continue
                        cpu, memory = taken[m, 0] + weight[i, 0], taken[m, 1] + weight[i, 1]
                        score = scored(cpu, size[m, 0], memory, size[m, 1])
                        if score > best_score:
                            best, best_score, equal = m, score, 1
                        elif score == best_score:
                            equal += 1
                            state = state * 48271 % 2147483647  # Lehmer's generator
                            if state % equal == 0:
                                best = m
                    if best < 0:
                        waiting[still] = i
                        still += 1
                        continue
                    for r in range(resources):
                        left[best, r] -= need[i, r]
                    taken[best, 0] += weight[i, 0]
                    taken[best, 1] += weight[i, 1]
                many = still
            for t in range(many):
                pending[done, waiting[t]] += 1
            lost += many
            if lost > most:
                return pending, done, work
    return pending, len(turn), work
