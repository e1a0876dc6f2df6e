"""The BOA Width Calculator (Algorithm 1 of BOA, section 4.3 and Appendix C), with one glue width more, and as released.

The authors' code is Li-Zhouzi/adaptdl, sched/adaptdl_sched/_compute_width.py, at commit 21d3805d. It draws and cuts
otherwise than Algorithm 1, and confirms its readings here: no 1/lambda in the budget, a rescaling in the first epoch,
rounding to the nearest corner of the hull (`_compute_things_with_rescale`, `closest_key`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from heuristics.boa.epoch_arrays import EpochArrays, epoch_arrays, hull_hours
from instances import Answer, Options
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, merged_segments, within_budget
from instances.method import SEEDED, method


@dataclass(frozen=True)
class WidthCalculatorParameters:
    """The constants of Algorithm 1, and of the grid where a speedup is a formula.

    - `configurations`: number of glue configurations that are drawn (line 2).
    - `rounding`: what line 17 rounds a width to, the nearest whole number "on the hull": the nearest of those where the
      hull touches what was measured (`"corner"`), or the nearest of all (`"whole"`). Both are the same where an
      instance reads speedups on their hull.
    - `shrink`: factor that the running budget is cut by (line 20).
    - `cut`: what it is cut by besides, GPUs.
    - `halves`: whether a width half-way between two corners goes to the wider or the narrower.
    - `fine`: grid points for each whole width.
    - `fine_up_to`: last width of the fine grid.
    - `coarse`: factor from a grid point to the next beyond that width.
    """

    configurations: int = 50
    rounding: Literal["corner", "whole"] = "corner"
    shrink: float = 0.99
    cut: float = 0.0
    halves: Literal["wider", "narrower"] = "wider"
    fine: int = 16
    fine_up_to: int = 64
    coarse: float = 1.002


DEFAULTS = WidthCalculatorParameters()
TO_WHOLE = WidthCalculatorParameters(rounding="whole")
RELEASED = WidthCalculatorParameters(configurations=30, shrink=1.0, cut=1.0, halves="narrower")
LEFT_OUT = "their fitted goodput model and its profiles: speedups are those of the instance"
"""Of the released code."""

Candidates = Callable[[int], list[int]]
"""`candidates(epochs)`: the glue widths that a class with that many epochs draws from."""


def powers(epochs: int) -> list[int]:
    """Line 4: 1, 2, 4, ... up to the greatest power of two within the number of epochs."""
    return [2**e for e in range(epochs.bit_length())]


def powers_and_whole(epochs: int) -> list[int]:
    """The powers and the whole job, without which a job may change width even where that never pays."""
    return sorted({*powers(epochs), epochs})


def up_to_a_tenth(epochs: int) -> list[int]:
    """Of the released code: every glue width up to a tenth of the epochs."""
    return list(range(1, -(-epochs // 10) + 1))


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


@method("heuristic", SEEDED)
def width_calculator_nearest(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = TO_WHOLE
) -> Answer:
    """Algorithm 1 with line 17 read as rounding to the nearest whole width, whether or not the hull touches there."""
    return _run(data, options.seed, powers, parameters)


@method("heuristic", SEEDED)
def width_calculator_artifact(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = RELEASED
) -> Answer:
    """The Width Calculator of the authors' code: 30 draws of glue widths up to l/10, the budget cut by 1 GPU a time."""
    found = _run(data, options.seed, up_to_a_tenth, parameters)
    return replace(found, info={**found.info, "left_out": LEFT_OUT})


def _run(data: BoaAllocation, seed: int, candidates: Candidates, parameters: WidthCalculatorParameters) -> Answer:
    """Algorithm 1 with the candidates of line 4 as given."""
    p = epoch_arrays(data)
    glued = _Glued(p, parameters)
    drawn = _configurations(p, candidates, parameters.configurations, np.random.default_rng(seed))
    best, least = _search(p, glued, drawn, parameters)
    info = {"configurations": parameters.configurations}
    if best is None:
        reason = f"Algorithm 1 never stops: its narrowest widths cost {least:.6g}, over the budget {data.budget:.6g}"
        return Answer(None, reason=reason, info=info)
    return Answer(p.solution(best), info=info)


def _search(
    p: EpochArrays, glued: _Glued, drawn: Iterable[tuple[int, ...]], parameters: WidthCalculatorParameters
) -> tuple[IntArray | None, float]:
    """The widths (n,) of the best configuration, and the least cost at which any loop got stuck.

    - `p`, `glued`: the instance, and its super-epochs.
    - `drawn`: glue configurations.
    - `parameters`: how the running budget is cut.
    """
    best, best_time, stuck = None, np.inf, np.inf
    for glue in dict.fromkeys(drawn):
        width, cost = _shrink(p, glued, _starts(p, glue), parameters)
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
    p: EpochArrays, glued: _Glued, starts: IntArray, parameters: WidthCalculatorParameters
) -> tuple[IntArray | None, float]:
    """Lines 13 to 27 for a configuration: widths (n,) and cost, or `None` and the cost that no cut gets under.

    `starts` are the first epochs of the super-epochs; the other parameters are those of `_search`.
    """
    lengths = np.diff(np.append(starts, len(p.hours)))
    relaxation, rounded = glued.of(starts, lengths)
    running = p.data.budget
    while True:
        width = np.repeat(rounded(relaxation.solve(running)), lengths)
        cost = p.time_and_cost(width)[1]
        if within_budget(cost, p.data.budget):
            return width, cost
        below = parameters.shrink * running - parameters.cut
        if running <= relaxation.least_cost or (parameters.cut and below < relaxation.least_cost):
            return None, cost  # in the released code a convex problem without a solution
        running = below


