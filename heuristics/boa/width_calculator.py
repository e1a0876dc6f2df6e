"""The BOA Width Calculator (Algorithm 1 of BOA, section 4.3 and Appendix C), and the same with one glue width more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from heuristics.boa.convex_relaxation import ConvexRelaxation
from heuristics.boa.epoch_arrays import EpochArrays, epoch_arrays
from instances import Answer, Options
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, within_budget
from instances.method import SEEDED, method


@dataclass(frozen=True)
class WidthCalculatorParameters:
    """The constants of Algorithm 1, and of the grid where a speedup is a formula.

    - `configurations`: number of glue configurations that are drawn (line 2).
    - `shrink`: factor that the running budget is cut by (line 20).
    - `fine`: grid points for each whole width.
    - `fine_up_to`: last width of the fine grid.
    - `coarse`: factor from a grid point to the next beyond that width.
    """

    configurations: int = 50
    shrink: float = 0.99
    fine: int = 16
    fine_up_to: int = 64
    coarse: float = 1.002


DEFAULTS = WidthCalculatorParameters()

Candidates = Callable[[int], list[int]]
"""`candidates(epochs)`: the glue widths that a class with that many epochs draws from."""


def powers(epochs: int) -> list[int]:
    """Line 4: 1, 2, 4, ... up to the greatest power of two within the number of epochs."""
    return [2**e for e in range(epochs.bit_length())]


def powers_and_whole(epochs: int) -> list[int]:
    """The powers and the whole job, without which a job may change width even where that never pays."""
    return sorted({*powers(epochs), epochs})


@method("heuristic", SEEDED)
def width_calculator(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = DEFAULTS
) -> Answer:
    """Algorithm 1: the best of 50 random glue configurations, the running budget cut by 1% until the cost fits.

    Without a solution where the loop of lines 15 to 27 would never stop.
    """
    return _run(data, options.seed, powers, parameters)


@method("heuristic", SEEDED)
def width_calculator_whole_job(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = DEFAULTS
) -> Answer:
    """Algorithm 1 with the glue width g = l among the candidates, so that a class can keep one width throughout."""
    return _run(data, options.seed, powers_and_whole, parameters)


def _run(data: BoaAllocation, seed: int, candidates: Candidates, parameters: WidthCalculatorParameters) -> Answer:
    """Algorithm 1 with the candidates of line 4 as given."""
    p = epoch_arrays(data)
    grid = _grid(data, p.hours.shape[1], parameters)
    hours = _hours(data, p, grid)
    drawn = _configurations(p, candidates, parameters.configurations, np.random.default_rng(seed))
    best, least = _search(p, grid, hours, drawn, parameters.shrink)
    info = {"configurations": parameters.configurations}
    if best is None:
        reason = f"Algorithm 1 never stops: its narrowest widths cost {least:.6g}, over the budget {data.budget:.6g}"
        return Answer(None, reason=reason, info=info)
    return Answer(p.solution(best), info=info)


def _search(
    p: EpochArrays, grid: FloatArray, hours: FloatArray, drawn: Iterable[tuple[int, ...]], shrink: float
) -> tuple[IntArray | None, float]:
    """The widths (n,) of the best configuration, and the least cost at which any loop got stuck.

    - `p`: the instance.
    - `grid` (grid,): widths of the convex problem, GPUs.
    - `hours` (n, grid): run times of the epochs at these widths.
    - `drawn`: glue configurations.
    - `shrink`: factor that the running budget is cut by.
    """
    best, best_time, stuck = None, np.inf, np.inf
    for glue in dict.fromkeys(drawn):
        width, cost = _shrink(p, grid, hours, _starts(p, glue), shrink)
        if width is None:
            stuck = min(stuck, cost)
            continue
        time = p.time_and_cost(width)[0]
        if time < best_time:
            best, best_time = width, time
    return best, stuck


def _configurations(
    p: EpochArrays, candidates: Candidates, number: int, random: np.random.Generator
) -> Iterator[tuple[int, ...]]:
    """Lines 1 to 8: a glue width for each class, drawn uniformly."""
    choices = [candidates(len(c.epochs)) for c in p.data.classes]
    for _ in range(number):
        yield tuple(s[int(random.integers(len(s)))] for s in choices)


def _starts(p: EpochArrays, glue: tuple[int, ...]) -> IntArray:
    """First epochs of the super-epochs: every g_i-th of class i (line 12)."""
    starts: list[int] = []
    offset = 0
    for c, g in zip(p.data.classes, glue, strict=True):
        starts += range(offset, offset + len(c.epochs), g)
        offset += len(c.epochs)
    return np.array(starts)


def _shrink(
    p: EpochArrays, grid: FloatArray, hours: FloatArray, starts: IntArray, shrink: float
) -> tuple[IntArray | None, float]:
    """Lines 13 to 27 for a configuration: widths (n,) and cost, or `None` and the cost that no cut gets under.

    Gluing adds up run times at equal widths, which is the size-weighted harmonic mean of the speedups. `starts` are the
    first epochs of the super-epochs; the other parameters are those of `_search`.
    """
    lengths = np.diff(np.append(starts, len(hours)))
    relaxation = ConvexRelaxation(np.add.reduceat(hours, starts, axis=0), grid, p.value[starts], p.price[starts])
    running = p.data.budget
    while True:
        nearest = np.floor(relaxation.solve(running) + 0.5).astype(np.int64)
        width = np.repeat(np.clip(nearest, 1, p.hours.shape[1]), lengths)
        cost = p.time_and_cost(width)[1]
        if within_budget(cost, p.data.budget):
            return width, cost
        if running <= relaxation.least_cost:
            return None, cost
        running *= shrink


def _grid(data: BoaAllocation, last: int, parameters: WidthCalculatorParameters) -> FloatArray:
    """Widths (grid,) from 1 to `last`: the whole widths, and a finer grid where a speedup is a formula."""
    whole = np.arange(1, last + 1, dtype=float)
    name = data.gpu_types[0].name
    if all(epoch.speedup.on(name).table is not None for c in data.classes for epoch in c.epochs):
        return whole
    end = parameters.fine_up_to
    fine = np.arange(parameters.fine, parameters.fine * min(last, end) + 1) / parameters.fine
    if last <= end:
        return fine
    steps = int(np.ceil(np.log(last / end) / np.log(parameters.coarse)))
    return np.concatenate([fine, end * (last / end) ** (np.arange(1, steps + 1) / steps)])


def _hours(data: BoaAllocation, p: EpochArrays, grid: FloatArray) -> FloatArray:
    """Run times (n, grid) of the epochs; speedup tables are linear between whole widths."""
    if len(grid) == p.hours.shape[1] and (grid == np.arange(1, len(grid) + 1)).all():
        return p.hours
    name = data.gpu_types[0].name
    with np.errstate(divide="ignore"):
        return np.array(
            [e.size_hours / e.speedup.on(name).at(grid, data.max_width) for c in data.classes for e in c.epochs]
        )
