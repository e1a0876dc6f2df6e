"""The integer program that minimises the moves over some nodes.

Variables: x_mc pods of class c on node m, s_mc of them that were there before. Minimise the pods in place less the sum
of s_mc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray, IntArray
from models.core.highs import LinearModel, Solved, Watch, solve_arrays

SLACK = 1e-9  # of capacity rows, which are scaled to 1: covers the rounding of the scaled demands


@dataclass(frozen=True)
class MovesProgram:
    """The program of M nodes, N classes of pods and R resources.

    - `now`: pods in place (M, N).
    - `room`: capacities (M, R).
    - `need`: demands (N, R).
    - `count`: pods to place (N,).
    """

    now: IntArray
    room: IntArray
    need: IntArray
    count: IntArray

    def solve(
        self,
        options: Options,
        seconds: float,
        tree_nodes: int,
        start: IntArray | None = None,
        watch: Watch | None = None,
    ) -> Solved:
        """Solve the program with HiGHS within `seconds` and `tree_nodes`, from the placement `start` (M, N)."""
        limit = None if math.isinf(seconds) else max(seconds, 1e-3)
        known = None
        if start is not None:
            known = np.concatenate([start[self._pairs], np.minimum(start, self.now)[np.nonzero(self.now)]]).astype(
                float
            )
        extra = {"mip_max_nodes": tree_nodes}
        return solve_arrays(self.model, replace(options, time_limit=limit), start=known, watch=watch, extra=extra)

    @cached_property
    def model(self) -> LinearModel:
        """The program for HiGHS. Capacities are scaled by the largest capacity of their resource."""
        (m, n), resources = self.now.shape, self.room.shape[1]
        (node, pod), (s_node, s_pod) = self._pairs, np.nonzero(self.now)
        x, s = len(node), len(s_node)
        scale = np.maximum(1, self.room.max(axis=0, initial=1))
        column_of = np.full((m, n), -1, dtype=np.int64)
        column_of[node, pod] = np.arange(x)
        x_of_s = column_of[s_node, s_pod]
        has_x = np.flatnonzero(x_of_s >= 0)
        height = n + resources * m
        rows = [pod, *(n + r * m + node for r in range(resources)), height + np.arange(s), height + has_x]
        columns = [np.tile(np.arange(x), resources + 1), x + np.arange(s), x_of_s[has_x]]
        values = [np.ones(x), *(self.need[pod, r] / scale[r] for r in range(resources)), np.ones(s)]
        values.append(-np.ones(len(has_x)))  # s_mc <= x_mc
        return LinearModel(
            cost=np.concatenate([np.zeros(x), -np.ones(s)]),
            offset=float(self.now.sum()),
            matrix=sparse.csc_array(
                (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(height + s, x + s)
            ),
            row_lower=np.concatenate([self.count, np.full(height - n + s, -math.inf)]),
            row_upper=np.concatenate([self.count, (self.room / scale).T.ravel() + SLACK, np.zeros(s)]),
            upper=np.concatenate([self.count[pod], self.now[s_node, s_pod]]).astype(float),
            integer=True,
        )

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        """The nodes and the classes of the variables x: a pod of the class fits on the node."""
        fits = np.logical_and.reduce(self.need <= self.room[:, None, :], axis=2)
        node, pod = np.nonzero(fits)
        return node, pod

    def read(self, x: FloatArray) -> IntArray | None:
        """Return the pods on each node (M, N); `None` if the solution is feasible within tolerances only."""
        placed = np.zeros_like(self.now)
        placed[self._pairs] = np.round(x[: len(self._pairs[0])]).astype(np.int64)
        fits = (placed @ self.need <= self.room).all() and (placed.sum(axis=0) == self.count).all()
        return placed if fits else None