Rounding = Callable[[FloatArray], IntArray]
"""Widths (n,) of the convex problem to whole ones."""


class ConvexRelaxation:
    """The relaxation of n runs, each at a width of a grid or at a mix of two neighbouring widths.

    - `hours` (n, grid): run time at each width, infinite where there is no such width.
    - `grid` (grid,): widths, GPUs, rising.
    - `value` (n,): hours of mean completion time of an hour of the run.
    - `price` (n,): cost of an hour of the run, per GPU.
    """

    def __init__(self, hours: FloatArray, grid: FloatArray, value: FloatArray, price: FloatArray) -> None:
        self.value_over_price = value / price
        self.time, self.cost = value[:, None] * hours, price[:, None] * hours * grid
        self.segments = merged_segments(self.time, self.cost)

    @property
    def least_cost(self) -> float:
        """The cost of the cheapest widths."""
        return float(self.segments.cost[0])

    def solve(self, budget: float) -> FloatArray:
        """Optimal widths (n,) for `budget`, or the cheapest widths where the budget is less than the least cost."""
        s = self.segments
        taken = max(0, int(np.searchsorted(s.cost, budget, side="right")) - 1)
        position = s.cheapest.copy()
        np.maximum.at(position, s.curve[:taken], s.end[:taken])
        n = np.arange(len(position))
        time, cost = self.time[n, position], self.cost[n, position]
        if taken < len(s.curve) and budget > s.cost[taken]:
            run, end = s.curve[taken], s.end[taken]
            share = (budget - s.cost[taken]) / (s.cost[taken + 1] - s.cost[taken])
            time[run] += share * (self.time[run, end] - time[run])
            cost[run] += share * (self.cost[run, end] - cost[run])
        # Cost over time is the width times price over value.
        return cost / time * self.value_over_price


@dataclass
class _Glued:
    """The super-epochs of an instance: their convex relaxation, and the rounding of line 17.

    Gluing adds up run times at equal widths, which is the size-weighted harmonic mean of the speedups; the hull is that
    of the super-epoch.
    """

    p: EpochArrays
    parameters: WidthCalculatorParameters
    rows: dict[tuple[int, int], tuple[FloatArray, BoolArray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        data, name = self.p.data, self.p.data.gpu_types[0].name
        curves = [epoch.speedup.on(name) for c in data.classes for epoch in c.epochs]
        self.tables = all(curve.table is not None for curve in curves)
        self.uneven = self.p.uneven
        self.last = self.p.hours.shape[1]
        self.grid = np.arange(1.0, self.last + 1) if self.tables else _grid(self.last, self.parameters)
        self.hours = self.p.hours
        if not self.tables:
            with np.errstate(divide="ignore"):
                sizes = np.array([e.size_hours for c in data.classes for e in c.epochs])
                self.hours = sizes[:, None] / np.array([curve.at(self.grid, data.max_width) for curve in curves])

    def of(self, starts: IntArray, lengths: IntArray) -> tuple[ConvexRelaxation, Rounding]:
        """The relaxation of the super-epochs from `starts`, and the rounding."""
        hours = np.add.reduceat(self.hours, starts, axis=0)
        rounded: Rounding = self._nearest
        if self.uneven:
            pairs = list(zip(starts.tolist(), lengths.tolist(), strict=True))
            found = [self._hull(*pair) for pair in pairs]
            if self.tables:
                hours = np.array([hull for hull, _ in found])
            if self.parameters.rounding == "corner":
                rounded = _to_corners(np.array([touches for _, touches in found]), self.parameters.halves)
        return ConvexRelaxation(hours, self.grid, self.p.value[starts], self.p.price[starts]), rounded

    def _nearest(self, width: FloatArray) -> IntArray:
        return np.clip(np.floor(width + 0.5).astype(np.int64), 1, self.last)

    def _hull(self, start: int, length: int) -> tuple[FloatArray, BoolArray]:
        """Run times (K,) of a super-epoch on its hull, and where the hull touches what was measured."""
        if (start, length) not in self.rows:
            hull, touches = hull_hours(self.p.hours[start : start + length].sum(0)[None])
            self.rows[start, length] = hull[0], touches[0]
        return self.rows[start, length]


def _to_corners(touches: BoolArray, halves: Literal["wider", "narrower"]) -> Rounding:
    """The rounding to the nearest of the widths where `touches` (n, K)."""
    counts = touches.sum(1)
    corners = np.full((len(touches), counts.max()), np.iinfo(np.int64).max // 2)
    for row, touching in enumerate(touches):
        corners[row, : counts[row]] = np.flatnonzero(touching) + 1
    middles = (corners[:, 1:] + corners[:, :-1]) / 2

    def rounded(width: FloatArray) -> IntArray:
        past = middles <= width[:, None] if halves == "wider" else middles < width[:, None]
        return corners[np.arange(len(corners)), past.sum(1)]

    return rounded


def _grid(last: int, parameters: WidthCalculatorParameters) -> FloatArray:
    """Widths (grid,) from 1 to `last`, finer than whole ones."""
    end = parameters.fine_up_to
    fine = np.arange(parameters.fine, parameters.fine * min(last, end) + 1) / parameters.fine
    if last <= end:
        return fine
    steps = int(np.ceil(np.log(last / end) / np.log(parameters.coarse)))
    return np.concatenate([fine, end * (last / end) ** (np.arange(1, steps + 1) / steps)])
