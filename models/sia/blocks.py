"""Blocks of time: integer programs that raise the bound of prices, each over the rows of one stretch of time.

Prices λ of the rows charge a start k of a job `excess_k` >= 0 more than the job's least charge, and a row λ for each unit
that is left: a schedule's delay is the bound of the prices plus all that. Cut time into blocks, give each row to one
block, and share the excess of a start among the blocks in which the job then runs and the block that is the job's home.
In each block the least sum of these shares and of what its rows charge for units left, over all schedules that keep
the block's rows, is a gain: no schedule pays less there. The gains of all blocks add up, however jobs move between blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.sia.arrays import OracleArrays
from models.bounds import summed_bound
from models.highs import LinearModel, solve_arrays
from models.sia.columns import FIXED, SCALE, Columns
from models.sia.parameters import DEFAULTS, ExactParameters
from models.sia.rows import Priced, Row, Rows, capacity_row


def borders(arrays: OracleArrays, priced: Priced, starts: IntArray, blocks: int) -> IntArray:
    """First slots of blocks (B,), of about the same number of jobs that start in the schedule `starts`.

    Each begins where the rows around are cheapest, within the middle half of the way to the next block.
    """
    load = np.zeros(arrays.horizon + 1)
    for row, price in zip(priced.rows, priced.prices, strict=True):
        load[row.first : row.last + 1] += float(price) / SCALE * row.limit / (row.last - row.first + 1)
    width = max(1, int(arrays.duration.mean() / 4))
    load = np.convolve(load, np.ones(2 * width + 1), mode="same")
    waiting = np.sort(starts[starts > arrays.submit])
    if len(waiting) < 2 * blocks:
        return np.zeros(1, dtype=np.int64)
    found = [0]
    for k in range(1, blocks):
        low = int(waiting[int(len(waiting) * (k - 0.25) / blocks)])
        high = int(waiting[int(len(waiting) * (k + 0.25) / blocks)])
        if low > found[-1]:
            found.append(low + int(load[low : high + 1].argmin()))
    return np.unique(np.array(found, dtype=np.int64))


class Blocks:
    """The blocks of a bound: `first` slot of each, (B,), and the gain of each, SCALE times, (B,); the `home` of jobs, (J,)."""

    def __init__(
        self,
        columns: Columns,
        priced: Priced,
        first: IntArray,
        starts: IntArray,
        parameters: ExactParameters = DEFAULTS,
    ) -> None:
        self.columns, self.priced, self.first, self.parameters = columns, priced, first, parameters
        count = len(first)
        begin = np.searchsorted(first, columns.start, side="right") - 1
        end = np.searchsorted(first, columns.end - 1, side="right") - 1
        middle = starts + columns.arrays.duration // 2
        self.home: IntArray = np.searchsorted(first, middle, side="right") - 1
        home = self.home[columns.job]
        away = (home < begin) | (home > end)
        self._begin, self._end, self._home = begin, end, home
        self._share = np.where(columns.open, priced.excess // (end - begin + 1 + away), FIXED)
        self.gains = [0] * count
        where = np.searchsorted(first, [row.first for row in priced.rows], side="right") - 1
        self._rows = [[r for r in range(len(priced.rows)) if where[r] == b] for b in range(count)]

    @property
    def bound(self) -> int:
        """The bound on the delay, SCALE times."""
        return self.priced.bound + sum(self.gains)

    def close(self, delay: int) -> None:
        """Close the columns that no schedule of less `delay` can contain.

        A start that pays its excess leaves the gains of all blocks in which it has no share.
        """
        total = np.concatenate([[0], np.cumsum(np.array(self.gains, dtype=np.int64))])
        kept = total[-1] - (total[self._end + 1] - total[self._begin])
        away = (self._home < self._begin) | (self._home > self._end)
        kept = kept - np.where(away, np.diff(total)[self._home], 0)
        self.columns.open &= self.priced.bound + self.priced.excess + kept <= (delay - 1) * SCALE

    def solve(self, block: int, most: float, options: Options) -> IntArray | None:
        """Raise the gain of a block, to `most` steps at most; the starts (J,) of its best solution, -1 of other jobs.

        Rows are added wherever the solution breaks capacity within the block, as long as there is time.
        """
        clock = Stopwatch(options.time_limit)
        own = [self.priced.rows[r] for r in self._rows[block]]
        prices = self.priced.prices[self._rows[block]]
        known = {row.key for row in own}
        found: IntArray | None = None
        while clock.remaining_s > 0:
            program = self._program(block, own, prices, most)
            if program is None:
                return found
            limit = None if options.time_limit is None else clock.remaining_s
            solved = solve_arrays(
                program.model, replace(options, time_limit=limit, gap=0.0), extra={"objective_bound": most + 0.5}
            )
            proven = most if solved.termination == "infeasible" else solved.bound
            if proven is not None:
                self.gains[block] = max(self.gains[block], min(int(most * SCALE), summed_bound(proven, SCALE)))
            if solved.x is None:
                return found
            found = program.read(solved.x, len(self.columns.arrays.submit))
            new = [row for row in self._broken(block, found) if row.key not in known]
            if not new or self.gains[block] >= int(most * SCALE):
                return found
            known |= {row.key for row in new}
            own, prices = own + new, np.append(prices, np.zeros(len(new), dtype=np.int64))
        return found

    def _broken(self, block: int, starts: IntArray) -> list[Row]:
        """Capacity rows that `starts` (J,) break within the block, one of each overfull stretch of constant use."""
        arrays = self.columns.arrays
        there = np.flatnonzero(starts >= 0)
        changes = np.zeros(arrays.horizon + 1, dtype=np.int64)
        np.add.at(changes, starts[there], arrays.gpus[there])
        np.add.at(changes, starts[there] + arrays.duration[there], -arrays.gpus[there])
        use = np.cumsum(changes)
        low = int(self.first[block])
        high = int(self.first[block + 1]) if block + 1 < len(self.first) else arrays.horizon
        over = low + np.flatnonzero(use[low:high] > arrays.capacity)
        over = over[np.concatenate([[True], (np.diff(over) > 1) | (np.diff(use[over]) != 0)])] if len(over) else over
        return [capacity_row(arrays, int(t)) for t in over]

    def _program(self, block: int, own: list[Row], prices: IntArray, most: float) -> _Program | None:
        """The integer program of a block in the step formulation; `None` where no job is left."""
        columns, table = self.columns, Rows(self.columns, own)
        if not len(table):
            return None
        inside = ((self._begin <= block) & (block <= self._end)) | (self._home == block)
        cost = np.where(inside | ~columns.open, self._share, 0)
        edge = np.zeros(len(columns.job) + 1, dtype=bool)
        edge[columns.offset[:-1]] = True
        row, job = np.nonzero(table.weight)
        shift = columns.offset[:-1][job] - columns.arrays.submit[job]
        edge[table.low[row, job] + shift] = True
        after = table.high[row, job] + 1
        edge[(after + shift)[after <= columns.arrays.cutoff[job]]] = True
        piece = np.flatnonzero(edge[:-1])
        least = np.minimum.reduceat(cost, piece)
        piece, least = piece[least <= most * SCALE], least[least <= most * SCALE]
        limits = table.limits.astype(float)
        members = np.flatnonzero((table.weight > 0).any(axis=0))
        job = columns.job[piece]
        price = prices.astype(float) / SCALE
        chosen, candidates, costs = [], [], []
        constant = float(price @ limits)
        rows: list[IntArray] = []
        cols: list[IntArray] = []
        values: list[FloatArray] = []
        free, first = limits.copy(), 0
        chain: list[IntArray] = []
        for j in members.tolist():
            mine = piece[job == j]
            starts, weight = columns.start[mine], table.weight[:, j].astype(float)
            if not len(starts):
                return None  # no schedule is better, which fixing tells
            until = np.searchsorted(starts, table.high[:, j], side="right") - 1  # the last candidate that counts
            since = np.searchsorted(starts, table.low[:, j]) - 1  # the last before those that count
            counted = (until > since) & (weight > 0)
            if not counted.any():
                continue
            last = len(starts) - 1
            pay = least[job == j] / SCALE
            charged = np.zeros(len(starts) + 1)
            np.add.at(charged, since[counted] + 1, (price * weight)[counted])
            np.add.at(charged, until[counted] + 1, -(price * weight)[counted])
            pay = pay - np.cumsum(charged)[:-1]
            constant += float(pay[-1])
            costs.append(pay[:-1] - pay[1:])
            free -= np.where(counted & (until == last), weight, 0)  # z of the last candidate is 1
            for place, sign, which in ((until, 1, counted & (until < last)), (since, -1, counted & (since >= 0))):
                here = np.flatnonzero(which)
                rows.append(here)
                cols.append(first + place[here])
                values.append(sign * weight[here])
            chain.append(first + np.arange(max(0, last - 1)))
            first += last
            chosen.append(j)
            candidates.append(columns.start[self._cheapest(mine, cost, edge)])
        if not first:
            return None
        links = np.concatenate(chain)
        order = len(own) + np.arange(len(links))
        rows += [order, order]
        cols += [links, links + 1]
        values += [np.ones(len(links)), -np.ones(len(links))]
        matrix = sparse.csc_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))),
            shape=(len(own) + len(links), first),
        )
        model = LinearModel(
            cost=np.concatenate(costs),
            matrix=matrix,
            row_lower=-np.inf,
            row_upper=np.concatenate([free, np.zeros(len(links))]),
            upper=1.0,
            integer=True,
            offset=constant,
        )
        return _Program(model, tuple(chosen), tuple(candidates))

    def _cheapest(self, pieces: IntArray, cost: IntArray, edge: FloatArray) -> IntArray:
        """The cheapest column of each piece, the first where several are."""
        found = []
        for k in pieces.tolist():
            end = k + 1
            while not edge[end] and end < len(cost) and self.columns.job[end] == self.columns.job[k]:
                end += 1
            found.append(k + int(cost[k:end].argmin()))
        return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class _Program:
    """An integer program: its jobs and the starts of their candidates."""

    model: LinearModel
    jobs: tuple[int, ...]
    candidates: tuple[IntArray, ...]

    def read(self, x: FloatArray, jobs: int) -> IntArray:
        """Starts (J,) of a solution, -1 of the jobs that are not in the program."""
        starts, at = np.full(jobs, -1, dtype=np.int64), 0
        for j, own in zip(self.jobs, self.candidates, strict=True):
            z = x[at : at + len(own) - 1] > 0.5
            starts[j] = own[int(np.argmax(np.append(z, True)))]
            at += len(own) - 1
        return starts
