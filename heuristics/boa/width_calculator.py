"""The BOA Width Calculator (Algorithm 1 of BOA, section 4.3 and Appendix C), and three variants.

`_calculate_widths` is Algorithm 1; comments name the lines of the paper's pseudocode. The variants differ in the
candidates of line 4, the rounding of line 17 and the cut of line 20. One variant is the authors' code:
Li-Zhouzi/adaptdl, sched/adaptdl_sched/_compute_width.py, at commit 21d3805d. That code confirms three readings: no
1/lambda in the budget, a rescaling in the first epoch, and rounding to the nearest corner of the hull
(`_compute_things_with_rescale`, `closest_key`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from heuristics.boa.epoch_arrays import EpochArrays, build_epoch_arrays, compute_hull_hours
from instances import Answer, Options
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.boa import BoaAllocation, is_within_budget, merge_segments
from instances.method import SEEDED, method


@dataclass(frozen=True)
class WidthCalculatorParameters:
    """The constants of Algorithm 1, and of the grid for speedups that are formulas.

    - `configurations`: number of glue configurations that are drawn (line 2).
    - `rounding`: the widths among which line 17 rounds to the nearest: those at which the hull touches the measurement
      (`"corner"`), or all integers (`"whole"`). Both are the same if an instance reads speedups on their hull.
    - `shrink`: factor by which the running budget is reduced (line 20).
    - `cut`: number of GPUs by which it is reduced in addition.
    - `halves`: whether a width half-way between two corners is rounded to the wider or the narrower one.
    - `fine`: grid points per integer width.
    - `fine_up_to`: last width of the fine grid.
    - `coarse`: factor from one grid point to the next beyond that width.
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
"""The part of the authors' code that `width_calculator_artifact` leaves out."""

Candidates = Callable[[int], list[int]]
"""`candidates(epochs)`: the glue widths from which a class with this number of epochs draws."""


def powers(epochs: int) -> list[int]:
    """Return the candidates of line 4: 1, 2, 4, ... up to the largest power of two within the number of epochs."""
    return [2**e for e in range(epochs.bit_length())]


def powers_and_whole_job(epochs: int) -> list[int]:
    """Return the powers of two, and the number of epochs.

    Without the latter, a job may have to change its width although this never pays off.
    """
    return sorted({*powers(epochs), epochs})


