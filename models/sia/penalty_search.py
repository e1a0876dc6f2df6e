"""Annealing with penalties: schedules that are too wide for a while, at a price that rises until none is worth it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from instances import Stopwatch
from instances.sia.arrays import IntArray, OracleArrays
from models.sia.parameters import DEFAULTS, ExactParameters

if TYPE_CHECKING:
    from models.sia.penalty_kernels import Shares


def settle(
    arrays: OracleArrays,
    starts: IntArray,
    clock: Stopwatch,
    *,
    seed: int = 0,
    tries: int,
    begin: float = 0.0,
    among: IntArray | None = None,
    shares: Shares | None = None,
    parameters: ExactParameters = DEFAULTS,
) -> tuple[IntArray | None, IntArray]:
    """The best feasible schedule met from `starts` on, `None` where none was, and the last one, which may be too wide.

    `starts` keep the cut-offs and may be too wide. Temperature falls and the penalty for a GPU too many rises.
    Deterministic for a seed unless the clock ends the search.

    Parameters:

    - `arrays`: jobs and capacity.
    - `starts`: a start of each job in its window, (J,).
    - `clock`: ends the search when the time is over.
    - `seed`: seed of all that is random.
    - `tries`: tries for each job.
    - `begin`: share of the way from the first temperature to the last that is left out.
    - `among`: the jobs that move, where not all do.
    - `shares`: fairness, if it is in the objective.
    - `parameters`: temperatures, in mean durations, and penalties, in steps of delay.
    """
    from models.sia.kernels import Jobs
    from models.sia.penalty_kernels import Timeline, anneal_widths, anneal_with_penalties  # compiled at first use

    p = parameters
    jobs = Jobs(arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff, arrays.capacity)
    total = arrays.use(starts)
    line = None
    if shares is not None:
        use = np.zeros((max(1, len(shares.inverse)), arrays.horizon + 1), dtype=np.int64)
        np.add.at(use, (shares.pool, starts), arrays.gpus)
        np.add.at(use, (shares.pool, starts + arrays.duration), -arrays.gpus)
        line = Timeline(np.cumsum(use, axis=1), total)
    movable = np.arange(len(starts)) if among is None else among
    movable = movable[arrays.cutoff[movable] > arrays.submit[movable]]
    over = int(np.maximum(total - arrays.capacity, 0).sum())
    start, best, lead = starts.copy(), starts.copy(), 0.0 if over == 0 else -np.inf
    if not len(movable):
        return (best if over == 0 else None), start
    rng, pace = np.random.default_rng(seed), float(arrays.duration.mean())
    longest = int(p.penalty_steps / pace)  # a try looks at as many steps as a job runs
    each = max(1, min(longest, tries * len(movable) // p.penalty_slices))
    for share in np.linspace(begin, 1.0, p.penalty_slices):
        if clock.expired:
            break
        heat = pace * p.penalty_warm * (p.penalty_cold / p.penalty_warm) ** share
        penalty = p.penalty_soft * (p.penalty_hard / p.penalty_soft) ** share
        how = lead, over, each, p.penalty_pace * pace, heat, penalty
        if shares is None or line is None:
            lead, over = anneal_widths(rng, jobs, total, movable, start, best, *how)
        else:
            lead, over = anneal_with_penalties(rng, jobs, shares, line, movable, start, best, *how)
    return (best if np.isfinite(lead) else None), start
