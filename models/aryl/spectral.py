"""A spectral bound for the least union of k sets, where the linear relaxation says next to nothing.

If P jobs free k servers, their 0-1 vector z of P ones satisfies: each server freed has all of its jobs in z, so for any
non-negative weights on the pairs of a server's jobs (and on its single jobs) that sum to 1 for each server, with Y the
symmetric matrix of these weights, k <= z'Yz. On 0-1 vectors with P ones diag(zz') = z = zz'1 / P, so that adding
(d1' + 1d') / 2P - diag(d) to Y does not change z'Yz whatever d is; and z'z = P. Hence

    k <= P * largest eigenvalue of (Y + (d1' + 1d') / 2P - diag(d))    for every such Y and every d.

Weights and d that make the right side small are found by L-BFGS on the smoothed largest eigenvalue; every one of them
gives a valid bound, so stopping early costs tightness only. It is the dual of the semidefinite relaxation of the
densest-subgraph problem on the graph of jobs, with a row for each server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from instances.arrays import FloatArray
from instances.clock import uncounted
from models.bounds import real_bound

SMOOTHING = (0.1, 0.03, 0.01)
"""The eigenvalue is smoothed by these parameters mu, one after the other."""
FINE = (0.01, 0.005)
"""Those for the last digit of a bound; they take `FINE_STEPS` steps each."""
FINE_STEPS = 150


class SpectralBound:
    """Bounds on how many of the servers (`sets` of jobs, none of them empty) a number of jobs can free."""

    def __init__(self, sets: Sequence[Sequence[int]], n_jobs: int, expired: Callable[[], bool] = lambda: False) -> None:
        self.n_jobs, self.expired = n_jobs, expired
        triples = [(s, a, b) for s, jobs in enumerate(sets) for i, a in enumerate(jobs) for b in jobs[i:]]
        self.server, self.row, self.column = (np.array(part) for part in zip(*triples, strict=True))
        self.n_servers = len(sets)
        self.parameters = np.concatenate([np.zeros(len(triples)), np.ones(n_jobs)])
        self.best = np.inf

    def most_freed(self, jobs: int, smoothing: Sequence[float] = SMOOTHING, steps: int = 60) -> float:
        """An upper bound on the servers that `jobs` preempted jobs free, from the weights of the last call on."""
        with uncounted():
            from scipy.optimize import minimize
        self.best = np.inf
        for mu in smoothing:
            if self.expired():
                break
            try:
                # BLAS threads wait for one another more than they work on matrices of this size.
                with threadpool_limits(limits=1, user_api="blas"):
                    found = minimize(
                        self._smoothed,
                        self.parameters,
                        args=(jobs, mu),
                        jac=True,
                        method="L-BFGS-B",
                        options={"maxiter": steps, "maxfun": steps},
                    )
                self.parameters = found.x
            except StopIteration:
                break
        return real_bound(self.best, "maximize")  # LAPACK's eigenvalue is off by rounding, far less than that

    def _smoothed(self, parameters: FloatArray, jobs: int, mu: float) -> tuple[float, FloatArray]:
        """P * mu * log(sum of exp(eigenvalue / mu)) and the gradient; the best bound is remembered by the way."""
        if self.expired():
            raise StopIteration
        weights, d = self._weights(parameters[: len(self.server)]), parameters[len(self.server) :]
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

    def _weights(self, parameters: FloatArray) -> FloatArray:
        """Weights that sum to 1 for each server: the softmax of the server's parameters."""
        top = np.full(self.n_servers, -np.inf)
        np.maximum.at(top, self.server, parameters)
        raised = np.exp(parameters - top[self.server])
        return raised / np.bincount(self.server, raised, self.n_servers)[self.server]
