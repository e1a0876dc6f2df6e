"""Branching of a proof: a tree over starts for each group of jobs, then one for all, and what their nodes offer.

Groups are jobs in stretches of time between which nothing is short: problems of their own, whose bounds add up. What a
group's jobs wait for is decided within the group's stretch. Leaving the other jobs out relaxes the problem; only what
they hold wherever they start stays. So no schedule has less delay than all groups by themselves have together. Nodes of
one group do not multiply those of another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import IntArray
from instances.result import Termination
from models.sia.parameters import OracleParameters
from models.sia.presolve import beside
from models.sia.proof import OracleProof
from models.sia.relaxation import StartRelaxation
from models.sia.rows import NOBODY, IntervalRow, Rows, StartColumns, ceiling
from models.sia.search import advance, in_order
from models.sia.start_tree import StartTree


@dataclass(frozen=True)
class JobGroup:
    """The `jobs` (G,) of a group, and the columns of its problem, which begin with those of `numbers` in the whole's.

    Behind the group's jobs the problem has what others hold wherever they start, as jobs with a single start.
    `place` (J,) is the number of each job in the problem, NOBODY without one.
    """

    jobs: IntArray
    place: IntArray
    columns: StartColumns
    numbers: IntArray

    def starts(self, starts: IntArray) -> IntArray:
        """The starts of the problem's jobs when the group's start as in `starts` (J,)."""
        found = self.columns.arrays.cutoff.copy()
        found[: len(self.jobs)] = starts[self.jobs]
        return found

    def row(self, row: IntervalRow) -> IntervalRow:
        """What a row says about the problem's jobs."""
        weight = np.zeros(len(self.columns.arrays.submit), dtype=np.int64)
        here = self.place != NOBODY
        weight[self.place[here]] = row.weight[here]
        touching = NOBODY if row.touching == NOBODY else int(self.place[row.touching])
        members = tuple(self.place[list(row.members)][here[list(row.members)]].tolist()) if row.members else ()
        return IntervalRow(row.first, row.last, weight, row.limit, touching, row.divisor, members)

    def relaxation(self, whole: StartRelaxation, best: IntArray, parameters: OracleParameters) -> StartRelaxation:
        """The group's relaxation, with columns and priced rows of the `whole` one; `best` (J,) is feasible."""
        relaxation = StartRelaxation(self.columns, self.starts(best), parameters)
        count = len(self.jobs)
        first, last = self.columns.arrays.submit[:count].min(), int(self.columns.end.max())
        relaxation.take(
            [self.row(row) for row in whole.tight if row.first <= last and row.last >= first],
            self._columns(whole),
        )
        return relaxation

    def _columns(self, whole: StartRelaxation) -> IntArray:
        """The columns of the whole problem's linear program that the group has."""
        job, start = whole.columns.job[whole.chosen], whole.columns.start[whole.chosen]
        place, arrays = self.place[job], self.columns.arrays
        here = (place != NOBODY) & (place < len(self.jobs)) & (start <= arrays.cutoff[place])
        found = self.columns.offset[place[here]] + start[here] - arrays.submit[place[here]]
        return np.unique(found[self.columns.open[found]])


def parted(columns: StartColumns, rows: list[IntervalRow], best: IntArray) -> IntArray:
    """The group of each job (J,), by the open columns and the `rows` with a price; any groups prove a bound.

    A row ties the jobs of which some open starts count and others do not, and that may not have started before it. All
    rows of a job are in one stretch of time, and stretches that overlap are one. The other jobs go with the stretch
    that ends after they may start first. `best` (J,): a feasible schedule.
    """
    first, last = _windows(columns, best)
    return np.searchsorted(_ends(columns, rows, last), first)


def groups(columns: StartColumns, group: IntArray, best: IntArray) -> list[JobGroup]:
    """The problems of groups, with the starts that are open; `group` (J,): that of each job.

    `best` (J,): a feasible schedule, which every group's problem has to allow.
    """
    arrays = columns.arrays
    first, last = _windows(columns, best)
    found = []
    for name in np.unique(group):
        mine = np.flatnonzero(group == name)
        jobs, own = beside(arrays, mine, first, last)
        place = np.full(len(group), NOBODY)
        place[jobs] = np.arange(len(jobs))
        problem = StartColumns(own)
        whole = np.concatenate(
            [np.arange(columns.offset[j], columns.offset[j] + last[j] - arrays.submit[j] + 1) for j in mine]
        )
        problem.open[: len(whole)] = columns.open[whole]
        found.append(JobGroup(mine, place, problem, whole))
    return found


