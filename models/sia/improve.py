"""Good schedules: move jobs forward one by one, then take out a few at a time and put them back in another order.

A schedule stays feasible throughout, so that no cut-off is ever broken.
"""

from __future__ import annotations

import math
import random

import numpy as np

from instances import Stopwatch
from models.sia.arrays import IntArray, OracleArrays

SIZES = (4, 8, 12, 20, 32)  # jobs taken out together
BATCH = 25  # tries for each job between two looks at the progress
BATCHES = 12
WARM = 30.0  # slots of delay that the annealing starts by accepting
WORTH = 0.004  # it ends when a batch gains less than this share


def improve(
    arrays: OracleArrays, starts: IntArray, clock: Stopwatch, *, seed: int = 0, batches: int = BATCHES
) -> IntArray:
    """A schedule no worse than the feasible `starts` (J,), by annealed large-neighbourhood search.

    Deterministic for a seed unless `clock` ends it.
    """
    search = _Search(arrays, starts, seed)
    search.advance()
    for batch in range(batches):
        if clock.expired:
            break
        before = search.best
        search.batch(clock)
        if before - search.best <= WORTH * before and batch:
            break
    return search.best_starts


class _Search:
    """The current schedule, the GPUs it uses at each slot, and the best schedule met."""

    def __init__(self, arrays: OracleArrays, starts: IntArray, seed: int) -> None:
        self.arrays = arrays
        self.random = random.Random(seed)
        self.submit, self.duration = arrays.submit.tolist(), arrays.duration.tolist()
        self.gpus, self.cutoff = arrays.gpus.tolist(), arrays.cutoff.tolist()
        self._take(starts)
        self.best, self.best_starts = self.delay, starts.copy()

    def _take(self, starts: IntArray) -> None:
        self.starts = starts.copy()
        self.start = self.starts.tolist()
        self.ends = self.starts + self.arrays.duration
        self.use = self.arrays.use(self.starts).astype(np.int32)
        self.delay = self.arrays.delay(self.starts)

    def advance(self) -> None:
        """Move each job to the earliest slot where it fits, least GPU time first, as long as one moves."""
        order = np.lexsort((self.arrays.submit, self.arrays.duration * self.arrays.gpus)).tolist()
        moved = True
        while moved:
            moved = False
            for i in order:
                if self.start[i] > self.submit[i]:
                    old = self.start[i]
                    self._hold(i, old, -1)
                    new = self._earliest(i)
                    self._hold(i, new, 1)
                    if new < old:
                        self._move(i, new)
                        self.delay -= old - new
                        moved = True
        self._keep()

    def batch(self, clock: Stopwatch) -> None:
        """BATCH tries for each job, from the best schedule on, cooling down."""
        self._take(self.best_starts)
        tries = BATCH * len(self.start)
        for k in range(tries):
            if k % 256 == 0 and clock.expired:
                break
            delayed = np.flatnonzero(self.starts > self.arrays.submit)
            if not len(delayed):
                break
            self._try(int(delayed[self.random.randrange(len(delayed))]), WARM * (1 - k / tries))
            if self.delay < self.best:
                self._keep()

    def _keep(self) -> None:
        if self.delay < self.best:
            self.best, self.best_starts = self.delay, self.starts.copy()

    def _try(self, job: int, warmth: float) -> None:
        """Take out `job` and some that run while it waits, and put them back unless that costs too much."""
        chosen = self._neighbours(job)
        old = {i: self.start[i] for i in chosen}
        before = sum(old.values())
        most = before - math.log(max(self.random.random(), 1e-12)) * warmth
        for i in chosen:
            self._hold(i, old[i], -1)
        new: dict[int, int] = {}
        total = sum(self.submit[i] for i in chosen)
        for i in self._order(chosen, job):
            t = self._earliest(i)
            total += t - self.submit[i]
            if t > self.cutoff[i] or total > most:
                for k, at in new.items():
                    self._hold(k, at, -1)
                for k in chosen:
                    self._hold(k, old[k], 1)
                return
            self._hold(i, t, 1)
            new[i] = t
        for i, t in new.items():
            self._move(i, t)
        self.delay += total - before

    def _neighbours(self, job: int) -> list[int]:
        draw = self.random
        begin = self.submit[job] - draw.randrange(60)
        end = self.start[job] + 1 + draw.randrange(1, 120)
        near = np.flatnonzero((self.starts <= end) & (self.ends >= begin)).tolist()
        size = draw.choice(SIZES)
        if len(near) > size:
            near = draw.sample(near, size)
        return near if job in near else [*near, job]

    def _order(self, chosen: list[int], job: int) -> list[int]:
        """As they start now, by GPU time, by submission, or at random, none of it exactly."""
        draw, way = self.random, self.random.random()
        if way < 0.4:
            key = {i: self.start[i] + draw.gauss(0, 20) for i in chosen}
            if draw.random() < 0.5:
                key[job] = self.submit[job] - 1
        elif way < 0.7:
            key = {i: self.duration[i] * self.gpus[i] * math.exp(draw.gauss(0, 0.5)) for i in chosen}
        elif way < 0.85:
            key = {i: self.submit[i] + draw.gauss(0, 30) for i in chosen}
        else:
            key = {i: draw.random() for i in chosen}
        return sorted(chosen, key=key.__getitem__)

    def _earliest(self, i: int) -> int:
        """The earliest slot at which job i fits beside the others; past its cut-off where there is none."""
        begin, length = self.submit[i], self.duration[i]
        limit = self.arrays.capacity - self.gpus[i]
        if self.use[begin : begin + length].max() <= limit:
            return begin
        full = np.flatnonzero(self.use[begin : self.cutoff[i] + length] > limit)
        gaps = np.flatnonzero(np.diff(full) > length)
        return begin + int(full[gaps[0]] if len(gaps) else full[-1]) + 1

    def _hold(self, i: int, t: int, sign: int) -> None:
        self.use[t : t + self.duration[i]] += sign * self.gpus[i]

    def _move(self, i: int, t: int) -> None:
        self.start[i] = t
        self.starts[i] = t
        self.ends[i] = t + self.duration[i]
