"""What no policy does better than: a lower bound on the mean JCT of a loaning cluster, on its jobs and its capacity.

The relaxation: all training GPUs are one machine and all servers on loan another; work is divisible and may move at any
time, at most as fast as the job is on its best number of workers. C_j >= M_j + p_j / 2, where M_j is the mean time at
which the work that counts is done, and p_j the shortest running time. The sum of M_j under the capacities is a linear
program in infinitely many variables; every price of a GPU-second, in each step of a grid, bounds it from below
(Lagrangian). The prices are found by a gradient method, and whatever they are, the bound holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from instances.arrays import BoolArray, FloatArray
from instances.aryl import ArylLoaning
from instances.compiled import compiled
from models.bounds import real_bound


@compiled
def priced(
    release: FloatArray, size: FloatArray, seconds: FloatArray, grid: FloatArray, price: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The least of mean time since release plus half the running time plus what is paid, of each job; and work by step.

    A job does its work at its highest speed during `seconds` of its choice after `release`. A second at time t after
    release costs t + size * price, over `seconds`; those below a threshold are chosen. Whatever the threshold is, the
    figure is a lower bound, and with the one that chooses `seconds` in all it is the least.
    """
    n, m = len(release), len(price)
    cost = np.empty(n)
    used = np.zeros(m)
    begin, length = np.empty(m + 1), np.empty(m + 1)
    for j in range(n):
        first = np.searchsorted(grid, release[j], side="right") - 1
        # The threshold of the seconds right after release is the most that it can be.
        most, t, i = 0.0, 0.0, first
        while t < seconds[j] and i < m:
            step = grid[i + 1] - max(grid[i], release[j])
            t += step
            most = max(most, min(t, seconds[j]) + size[j] * price[i])
            i += 1
        if t < seconds[j]:
            most = max(most, seconds[j])
        count = 0
        for i in range(first, m + 1):
            start = grid[i] - release[j] if i > first else 0.0
            if i == m:
                start = max(start, 0.0)
            if start >= most:
                break
            begin[count] = start + (size[j] * price[i] if i < m else 0.0)
            length[count] = (grid[i + 1] - release[j] - start) if i < m else 1e18
            count += 1
        low, high = 0.0, most
        for _ in range(60):
            middle = 0.5 * (low + high)
            chosen = 0.0
            for k in range(count):
                chosen += min(length[k], max(0.0, middle - begin[k]))
            if chosen < seconds[j]:
                low = middle
            else:
                high = middle
            if high - low <= 1e-13 * most:
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


ROUNDING = 1e-9  # relative: what a sum of floats may be off by, and a time that is meant to be a multiple


@dataclass(frozen=True)
class LoaningBoundParameters:
    """`steps`: of the grid of prices. `beyond`: share of the days by which the grid goes on after the last arrival.

    `rounds`: most evaluations of the gradient method.
    """

    steps: int = 400
    beyond: float = 0.1
    rounds: int = 120


DEFAULTS = LoaningBoundParameters()


@dataclass(frozen=True)
class RelaxedCluster:
    """Jobs and capacity of the relaxation, in training-GPU-seconds of work.

    `release` (n,): when a job can first be started; `waited` (n,): how long it was there by then. `size`: work.
    `seconds`: the shortest running time. `borrows`: whether servers on loan will do. `grid` (m + 1,): times of the
    steps. `training` (m,) and `loaned` (m,): work that each machine can do in each step.
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
    def of(cls, data: ArylLoaning, parameters: LoaningBoundParameters) -> RelaxedCluster:
        """The relaxation of a workload."""
        jobs = data.jobs
        arrival = np.array([job.arrival_seconds for job in jobs])
        release = _first_decision(arrival, data)
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
            loaned=_loaned_seconds(data, grid) * data.gpus_per_server * data.loaned_speed * (1 + 10 * ROUNDING),
        )


def mean_jct_bound(data: ArylLoaning, parameters: LoaningBoundParameters = DEFAULTS) -> float:
    """Seconds that the mean JCT of no policy is below."""
    relaxed = RelaxedCluster.of(data, parameters)
    least = math.fsum(relaxed.waited) + math.fsum(relaxed.seconds)
    prices = best_prices(relaxed, parameters)
    found = math.fsum(relaxed.waited) + priced_total(relaxed, prices)
    return real_bound(max(found, least * (1 - ROUNDING))) / len(data.jobs)


def priced_total(relaxed: RelaxedCluster, prices: FloatArray) -> float:
    """What the sum of completion times, each less its release, is at least; `prices` may be any (2, m) that are >= 0.

    The first row is the price of work on either machine in each step, the second what training servers cost beside.
    """
    value, paid, _ = _evaluated(relaxed, prices)
    return value - paid - ROUNDING * (abs(value) + abs(paid))


def best_prices(relaxed: RelaxedCluster, parameters: LoaningBoundParameters) -> FloatArray:
    """Prices that make the bound large."""
    shape = (2, len(relaxed.training))
    unit = float(relaxed.seconds.sum() / relaxed.size.sum())  # of a price: seconds a training-GPU-second
    total = float(relaxed.seconds.sum())

    def negative(x: FloatArray) -> tuple[float, FloatArray]:
        value, paid, slope = _evaluated(relaxed, x.reshape(shape) * unit)
        return (paid - value) / total, -slope.ravel() * unit / total

    bounds = [(0.0, None)] * (shape[0] * shape[1])
    limits = {"maxfun": parameters.rounds, "maxiter": parameters.rounds, "ftol": 1e-10}
    found = minimize(negative, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    return np.maximum(0.0, found.x.reshape(shape)) * unit


def _evaluated(relaxed: RelaxedCluster, prices: FloatArray) -> tuple[float, float, FloatArray]:
    """What jobs cost at least, what the machines earn, and the slope of the difference in the prices."""
    r = relaxed
    value, slope = 0.0, np.zeros_like(prices)
    for borrows, price in ((True, prices[0]), (False, prices[0] + prices[1])):
        mine = r.borrows == borrows
        if mine.any():
            cost, used = priced(r.release[mine], r.size[mine], r.seconds[mine], r.grid, price)
            value += math.fsum(cost)
            slope[0] += used
            slope[1] += 0.0 if borrows else used
    slope[0] -= r.training + r.loaned
    slope[1] -= r.training
    paid = math.fsum(prices[0] * (r.training + r.loaned)) + math.fsum(prices[1] * r.training)
    return value, paid, slope


def _first_decision(arrival: FloatArray, data: ArylLoaning) -> FloatArray:
    """When a job can first be started: where there is a scheduling period, at a multiple of it or of the
    orchestrator's."""
    if not data.scheduling_period_seconds:
        return arrival
    periods = data.scheduling_period_seconds, data.orchestrator_period_seconds
    return np.maximum(arrival, np.minimum(*(np.ceil(arrival / p * (1 - ROUNDING)) * p for p in periods)))


def _loaned_seconds(data: ArylLoaning, grid: FloatArray) -> FloatArray:
    """Server-seconds on loan in each step of a grid: what is lendable at a step of the orchestrator lasts until the
    next."""
    period = data.orchestrator_period_seconds
    times = np.arange(math.ceil(grid[-1] / period) + 1) * period
    lent = np.array([data.lendable(t) for t in times.tolist()])
    so_far = np.concatenate([[0.0], np.cumsum(lent * period)])
    return np.diff(np.interp(grid, np.append(times, times[-1] + period), so_far))