def _windows(columns: StartColumns, best: IntArray) -> tuple[IntArray, IntArray]:
    """The first and the last open start of each job, or that in `best` where this is outside, (J,) each."""
    begin = columns.offset[:-1]
    first = np.minimum.reduceat(np.where(columns.open, columns.start, columns.start.max() + 1), begin)
    last = np.maximum.reduceat(np.where(columns.open, columns.start, -1), begin)
    return np.minimum(first, best), np.maximum(last, best)


def _ends(columns: StartColumns, rows: list[IntervalRow], latest: IntArray) -> IntArray:
    """The last step of each stretch but the last, in order; `latest` (J,): the last start of each job."""
    table, begin = Rows(columns, rows), columns.offset[:-1] - columns.arrays.submit
    low, behind = table.low, np.maximum(table.high, columns.arrays.submit - 1) + 1
    opened = np.concatenate([[0], np.cumsum(columns.open)])
    counted = opened[begin + behind] - opened[begin + np.minimum(low, behind)]
    tied = (table.weight > 0) & (counted > 0) & (counted < np.diff(opened[columns.offset]))
    tied &= np.array([row.first for row in rows], dtype=np.int64).reshape(-1, 1) <= latest
    stretches = [
        (min(rows[i].first for i in here), max(rows[i].last for i in here))
        for here in (np.flatnonzero(tied[:, j]).tolist() for j in range(len(begin)))
        if here
    ]
    ends: list[int] = []
    for first, last in sorted(stretches):
        if ends and first <= ends[-1]:
            ends[-1] = max(ends[-1], last)
        else:
            ends.append(last)
    return np.array(ends[:-1], dtype=np.int64)


class GroupTree:
    """The relaxation of a group, its tree once there is one, and the bound on the group's delay, in steps.

    `work`: nodes so far, times the jobs. `settled`: nothing is left to be done for the bound.
    """

    def __init__(self, group: JobGroup, whole: StartRelaxation, proof: OracleProof) -> None:
        self.group, self.proof = group, proof
        self.relaxation = group.relaxation(whole, proof.best, proof.parameters)
        self.tree: StartTree | None = None
        columns = group.columns
        self.bound, self.work, self.settled = int(columns.delay[columns.first_open()].sum()), 0, False

    @property
    def delay(self) -> int:
        """Delay of the group's jobs in the best schedule, in steps."""
        return self.group.columns.arrays.delay(self.group.starts(self.proof.best))

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""
        return 0 if self.tree is None else len(self.tree.nodes)

    def root(self, most: int) -> None:
        """Bound the delay with rounds of cuts, as long as these gain; a better schedule has less than `most` here."""
        proof, p, values = self.proof, self.proof.parameters, list[float]()
        while self.relaxation.converge(most, proof.clock, p.bound_accuracy):
            self.bound = max(self.bound, min(ceiling(self.relaxation.proven), most))
            values.append(self.relaxation.value)
            gained = values[-1] - values[-1 - p.patience] if len(values) > p.patience else float("inf")
            if self.bound >= self.delay or gained < p.patience_gain * (most - values[-1]):
                return
            if not self.group.columns.every_job_open() or not self.relaxation.cut():
                return
        self.settled = True  # the time is over

    def close(self, most: int) -> None:
        """Close the whole's columns that no schedule of less than `most` delay in this group contains."""
        columns = self.group.columns
        if self.tree is not None:
            columns.open = self.tree.open_below(most)
        else:
            self.relaxation.close(most)
        self.proof.columns.open[self.group.numbers] &= columns.open[: len(self.group.numbers)]

    def expand(self, most: int) -> None:
        """Branch once; a better schedule has less than `most` delay in this group."""
        proof, p = self.proof, self.proof.parameters
        if self.tree is None:
            if self.relaxation.undecided() is None:
                self.settled = not self.relaxation.converge(most, proof.clock)
                if self.settled:
                    return
                self._draw()
            self.tree = StartTree(self.relaxation, most, p)
        grown = self.tree.expand(most, min(most, self.delay), proof.clock, self._draw)
        self.bound = max(self.bound, min(self.tree.proven, most))
        self.work += len(self.group.jobs)
        self.settled = not grown or self.tree.settled

    def _draw(self) -> None:
        """Offer the schedule of a node's relaxation, if that is one, or one in the order of starts drawn from it."""
        arrays, drawn = self.group.columns.arrays, self.relaxation.sample(self.proof.rng)
        starts = drawn.astype(np.int64)
        if arrays.feasible(starts):
            self._offer(advance(arrays, starts, self.proof.clock))
        elif (found := in_order(arrays, drawn, self.proof.parameters)) is not None:
            self._offer(advance(arrays, found, self.proof.clock))

    def _offer(self, starts: IntArray) -> None:
        """Put a better schedule of the group into the best schedule, or all jobs in its order where others are hit."""
        proof, arrays = self.proof, self.group.columns.arrays
        if arrays.delay(starts) >= self.delay:
            return
        found = proof.best.copy()
        found[self.group.jobs] = starts[: len(self.group.jobs)]
        if not proof.arrays.feasible(found):
            ordered = in_order(proof.arrays, found.astype(float), proof.parameters)
            if ordered is None:
                return
            found = ordered
        proof.offer(advance(proof.arrays, found, proof.clock))


