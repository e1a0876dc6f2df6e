"""The exact method for real widths and rescaling times: branch and bound over where the widths change.

For a given partition of the epochs into runs the problem is convex, and the dual has no gap. Over all partitions the
two that meet at the best multiplier differ somewhere: there the search branches, on a change of width between two
epochs, or on the GPU type of an epoch. Once both are the same, a node is solved.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import BoolArray, IntArray
from instances.boa import BoaAllocation
from instances.options import ignore
from instances.result import Termination
from models.boa.real_widths.run_dual import Partition, RunDual, best_widths
from models.boa.real_widths.runs import Runs
from models.incumbent import Incumbent

TARGET_SHARE = 0.5  # A node whose bound is within this share of the gap asked for is not gone into.


@dataclass(frozen=True)
class _Node:
    """Policies whose runs are all `allowed` (R,), and the partitions on either side of the best multiplier."""

    allowed: BoolArray
    dear: Partition
    cheap: Partition


def solve_real(
    data: BoaAllocation, dual: RunDual, options: Options, report: Report = ignore, start: float | None = None
) -> Answer:
    """A policy over real widths that is proven optimal for the budget of `data` (Lemma 4.8), to `options.gap`.

    - `dual`: of the runs of `data`, at any budget.
    - `options`: time limit and gap.
    - `report`: called with every improvement.
    - `start`: the objective of a policy that is known already.
    """
    with Stopwatch(options.time_limit) as clock:
        search = _Search(data, dual, options, report, clock, start)
        termination: Termination = "finished" if search.run() else "time_limit"
    return Answer(
        solution=search.incumbent.solution,
        bound=search.incumbent.bound,
        termination=termination,
        reason=None if termination == "finished" else "time limit",
        solve_s=clock.cpu_s,
        trace=tuple(search.incumbent.trace),
        info={"multiplier": search.mu, "lagrangian_bound": search.lagrangian, "nodes": search.nodes},
    )


class _Search:
    """The nodes still to be gone into, best bound first, and the incumbent."""

    def __init__(
        self,
        data: BoaAllocation,
        dual: RunDual,
        options: Options,
        report: Report,
        clock: Stopwatch,
        start: float | None,
    ) -> None:
        self.data, self.dual, self.clock, self.start = data, dual, clock, start
        self.gap = TARGET_SHARE * options.gap
        self.incumbent: Incumbent[Solution, float] = Incumbent("minimize", clock, report, gap=options.gap, bound=0.0)
        self.open: list[tuple[float, int, _Node]] = []
        self.tried: set[bytes] = set()
        self.solved = np.inf  # the least bound of the nodes that are not gone into
        self.nodes = 0
        self.lagrangian = self._enter(np.ones(len(dual.runs), dtype=bool), None, 0.0)
        self.mu = self.open[0][2].cheap.mu

    def run(self) -> bool:
        """Branch until the gap is closed; whether it is."""
        while self.open:
            bound, _, node = self.open[0]
            self.incumbent.raise_bound(max(0.0, min(bound, self.solved)))
            if bound >= self._enough():
                return True
            if self.clock.expired:
                return False
            heapq.heappop(self.open)
            branch = difference(self.dual.runs, node.dear.runs, node.cheap.runs)
            if branch is None:
                self.solved = min(self.solved, bound)
                continue
            for half in branch.halves(self.dual.runs):
                self._enter(node.allowed & half, node.cheap.mu, bound)
        self.incumbent.raise_bound(max(0.0, min(self.solved, self._best())))
        return True

    def _best(self) -> float:
        known = [x for x in (self.incumbent.objective, self.start) if x is not None]
        return min(known, default=np.inf)

    def _enough(self) -> float:
        """The bound from which on a node is of no use."""
        return self._best() * (1 - self.gap)

    def _enter(self, allowed: BoolArray, near: float | None, least: float) -> float:
        """Open the node of `allowed` runs, whose bound is `least` at least; its bound."""
        self.nodes += 1
        if not self.dual.complete(allowed):
            return np.inf
        dear, cheap, bound = self.dual.maximise(self.data.budget, self.clock, allowed, near, self._enough())
        bound = max(bound, least)
        for side in (cheap, dear):
            if bound < self._enough():
                self._offer(side)
        heapq.heappush(self.open, (bound, self.nodes, _Node(allowed, dear, cheap)))
        return bound

    def _offer(self, side: Partition) -> None:
        """Make the best policy of a partition the incumbent where that is faster."""
        key = side.runs.tobytes()
        if key in self.tried:
            return
        self.tried.add(key)
        runs = self.dual.runs.take(side.runs)
        width = best_widths(runs, self.data.budget, max(side.mu, 1e-9))
        if width is not None:
            time = fsum((runs.value * runs.hours(width)).tolist())
            self.incumbent.offer(time, policy(self.data, runs, width.tolist()))


@dataclass(frozen=True)
class Branch:
    """What halves all policies: a change of width before an `epoch` of a class, or that epoch on GPU `type`."""

    job_class: int
    epoch: int
    type: int | None = None

    def halves(self, runs: Runs) -> tuple[BoolArray, BoolArray]:
        """The runs (R,) of the policies for which it holds, and of the others."""
        own, at = runs.job_class == self.job_class, self.epoch
        if self.type is None:
            over, beside = (runs.first < at) & (runs.after > at), (runs.first == at) | (runs.after == at)
            return np.asarray(~(own & over)), np.asarray(~(own & beside))
        covers, here = own & (runs.first <= at) & (runs.after > at), runs.type == self.type
        return np.asarray(~covers | here), np.asarray(~covers | ~here)


def difference(runs: Runs, one: IntArray, other: IntArray) -> Branch | None:
    """The first difference of two partitions, changes of width before GPU types; `None` without one."""
    for i in np.unique(runs.job_class):
        mine, theirs = (side[runs.job_class[side] == i] for side in (one, other))
        starts = set(runs.first[mine].tolist()) ^ set(runs.first[theirs].tolist())
        if starts:
            return Branch(int(i), _middle(sorted(starts)))
    for a, b in zip(one, other, strict=True):
        if runs.type[a] != runs.type[b]:
            return Branch(int(runs.job_class[a]), int(runs.first[a]), int(runs.type[a]))
    return None


def _middle(entries: list[int]) -> int:
    return entries[len(entries) // 2]


def policy(data: BoaAllocation, runs: Runs, width: list[float]) -> dict[str, Any]:
    """The solution in JSON form of the runs of a partition and their widths."""
    rows: dict[str, list[Any]] = {c.name: [] for c in data.classes}
    for i, h, n, k in zip(runs.job_class, runs.type, runs.lengths, width, strict=True):
        option = {"type": data.gpu_types[int(h)].name, "width": k, "fraction": 1.0}
        rows[data.classes[int(i)].name] += [[option] if data.heterogeneous else k] * int(n)
    return {"assignment" if data.heterogeneous else "widths": rows}