def up_to_a_tenth(epochs: int) -> list[int]:
    """Return the candidates of the authors' code: every glue width up to a tenth of the epochs."""
    return list(range(1, -(-epochs // 10) + 1))


@method("heuristic", SEEDED)
def width_calculator(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = DEFAULTS
) -> Answer:
    """Run Algorithm 1: the best of 50 random glue configurations, each with a budget cut by 1% until the cost fits.

    Return no solution if the loop of lines 15 to 27 would never stop for any configuration.
    """
    return _calculate_widths(data, options.seed, powers, parameters)


@method("heuristic", SEEDED)
def width_calculator_whole_job(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = DEFAULTS
) -> Answer:
    """Run Algorithm 1 with the glue width g = l as a candidate, so that a class can keep one width for all epochs."""
    return _calculate_widths(data, options.seed, powers_and_whole_job, parameters)


@method("heuristic", SEEDED)
def width_calculator_nearest(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = TO_WHOLE
) -> Answer:
    """Run Algorithm 1 with line 17 read as rounding to the nearest integer, even if the hull does not touch there."""
    return _calculate_widths(data, options.seed, powers, parameters)


@method("heuristic", SEEDED)
def width_calculator_artifact(
    data: BoaAllocation, options: Options, *, parameters: WidthCalculatorParameters = RELEASED
) -> Answer:
    """Run the Width Calculator of the authors' code: 30 draws of glue widths up to l/10, budget cuts of 1 GPU."""
    answer = _calculate_widths(data, options.seed, up_to_a_tenth, parameters)
    return replace(answer, info={**answer.info, "left_out": LEFT_OUT})


def _calculate_widths(
    data: BoaAllocation, seed: int, candidates: Candidates, parameters: WidthCalculatorParameters
) -> Answer:
    """Run Algorithm 1 with the `candidates` of line 4."""
    p = build_epoch_arrays(data)
    glued = _Glued(p, parameters)
    drawn = _draw_configurations(p, candidates, parameters.configurations, np.random.default_rng(seed))  # lines 1 to 8
    best, best_time, min_cost = None, np.inf, np.inf  # lines 9 and 10
    for glue in dict.fromkeys(drawn):  # line 11, each configuration once
        width, cost = _fit_budget(p, glued, find_super_epoch_starts(p, glue), parameters)  # lines 12 to 21
        if width is None:
            min_cost = min(min_cost, cost)
            continue
        time = p.time_and_cost(width)[0]
        if time < best_time:  # line 22
            best, best_time = width, time  # lines 23 and 24
    info = {"configurations": parameters.configurations}
    if best is None:
        reason = f"Algorithm 1 never stops: its narrowest widths cost {min_cost:.6g}, over the budget {data.budget:.6g}"
        return Answer(None, reason=reason, info=info)
    return Answer(p.solution(best), info=info)  # line 29


def _draw_configurations(
    p: EpochArrays, candidates: Candidates, number: int, random: np.random.Generator
) -> Iterator[tuple[int, ...]]:
    """Yield `number` configurations: a glue width for each class, drawn uniformly (lines 2 to 8)."""
    choices = [candidates(len(c.epochs)) for c in p.data.classes]
    for _ in range(number):
        yield tuple(s[int(random.integers(len(s)))] for s in choices)


def find_super_epoch_starts(p: EpochArrays, glue: tuple[int, ...]) -> IntArray:
    """Return the first epochs of the super-epochs: every g_i-th epoch of class i (line 12)."""
    starts: list[int] = []
    offset = 0
    for c, g in zip(p.data.classes, glue, strict=True):
        starts += range(offset, offset + len(c.epochs), g)
        offset += len(c.epochs)
    return np.array(starts)


def _fit_budget(
    p: EpochArrays, glued: _Glued, starts: IntArray, parameters: WidthCalculatorParameters
) -> tuple[IntArray | None, float]:
    """Run lines 13 to 27 for one configuration.

    Return widths (n,) and their cost. If no budget cut makes the cost fit, return `None` and the lowest cost reached.

    - `p`, `glued`: the instance, and its super-epochs.
    - `starts`: first epochs of the super-epochs.
    - `parameters`: how the running budget is cut.
    """
    lengths = np.diff(np.append(starts, len(p.hours)))
    relaxation, round_widths = glued.relax(starts, lengths)
    running = p.data.budget  # line 13
    while True:  # line 15
        width = np.repeat(round_widths(relaxation.solve(running)), lengths)  # lines 16 and 17
        cost = p.time_and_cost(width)[1]  # line 18
        if is_within_budget(cost, p.data.budget):  # line 19
            return width, cost
        below = parameters.shrink * running - parameters.cut
        if running <= relaxation.min_cost or (parameters.cut and below < relaxation.min_cost):
            return None, cost  # the authors' code fails here: its convex problem is infeasible
        running = below  # line 20


Rounding = Callable[[FloatArray], IntArray]
"""Round the widths (n,) of the convex problem to integers."""


class ConvexRelaxation:
    """Problem (1) for n runs, each at a width of a grid or at a mix of two adjacent widths.

    - `hours` (n, grid): run time at each width; infinite if the width is not available.
    - `grid` (grid,): widths, GPUs, increasing.
    - `value` (n,): hours of mean completion time per hour of the run.
    - `price` (n,): cost of one GPU for an hour of the run.
    """

    def __init__(self, hours: FloatArray, grid: FloatArray, value: FloatArray, price: FloatArray) -> None:
        self.value_over_price = value / price
        self.time, self.cost = value[:, None] * hours, price[:, None] * hours * grid
        self.segments = merge_segments(self.time, self.cost)

    @property
    def min_cost(self) -> float:
        """Return the cost of the cheapest widths."""
        return float(self.segments.cost[0])

    def solve(self, budget: float) -> FloatArray:
        """Return optimal widths (n,) for `budget`, or the cheapest widths if they cost more than the budget."""
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
        # The ratio of cost to time is the width times the ratio of price to value.
        return cost / time * self.value_over_price


@dataclass
class _Glued:
    """The super-epochs of an instance: their convex relaxation, and the rounding of line 17.

    Gluing adds run times at equal widths, so the speedup is the size-weighted harmonic mean of the speedups. The hull
    is that of the super-epoch.
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

    def relax(self, starts: IntArray, lengths: IntArray) -> tuple[ConvexRelaxation, Rounding]:
        """Return the relaxation of the super-epochs from `starts`, and the rounding."""
        hours = np.add.reduceat(self.hours, starts, axis=0)
        round_widths: Rounding = self._nearest
        if self.uneven:
            pairs = list(zip(starts.tolist(), lengths.tolist(), strict=True))
            hulls = [self._hull(*pair) for pair in pairs]
            if self.tables:
                hours = np.array([hull for hull, _ in hulls])
            if self.parameters.rounding == "corner":
                round_widths = round_to_corners(np.array([touches for _, touches in hulls]), self.parameters.halves)
        return ConvexRelaxation(hours, self.grid, self.p.value[starts], self.p.price[starts]), round_widths

    def _nearest(self, width: FloatArray) -> IntArray:
        return np.clip(np.floor(width + 0.5).astype(np.int64), 1, self.last)

    def _hull(self, start: int, length: int) -> tuple[FloatArray, BoolArray]:
        """Return the run times (K,) of a super-epoch on its hull, and whether the hull touches the measurement."""
        if (start, length) not in self.rows:
            hull, touches = compute_hull_hours(self.p.hours[start : start + length].sum(0)[None])
            self.rows[start, length] = hull[0], touches[0]
        return self.rows[start, length]


def round_to_corners(touches: BoolArray, halves: Literal["wider", "narrower"]) -> Rounding:
    """Return the rounding to the nearest width at which `touches` (n, K) is true."""
    counts = touches.sum(1)
    corners = np.full((len(touches), counts.max()), np.iinfo(np.int64).max // 2)
    for row, touching in enumerate(touches):
        corners[row, : counts[row]] = np.flatnonzero(touching) + 1
    middles = (corners[:, 1:] + corners[:, :-1]) / 2

    def round_widths(width: FloatArray) -> IntArray:
        is_past = middles <= width[:, None] if halves == "wider" else middles < width[:, None]
        return corners[np.arange(len(corners)), is_past.sum(1)]

    return round_widths


def _grid(last: int, parameters: WidthCalculatorParameters) -> FloatArray:
    """Return widths (grid,) from 1 to `last`, with several per integer."""
    end = parameters.fine_up_to
    fine = np.arange(parameters.fine, parameters.fine * min(last, end) + 1) / parameters.fine
    if last <= end:
        return fine
    steps = int(np.ceil(np.log(last / end) / np.log(parameters.coarse)))
    return np.concatenate([fine, end * (last / end) ** (np.arange(1, steps + 1) / steps)])