def branch_apart(proof: OracleProof, relaxation: StartRelaxation) -> None:
    """Grow the trees of groups, until their bounds prove what they can, as long as that closes many starts.

    With fewer starts open, others hold more in a group's problem. Nothing is done where all jobs are one group.
    """
    columns, before = proof.columns, len(proof.columns.open)
    group = parted(columns, relaxation.tight, proof.best)
    if (group == group[0]).all():
        return
    while columns.every_job_open() and columns.open.sum() <= (1 - proof.parameters.regroup_gain) * before:
        before = int(columns.open.sum())
        if not _grow(proof, relaxation, groups(columns, group, proof.best)):
            return
    if not columns.every_job_open():
        proof.raise_bound(proof.delay)


def _grow(proof: OracleProof, relaxation: StartRelaxation, apart: list[JobGroup]) -> bool:
    """Grow the trees of groups, the one with the least work next; whether all are settled, and closed what they can."""
    trees, before = [GroupTree(group, relaxation, proof) for group in apart], int(proof.info.get("nodes", 0))

    def most(tree: GroupTree) -> int:
        """The delay that is left to a group when the best schedule's is shared with the bounds of the others."""
        return proof.delay - sum(other.bound for other in trees if other is not tree)

    def ended() -> bool:
        nodes = before + sum(tree.nodes for tree in trees)
        proof.raise_bound(min(sum(tree.bound for tree in trees), proof.delay))
        proof.info |= {"groups": len(apart)} | ({"nodes": nodes} if nodes else {})
        return proof.closed or proof.limit() is not None

    for tree in trees:
        if ended():
            return False
        tree.root(most(tree))
    while not ended():
        waiting = [tree for tree in trees if not tree.settled and tree.bound < tree.delay]
        if not waiting:
            for tree in trees:
                tree.close(most(tree))
            return True
        tree = min(waiting, key=lambda tree: tree.work)
        proof.nodes += 1
        tree.expand(most(tree))
    return False


def branch(proof: OracleProof, relaxation: StartRelaxation) -> Termination:
    """Grow a tree for each group of jobs, and one for all where that is not enough, until schedule and bound meet."""
    p = proof.parameters
    while relaxation.undecided() is None:
        if not relaxation.converge(proof.delay, proof.clock):
            return proof.limit() or "time_limit"
        _draw(proof, relaxation)
        if relaxation.undecided() is None and not relaxation.cover():
            break
    branch_apart(proof, relaxation)
    if proof.closed or (limit := proof.limit()) is not None:
        return "finished" if proof.closed else limit or "finished"
    relaxation.exclude(proof.delay)
    before = int(proof.info.get("nodes", 0))
    opened, kept = proof.columns.open.copy(), relaxation.kept
    tree = StartTree(relaxation, proof.delay, p)
    grown = True
    while grown and not proof.closed and proof.limit() is None:
        proof.nodes += 1
        grown = tree.expand(proof.delay, proof.delay, proof.clock, lambda: _draw(proof, relaxation))
        proof.raise_bound(min(tree.proven, proof.delay))
        proof.info |= {"nodes": before + len(tree.nodes)}
    proof.columns.open = opened
    relaxation.restore(kept)
    return "finished" if proof.closed else proof.limit() or "finished"


def _draw(proof: OracleProof, relaxation: StartRelaxation) -> None:
    """Offer the schedule of a node's relaxation, if that is one, or one in the order of starts drawn from it."""
    drawn = relaxation.sample(proof.rng)
    starts: IntArray | None = drawn.astype(np.int64)
    if not proof.arrays.feasible(drawn.astype(np.int64)):
        starts = in_order(proof.arrays, drawn, proof.parameters)
    if starts is not None:
        proof.offer(advance(proof.arrays, starts, proof.clock))
