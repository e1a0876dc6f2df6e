"""A plan carried out: nodes are rented, others drained one after another, and kube-scheduler finds their pods a place.

Where an evicted pod goes is not the plan's to say. kube-scheduler takes the pods as they come, and for each the node of
the highest score of those that it may be on: LeastAllocated and BalancedAllocation of CPU and memory, ties at random.
Many random orders are carried out at once. Left out: its default spread of replicas, images, and preemption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.kubernetes.consolidation_arrays import ClusterArrays

ORDERS = 100
WANTED = 0.95  # of the orders, in which every pod is to have a place
TRIED = 20  # orders by which one more node is tried
SPARED = 4  # nodes that are tried in the place of one that is rented
MOST = 100  # of a score
NO_REQUEST = (100, 200)  # thousandths of a CPU and MiB that a pod counts for in the score, where it asks for none
SCORED = ("cpu_milli", "memory_mib")


@dataclass(frozen=True)
class DrainPlan:
    """What is kept (M,), which types are rented, by their numbers, and in which order the other nodes are drained."""

    kept: BoolArray
    new: tuple[int, ...]
    order: tuple[int, ...]

    def bill(self, arrays: ClusterArrays) -> int:
        """Its price in price units."""
        return int(arrays.held_price[self.kept].sum()) + sum(int(arrays.price[k]) for k in self.new)

    def with_node(self, m: int) -> DrainPlan:
        """The same with one more node kept."""
        kept = self.kept.copy()
        kept[m] = True
        return replace(self, kept=kept, order=tuple(n for n in self.order if n != m))

    def with_new(self, k: int) -> DrainPlan:
        """The same with one more node rented."""
        return replace(self, new=(*self.new, k))


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
    """The plan that ends with these nodes; those with the largest pods are drained first, while there is most room."""
    share = (
        arrays.need[:, : len(arrays.data.resources)]
        / np.maximum(1, arrays.room.max(axis=0, initial=1))[: len(arrays.data.resources)]
    )
    size = share.max(axis=1, initial=0.0)
    largest = [float((size * (arrays.now[m] > 0)).max(initial=0.0)) for m in range(len(kept))]
    order = sorted(np.flatnonzero(~kept).tolist(), key=lambda m: (-largest[m], m))
    return DrainPlan(kept, tuple(new), tuple(order))


def carry_out(arrays: ClusterArrays, plan: DrainPlan, seed: int, orders: int = ORDERS) -> CarriedOut:
    """Carry a plan out in random orders of the pods of each node; pods that wait come first."""
    draw = np.random.default_rng(seed)
    kept = np.flatnonzero(plan.kept)
    new = list(plan.new)
    free = np.concatenate([arrays.free[kept], arrays.capacity[new]])
    load, size = _scored(arrays, kept, new)
    queue = [np.repeat(np.arange(len(arrays.count)), arrays.pending)]
    queue += [np.repeat(np.arange(len(arrays.count)), arrays.now[m]) for m in plan.order]
    coming = np.array([np.concatenate([draw.permutation(group) for group in queue]) for _ in range(orders)])
    need, weight = arrays.need, _weights(arrays)
    left, taken = np.repeat(free[None], orders, axis=0), np.repeat(load[None], orders, axis=0)
    pending = np.zeros((orders, len(arrays.count)), dtype=np.int64)
    rows = np.arange(orders)
    for t in range(coming.shape[1]):
        pod = coming[:, t]
        fits = (left >= need[pod][:, None]).all(axis=2)
        score = _scores(taken + weight[pod][:, None], size) + draw.random(fits.shape)
        best = np.where(fits, score, -1.0).argmax(axis=1) if fits.shape[1] else rows * 0
        placed = fits.any(axis=1)
        on = rows[placed], best[placed]
        left[on] -= need[pod[placed]]
        taken[on] += weight[pod[placed]]
        pending[rows[~placed], pod[~placed]] += 1
    return CarriedOut(pending)


def _scores(taken: IntArray, size: IntArray) -> IntArray:
    """LeastAllocated and BalancedAllocation of each node, once it has the pod."""
    least = (np.maximum(0, size - taken) * MOST // size).sum(axis=-1) // size.shape[-1]
    share = np.minimum(1.0, taken / size)
    balanced = ((1 - share.std(axis=-1)) * MOST).astype(np.int64)
    return np.asarray(least + balanced)


def _weights(arrays: ClusterArrays) -> IntArray:
    """What a pod of each class counts for in the score (N, 2)."""
    data = arrays.data
    first = [data.pods[members[0]] for members in arrays.members]
    rows = [[round(pod.demand[r]) or least for r, least in zip(SCORED, NO_REQUEST, strict=True)] for pod in first]
    return np.array(rows, dtype=np.int64).reshape(len(first), len(SCORED))


def _scored(arrays: ClusterArrays, kept: IntArray, new: Sequence[int]) -> tuple[IntArray, IntArray]:
    """What is taken of each node that stays or comes, and how much it has, of what is scored."""
    data = arrays.data
    places = [*(data.nodes[m] for m in kept), *(data.instance_types[k] for k in new)]
    size = np.array([[max(1, round(place.capacity[r])) for r in SCORED] for place in places], dtype=np.int64)
    load = arrays.now[kept] @ _weights(arrays)
    load = np.concatenate([load, np.zeros((len(new), len(SCORED)), dtype=np.int64)])
    return load, size.reshape(len(places), len(SCORED))


def reachable(arrays: ClusterArrays, plan: DrainPlan, seed: int) -> tuple[DrainPlan, CarriedOut]:
    """A plan near this one that succeeds in nearly all orders: with further nodes, kept or rented, the cheapest first.

    Where none is found that is cheaper than what runs now, what runs now.
    """
    today = replace(plan, kept=np.ones_like(plan.kept), new=(), order=())
    went = carry_out(arrays, plan, seed)
    while not went.succeeds:
        plan = _repaired(arrays, plan, went, seed)
        if plan.bill(arrays) >= today.bill(arrays):
            return today, carry_out(arrays, today, seed)
        went = carry_out(arrays, plan, seed)
    return _spared(arrays, plan, went, seed)


def _spared(arrays: ClusterArrays, plan: DrainPlan, went: CarriedOut, seed: int) -> tuple[DrainPlan, CarriedOut]:
    """The plan with nodes kept in the place of such as it rents at no lower price, as long as it succeeds."""
    for k in sorted(plan.new, key=lambda k: -int(arrays.price[k])):
        near = [m for m in plan.order if arrays.held_price[m] <= arrays.price[k]]
        near.sort(key=lambda m: (-int(arrays.held_price[m]), -int(arrays.on_node[m]), m))
        for m in near[:SPARED]:
            new = list(plan.new)
            new.remove(k)
            other = replace(plan, new=tuple(new)).with_node(m)
            if carry_out(arrays, other, seed, TRIED).succeeds and (then := carry_out(arrays, other, seed)).succeeds:
                plan, went = other, then
                break
    return plan, went


def _repaired(arrays: ClusterArrays, plan: DrainPlan, went: CarriedOut, seed: int) -> DrainPlan:
    """The plan with one more node: the cheapest with which it succeeds, or that which spares most pods for its price.

    A node is tried if it holds the pod that is most often without a place.
    """
    lost = int(went.pending.sum(axis=0).argmax())
    tried = [(int(arrays.held_price[m]), plan.with_node(m)) for m in plan.order if arrays.now[m, lost]]
    tried += [
        (int(arrays.held_price[m]), plan.with_node(m))
        for m in plan.order
        if not arrays.now[m, lost] and (arrays.free[m] >= arrays.need[lost]).all()
    ]
    tried += [(int(arrays.price[k]), plan.with_new(k)) for k in np.flatnonzero(arrays.fits_type[:, lost]).tolist()]
    best, best_worth = None, 0.0
    for price, other in sorted(tried, key=lambda one: one[0])[:TRIED]:
        then = carry_out(arrays, other, seed, TRIED)
        if then.succeeds:
            return other
        worth = (went.pods - then.pods) / max(1, price)
        if best is None or worth > best_worth:
            best, best_worth = other, worth
    if best is None:  # nothing that can be rented holds it
        return replace(plan, kept=np.ones_like(plan.kept), new=(), order=())
    return best
