"""The integer program of the fewest moves over some nodes: x_mc pods of class c on node m, of which s_mc stay."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray, IntArray
from models.highs import LinearModel, Solved, Watch, solve_arrays

SLACK = 1e-9  # of a row whose room is 1


@dataclass(frozen=True)
class MovesProgram:
    """The program of nodes that hold `now` (M, N) and have `room` (M, R) for `count` (N,) pods of `need` (N, R)."""

    now: IntArray
    room: IntArray
    need: IntArray
    count: IntArray

    def solved(
        self, options: Options, seconds: float, nodes: int, start: IntArray | None = None, watch: Watch | None = None
    ) -> Solved:
        """What HiGHS finds within so many nodes of its tree, from a placement to start with."""
        limit = None if math.isinf(seconds) else max(seconds, 1e-3)
        known = None if start is None else self._point(start)
        extra = {"mip_max_nodes": nodes}
        return solve_arrays(self.model, replace(options, time_limit=limit), start=known, watch=watch, extra=extra)

    @cached_property
    def model(self) -> LinearModel:
        """Rooms are parts of the largest one."""
        (m, n), resources = self.now.shape, self.room.shape[1]
        (node, pod), (where, what) = self._places, np.nonzero(self.now)
        x, s = len(node), len(where)
        scale = np.maximum(1, self.room.max(axis=0, initial=1))
        column_of = np.full((m, n), -1, dtype=np.int64)
        column_of[node, pod] = np.arange(x)
        held = column_of[where, what]
        staying = np.flatnonzero(held >= 0)
        height = n + resources * m
        rows = [pod, *(n + r * m + node for r in range(resources)), height + np.arange(s), height + staying]
        columns = [np.tile(np.arange(x), resources + 1), x + np.arange(s), held[staying]]
        values = [np.ones(x), *(self.need[pod, r] / scale[r] for r in range(resources)), np.ones(s)]
        values.append(-np.ones(len(staying)))  # s_mc <= x_mc
        return LinearModel(
            cost=np.concatenate([np.zeros(x), -np.ones(s)]),
            offset=float(self.now.sum()),
            matrix=sparse.csc_array(
                (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(height + s, x + s)
            ),
            row_lower=np.concatenate([self.count, np.full(height - n + s, -math.inf)]),
            row_upper=np.concatenate([self.count, (self.room / scale).T.ravel() + SLACK, np.zeros(s)]),
            upper=np.concatenate([self.count[pod], self.now[where, what]]).astype(float),
            integer=True,
        )

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """The nodes and classes of the variables x."""
        fits = np.logical_and.reduce(self.need <= self.room[:, None, :], axis=2)
        node, pod = np.nonzero(fits)
        return node, pod

    def placed(self, x: FloatArray) -> IntArray | None:
        """The pods on each node (M, N); `None` where HiGHS's solution is one by its tolerances only."""
        found = np.zeros_like(self.now)
        found[self._places] = np.round(x[: len(self._places[0])]).astype(np.int64)
        fits = (found @ self.need <= self.room).all() and (found.sum(axis=0) == self.count).all()
        return found if fits else None

    def _point(self, placed: IntArray) -> FloatArray:
        """The values of all variables of a placement."""
        where = np.nonzero(self.now)
        return np.concatenate([placed[self._places], np.minimum(placed[where], self.now[where])]).astype(float)
