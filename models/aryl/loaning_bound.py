"""A lower bound on the mean JCT of every policy for a loaning cluster, from its jobs and its capacity.

Relaxation: all training GPUs form one machine, and all loaned servers another. Work is divisible and may move at any
time, at most at the highest speed of the job. Let M_j be the mean time of the work that counts, and p_j the shortest
running time; then C_j >= M_j + p_j / 2. Minimising the sum of M_j within the capacities is a linear program with
infinitely many variables. Prices of a GPU-second in each step of a time grid give a Lagrangian bound. A gradient method
finds good prices; the bound holds for all prices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from instances.arrays import BoolArray, FloatArray
from instances.aryl import ArylLoaning
from instances.compiled import compile_lazily
from models.core.safe_bounds import real_bound


@compile_lazily
def compute_job_costs(
    release: FloatArray, size: FloatArray, seconds: FloatArray, grid: FloatArray, price: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute the minimum cost (n,) of each job at the prices, and the work (m,) in each step.

    The cost is the mean time since release, plus half the running time, plus the prices paid. A job works at its
    highest speed during chosen `seconds` after its `release`. A second at time t after the release costs (t + size *
    price) / seconds. The seconds whose cost is below a threshold are chosen. Every threshold gives a lower bound; the
    threshold that chooses `seconds` in total gives the minimum.
    """
    n, m = len(release), len(price)
    cost = np.empty(n)
    used = np.zeros(m)
    begin, length = np.empty(m + 1), np.empty(m + 1)
    for j in range(n):
        first = np.searchsorted(grid, release[j], side="right") - 1
        # The threshold that chooses the seconds right after the release is the largest possible one.
        max_threshold, t, i = 0.0, 0.0, first
        while t < seconds[j] and i < m:
            step = grid[i + 1] - max(grid[i], release[j])
            t += step
            max_threshold = max(max_threshold, min(t, seconds[j]) + size[j] * price[i])
            i += 1
        if t < seconds[j]:
            max_threshold = max(max_threshold, seconds[j])
        count = 0
        for i in range(first, m + 1):
            start = grid[i] - release[j] if i > first else 0.0
            if i == m:
                start = max(start, 0.0)
            if start >= max_threshold:
                break
            begin[count] = start + (size[j] * price[i] if i < m else 0.0)
            length[count] = (grid[i + 1] - release[j] - start) if i < m else 1e18
            count += 1
        low, high = 0.0, max_threshold
        for _ in range(60):
            middle = 0.5 * (low + high)
            chosen = 0.0
            for k in range(count):
                chosen += min(length[k], max(0.0, middle - begin[k]))
            if chosen < seconds[j]:
                low = middle
            else:
                high = middle
            if high - low <= 1e-13 * max_threshold:
                break
        below = 0.0
        for k in range(count):
            h = high - begin[k]
            if h > 0.0:
                below += 0.5 * h * h if h <= length[k] else (h - 0.5 * length[k]) * length[k]
                if first + k < m:
                    used[first + k] += size[j] / seconds[j] * min(length[k], h)
        cost[j] = 0.5 * seconds[j] + high - below / seconds[j]
    return cost, used


ROUNDING = 1e-9  # relative error of sums of floats, and of times that should be multiples of a period


@dataclass(frozen=True)
class LoaningBoundParameters:
    """Parameters of the bound.

    - `steps`: number of steps of the price grid.
    - `beyond`: extension of the grid after the last release, as a share of the time until then.
    - `rounds`: maximum number of evaluations of the gradient method.
    """

    steps: int = 400
    beyond: float = 0.1
    rounds: int = 120


DEFAULTS = LoaningBoundParameters()


@dataclass(frozen=True)
class RelaxedCluster:
    """The n jobs and the capacity of the relaxation, in training-GPU-seconds of work.

    - `release` (n,): first time at which a job can start; `waited` (n,): time since its arrival by then.
    - `size` (n,): work; `seconds` (n,): shortest running time.
    - `borrows` (n,): whether the job may use loaned servers.
    - `grid` (m + 1,): times of the steps.
    - `training` (m,), `loaned` (m,): work that each machine can do in each step.
    """

    release: FloatArray
    waited: FloatArray
    size: FloatArray
    seconds: FloatArray
    borrows: BoolArray
    grid: FloatArray
    training: FloatArray
    loaned: FloatArray

    @classmethod
    def from_data(cls, data: ArylLoaning, parameters: LoaningBoundParameters) -> RelaxedCluster:
        """Build the relaxation of a workload."""
        jobs = data.jobs
        arrival = np.array([job.arrival_seconds for job in jobs])
        release = _find_first_decision(arrival, data)
        work = np.array([job.work for job in jobs])
        fastest = np.array([data.fastest(job) for job in jobs])
        end = float(release.max()) * (1 + parameters.beyond) + float((work / fastest).max())
        grid = np.linspace(0.0, max(end, 1.0), parameters.steps + 1)
        length = np.diff(grid)
        return cls(
            release=release,
            waited=release - arrival,
            size=work * np.array([job.gpus_per_worker for job in jobs]),
            seconds=work / fastest,
            borrows=np.array([job.any_gpu or job.heterogeneous for job in jobs]),
            grid=grid,
            training=length * data.training_servers * data.gpus_per_server,
            loaned=_compute_loaned_seconds(data, grid) * data.gpus_per_server * data.loaned_speed * (1 + 10 * ROUNDING),
        )


