"""The BOA Width Calculator (Algorithm 1 of BOA, section 4.3 and Appendix C), and the same with one glue width more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from heuristics.boa.convex_relaxation import Segments
from heuristics.boa.epoch_arrays import FloatArray, IntArray, Plan, plan, within
from instances import Answer, Options
from instances.boa import BoaAllocation
from instances.method import SEEDED, method

CONFIGURATIONS = 50  # line 2
SHRINK = 0.99  # line 20
FINE = 16  # grid points between neighbouring whole widths, where speedups are not tables
FINE_UP_TO, COARSE = 64, 1.002  # beyond this width the grid grows by a factor

Candidates = Callable[[int], list[int]]
"""`candidates(epochs)`: the glue widths that a class with that many epochs draws from."""


def powers(epochs: int) -> list[int]:
    """Line 4: 1, 2, 4, ... up to the greatest power of two within the number of epochs."""
    return [2**e for e in range(epochs.bit_length())]


def powers_and_whole(epochs: int) -> list[int]:
    """The same and the whole job, without which a job may change its width once even where that never pays."""
    return sorted({*powers(epochs), epochs})


@method("heuristic", SEEDED)
def width_calculator(data: BoaAllocation, options: Options) -> Answer:
    """Algorithm 1: the best of 50 random glue configurations, the running budget cut by 1% until the cost fits.

    Without a solution where the loop of lines 15 to 27 would never stop.
    """
    return _run(data, options, powers)


@method("heuristic", SEEDED)
def width_calculator_whole_job(data: BoaAllocation, options: Options) -> Answer:
    """Algorithm 1 with the glue width g = l among the candidates, so that a class can keep one width throughout."""
    return _run(data, options, powers_and_whole)


def _run(data: BoaAllocation, options: Options, candidates: Candidates) -> Answer:
    p = plan(data)
    grid = _grid(data, p.hours.shape[1])
    hours = _hours(data, p, grid)
    best, least = _search(p, grid, hours, candidates, np.random.default_rng(options.seed))
    info = {"configurations": CONFIGURATIONS}
    if best is None:
        reason = f"Algorithm 1 never stops: its narrowest widths cost {least:.6g}, over the budget {data.budget:.6g}"
        return Answer(None, reason=reason, info=info)
    return Answer(p.solution(best), info=info)


def _search(
    p: Plan, grid: FloatArray, hours: FloatArray, candidates: Candidates, random: np.random.Generator
) -> tuple[IntArray | None, float]:
    """The widths (n,) of the best configuration, and the least cost at which any loop got stuck."""
    best, best_time, stuck = None, np.inf, np.inf
    for glue in dict.fromkeys(_configurations(p, candidates, random)):
        starts = _starts(p, glue)
        width, cost = _shrink(p, grid, hours, starts)
        if width is None:
            stuck = min(stuck, cost)
            continue
        time = p.time_and_cost(width)[0]
        if time < best_time:
            best, best_time = width, time
    return best, stuck


def _configurations(p: Plan, candidates: Candidates, random: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Lines 1 to 8: a glue width for each class, drawn uniformly."""
    choices = [candidates(len(c.epochs)) for c in p.data.classes]
    for _ in range(CONFIGURATIONS):
        yield tuple(s[int(random.integers(len(s)))] for s in choices)


def _starts(p: Plan, glue: tuple[int, ...]) -> IntArray:
    """First epochs of the super-epochs: every g_i-th of class i (line 12)."""
    starts: list[int] = []
    offset = 0
    for c, g in zip(p.data.classes, glue, strict=True):
        starts += range(offset, offset + len(c.epochs), g)
        offset += len(c.epochs)
    return np.array(starts)


def _shrink(p: Plan, grid: FloatArray, hours: FloatArray, starts: IntArray) -> tuple[IntArray | None, float]:
    """Lines 13 to 27 for one configuration: its widths (n,), or `None` and the cost it cannot get under.

    Gluing adds up run times at equal widths, which is the size-weighted harmonic mean of the speedups.
    """
    lengths = np.diff(np.append(starts, len(hours)))
    segments = Segments(np.add.reduceat(hours, starts, axis=0), grid, p.value[starts], p.price[starts])
    running = p.data.budget
    while True:
        nearest = np.floor(segments.solve(running) + 0.5).astype(np.int64)
        width = np.repeat(np.clip(nearest, 1, p.hours.shape[1]), lengths)
        cost = p.time_and_cost(width)[1]
        if within(cost, p.data.budget):
            return width, cost
        if running <= segments.spent[0]:
            return None, cost
        running *= SHRINK


def _grid(data: BoaAllocation, last: int) -> FloatArray:
    """Widths from 1 to `last`: the whole ones, and finer where a speedup is given by a formula."""
    whole = np.arange(1, last + 1, dtype=float)
    name = data.gpu_types[0].name
    if all(epoch.speedup.on(name).table is not None for c in data.classes for epoch in c.epochs):
        return whole
    fine = np.arange(FINE, FINE * min(last, FINE_UP_TO) + 1) / FINE
    if last <= FINE_UP_TO:
        return fine
    steps = int(np.ceil(np.log(last / FINE_UP_TO) / np.log(COARSE)))
    return np.concatenate([fine, FINE_UP_TO * (last / FINE_UP_TO) ** (np.arange(1, steps + 1) / steps)])


def _hours(data: BoaAllocation, p: Plan, grid: FloatArray) -> FloatArray:
    """Run times (n, grid) of the epochs; speedup tables are linear between whole widths."""
    if len(grid) == p.hours.shape[1] and (grid == np.arange(1, len(grid) + 1)).all():
        return p.hours
    name = data.gpu_types[0].name
    with np.errstate(divide="ignore"):
        return np.array(
            [e.size_hours / e.speedup.on(name).at(grid, data.max_width) for c in data.classes for e in c.epochs]
        )
