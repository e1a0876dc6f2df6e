"""The linear relaxation of the time-indexed model with cuts, by column and row generation.

A slot's capacity row enters when a solution breaks the row, a column when its reduced cost is negative (sifting; Bixby
et al., 1992), a cut (`cuts.separate`) when neither is left. The bound is not the solver's figure but the Lagrangian
bound of its dual prices, in integers (see `Rows.lagrangian`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from models.core.linear_program import LinearProgram, Optimum
from models.highs import LinearModel, SolveFailed
from models.sia.cuts import separate
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.rows import SCALE, IntervalRow, Rows, StartColumns, capacity_row, ceiling, cover_row, whole
from models.sia.volume import StartPrices

MOST_SECONDS = 1e7  # HiGHS is given no time limit beyond this one.


class StartRelaxation:
    """The restricted master program: a row for each job, then `rows`; columns `chosen`, numbers into `columns`.

    `bound`: the best proven so far, in whole steps, on the schedules that are better than the one columns were closed
    for. `value`: objective of the last linear program. `priced`: the rows of a positive price when nothing was missing
    last, with their prices, SCALE times.
    """

    def __init__(self, columns: StartColumns, starts: IntArray, parameters: OracleParameters = DEFAULTS) -> None:
        self.parameters = parameters
        self.columns, self.rows, self.jobs = columns, Rows(columns), len(columns.arrays.submit)
        one_start = LinearModel(np.zeros(0), np.zeros((self.jobs, 0)), 1.0, 1.0)
        self.program = LinearProgram(one_start, Options(), {"solver": "simplex", "presolve": "choose"})
        self.chosen: IntArray = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(len(columns.job), dtype=bool)
        self.keys: set[object] = set()
        self.bound, self.value = 0, 0.0
        self.priced: list[tuple[IntervalRow, int]] = []
        self._proof: tuple[int, IntArray] = (0, np.zeros(len(columns.job), dtype=np.int64))
        self._shown: tuple[IntArray, FloatArray] = self.chosen, np.zeros(0)  # the last fractional schedule
        self._duals, self._activity = np.zeros(0), np.zeros(0)
        self._ascent: tuple[list[IntervalRow], FloatArray] = [], np.zeros(0)
        self._feasible = columns.of(starts)
        self._add_columns(np.union1d(self._feasible, columns.offset[:-1]))

    def converge(self, delay: int, clock: Stopwatch, accuracy: float = 0.0) -> bool:
        """Generate rows and columns until none is missing; False where the time of `clock` was over before.

        Generation also ends when the bound is within `accuracy` of the value, as a share of the distance from the
        value to `delay`, the best schedule's. In the end columns that no better schedule contains are closed.
        """
        while True:
            if not self._solve(clock.remaining_s):
                return False
            prices = whole(-self._duals[self.jobs :])
            bound, charge, least = self.rows.lagrangian(prices)
            self.bound = max(self.bound, ceiling(bound))
            rows = [row for row in self._broken_rows(self.parameters.tolerance) if row.key not in self.keys]
            columns = self._negative_columns(charge)
            near = self.value - bound / SCALE <= accuracy * max(0.0, delay - self.value)
            few = len(rows) <= self.parameters.missing_rows * len(self.rows)
            complete = (near and few) or not (rows or len(columns))
            if complete:
                self._proof = bound, charge - least[self.columns.job]
                self.priced = [
                    (row, price) for row, price in zip(self.rows.rows, prices.tolist(), strict=True) if price
                ]
                self.close(delay)
            self._add_columns(columns)
            self._add_rows(rows)
            if complete:
                return True

    def start_from(self, priced: list[tuple[IntervalRow, int]]) -> None:
        """Let the volume algorithm begin with these rows and prices, SCALE times."""
        self._ascent = [row for row, _ in priced], np.array([price for _, price in priced], dtype=float) / SCALE

    def ascend(self, delay: int, target: int, clock: Stopwatch) -> bool:
        """Raise the bound by the volume algorithm, with the rows at hand; False where the time was over before.

        No better bound than `target` steps is looked for, `delay` is that of the best schedule.
        """
        if clock.expired:
            return False
        p, columns, (rows, prices) = self.parameters, self.columns, self._ascent
        table = Rows(columns, rows)
        problem = StartPrices(table)
        prices = problem.ascend(prices, target, delay, clock, p)
        exact = whole(prices)
        bound, charge, least = table.lagrangian(exact)
        self._proof = bound, charge - least[columns.job]
        self.bound, self.value = max(self.bound, ceiling(bound)), bound / SCALE
        self.priced = [(row, price) for row, price in zip(rows, exact.tolist(), strict=True) if price]
        chosen, x = problem.average_above(p.least_share)
        self._shown = chosen, x / np.bincount(columns.job[chosen], x, self.jobs)[columns.job[chosen]]
        self._ascent = [row for row, price in zip(rows, prices, strict=True) if price > 0], prices[prices > 0]
        return True

    def extend(self) -> int:
        """Add rows and cuts that the average of the volume algorithm breaks; how many."""
        rows, prices = self._ascent
        known, least = {row.key for row in rows}, self.parameters.least_excess
        cuts = separate(self.columns, *self._shown, replace(self.parameters, least_violation=least))
        new = self._broken_rows(least) + cuts
        new = list({row.key: row for row in new if row.key not in known}.values())
        self._ascent = rows + new, np.concatenate([prices, np.zeros(len(new))])
        return len(new)

    def forget_closed(self) -> None:
        """Leave closed columns out of the last solution, so that both sides of what is undecided have open ones."""
        chosen, x = self._shown
        kept = self.columns.open[chosen]
        self._shown = chosen[kept], x[kept]

    def take(self, rows: list[IntervalRow], columns: IntArray) -> None:
        """Add rows and columns that are known to matter, where they are not there."""
        self._add_rows([row for row in rows if row.key not in self.keys])
        self._add_columns(columns)

    @property
    def proven(self) -> int:
        """The bound of the prices when nothing was missing last, SCALE times, with the columns open before that."""
        return self._proof[0]

    @property
    def support(self) -> IntArray:
        """The columns that are positive in the last solution."""
        chosen, x = self._shown
        return chosen[x > self.parameters.tolerance]

    @property
    def kept(self) -> tuple[tuple[int, IntArray], list[tuple[IntervalRow, int]]]:
        """What the last prices prove, to be restored after a tree."""
        return self._proof, self.priced

    def restore(self, kept: tuple[tuple[int, IntArray], list[tuple[IntervalRow, int]]]) -> None:
        """Go back to what prices proved at the root of a tree: those of a node hold below that node only."""
        self._proof, self.priced = kept
        self.charge_closed(0)

    @property
    def tight(self) -> list[IntervalRow]:
        """The rows of a positive price when nothing was missing last."""
        return [row for row, _ in self.priced]

    def cut(self) -> int:
        """Add cuts that the solution violates, and drop slack rows and closed columns; the number of cuts."""
        cuts = [row for row in separate(self.columns, *self._shown, self.parameters) if row.key not in self.keys]
        if cuts:
            self._drop()
        self._add_columns(self.columns.first_open())
        self._add_rows(cuts)
        return len(cuts)

    def cover(self) -> bool:
        """Add rows for a solution that is a schedule, keeps all rows and is too wide; whether it is.

        Such a one there is where rows are coarser than the problem.
        """
        chosen, x = self._shown
        mostly = chosen[np.argsort(x, kind="stable")]
        starts, fine = np.zeros(self.jobs, dtype=np.int64), self.columns.fine
        starts[self.columns.job[mostly]] = self.columns.start[mostly]
        broken = [cover_row(fine, starts, int(t)) for t in np.flatnonzero(fine.use(starts) > fine.capacity)]
        new = [row for row in broken if row.key not in self.keys]
        self._add_rows(new)
        return bool(new)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """A start of each job, (J,): α-points of the last solution (Phillips, Stein and Wein, 1998), α at random.

        One α is drawn for all jobs, or one for each job.
        """
        chosen, x = self._shown
        order = np.argsort(chosen)
        columns, total = chosen[order], np.cumsum(x[order])
        before = np.searchsorted(columns, self.columns.offset[:-1])
        level = np.concatenate([[0.0], total])[before]
        share = rng.random(self.jobs) if rng.random() < 0.5 else np.full(self.jobs, rng.random())
        at = np.minimum(np.searchsorted(total, level + 0.999 * share), len(x) - 1)
        return self.columns.start[columns[at]].astype(float)

    def close(self, delay: int) -> None:
        """Close the columns that no schedule of less `delay` can contain, as far as the last prices prove."""
        bound, added = self._proof
        left = (delay - 1) * SCALE - bound  # closed columns of several jobs make a bound of more than 64 bits
        self.columns.open &= added <= max(left, -1)

    def charge_closed(self, penalty: int) -> None:
        """Make the closed columns of the linear program dearer by a `penalty` in steps, and open ones no more."""
        cost = self.columns.delay[self.chosen] + np.where(self.columns.open[self.chosen], 0, penalty)
        self.program.price(np.arange(len(cost)), cost)

    def undecided(self) -> tuple[int, int] | None:
        """A job of which the last solution has several starts, and their mean delay rounded down; `None` without any.

        The job is the one that waits most GPU-steps more or less than at the mean.
        """
        columns, (chosen, x) = self.columns, self._shown
        job, share = columns.job[chosen], np.where(x > self.parameters.tolerance, x, 0.0)
        total = np.maximum(np.bincount(job, share, self.jobs), self.parameters.tolerance)
        mean = np.bincount(job, share * columns.delay[chosen], self.jobs) / total
        off = share * np.abs(columns.delay[chosen] - mean[job])
        spread = np.bincount(job, off, self.jobs) * np.maximum(columns.arrays.gpus, 1)
        most = int(spread.argmax())
        return (most, int(mean[most])) if spread[most] > 1e-3 else None

    def exclude(self, delay: int) -> bool:
        """Close the columns as `close` does; whether each job has a start left."""
        self.close(delay)
        return self.columns.every_job_open()

    def _solve(self, limit_s: float) -> bool:
        """Whether the linear program is solved, in no more than `limit_s` wall seconds."""
        if limit_s <= 0:
            return False
        limit_s = min(limit_s, MOST_SECONDS)
        try:
            found = self.program.solve_or_refute(limit_s)
            if not isinstance(found, Optimum):
                self._add_columns(self._feasible)  # some of them had been closed and dropped
                found = self.program.solve(limit_s)
        except SolveFailed:
            return False
        self._shown, self._duals, self.value = (self.chosen, found.x), found.duals, found.value
        self._activity = self.program.activity()
        return True

    def _negative_columns(self, charge: IntArray) -> IntArray:
        """Open columns of negative reduced cost, the most negative of each job and not too close to each other."""
        columns = self.columns
        reduced = charge / SCALE - self._duals[columns.job]
        most = self.parameters.new_columns
        found = np.flatnonzero((reduced < -self.parameters.tolerance) & columns.open & ~self.inside)
        taken: dict[int, list[int]] = {}
        new = []
        for k in found[np.argsort(reduced[found], kind="stable")]:
            starts = taken.setdefault(int(columns.job[k]), [])
            if len(starts) < most and all(abs(int(columns.start[k]) - t) > most for t in starts):
                starts.append(int(columns.start[k]))
                new.append(k)
        return np.array(new, dtype=np.int64)

    def _broken_rows(self, tolerance: float) -> list[IntervalRow]:
        """Capacity rows that the fractional schedule breaks, at slots of overfull stretches where the use changes."""
        arrays, columns, (chosen, x) = self.columns.arrays, self.columns, self._shown
        changes = np.zeros(arrays.horizon + 1)
        np.add.at(changes, columns.start[chosen], x * columns.gpus[chosen])
        np.add.at(changes, columns.end[chosen], -x * columns.gpus[chosen])
        use = np.cumsum(changes)
        over = np.flatnonzero(use > arrays.capacity + tolerance)
        found: list[int] = []
        for stretch in np.split(over, np.flatnonzero(np.diff(over) > 1) + 1):
            if len(stretch):
                changed = stretch[np.concatenate([[True], np.abs(np.diff(use[stretch])) > 1e-9])]
                found += changed[np.argsort(-use[changed], kind="stable")[: self.parameters.new_rows]].tolist()
        return [capacity_row(arrays, t) for t in found]

    def _add_columns(self, new: IntArray) -> None:
        new = new[~self.inside[new]]
        if not len(new):
            return
        begin, index, value = [0], list[int](), list[float]()
        for k in new:
            weight = self.rows.down(k)
            rows = np.flatnonzero(weight)
            index += [int(self.columns.job[k]), *(rows + self.jobs).tolist()]
            value += [1.0, *weight[rows].astype(float).tolist()]
            begin.append(len(index))
        self.program.add(self.columns.delay[new], begin[:-1], index, value)
        self.chosen = np.concatenate([self.chosen, new])
        self.inside[new] = True

    def _add_rows(self, new: list[IntervalRow]) -> None:
        begin = len(self.rows)
        self.rows.add(new)
        self.keys |= {row.key for row in new}
        for at, row in enumerate(new, begin):
            weight = self.rows.along(at, self.chosen)
            here = np.flatnonzero(weight)
            self.program.add_row(here, weight[here], bounds=(-math.inf, float(row.limit)))

    def _drop(self) -> None:
        """Drop slack rows and closed columns; the basis of the other rows and columns stays."""
        idle_column, idle_row = self.program.idle()
        activity = self._activity[self.jobs :]
        loose = np.zeros(len(self.rows), dtype=bool)  # Rows added since the last solution stay.
        loose[: len(activity)] = activity < self.rows.limits[: len(activity)] - self.parameters.tolerance
        row_kept, column_kept = ~(idle_row[self.jobs :] & loose), ~idle_column | self.columns.open[self.chosen]
        for row, kept in zip(self.rows.rows, row_kept, strict=True):
            if not kept:
                self.keys.discard(row.key)
        self.program.drop(~column_kept, np.concatenate([np.zeros(self.jobs, dtype=bool), ~row_kept]))
        self.inside[self.chosen[~column_kept]] = False
        self.chosen = self.chosen[column_kept]
        self._activity = np.concatenate([self._activity[: self.jobs], activity[row_kept[: len(activity)]]])
        self.rows.keep(row_kept)