def mean_jct_bound(data: ArylLoaning, parameters: LoaningBoundParameters = DEFAULTS) -> float:
    """Return a lower bound on the mean JCT of every policy, in seconds."""
    relaxed = RelaxedCluster.from_data(data, parameters)
    trivial = math.fsum(relaxed.waited) + math.fsum(relaxed.seconds)
    prices = optimize_prices(relaxed, parameters)
    bound = math.fsum(relaxed.waited) + compute_lagrangian_bound(relaxed, prices)
    return real_bound(max(bound, trivial * (1 - ROUNDING))) / len(data.jobs)


def compute_lagrangian_bound(relaxed: RelaxedCluster, prices: FloatArray) -> float:
    """Compute a lower bound on the sum of the completion times, each less its release, in seconds.

    `prices` (2, m), non-negative: the price of work on either machine in each step, and the additional price of work on
    training servers.
    """
    value, paid, _ = _evaluate(relaxed, prices)
    return value - paid - ROUNDING * (abs(value) + abs(paid))


def optimize_prices(relaxed: RelaxedCluster, parameters: LoaningBoundParameters) -> FloatArray:
    """Find prices (2, m) with a large bound by L-BFGS."""
    shape = (2, len(relaxed.training))
    unit = float(relaxed.seconds.sum() / relaxed.size.sum())  # of prices: seconds per training-GPU-second
    total = float(relaxed.seconds.sum())

    def evaluate_negative(x: FloatArray) -> tuple[float, FloatArray]:
        value, paid, slope = _evaluate(relaxed, x.reshape(shape) * unit)
        return (paid - value) / total, -slope.ravel() * unit / total

    bounds = [(0.0, None)] * (shape[0] * shape[1])
    limits = {"maxfun": parameters.rounds, "maxiter": parameters.rounds, "ftol": 1e-10}
    result = minimize(
        evaluate_negative, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds, options=limits
    )
    return np.maximum(0.0, result.x.reshape(shape)) * unit


def _evaluate(relaxed: RelaxedCluster, prices: FloatArray) -> tuple[float, float, FloatArray]:
    """Return the minimum cost of the jobs, the value of the capacities, and the slope of the difference (2, m)."""
    r = relaxed
    value, slope = 0.0, np.zeros_like(prices)
    for borrows, price in ((True, prices[0]), (False, prices[0] + prices[1])):
        jobs = r.borrows == borrows
        if jobs.any():
            cost, used = compute_job_costs(r.release[jobs], r.size[jobs], r.seconds[jobs], r.grid, price)
            value += math.fsum(cost)
            slope[0] += used
            slope[1] += 0.0 if borrows else used
    slope[0] -= r.training + r.loaned
    slope[1] -= r.training
    paid = math.fsum(prices[0] * (r.training + r.loaned)) + math.fsum(prices[1] * r.training)
    return value, paid, slope


def _find_first_decision(arrival: FloatArray, data: ArylLoaning) -> FloatArray:
    """Return the first time at which each job can start: a multiple of the scheduling or the orchestrator period."""
    if not data.scheduling_period_seconds:
        return arrival
    periods = data.scheduling_period_seconds, data.orchestrator_period_seconds
    return np.maximum(arrival, np.minimum(*(np.ceil(arrival / p * (1 - ROUNDING)) * p for p in periods)))


def _compute_loaned_seconds(data: ArylLoaning, grid: FloatArray) -> FloatArray:
    """Return the server-seconds on loan in each step of a grid; loans change at steps of the orchestrator only."""
    period = data.orchestrator_period_seconds
    times = np.arange(math.ceil(grid[-1] / period) + 1) * period
    lent = np.array([data.lendable(t) for t in times.tolist()])
    so_far = np.concatenate([[0.0], np.cumsum(lent * period)])
    return np.diff(np.interp(grid, np.append(times, times[-1] + period), so_far))
