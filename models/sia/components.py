"""Decomposition into components: independent integer programs over binding rows and the jobs that binding rows tie.

Leaving out capacity rows relaxes the problem. The rest falls apart into components: jobs that no row ties to one
another are independent, and their bounds add up. Among starts that count in the same rows only the earliest can be of
use, which leaves a job about as many candidate starts as there are rows in its window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from instances import Options
from instances.arrays import BoolArray, IntArray
from models.bounds import whole_bound
from models.highs import LinearModel, solve_arrays
from models.sia.columns import Columns
from models.sia.rows import Row, Rows


@dataclass(frozen=True)
class Component:
    """A component: jobs (J',), the candidate starts of each in increasing order, and the rows that tie the jobs."""

    jobs: tuple[int, ...]
    candidates: tuple[tuple[int, ...], ...]
    rows: tuple[Row, ...]

    @property
    def size(self) -> int:
        """Number of candidate starts."""
        return sum(len(starts) for starts in self.candidates)


@dataclass(frozen=True)
class Outcome:
    """The result for a component: a `bound` on the delay in whole steps, and `starts` of the jobs if any are found.

    `closed`: the starts reach the bound. `tolerance`: the absolute gap in steps that was asked for.
    """

    bound: int
    starts: tuple[int, ...] | None
    closed: bool
    tolerance: float


def components(columns: Columns, rows: list[Row]) -> tuple[list[Component], IntArray]:
    """The components that `rows` make of the open columns, and each job's first open start.

    Jobs in no component are free to start at their first open start.
    """
    table = Rows(columns, rows)
    jobs = range(len(columns.arrays.submit))
    opened = [_open_starts(columns, j) for j in jobs]
    chosen = [candidates(opened[j], table.high[table.weight[:, j] > 0, j] + 1) for j in jobs]
    counts = np.column_stack([_counted(chosen[j], table.low[:, j], table.high[:, j]) for j in jobs])
    weight = np.where(counts, table.weight, 0)
    binding = np.flatnonzero(weight.sum(axis=1) > table.limits)
    row_of, job_of = np.nonzero(weight[binding])
    count, total = len(jobs), len(jobs) + len(binding)
    graph = sparse.coo_array((np.ones(len(job_of)), (job_of, count + row_of)), shape=(total, total))
    _, label = connected_components(graph, directed=False)
    found = []
    for name in np.unique(label[count:]):
        members = np.flatnonzero(label[:count] == name).tolist()
        own = binding[label[count:] == name]
        starts = (candidates(opened[j], table.high[own[table.weight[own, j] > 0], j] + 1) for j in members)
        found.append(Component(tuple(members), tuple(tuple(s.tolist()) for s in starts), tuple(rows[i] for i in own)))
    return found, np.array([starts[0] for starts in opened])


def _open_starts(columns: Columns, j: int) -> IntArray:
    inside = slice(columns.offset[j], columns.offset[j + 1])
    return columns.start[inside][columns.open[inside]]


def candidates(starts: IntArray, behind: IntArray) -> IntArray:
    """The candidates among a job's open `starts` (sorted): the first, and the first at or after each of `behind`.

    `behind` holds the step after the last start that counts in a row, one for each row: a later start that counts in
    no fewer rows than an earlier one is never better.
    """
    inside = behind[(behind > starts[0]) & (behind <= starts[-1])]
    return starts[np.unique(np.concatenate([[0], np.searchsorted(starts, inside)]))]


def _counted(starts: IntArray, low: IntArray, high: IntArray) -> BoolArray:
    """Whether some start of `starts` (sorted) is in low..high, (R,)."""
    return np.searchsorted(starts, low) < np.searchsorted(starts, high, side="right")


def solve_component(columns: Columns, part: Component, options: Options, *, cutoff: int, tolerance: float) -> Outcome:
    """Bound the delay of a component's jobs, and find starts that keep the component's rows.

    Starts are sought with a delay of at most `cutoff`; where there are none, the bound is `cutoff` + 1. The program
    ends at an absolute gap of `tolerance` steps (below 1: at the optimum). The model is the disaggregated step
    formulation (Artigues, 2017): z_jk = 1 where job j starts at its candidate k or before, which branches better than
    X does.

    Parameters:

    - `columns`: the columns of all jobs.
    - `part`: the component.
    - `options`: limits, threads and seed of the program.
    - `cutoff`: greatest delay of the component's jobs that is of use, in steps.
    - `tolerance`: absolute gap, in steps.
    """
    arrays = columns.arrays
    extra = {"mip_abs_gap": tolerance, "objective_bound": cutoff + 0.5, "presolve": "off"}
    model = _model(columns, part)
    if not np.size(model.cost):
        return Outcome(cutoff + 1, None, True, tolerance)  # The only starts left break a row.
    solved = solve_arrays(model, replace(options, gap=0.0), extra=extra)
    if solved.termination == "infeasible":
        return Outcome(cutoff + 1, None, True, tolerance)
    bound = -1
    if solved.bound is not None:
        bound = min(cutoff + 1, whole_bound(solved.bound))
    if solved.x is None:
        return Outcome(bound, None, False, tolerance)
    starts = _read(part, solved.x)
    delay = sum(t - int(arrays.submit[j]) for j, t in zip(part.jobs, starts, strict=True))
    return Outcome(bound, starts, delay <= bound, tolerance)


def _model(columns: Columns, part: Component) -> LinearModel:
    """The step formulation: rows Σ_j weight (z at the last candidate that counts - z before the first), and a chain.

    `until` and `since` hold these two candidates of a job for each row; z of a job's last candidate is the constant 1.
    """
    table = Rows(columns, list(part.rows))
    counts = np.array([len(starts) - 1 for starts in part.candidates])  # z of the last candidate is 1
    offset = np.concatenate([[0], np.cumsum(counts)])
    cost, constant = np.zeros(offset[-1]), 0.0
    rows: list[IntArray] = []
    cols: list[IntArray] = []
    values: list[IntArray] = []
    free = table.limits.astype(float)
    for k, (j, own) in enumerate(zip(part.jobs, part.candidates, strict=True)):
        starts, weight, last = np.array(own), table.weight[:, j], counts[k]
        cost[offset[k] : offset[k + 1]] = -np.diff(starts)
        constant += float(starts[-1] - columns.arrays.submit[j])
        until = np.searchsorted(starts, table.high[:, j], side="right") - 1  # the last candidate that counts
        since = np.searchsorted(starts, table.low[:, j]) - 1  # the last before those that count
        counted = (until > since) & (weight > 0)
        free -= np.where(counted & (until == last), weight, 0)  # and z = 1
        for place, sign, which in ((until, 1, counted & (until < last)), (since, -1, counted & (since >= 0))):
            here = np.flatnonzero(which)
            rows.append(here)
            cols.append(offset[k] + place[here])
            values.append(sign * weight[here])
    chain = np.setdiff1d(np.arange(offset[-1]), offset[1:] - 1)  # z_jk <= z_j,k+1
    order = len(part.rows) + np.arange(len(chain))
    rows += [order, order]
    cols += [chain, chain + 1]
    values += [np.ones(len(chain), dtype=np.int64), np.full(len(chain), -1)]
    matrix = sparse.csc_array(
        (np.concatenate(values).astype(float), (np.concatenate(rows), np.concatenate(cols))),
        shape=(len(part.rows) + len(chain), int(offset[-1])),
    )
    return LinearModel(
        cost=cost,
        matrix=matrix,
        row_lower=-np.inf,
        row_upper=np.concatenate([free, np.zeros(len(chain))]),
        upper=1.0,
        integer=True,
        offset=constant,
    )


def _read(part: Component, x: NDArray[np.float64]) -> tuple[int, ...]:
    starts, at = [], 0
    for own in part.candidates:
        z = x[at : at + len(own) - 1] > 0.5
        starts.append(own[int(np.argmax(np.append(z, True)))])
        at += len(own) - 1
    return tuple(starts)
