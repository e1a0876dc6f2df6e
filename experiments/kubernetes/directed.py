"""Plans that direct pods: while a node is drained, places are uncordoned one after another; others stay cordoned.

A place is uncordoned if all pods that fit into it fit together, or are identical. Then the choices of kube-scheduler
make no difference, and the plan has the same end for any order of the pods.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.kubernetes.drains import WAITING, DrainPlan
from instances.arrays import IntArray
from instances.compiled import compiled
from instances.kubernetes.consolidation_arrays import ClusterArrays


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

    def directed(self, plan: DrainPlan) -> DrainPlan:
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
        turns, number, lost, work = _directed(free, a.need, self.groups, order, self.weight)
        self.work += work
        return turns, number, int(lost)


@compiled
def _directed(free, need, groups, order, weight):  # type: ignore[no-untyped-def]
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
