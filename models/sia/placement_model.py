"""The time-indexed model with servers, of the starts that are not excluded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray, IntArray
from instances.sia.reservations import Placed, ServerJobs
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


@dataclass(frozen=True)
class Candidates:
    """The columns that count (C,), moments at which a server may be overfull (M,), and the moments of each column.

    A column covers moments `first` to `behind` - 1, (C,) both; `servers` (C,) is on how many servers it may be.
    """

    column: IntArray
    moments: IntArray
    first: IntArray
    behind: IntArray
    servers: IntArray

    @property
    def entries(self) -> int:
        """The number of entries of the model's matrix, about."""
        return int((self.servers * (self.behind - self.first + 2)).sum())


def candidates(columns: Columns, servers: int) -> Candidates:
    """The open columns without those that are never better: of a job's starts that cover the same moments the first.

    Only the starts before an end of some job can be overfull without the next start being so too. With fewer columns
    there are fewer moments, and so on. Servers are alike, so that the first job in order of submission is on server 0,
    the second on 0 or 1, and so on: each solution can be numbered so.
    """
    chosen = np.flatnonzero(columns.open)
    while True:
        moments = _moments(columns, chosen)
        first = np.searchsorted(moments, columns.start[chosen])
        behind = np.searchsorted(moments, columns.end[chosen])
        job = columns.job[chosen]  # in order of job, then start
        new = (np.diff(job, prepend=-1) != 0) | (np.diff(first, prepend=-1) != 0) | (np.diff(behind, prepend=-1) != 0)
        if new.all():
            return Candidates(chosen, moments, first, behind, np.minimum(_turns(columns)[job] + 1, servers))
        chosen = chosen[new]


def placement_model(columns: Columns, chosen: Candidates, jobs: ServerJobs, least: int) -> PlacementModel:
    """X = 1 where a job begins at a start on a server: once a job, and no server is overfull at any moment.

    `least` is a proven bound on the delay.
    """
    column = np.repeat(chosen.column, chosen.servers)
    server = np.arange(len(column)) - np.repeat(np.cumsum(chosen.servers) - chosen.servers, chosen.servers)
    job, start = columns.job[column], columns.start[column]
    first = np.repeat(chosen.first, chosen.servers)
    spans = np.repeat(chosen.behind - chosen.first, chosen.servers)
    variable = np.repeat(np.arange(len(column)), spans)
    moment = np.arange(len(variable)) - np.repeat(np.cumsum(spans) - spans, spans) + first[variable]
    count, full = len(jobs.submit), len(chosen.moments) * jobs.servers
    every = np.arange(len(column))
    rows = np.concatenate([job, count + moment * jobs.servers + server[variable], np.full(len(column), count + full)])
    cols = np.concatenate([every, variable, every])
    values = np.concatenate([np.ones(len(column)), jobs.gpus[job[variable]], columns.delay[column]]).astype(float)
    linear = LinearModel(
        cost=columns.delay[column].astype(float),
        matrix=sparse.csc_array((values, (rows, cols)), shape=(count + full + 1, len(column))),
        row_lower=np.concatenate([np.ones(count), np.full(full, -np.inf), [float(least)]]),
        row_upper=np.concatenate([np.ones(count), np.full(full, float(jobs.capacity)), [np.inf]]),
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


def _moments(columns: Columns, chosen: IntArray) -> IntArray:
    """Starts of columns behind which a column ends before or at the next start, and the last start."""
    starts = np.unique(columns.start[chosen])
    ends = np.unique(columns.end[chosen])
    until = np.append(starts[1:], np.iinfo(np.int64).max)
    found: IntArray = starts[np.searchsorted(ends, starts, side="right") < np.searchsorted(ends, until, side="right")]
    return found
