"""Simulate a plan: nodes are rented and others drained, one after another, and kube-scheduler places their pods.

The plan does not decide the node of an evicted pod. kube-scheduler takes the pods in the order of their arrival. It
places each on the admissible node with the highest score: LeastAllocated and BalancedAllocation of CPU and memory, with
random ties. All nodes to be drained are cordoned first, so that no pod comes to them. A plan may also cordon other
nodes, and uncordon some for the pods of a node. Pods that then fit nowhere wait for the next uncordoned node. Many
random orders are simulated at once. The default spread of replicas, images, and preemption are not modelled.

A plan may direct pods: while a node is drained, places are uncordoned one after another, and the others stay cordoned.
A place is uncordoned if all pods that fit into it fit together, or are identical. Then the choices of kube-scheduler
make no difference, and the plan has the same end for any order of the pods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heuristics.kubernetes.cluster import main_resources
from instances.arrays import BoolArray, IntArray
from instances.compiled import compile_lazily
from instances.kubernetes.arrays import ClusterArrays
from instances.kubernetes.node_consolidation import NodeConsolidation, RentedType
from instances.kubernetes.placement import ClusterNode

ORDERS = 100
WANTED = 0.95  # share of the orders in which every pod should have a place
MOST = 100  # maximum of a score
NO_REQUEST = {"cpu_milli": 100, "memory_mib": 200}  # assumed request in the score of a pod without requests
PARTS = 1000  # scores use multiples of 1 / PARTS of a unit
WAITING = -1  # stands for a node, for the pods that are on no node
NEVER = 2**31  # time at which a place that stays cordoned is uncordoned


@dataclass(frozen=True, eq=False)
class DrainPlan:
    """A plan: the kept nodes (M,), and the steps in order. A step drains node m (`m`) or rents a node of type k (`~k`).

    `open`: the places to uncordon, in order, for the pods of a drained node, or for pending pods (`WAITING`). A place
    is a node by its number, or `~i` for the i-th rented node. Without an entry, all places are uncordoned.
    """

    kept: BoolArray
    steps: tuple[int, ...]
    open: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def new(self) -> tuple[int, ...]:
        """Return the types that are rented, in order."""
        return tuple(~step for step in self.steps if step < 0)

    @property
    def order(self) -> tuple[int, ...]:
        """Return the nodes that are drained, in order."""
        return tuple(step for step in self.steps if step >= 0)

    def bill(self, arrays: ClusterArrays) -> int:
        """Return the cost of the plan in price units."""
        return int(arrays.held_price[self.kept].sum()) + sum(int(arrays.price[k]) for k in self.new)

    def evictions(self, arrays: ClusterArrays) -> int:
        """Return the number of pods that the plan evicts."""
        return int(arrays.on_node[~self.kept].sum())


def count_evictions(data: NodeConsolidation, solution: Mapping[str, Any]) -> int:
    """Return how many pods lose their node in a solution."""
    kept = solution["nodes"]
    return sum(max(0, n - kept.get(node.name, {}).get(name, 0)) for node in data.nodes for name, n in node.pods.items())


@dataclass(frozen=True)
class CarriedOut:
    """The result of a plan: the number of pods without a place by order and class (orders, N)."""

    pending: IntArray

    @property
    def orders(self) -> int:
        """Return the number of orders in which a pod is without a place."""
        return int((self.pending.sum(axis=1) > 0).sum())

    @property
    def pods(self) -> float:
        """Return the mean number of pods without a place."""
        return float(self.pending.sum(axis=1).mean())

    @property
    def succeeds(self) -> bool:
        return len(self.pending) - self.orders >= WANTED * len(self.pending)


def plan_of(arrays: ClusterArrays, kept: BoolArray, new: Sequence[int]) -> DrainPlan:
    """Build the plan that ends with these nodes: it rents first, then drains nodes with the largest pods first."""
    largest = _largest(arrays)
    order = sorted(np.flatnonzero(~kept).tolist(), key=lambda m: (-largest[m], m))
    return DrainPlan(kept, (*(~k for k in new), *order))


def _largest(arrays: ClusterArrays) -> list[float]:
    """Return for each node the maximum share of a resource that one of its pods needs, relative to the largest node."""
    width = len(arrays.data.resources)
    size = (arrays.need[:, :width] / np.maximum(1, arrays.room.max(axis=0, initial=1))[:width]).max(axis=1, initial=0.0)
    found: list[float] = np.where(arrays.now > 0, size, 0.0).max(axis=1, initial=0.0).tolist()
    return found


def carry_out(arrays: ClusterArrays, plan: DrainPlan, seed: int, orders: int = ORDERS) -> CarriedOut:
    """Simulate a plan in random orders of the pods of each node; pending pods come first."""
    return Orders(arrays, seed, orders).carry_out(plan)


class Orders:
    """Random orders of the pods of each node and of the pending pods, which are the same for all plans.

    `work`: number of evaluated pairs of a pod and a node.
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
        """Simulate the plan in all orders."""
        return CarriedOut(self._pending(plan, self.turn, self.coming.size)[0])

    def lost(self, plan: DrainPlan, few: int, most: float) -> float:
        """Return the mean number of pods without a place in the first `few` orders; a value above `most` is a bound."""
        pods = int(min(self.coming.size, most * few))
        return float(self._pending(plan, self.turn[:few], pods)[0].sum()) / few

    def fails(self, plan: DrainPlan) -> bool:
        """Return whether a pod is without a place in any order; the failing order comes first from then on."""
        _, done = self._pending(plan, self.turn, 0)
        if done < len(self.turn):
            self.turn[: done + 1] = np.roll(self.turn[: done + 1], 1)
        return done < len(self.turn)

    def _pending(self, plan: DrainPlan, turn: IntArray, most: int) -> tuple[IntArray, int]:
        """Return the pods without a place, until they exceed `most`, and the number of orders done."""
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
        pending, done, work = _carry_out(
            free, load, size, opens, a.need, self.weight,
            self.coming, self.begins, groups, turn, self.ties, most,
        )  # fmt: skip
        self.work += work
        return pending, done


