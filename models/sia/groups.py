"""Groups of jobs in stretches of time between which nothing is short: problems of their own, whose bounds add up.

What a group's jobs wait for is decided within the group's stretch. Leaving the other jobs out relaxes the problem; only
what they hold wherever they start stays. So no schedule has less delay than all groups by themselves have together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from instances.arrays import IntArray
from models.sia.columns import Columns
from models.sia.parameters import ExactParameters
from models.sia.relaxation import Relaxation
from models.sia.rows import NOBODY, Row, Rows


@dataclass(frozen=True)
class Group:
    """The `jobs` (G,) of a group, and the columns of its problem, which begin with those of `numbers` in the whole's.

    Behind the group's jobs the problem has what others hold wherever they start, as jobs with a single start.
    `place` (J,) is the number of each job in the problem, NOBODY without one.
    """

    jobs: IntArray
    place: IntArray
    columns: Columns
    numbers: IntArray

    def starts(self, starts: IntArray) -> IntArray:
        """The starts of the problem's jobs when the group's start as in `starts` (J,)."""
        found = self.columns.arrays.cutoff.copy()
        found[: len(self.jobs)] = starts[self.jobs]
        return found

    def row(self, row: Row) -> Row:
        """What a row says about the problem's jobs."""
        weight = np.zeros(len(self.columns.arrays.submit), dtype=np.int64)
        here = self.place != NOBODY
        weight[self.place[here]] = row.weight[here]
        touching = NOBODY if row.touching == NOBODY else int(self.place[row.touching])
        members = tuple(self.place[list(row.members)][here[list(row.members)]].tolist()) if row.members else ()
        return Row(row.first, row.last, weight, row.limit, touching, row.divisor, members)

    def relaxation(self, whole: Relaxation, best: IntArray, parameters: ExactParameters) -> Relaxation:
        """The group's relaxation, with columns and priced rows of the `whole` one; `best` (J,) is feasible."""
        relaxation = Relaxation(self.columns, self.starts(best), parameters)
        count = len(self.jobs)
        first, last = self.columns.arrays.submit[:count].min(), int(self.columns.end.max())
        relaxation.take(
            [self.row(row) for row in whole.tight if row.first <= last and row.last >= first],
            self._columns(whole),
        )
        return relaxation

    def _columns(self, whole: Relaxation) -> IntArray:
        """The columns of the whole problem's linear program that the group has."""
        job, start = whole.columns.job[whole.chosen], whole.columns.start[whole.chosen]
        place, arrays = self.place[job], self.columns.arrays
        here = (place != NOBODY) & (place < len(self.jobs)) & (start <= arrays.cutoff[place])
        found = self.columns.offset[place[here]] + start[here] - arrays.submit[place[here]]
        return np.unique(found[self.columns.open[found]])


def parted(columns: Columns, rows: list[Row], best: IntArray) -> IntArray:
    """The group of each job (J,), by the open columns and the `rows` with a price; any groups prove a bound.

    A row ties the jobs of which some open starts count and others do not, and that may not have started before it. All
    rows of a job are in one stretch of time, and stretches that overlap are one. The other jobs go with the stretch
    that ends after they may start first. `best` (J,): a feasible schedule.
    """
    first, last = _windows(columns, best)
    return np.searchsorted(_ends(columns, rows, last), first)


def groups(columns: Columns, group: IntArray, best: IntArray) -> list[Group]:
    """The problems of groups, with the starts that are open; `group` (J,): that of each job.

    `best` (J,): a feasible schedule, which every group's problem has to allow.
    """
    arrays = columns.arrays
    first, last = _windows(columns, best)
    held = arrays.duration - (last - first)  # steps that a job runs wherever it starts, from its last start on
    found = []
    for name in np.unique(group):
        mine = np.flatnonzero(group == name)
        begin, end = first[mine].min(), (last + arrays.duration)[mine].max()
        others = np.flatnonzero((group != name) & (held > 0) & (last < end) & (last + held > begin))
        jobs = np.concatenate([mine, others])
        own = replace(
            arrays,
            submit=np.concatenate([arrays.submit[mine], last[others]]),
            duration=np.concatenate([arrays.duration[mine], held[others]]),
            gpus=arrays.gpus[jobs],
            cutoff=last[jobs],
            origin=arrays.origin[jobs],
        )
        place = np.full(len(group), NOBODY)
        place[jobs] = np.arange(len(jobs))
        problem = Columns(own)
        whole = np.concatenate(
            [np.arange(columns.offset[j], columns.offset[j] + last[j] - arrays.submit[j] + 1) for j in mine]
        )
        problem.open[: len(whole)] = columns.open[whole]
        found.append(Group(mine, place, problem, whole))
    return found


def _windows(columns: Columns, best: IntArray) -> tuple[IntArray, IntArray]:
    """The first and the last open start of each job, or that in `best` where this is outside, (J,) each."""
    begin = columns.offset[:-1]
    first = np.minimum.reduceat(np.where(columns.open, columns.start, columns.start.max() + 1), begin)
    last = np.maximum.reduceat(np.where(columns.open, columns.start, -1), begin)
    return np.minimum(first, best), np.maximum(last, best)


def _ends(columns: Columns, rows: list[Row], latest: IntArray) -> IntArray:
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
