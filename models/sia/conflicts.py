"""Independent integer programs over the slots that matter: capacity rows at a few slots, and the jobs they tie.

Leaving out capacity rows relaxes the problem. What is left falls apart into components: jobs that no row ties to one
another are independent, and their bounds add up. Among starts that hold GPUs at the same of these slots only the
earliest can be of use, which leaves a job about as many candidate starts as there are rows in its window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from instances import Options
from models.highs import LinearModel, solve_arrays
from models.sia.arrays import BoolArray, IntArray
from models.sia.columns import Columns

BOUND_NOISE = 1e-3  # a solver's bound may be off by this much and still counts for the whole number above it


@dataclass(frozen=True)
class Component:
    """Jobs (of shape (J',)), their candidate starts in increasing order, and the slots whose rows tie them."""

    jobs: tuple[int, ...]
    candidates: tuple[tuple[int, ...], ...]
    slots: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of candidate starts."""
        return sum(len(starts) for starts in self.candidates)


@dataclass(frozen=True)
class Outcome:
    """What is known of a component: a `bound` on its delay in whole slots, and `starts` of its jobs if any are found.

    `closed`: the starts reach the bound. `tolerance`: the absolute gap in slots that was asked for.
    """

    bound: int
    starts: tuple[int, ...] | None
    closed: bool
    tolerance: float


def components(columns: Columns, slots: IntArray) -> tuple[list[Component], IntArray]:
    """The components that capacity rows at `slots` (sorted) make of the open columns, and each job's first open start.

    Jobs in no component are free to start at the latter.
    """
    arrays = columns.arrays
    opened = [_open_starts(columns, j) for j in range(len(arrays.submit))]
    first = np.array([starts[0] for starts in opened])
    slots = slots[_potential(columns, opened, slots) > arrays.capacity]
    chosen = [candidates(starts, slots) for starts in opened]
    cover = [_covered(starts, int(d), slots) for starts, d in zip(chosen, arrays.duration, strict=True)]
    job_of = np.concatenate([np.full(int(c.sum()), j) for j, c in enumerate(cover)])
    row_of = np.concatenate([np.flatnonzero(c) for c in cover])
    count, total = len(arrays.submit), len(arrays.submit) + len(slots)
    graph = sparse.coo_array((np.ones(len(job_of)), (job_of, count + row_of)), shape=(total, total))
    _, label = connected_components(graph, directed=False)
    found = []
    for name in np.unique(label[count:]):
        jobs = np.flatnonzero(label[:count] == name)
        rows = np.flatnonzero(label[count:] == name)
        own = tuple(tuple(chosen[j].tolist()) for j in jobs)
        found.append(Component(tuple(jobs.tolist()), own, tuple(slots[rows].tolist())))
    return found, first


def _open_starts(columns: Columns, j: int) -> IntArray:
    inside = slice(columns.offset[j], columns.offset[j + 1])
    return columns.start[inside][columns.open[inside]]


def candidates(starts: IntArray, slots: IntArray) -> IntArray:
    """Of `starts` (sorted) the first, and for each of `slots` the first that lies behind it."""
    inside = slots[(slots >= starts[0]) & (slots < starts[-1])]
    return starts[np.unique(np.concatenate([[0], np.searchsorted(starts, inside + 1)]))]


def _covered(starts: IntArray, duration: int, slots: IntArray) -> BoolArray:
    """The `slots` at which a job that begins at one of `starts` is running."""
    changes = np.zeros(len(slots) + 1, dtype=np.int64)
    np.add.at(changes, np.searchsorted(slots, starts), 1)
    np.add.at(changes, np.searchsorted(slots, starts + duration), -1)
    return np.cumsum(changes)[:-1] > 0


def _potential(columns: Columns, opened: list[IntArray], slots: IntArray) -> IntArray:
    """GPUs that would be in use at each of `slots` if every job that can be running there were."""
    arrays, total = columns.arrays, np.zeros(len(slots), dtype=np.int64)
    for starts, duration, gpus in zip(opened, arrays.duration, arrays.gpus, strict=True):
        total += gpus * _covered(candidates(starts, slots), int(duration), slots)
    return total


def solve_component(columns: Columns, part: Component, options: Options, *, cutoff: int, tolerance: float) -> Outcome:
    """Bound the delay of a component's jobs, and find starts for them that keep its rows.

    Starts are sought among those with a delay of at most `cutoff`; where there are none, the bound is `cutoff` + 1.
    It ends at an absolute gap of `tolerance` slots (below 1: to the optimum). The model is the disaggregated step
    formulation: z_jk = 1 where job j starts at its candidate k or before, which branches better than X does.
    """
    arrays = columns.arrays
    extra = {"mip_abs_gap": tolerance, "objective_bound": cutoff + 0.5, "presolve": "off"}
    model = _model(columns, part)
    if not np.size(model.cost):
        return Outcome(cutoff + 1, None, True, tolerance)  # the only starts left break a row
    solved = solve_arrays(model, replace(options, gap=0.0), extra=extra)
    if solved.termination == "infeasible":
        return Outcome(cutoff + 1, None, True, tolerance)
    bound = -1
    if solved.bound is not None:
        bound = min(cutoff + 1, int(np.ceil(solved.bound - BOUND_NOISE)))
    if solved.x is None:
        return Outcome(bound, None, False, tolerance)
    starts = _read(part, solved.x)
    delay = sum(t - int(arrays.submit[j]) for j, t in zip(part.jobs, starts, strict=True))
    return Outcome(bound, starts, delay <= bound, tolerance)


def _model(columns: Columns, part: Component) -> LinearModel:
    arrays, slots = columns.arrays, np.array(part.slots)
    counts = np.array([len(starts) - 1 for starts in part.candidates])  # z of the last candidate is 1
    offset = np.concatenate([[0], np.cumsum(counts)])
    cost, constant = np.zeros(offset[-1]), 0.0
    rows: list[IntArray] = []
    cols: list[IntArray] = []
    values: list[IntArray] = []
    free = np.full(len(slots), float(arrays.capacity))
    for k, (j, own) in enumerate(zip(part.jobs, part.candidates, strict=True)):
        starts, gpus, last = np.array(own), int(arrays.gpus[j]), counts[k]
        cost[offset[k] : offset[k + 1]] = -np.diff(starts)
        constant += float(starts[-1] - arrays.submit[j])
        until = np.searchsorted(starts, slots, side="right") - 1  # the last candidate that is not after the slot
        since = np.searchsorted(starts, slots - arrays.duration[j], side="right") - 1  # the last that is over by then
        running = until > since
        free[running & (until == last)] -= gpus  # and z = 1
        for place, sign, which in ((until, gpus, running & (until < last)), (since, -gpus, running & (since >= 0))):
            here = np.flatnonzero(which)
            rows.append(here)
            cols.append(offset[k] + place[here])
            values.append(np.full(len(here), sign))
    chain = np.setdiff1d(np.arange(offset[-1]), offset[1:] - 1)  # z_jk <= z_j,k+1
    order = len(slots) + np.arange(len(chain))
    rows += [order, order]
    cols += [chain, chain + 1]
    values += [np.ones(len(chain), dtype=np.int64), np.full(len(chain), -1)]
    matrix = sparse.csc_array(
        (np.concatenate(values).astype(float), (np.concatenate(rows), np.concatenate(cols))),
        shape=(len(slots) + len(chain), int(offset[-1])),
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
