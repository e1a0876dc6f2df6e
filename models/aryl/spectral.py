"""A spectral bound for the minimum k-union problem, for instances with a weak linear relaxation.

Let z be the binary vector of P jobs that free k servers. Give each server non-negative weights on the pairs of its jobs
and on its single jobs, which sum to 1, and let Y be the symmetric matrix of the weights of all servers. A freed server
has all of its jobs in z, so k <= z'Yz. For binary vectors with P ones, diag(zz') = z = zz'1 / P. The matrix (d1' + 1d')
/ 2P - diag(d) therefore does not change z'Yz for any vector d, and z'z = P. Hence

    k <= P * largest eigenvalue of (Y + (d1' + 1d') / 2P - diag(d))    for all such Y and d.

L-BFGS on the smoothed largest eigenvalue finds weights and d that make the right side small. All of them give a valid
bound, so an early stop costs tightness only. The bound is the dual of the semidefinite relaxation of the
densest-subgraph problem on the graph of jobs, with a row for each server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from instances.arrays import FloatArray
from instances.clock import pause_clocks
from models.core.safe_bounds import real_bound

SMOOTHING = (
    0.1,
    0.03,
    0.01,
)  # smoothing parameters mu, one after the other: smaller ones are exact but slow to minimise
FINE = (0.01, 0.005)  # smoothing parameters that can improve the bound by its last unit
FINE_STEPS = 150  # of the minimisation for each of them


class SpectralBound:
    """Bounds on the number of servers that a number of jobs can free.

    - `sets`: the jobs of each server, none of them empty.
    - `n_jobs`: number of jobs.
    - `is_expired`: whether to stop.
    """

    def __init__(
        self, sets: Sequence[Sequence[int]], n_jobs: int, is_expired: Callable[[], bool] = lambda: False
    ) -> None:
        self.n_jobs, self.is_expired = n_jobs, is_expired
        triples = [(s, a, b) for s, jobs in enumerate(sets) for i, a in enumerate(jobs) for b in jobs[i:]]
        self.server, self.row, self.column = (np.array(part) for part in zip(*triples, strict=True))
        self.n_servers = len(sets)
        self.parameters = np.concatenate([np.zeros(len(triples)), np.ones(n_jobs)])
        self.best = np.inf

    def bound_freed(self, jobs: int, smoothing: Sequence[float] = SMOOTHING, steps: int = 60) -> float:
        """Return an upper bound on the servers that `jobs` preempted jobs free; start from the last call's weights."""
        with pause_clocks():
            from scipy.optimize import minimize
        self.best = np.inf
        for mu in smoothing:
            if self.is_expired():
                break
            try:
                # Matrices of this size are too small for several BLAS threads.
                with threadpool_limits(limits=1, user_api="blas"):
                    result = minimize(
                        self._evaluate,
                        self.parameters,
                        args=(jobs, mu),
                        jac=True,
                        method="L-BFGS-B",
                        options={"maxiter": steps, "maxfun": steps},
                    )
                self.parameters = result.x
            except StopIteration:
                break
        return real_bound(self.best, "maximize")  # the margin exceeds the rounding of LAPACK's eigenvalue by far

    def _evaluate(self, parameters: FloatArray, jobs: int, mu: float) -> tuple[float, FloatArray]:
        """Return P * mu * log(sum of exp(eigenvalue / mu)) and its gradient, and record the best bound."""
        if self.is_expired():
            raise StopIteration
        weights, d = self._compute_weights(parameters[: len(self.server)]), parameters[len(self.server) :]
        matrix = (d[:, None] + d[None, :]) / (2 * jobs)
        np.add.at(matrix, (self.row, self.column), weights / 2)
        np.add.at(matrix, (self.column, self.row), weights / 2)
        matrix[np.diag_indices(self.n_jobs)] -= d
        values, vectors = np.linalg.eigh(matrix)
        self.best = min(self.best, jobs * float(values[-1]))
        share = np.exp((values - values[-1]) / mu)
        total = share.sum()
        density = jobs * (vectors * (share / total)) @ vectors.T
        by_weight = density[self.row, self.column]
        mean = np.bincount(self.server, weights * by_weight, self.n_servers)
        by_parameter = weights * (by_weight - mean[self.server])
        by_d = density.sum(axis=1) / jobs - np.diag(density)
        return jobs * float(values[-1] + mu * np.log(total)), np.concatenate([by_parameter, by_d])

    def _compute_weights(self, parameters: FloatArray) -> FloatArray:
        """Compute weights that sum to 1 for each server: the softmax of the server's parameters."""
        top = np.full(self.n_servers, -np.inf)
        np.maximum.at(top, self.server, parameters)
        raised = np.exp(parameters - top[self.server])
        return raised / np.bincount(self.server, raised, self.n_servers)[self.server]
