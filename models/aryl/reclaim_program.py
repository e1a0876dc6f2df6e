"""The integer program of reclaiming (Aryl, section 4): large components beside the trade-off of all small ones.

z_j: job j is preempted. x_g: share of the servers of group g that go back. u_k: the small components give k servers.
A group has an x only if it hosts several jobs; the servers of a single job count with that job's z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from instances.arrays import FloatArray
from models.aryl.server_groups import ServerGroups, TradeOff
from models.highs import LinearModel


class ReclaimProgram:
    """The program as arrays, in the order z, x, u."""

    def __init__(self, groups: ServerGroups, large: Sequence[int], small: TradeOff, need: int) -> None:
        self.groups, self.small, self.need = groups, small, need
        self.jobs = sorted(groups.preempted(large))
        self.shared = [g for g in large if len(groups.jobs[g]) > 1]
        self.n_z, self.n_x, self.n_u = len(self.jobs), len(self.shared), len(small.least)
        self._column = {j: i for i, j in enumerate(self.jobs)}
        self._alone = np.zeros(self.n_z)  # servers of each job that host no other one
        for g in large:
            if len(groups.jobs[g]) == 1:
                self._alone[self._column[groups.jobs[g][0]]] += len(groups.members[g])

    def model(self, relaxed: bool) -> LinearModel:
        """Minimise the number of preempted jobs; `relaxed`: the linear relaxation."""
        pairs = [(i, self._column[j]) for i, g in enumerate(self.shared) for j in self.groups.jobs[g]]
        kinds, hit = (np.array(part) for part in zip(*pairs, strict=True))
        rows = np.arange(len(pairs))
        freed_only_if_hit = sparse.coo_array(
            (np.repeat([1.0, -1.0], len(pairs)), (np.tile(rows, 2), np.concatenate([hit, self.n_z + kinds]))),
            shape=(len(pairs), self.n_z + self.n_x + self.n_u),
        )
        freed = np.concatenate([self._alone, self.groups.count[self.shared], np.arange(self.n_u)])
        one_u = np.concatenate([np.zeros(self.n_z + self.n_x), np.ones(self.n_u)])
        whole = np.concatenate([np.ones(self.n_z, bool), np.zeros(self.n_x, bool), np.ones(self.n_u, bool)])
        far = math.inf
        return LinearModel(
            cost=np.concatenate([np.ones(self.n_z), np.zeros(self.n_x), self.small.least]),
            matrix=sparse.vstack([freed_only_if_hit, sparse.coo_array(np.stack([freed, one_u]))]),
            row_lower=np.concatenate([np.zeros(len(pairs)), [self.need, 1.0]]),
            row_upper=np.concatenate([np.full(len(pairs), far), [far, 1.0]]),
            upper=1.0,
            integer=whole & (not relaxed),
        )

    def preempted(self, x: FloatArray) -> set[int]:
        """The jobs that a point of the program preempts."""
        k = int(np.argmax(x[self.n_z + self.n_x :]))
        return {self.jobs[i] for i in np.flatnonzero(x[: self.n_z] > 0.5)} | set(self.small.jobs(k))

    def values(self, preempted: set[int]) -> FloatArray:
        """The point of the program at which the jobs `preempted` are preempted."""
        z = np.array([float(j in preempted) for j in self.jobs])
        x = np.array([float(preempted.issuperset(self.groups.jobs[g])) for g in self.shared])
        given = int(self._alone @ z + self.groups.count[self.shared] @ x)
        u = np.zeros(self.n_u)
        u[min(max(0, self.need - given), self.n_u - 1)] = 1.0
        return np.concatenate([z, x, u])
