"""Find the cheapest plan that never fails when kube-scheduler's default profile carries it out.

The search in `reach` simulates resource scores alone, which is fast. Its plans are replayed here, the cheapest first. A
plan that fails directs its pods, or is repaired: its steps are carried out in several orders side by side, and a drain
that leaves a pod without a place is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.kubernetes.drains import Director, DrainPlan, plan_of
from experiments.kubernetes.reach import DEAR
from experiments.kubernetes.replay import ORDERS, PlanRun, Replay, Replayed
from instances.kubernetes.arrays import ClusterArrays

SIDE_BY_SIDE = 4  # orders in which a plan is repaired at first
ROUNDS = 8  # repairs of a plan; each considers an order in which the last one failed
WORK = 40_000  # pods to place until no further plan is replayed
SHORT = 4  # for all numbers of evictions but the last one, the work and the orders are divided by this number
FEWER_NODES = 6  # new nodes without which a repaired plan is tried


@dataclass(frozen=True)
class Repeatable:
    """The plan that did not fail, how it went, and how the cheapest plan of the search went if that one failed."""

    plan: DrainPlan
    went: Replayed
    refused: tuple[DrainPlan, Replayed] | None = None


def find_repeatable(
    arrays: ClusterArrays,
    replay: Replay,
    plans: Iterable[DrainPlan],
    known: Sequence[DrainPlan] = (),
    last: bool = True,
) -> Repeatable:
    """Return the cheapest plan that fails in no order: one of `plans`, a repaired one, or one of `known`.

    `known`: plans that did not fail so far. `last`: whether the plan is the one that is printed, for which more orders
    are replayed. If there is no such plan that costs less than today's cluster, the plan has no steps.
    """
    replay.orders = ORDERS if last else ORDERS // SHORT
    search = _Repair(arrays, replay, WORK if last else WORK // SHORT)
    for plan in known:
        search.take(plan)
    refused = None
    coming = sorted(dict.fromkeys(plans), key=search.cost)
    step, turn = 1, 0
    while turn < len(coming) and not search.is_over and search.cost(coming[turn]) < search.least:
        failing = replay.find_failing(coming[turn])
        if failing is None:
            search.take(coming[turn])
            break
        refused = refused or coming[turn]
        if search.direct(coming[turn]):
            break
        search.repair(coming[turn], failing)
        turn, step = turn + step, step + 1  # plans that cost nearly the same fail alike
    if any(plan is search.best for plan in known) and replay.find_failing(search.best) is not None:
        others = [plan for plan in known if plan is not search.best]  # it failed in none of fewer orders
        return find_repeatable(arrays, replay, coming, others, last)
    went = replay.replay(search.best)
    return Repeatable(search.best, went, None if refused is None else (refused, replay.replay(refused)))


class _Repair:
    """The best plan so far; at first the one without steps."""

    def __init__(self, arrays: ClusterArrays, replay: Replay, work: int) -> None:
        self.arrays, self.replay, self.director = arrays, replay, Director(arrays)
        self.until = replay.work + work
        self.best = plan_of(arrays, np.ones_like(arrays.leaves), ())
        self.least = self.cost(self.best)
        if replay.find_failing(self.best) is not None:  # pending pods need a new node
            self.least = DEAR, 0

    @property
    def is_over(self) -> bool:
        return self.replay.work >= self.until

    def cost(self, plan: DrainPlan) -> tuple[int, int]:
        """Return the bill and the evictions of a plan."""
        return plan.bill(self.arrays), plan.evictions(self.arrays)

    def take(self, plan: DrainPlan) -> None:
        """Keep a plan that does not fail if it is the best."""
        if self.cost(plan) < self.least:
            self.best, self.least = plan, self.cost(plan)

    def direct(self, plan: DrainPlan) -> bool:
        """Direct the pods of a plan that fails; return whether it does not fail then."""
        if plan.open or self.director.lost(plan):
            return False
        directed = self.director.direct(plan)
        if self.replay.find_failing(directed) is not None:
            return False
        self.take(directed)
        return True

    def repair(self, plan: DrainPlan, failing: tuple[int, int]) -> None:
        """Skip drains of a plan until it fails in no order, then try it with fewer new nodes."""
        orders = [failing, *(turn for turn in self.replay.turn if turn != failing)][:SIDE_BY_SIDE]
        for _ in range(ROUNDS):
            plan = self._skip(plan, orders)
            if self.cost(plan) >= self.least or self.is_over:
                return
            again = self.replay.find_failing(plan)
            if again is None:
                self.take(plan)
                self._drop_new_nodes(plan)
                return
            orders.insert(0, again)

    def _skip(self, plan: DrainPlan, orders: Sequence[tuple[int, int]]) -> DrainPlan:
        """Return the plan without drains that leave a pod without a place in one of these orders."""
        runs = [self.replay.run(plan, order, r) for order, r in orders]
        for run in runs:
            run.begin()
        before = [run.copy().finish() for run in runs]
        skipped = set()
        for step in plan.steps[runs[0].rented :]:
            if step < 0:
                for run in runs:
                    run.rent()
                continue
            then: list[PlanRun] = []
            for run, lost in zip(runs, before, strict=True):
                other = run.copy()
                other.drain(step)
                then.append(other)
                if len(other.queue) > len(run.queue) and other.copy().finish() > lost:
                    break
            else:
                runs = then
                continue
            skipped.add(step)
            self.replay.work += sum(run.placed for run in then)
            for run in runs:
                run.keep(step)
        self.replay.work += sum(run.placed for run in runs)
        kept = plan.kept.copy()
        kept[sorted(skipped)] = True
        targets = {m: places for m, places in plan.open.items() if m not in skipped}
        return replace(plan, kept=kept, steps=tuple(s for s in plan.steps if s not in skipped), open=targets)

    def _drop_new_nodes(self, plan: DrainPlan) -> None:
        """Try a plan without one of its new nodes, the most expensive first."""
        if plan.open:  # its targets are numbered
            return
        price = self.arrays.price
        for _ in range(FEWER_NODES):
            rented = sorted({step for step in plan.steps if step < 0}, key=lambda step: -int(price[~step]))
            for step in rented:
                if self.is_over:
                    return
                steps = list(plan.steps)
                steps.remove(step)
                fewer = replace(plan, steps=tuple(steps))
                if self.replay.find_failing(fewer) is None:
                    plan = fewer
                    self.take(plan)
                    break
            else:
                return
