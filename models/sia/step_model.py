"""The step formulation (Artigues, 2017) of Figure 19 on the open starts, with few entries however long jobs run.

z_jk = 1 where job j starts at its k-th open start or before; z of its last one is the constant 1. The job runs at a
slot where z at the last open start up to the slot is 1 and z at the last one `duration` slots before is 0: two entries
a job and slot, where X has one for each start with which the job runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from instances.arrays import BoolArray, FloatArray, IntArray
from models.highs import LinearModel
from models.sia.columns import Columns
from models.sia.fairness import Fairness
from models.sia.rows import Row


class _Entries(NamedTuple):
    """Σ sign z over the entries, plus 1 where `constant`: 1 if the job starts in an interval; rows of intervals."""

    row: IntArray
    z: IntArray
    sign: IntArray
    constant: IntArray


@dataclass(frozen=True)
class StepModel:
    """The model for HiGHS: variables z in order of job, then α of the `charged` steps; see `step_model`.

    `starts`: the open starts of each job; `offset` (J + 1,): the first z of each job.
    """

    linear: LinearModel
    starts: tuple[IntArray, ...]
    offset: IntArray
    charged: IntArray

    def read(self, x: FloatArray) -> IntArray:
        """The schedule (J,) of a solution vector."""
        z = (x[a:b] > 0.5 for a, b in zip(self.offset[:-1], self.offset[1:], strict=True))
        found = [own[int(np.argmax(np.append(own_z, True)))] for own, own_z in zip(self.starts, z, strict=True)]
        return np.array(found, dtype=np.int64)

    def values(self, starts: IntArray, stretch: FloatArray) -> FloatArray:
        """The solution vector of a schedule (J,) of open starts, with α (T,)."""
        z = [(own[:-1] >= t).astype(float) for own, t in zip(self.starts, starts, strict=True)]
        return np.concatenate([*z, stretch[self.charged]])


def step_model(columns: Columns, covers: list[Row], fairness: Fairness | None, cost_unit: float = 1.0) -> StepModel:
    """The model: capacity (12) and fair shares (13) wherever they can bind, covers, and z_k <= z_k+1.

    Nothing changes between one start or end that can be and the next: these steps are one. Costs are in steps.

    Parameters:

    - `columns`: columns with an open start of each job.
    - `covers`: further rows.
    - `fairness`: shares and weights, if fairness is in the objective.
    - `cost_unit`: the unit of the costs.
    """
    arrays = columns.arrays
    jobs = range(len(arrays.submit))
    bounds = zip(columns.offset[:-1], columns.offset[1:], strict=True)
    starts = tuple(columns.start[a:b][columns.open[a:b]] for a, b in bounds)
    offset = np.concatenate([[0], np.cumsum([len(own) - 1 for own in starts])])
    ends = [own + length for own, length in zip(starts, arrays.duration, strict=True)]
    steps = np.unique(np.concatenate([*starts, *ends]))
    runs = [_started(starts[j], steps - arrays.duration[j] + 1, steps, offset[j]) for j in jobs]
    blocks = [_rows(runs, arrays.gpus, arrays.capacity, (len(steps), int(offset[-1])))]
    blocks += [_cover(columns, row, starts, offset) for row in covers]
    matrix, upper = sparse.vstack([block for block, _ in blocks]), np.concatenate([limit for _, limit in blocks])
    cost = np.concatenate([-np.diff(own) for own in starts]).astype(float)
    charged: IntArray = np.zeros(0, dtype=np.int64)
    if fairness is not None:
        shares, limits, at = _shares(runs, fairness, steps, int(offset[-1]))
        charged, alpha = np.unique(at, return_inverse=True)
        stretched = sparse.coo_array((-np.ones(len(at)), (np.arange(len(at)), alpha)), shape=(len(at), len(charged)))
        matrix = sparse.block_array([[matrix, None], [shares, stretched]])
        upper = np.concatenate([upper, limits])
        weight = np.add.reduceat(np.append(fairness.weight, 0.0), steps)  # nothing runs from the last step on
        cost, charged = np.concatenate([cost, weight[charged]]), steps[charged]
    chain = np.setdiff1d(np.arange(offset[-1]), offset[1:] - 1)
    order = np.tile(np.arange(len(chain)), 2)
    sign = np.repeat([1.0, -1.0], len(chain))
    chains = sparse.coo_array((sign, (order, np.concatenate([chain, chain + 1]))), shape=(len(chain), len(cost)))
    whole = np.arange(len(cost)) < offset[-1]
    linear = LinearModel(
        cost=cost / cost_unit,
        matrix=sparse.vstack([matrix, chains]),
        row_lower=-np.inf,
        row_upper=np.concatenate([upper, np.zeros(len(chain))]),
        upper=np.where(whole, 1.0, np.inf),
        integer=whole,
        offset=float(sum(int(own[-1]) for own in starts) - int(arrays.submit.sum())) / cost_unit,
    )
    return StepModel(linear, starts, offset, charged)


def _started(own: IntArray, low: IntArray, high: IntArray, first: int) -> _Entries:
    """Whether a job of open starts `own` starts in low..high (R,); its z begin at `first`."""
    until, since = np.searchsorted(own, high, side="right") - 1, np.searchsorted(own, low) - 1
    counted, last = until > since, len(own) - 1
    plus, minus = np.flatnonzero(counted & (until < last)), np.flatnonzero(counted & (since >= 0))
    return _Entries(
        np.concatenate([plus, minus]),
        first + np.concatenate([until[plus], since[minus]]),
        np.repeat([1, -1], [len(plus), len(minus)]),
        np.flatnonzero(counted & (until == last)),
    )


def _rows(
    runs: list[_Entries], weight: IntArray, limit: int, shape: tuple[int, int]
) -> tuple[sparse.csr_array, FloatArray]:
    """Rows Σ_j weight_j (j runs) <= limit of the steps where more can run; their matrix and right-hand sides."""
    matrix, constant, most = _summed(runs, weight.astype(float), shape)
    needed = most > limit
    return matrix[needed], limit - constant[needed]


def _summed(
    runs: list[_Entries], weight: FloatArray, shape: tuple[int, int]
) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """Σ_j weight_j (j runs) at each step (S,): the matrix, the constant, and the most that it can be."""
    constant, most = np.zeros(shape[0]), np.zeros(shape[0])
    for run, w in zip(runs, weight, strict=True):
        constant[run.constant] += w
        most[np.union1d(run.row, run.constant)] += w
    values = np.concatenate([w * run.sign for run, w in zip(runs, weight, strict=True)])
    row, z = np.concatenate([run.row for run in runs]), np.concatenate([run.z for run in runs])
    return sparse.coo_array((values, (row, z)), shape=shape).tocsr(), constant, most


def _shares(
    runs: list[_Entries], fairness: Fairness, steps: IntArray, count: int
) -> tuple[sparse.csr_array, FloatArray, IntArray]:
    """Rows of (13) that can bind: matrix, right-hand sides before α, and the number of the step of each row."""
    matrices, limits, at = [], [], []
    for i, owned in enumerate(fairness.owned):
        weight = np.where(fairness.pool == i, fairness.gpus / owned, 0.0)
        members = [run for run, w in zip(runs, weight, strict=True) if w]
        matrix, constant, most = _summed(members, weight[weight > 0], (len(steps), count))
        needed: BoolArray = most > fairness.free
        matrices.append(matrix[needed])
        limits.append(fairness.free - constant[needed])
        at.append(np.flatnonzero(needed))
    return sparse.vstack(matrices), np.concatenate(limits), np.concatenate(at)


def _cover(
    columns: Columns, row: Row, starts: tuple[IntArray, ...], offset: IntArray
) -> tuple[sparse.csr_array, FloatArray]:
    low, high = row.starts(columns.arrays)
    runs = [_started(own, low[j : j + 1], high[j : j + 1], offset[j]) for j, own in enumerate(starts)]
    return _rows(runs, row.weight, row.limit, (1, int(offset[-1])))