def _sizes(places: Sequence[ClusterNode | RentedType], scored: Sequence[str]) -> IntArray:
    """Return the capacities of nodes or types for the scored resources, in multiples of 1 / PARTS."""
    rows = [[max(1, round(PARTS * place.capacity[r])) for r in scored] for place in places]
    return np.array(rows, dtype=np.int64).reshape(len(places), len(scored))


@compile_lazily
def score_node(cpu, cpus, memory, memories):  # type: ignore[no-untyped-def]
    """Return the sum of the scores LeastAllocated and BalancedAllocation from used and total CPU and memory."""
    least = max(0, cpus - cpu) * MOST // cpus + max(0, memories - memory) * MOST // memories
    apart = abs(min(1.0, cpu / cpus) - min(1.0, memory / memories))
    return least // 2 + int((1.0 - apart / 2) * MOST)


@compile_lazily
def _carry_out(free, load, size, opens, need, weight, coming, begins, groups, turn, ties, most):  # type: ignore[no-untyped-def]
    """Return the pods of each class without a place in each order; stop once they exceed `most`.

    `opens`: for each group of pods, the time at which each place is uncordoned; unplaced pods try again with the next.
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
                        score = score_node(cpu, size[m, 0], memory, size[m, 1])
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


class Director:
    """Direct the pods of drained nodes to places. `work`: number of pairs of class and place that were tried."""

    def __init__(self, arrays: ClusterArrays) -> None:
        self.arrays = a = arrays
        self.weight = 1.0 / np.maximum(1, a.room.max(axis=0, initial=1))
        self.groups = np.vstack([a.now, a.pending])
        self.work = 0

    def lost(self, plan: DrainPlan) -> int:
        """Return the number of pods without a place if a plan is directed."""
        return self._turns(plan)[2]

    def direct(self, plan: DrainPlan) -> DrainPlan:
        """Return the plan, which rents first, with the places in the order in which they are uncordoned."""
        turns, number, _ = self._turns(plan)
        names = [*np.flatnonzero(plan.kept).tolist(), *(~i for i in range(len(plan.new)))]
        groups = [WAITING] * bool(self.arrays.pending.any()) + [m for m in plan.order if self.arrays.on_node[m]]
        rows = dict(zip([WAITING, *plan.order], zip(turns.tolist(), number.tolist(), strict=True), strict=True))
        steps = (*(step for step in plan.steps if step < 0), *plan.order)
        return replace(plan, steps=steps, open={m: tuple(names[p] for p in rows[m][0][: rows[m][1]]) for m in groups})

    def _turns(self, plan: DrainPlan) -> tuple[IntArray, IntArray, int]:
        a = self.arrays
        free = np.concatenate([a.free[plan.kept], a.capacity[list(plan.new)]])
        order = np.array([len(a.now), *plan.order])
        turns, number, lost, work = _direct(free, a.need, self.groups, order, self.weight)
        self.work += work
        return turns, number, int(lost)


@compile_lazily
def _direct(free, need, groups, order, weight):  # type: ignore[no-untyped-def]
    """Return for each group in order the places of its pods in turn and their number, the unplaced pods, and the work.

    Each step takes the place with the largest product of the packed demand and the direction of its free capacity.
    """
    places, resources = free.shape
    turns = np.zeros((len(order), places), dtype=np.int64)
    number = np.zeros(len(order), dtype=np.int64)
    rest = np.zeros(len(need), dtype=np.int64)
    some = np.zeros(len(need), dtype=np.int64)
    total = np.zeros(resources, dtype=np.int64)
    lost, work = 0, 0
    for g in range(len(order)):
        kinds = 0
        for c in range(len(need)):
            rest[c] = groups[order[g], c]
            if rest[c]:
                some[kinds] = c
                kinds += 1
        while True:
            best, best_score = -1, -1.0
            work += places * kinds
            for p in range(places):
                fitting, one, whole = 0, -1, True
                total[:] = 0
                for i in range(kinds):
                    c = some[i]
                    if rest[c] == 0:
                        continue
                    fits = True
                    for r in range(resources):
                        if need[c, r] > free[p, r]:
                            fits = False
                            break
                    if fits:
                        fitting += 1
                        one = c
                        for r in range(resources):
                            total[r] += rest[c] * need[c, r]
                if fitting == 0:
                    continue
                for r in range(resources):
                    whole &= total[r] <= free[p, r]
                if not whole:
                    if fitting > 1:
                        continue
                    most = rest[one]
                    for r in range(resources):
                        if need[one, r] > 0:
                            most = min(most, free[p, r] // need[one, r])
                    for r in range(resources):
                        total[r] = most * need[one, r]
                score, length = 1e-9, 1e-18
                for r in range(resources):
                    score += total[r] * weight[r] * free[p, r] * weight[r]
                    length += (free[p, r] * weight[r]) ** 2
                score /= np.sqrt(length)
                if score > best_score * (1 + 1e-12):
                    best, best_score = p, score
            if best < 0:
                break
            for i in range(kinds):
                c = some[i]
                most = rest[c]
                for r in range(resources):
                    if need[c, r] > 0:
                        most = min(most, free[best, r] // need[c, r])
                rest[c] -= most
                for r in range(resources):
                    free[best, r] -= most * need[c, r]
            turns[g, number[g]] = best
            number[g] += 1
        lost += rest.sum()
    return turns, number, lost, work
