"""The cheapest plan found that kube-scheduler carries out whatever the order in which evicted pods come."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.kubernetes.drains import Director, DrainPlan, Orders, plan_of
from instances import Stopwatch
from instances.arrays import BoolArray, IntArray
from instances.kubernetes.arrays import ClusterArrays
from models.kubernetes.neighbourhood import Neighbourhood, NodeSet

SEARCHED = 1  # added to the seed: orders that judge a plan are unknown to its search
DEAR = 2**62  # more than any plan
TRIED = 500  # orders in each of which a plan has to succeed
FEW = 10  # orders that compare two plans
WORK = 4_000_000  # pairs of a pod and a node that are looked at, for each node and type
CHANGE = 10_000  # of such pairs that a change of a plan takes as long as
NEAR, FAR = 0.4, 0.7  # of the work, for plans near to those that are given, and then for annealing
MOST_LOST = 1.0  # pods without a place on average, where other turns of the steps may help
MOST_NEAR = 40  # plans near to another whose steps are put in other turns
TURNS, COOL = 150, 0.1  # of a plan: how many are tried, and at what temperature in pods the first of them
WARM, COLD = 0.03, 0.001  # temperatures of the annealing, as shares of the bill
MOST_CHANGES = 3  # nodes by which a plan differs from the last one
DIRECTED = 2.0  # of the work, further on, for plans that direct pods
UNDIRECTED = 0.5  # of the time, for plans that do not
TURNED = 0.5  # of their changes put a drain in another turn
LEFT_OVER = 2.0  # weight of a pod without a direction, in pods without a place


@dataclass(frozen=True)
class RentalLimits:
    """The limits on all new nodes together. `takes` (K, L): of each limit one node of each type; `left`: L amounts."""

    takes: Any
    left: Sequence[int]

    def allow(self, number: IntArray) -> bool:
        """Return whether `number` new nodes of each type are within the limits."""
        return all(took <= left for took, left in zip(number.astype(object) @ self.takes, self.left, strict=True))


def state_of(arrays: ClusterArrays, solution: Any) -> NodeSet:
    """Return the nodes that a solution keeps, also those it must keep, and the number of rented nodes per type."""
    data = arrays.data
    names = [kind.name for kind in data.instance_types]
    number = np.zeros(len(names), dtype=np.int64)
    for group in solution["instances"]:
        number[names.index(group["type"])] += group.get("count", 1)
    return np.array([node.name in solution["nodes"] for node in data.nodes], dtype=bool) | ~arrays.leaves, number


def plan_to(arrays: ClusterArrays, kept: BoolArray, number: IntArray) -> DrainPlan:
    """Return the plan that ends with the nodes kept and `number` new nodes of each type."""
    return plan_of(arrays, kept, np.repeat(np.arange(len(number)), number).tolist())


def reachable(
    arrays: ClusterArrays,
    states: Iterable[NodeSet],
    seed: int,
    *,
    bound: float | None = None,
    work: int | None = None,
    limits: RentalLimits | None = None,
    known: Iterable[DrainPlan] = (),
    time_limit: float | None = None,
    trail: list[DrainPlan] | None = None,
) -> DrainPlan:
    """Return the cheapest plan found, of these that with fewest evictions, that succeeds in all orders of a seed.

    It is looked for from several states: nodes kept and how many of each type are rented. One that directs pods has to
    be cheaper than all others. If no plan is cheaper than today's cluster, the plan has no steps. `bound`: lower
    bound on every bill, which ends the search; `work`: maximum number of pairs of a pod and a node to look at, without
    those of plans that direct pods. `limits`: of the new nodes together. `known`: plans of which the best is taken if
    the search finds no better one. `time_limit`: CPU seconds. `trail`: gets each plan that was the best one.
    """
    search, states = _PlanSearch(arrays, seed, bound, limits, work, time_limit), list(states)
    search.trail = [] if trail is None else trail
    plans = [plan_to(arrays, *state) for state in states]
    for plan in (*known, *plans):
        search.take(plan)
    for n, state in enumerate(states, 1):
        search.near(*state, NEAR * n / len(states))
    allowed = [plan for plan in plans if plan.evictions(arrays) <= arrays.most_evictions]
    search.anneal(min(allowed, key=search.energy, default=search.best))
    search.turn()
    search.direct([*allowed, search.best])
    return search.best


class _PlanSearch:
    """The best plan so far, and the orders in which it and all others are carried out."""

    def __init__(
        self,
        arrays: ClusterArrays,
        seed: int,
        bound: float | None,
        limits: RentalLimits | None,
        work: float | None,
        time_limit: float | None,
    ) -> None:
        self.arrays, self.limits, self.watch = arrays, limits, Stopwatch()
        self.time_limit = math.inf if time_limit is None else time_limit
        a = arrays
        self.orders, self.steps = Orders(a, [seed, SEARCHED], TRIED), Neighbourhood(a)
        self.draw, self.bound = np.random.default_rng(seed), bound
        self.best = plan_of(a, np.ones_like(a.leaves), ())
        self.least = (DEAR if self.orders.fails(self.best) else self.best.bill(a), 0)  # bill and evictions of the best
        self.trail: list[DrainPlan] = []
        self.seen: set[bytes] = set()
        self.hopeful: dict[DrainPlan, float] = {}
        self.nodes, self.need = np.flatnonzero(a.leaves), a.count @ a.need
        self.work = WORK * max(1, len(self.nodes) + len(a.price)) if work is None else work
        dearest = a.price.max(initial=1)
        alone = np.where(a.fits_type, a.price[:, None], dearest).min(axis=0, initial=dearest)
        self.worth = float(alone @ a.count) / max(1, int(a.count.sum())) or 1.0  # of a pod that has a place

    @property
    def proven(self) -> bool:
        """Whether the best plan is proven to be the cheapest."""
        return self.bound is not None and self.arrays.usd(self.least[0]) <= self.bound

    def over(self, share: float) -> bool:
        """Return whether a share of the work or of its time is used, or no plan is cheaper."""
        return self.proven or self._measure_used() > share

    def _measure_used(self) -> float:
        """Return the share of the work that is done or, if that is more, of its time."""
        timed = self.watch.cpu_spent_s / (self.time_limit * UNDIRECTED)
        return max(timed, self.orders.work / self.work)

    def _measure_used_directed(self, director: Director) -> float:
        """Return the share of the work that is done on plans that direct pods or, if that is more, of all time."""
        return max(self.watch.cpu_spent_s / self.time_limit, director.work / (self.work * DIRECTED))

    def energy(self, plan: DrainPlan, most: float = np.inf) -> float:
        """Return the bill plus the worth of pods without a place; above `most`, any larger value."""
        bill = plan.bill(self.arrays)
        if bill > most:
            return bill
        return bill + self.worth * self.orders.lost(plan, FEW, (most - bill) / self.worth)

    def take(self, plan: DrainPlan) -> bool:
        """Whether a plan is cheaper than all before, or as cheap with fewer evictions; then it is the best one."""
        a = self.arrays
        cost = plan.bill(a), plan.evictions(a)
        if cost >= self.least or cost[1] > a.most_evictions or not self._is_within_limits(plan):
            return False
        if self.orders.fails(plan):
            return False
        self.best, self.least = plan, cost
        self.trail.append(plan)
        return True

    def _is_within_limits(self, plan: DrainPlan) -> bool:
        return self.limits is None or self.limits.allow(np.bincount(plan.new, minlength=len(self.arrays.price)))

    def near(self, kept: BoolArray, number: IntArray, share: float) -> None:
        """Plans that differ from one in one or two nodes, then from the best of these, up to a share of the work."""
        found: NodeSet | None = (kept, number)
        while found is not None:
            found = self._nearest(found, share)

    def _nearest(self, state: NodeSet, share: float) -> NodeSet | None:
        """Return the cheapest state near to one whose plan is taken, perhaps with its steps in other turns."""
        steps, hopeful = self.steps, []  # type: Neighbourhood, list[tuple[NodeSet, DrainPlan]]
        states = [state, *steps.generate(*state, 0, self.least[0] + 1)]
        for near in sorted(states, key=lambda near: steps.compute_cost(*near)):
            if self.over(share):
                return None
            key = near[0].tobytes() + near[1].tobytes()
            if key in self.seen:
                continue
            self.seen.add(key)
            plan = plan_to(self.arrays, *near)
            lost = self.orders.lost(plan, FEW, MOST_LOST)
            if lost == 0 and self.take(plan):
                hopeful = hopeful[:MOST_NEAR]
                found: NodeSet | None = near
                break
            if lost <= MOST_LOST:
                hopeful.append((near, plan))
        else:
            found = None
        for near, plan in hopeful[:MOST_NEAR]:
            if not self.over(share) and self._improve_order(plan):
                return near
        return found

    def anneal(self, plan: DrainPlan) -> None:
        """Change the nodes of a plan at random, by simulated annealing; note plans whose turns may be changed."""
        begun, energy, bill = self._measure_used(), self.energy(plan), plan.bill(self.arrays)
        while not self.over(FAR):
            left = (FAR - self._measure_used()) / max(1e-9, FAR - begun)
            self.orders.work += CHANGE
            other = self._change_plan(plan)
            if other is None:
                continue
            most = energy + self._warmth(bill, left)
            then = self.energy(other, most)
            if then > most:
                continue
            plan, energy = other, then
            if not self.take(plan) and energy <= plan.bill(self.arrays) + self.worth * MOST_LOST:
                self.hopeful[plan] = energy

    def turn(self) -> None:
        """Put the steps of the plans that were noted in other turns, the most hopeful ones first."""
        for plan in sorted(self.hopeful, key=lambda plan: self.hopeful[plan]):
            if self.over(1.0):
                return
            if plan.bill(self.arrays) < self.least[0]:
                self._improve_order(plan)

    def direct(self, plans: Sequence[DrainPlan]) -> None:
        """Direct the pods of the best of some plans; change its nodes and its order by simulated annealing."""
        director, each = Director(self.arrays), LEFT_OVER * self.worth

        def energy(plan: DrainPlan) -> float:
            lost = director.lost(plan)
            bill = plan.bill(self.arrays)
            if not lost and bill <= self.least[0]:
                self.take(director.direct(plan))
            return bill + each * lost

        self.least = self.least[0], 0  # whatever is as cheap takes fewer commands
        energies = [energy(plan) for plan in plans]
        now = min(energies)
        plan = plans[energies.index(now)]
        bill = plan.bill(self.arrays)
        while not self.proven and (used := self._measure_used_directed(director)) <= 1:
            director.work += CHANGE // 2
            turned = len(plan.order) > 1 and self.draw.random() < TURNED
            other = replace(plan, steps=self._move_step(plan.steps)) if turned else self._change_plan(plan)
            if other is not None and (then := energy(other)) <= now + self._warmth(bill, 1 - used):
                plan, now = other, then

    def _warmth(self, bill: int, left: float) -> float:
        """Return the price increase that a change may have if the share `left` of the work remains."""
        return float(bill * COLD * (WARM / COLD) ** left * self.draw.exponential())

    def _move_step(self, steps: Sequence[int]) -> tuple[int, ...]:
        """Return the steps with one of them in another turn."""
        found = list(steps)
        step = found.pop(int(self.draw.integers(len(found))))
        found.insert(int(self.draw.integers(len(steps))), step)
        return tuple(found)

    def _improve_order(self, plan: DrainPlan) -> bool:
        """Whether the plan is taken once its steps are in other turns, one moved at a time, that leave fewer pods."""
        best = lost = self.orders.lost(plan, FEW, np.inf)
        for n in range(TURNS if len(plan.steps) > 1 else 0):
            if not lost:
                if self.take(plan):
                    return True
                best = lost = self.orders.lost(plan, FEW, np.inf)  # the order that loses pods comes first now
            other = replace(plan, steps=self._move_step(plan.steps))
            most = lost + COOL * (1 - n / TURNS) * self.draw.exponential()
            self.orders.work += CHANGE // 2
            then = self.orders.lost(other, FEW, most)
            if then <= most:
                plan, lost = other, then
                best = min(best, lost)
            if n > TURNS // 3 and best > MOST_LOST / 2:
                break
        return False

    def _change_plan(self, plan: DrainPlan) -> DrainPlan | None:
        """Return the plan with other nodes kept or rented; `None` where they have less room than the pods take."""
        a, draw = self.arrays, self.draw
        kept, steps = plan.kept.copy(), list(plan.steps)
        for _ in range(int(draw.integers(1, MOST_CHANGES + 1))):
            rented = [i for i, step in enumerate(steps) if step < 0]
            if len(self.nodes) and draw.random() < 0.5:
                m = int(draw.choice(self.nodes))
                kept[m] ^= True
                if kept[m]:
                    steps.remove(m)
                else:
                    steps.insert(int(draw.integers(len(steps) + 1)), m)
            elif rented and draw.random() < 0.5:
                del steps[int(draw.choice(rented))]
            elif len(a.price):
                k = int(draw.integers(len(a.price)))
                if a.most_new[k] < 0 or steps.count(~k) < a.most_new[k]:
                    steps.insert(0, ~k)
        found = DrainPlan(kept, tuple(steps))
        room = a.room[kept].sum(axis=0) + a.capacity[list(found.new)].sum(axis=0)
        return found if (room >= self.need).all() and found.evictions(a) <= a.most_evictions else None
