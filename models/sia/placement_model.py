"""The time-indexed model with servers, of the starts that are not excluded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray, IntArray
from instances.sia.local_reservations import Placed, ServerJobs
from models.highs import LinearModel
from models.sia.columns import Columns


@dataclass(frozen=True)
class PlacementModel:
    """The linear model, and the job, the start and the server of each of its variables, (N,)."""

    linear: LinearModel
    job: IntArray
    start: IntArray
    server: IntArray

    def read(self, x: FloatArray) -> Placed | None:
        """The schedule of a solution; `None` where it is not whole."""
        chosen = np.flatnonzero(x > 0.5)
        count = int(self.job.max()) + 1
        if len(chosen) != count or len(np.unique(self.job[chosen])) != count:
            return None
        order = chosen[np.argsort(self.job[chosen])]
        return Placed(self.start[order], self.server[order])


def entries(columns: Columns, servers: int) -> int:
    """The number of entries of the matrix of `placement_model`, about."""
    open_ = np.flatnonzero(columns.open)
    moments = _moments(columns, open_)
    spans = np.searchsorted(moments, columns.end[open_]) - np.searchsorted(moments, columns.start[open_])
    return int((np.minimum(_turns(columns)[columns.job[open_]] + 1, servers) * (spans + 2)).sum())


def placement_model(columns: Columns, jobs: ServerJobs, least: int) -> PlacementModel:
    """X = 1 where a job begins at a start on a server: once a job, and no server is overfull at any start.

    Servers are alike, so that the first job in order of submission is on server 0, the second on 0 or 1, and so on:
    each solution can be numbered so. Only the starts before an end of some job can be overfull without the next start
    being so too. `least` is a proven bound on the delay.
    """
    open_ = np.flatnonzero(columns.open)
    allowed = np.minimum(_turns(columns)[columns.job[open_]] + 1, jobs.servers)
    column = np.repeat(open_, allowed)
    server = np.arange(len(column)) - np.repeat(np.cumsum(allowed) - allowed, allowed)
    job, start, end = columns.job[column], columns.start[column], columns.end[column]
    moments = _moments(columns, open_)
    first, behind = np.searchsorted(moments, start), np.searchsorted(moments, end)
    spans = behind - first
    variable = np.repeat(np.arange(len(column)), spans)
    moment = np.arange(len(variable)) - np.repeat(np.cumsum(spans) - spans, spans) + first[variable]
    count = len(jobs.submit)
    rows = np.concatenate([job, count + moment * jobs.servers + server[variable], np.full(len(column), -1)])
    cols = np.concatenate([np.arange(len(column)), variable, np.arange(len(column))])
    values = np.concatenate([np.ones(len(column)), jobs.gpus[job[variable]], columns.delay[column]]).astype(float)
    height = count + len(moments) * jobs.servers + 1
    rows[rows == -1] = height - 1
    lower = np.concatenate([np.ones(count), np.full(len(moments) * jobs.servers, -np.inf), [float(least)]])
    upper = np.concatenate([np.ones(count), np.full(len(moments) * jobs.servers, float(jobs.capacity)), [np.inf]])
    linear = LinearModel(
        cost=columns.delay[column].astype(float),
        matrix=sparse.csc_array((values, (rows, cols)), shape=(height, len(column))),
        row_lower=lower,
        row_upper=upper,
        upper=1.0,
        integer=True,
    )
    return PlacementModel(linear, job, start, server)


def _turns(columns: Columns) -> IntArray:
    """The place of each job in order of submission, (J,)."""
    submit = columns.arrays.submit
    turns = np.empty(len(submit), dtype=np.int64)
    turns[np.argsort(submit, kind="stable")] = np.arange(len(submit))
    return turns


def _moments(columns: Columns, open_: IntArray) -> IntArray:
    """Starts of open columns behind which a column ends before the next start, and the last start."""
    starts = np.unique(columns.start[open_])
    ends = np.unique(columns.end[open_])
    until = np.append(starts[1:], np.iinfo(np.int64).max)
    found: IntArray = starts[np.searchsorted(ends, starts, side="right") < np.searchsorted(ends, until, side="right")]
    return found
