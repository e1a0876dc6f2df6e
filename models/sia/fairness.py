"""Fairness in the objective, β Σ_t α_t with α_t the largest share that a pool uses of what it owns, and its prices.

Lagrangian prices of capacity and of fair shares: a bound without a solver, and the starts that it excludes.

FairPrices λ_t >= 0 of (12) and μ_it >= 0 of (13) with Σ_i μ_it <= β make α vanish and the jobs independent:

    Σ_j min_t (t - s_j + Σ_{u = t .. t + d_j - 1} n_j (λ_u + μ_iu / c_i)) - C Σ_t λ_t - free Σ_it μ_it

They are found by the volume algorithm (Barahona and Anbil, 2000) in floating-point numbers, rounded to integers that
keep the conditions, and the bound is evaluated in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.sia import SiaOracle
from instances.sia.arrays import OracleArrays
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.rows import StartColumns


@dataclass(frozen=True)
class Fairness:
    """Pools with jobs (P,), jobs (J,) and steps (T,).

    `owned` (P,): GPUs that a pool owns; `pool` (J,): the pool of a job; `gpus` (J,): GPUs of the job, in the data's;
    `free`: share up to which use is not charged; `weight` (T,): what α costs at each step, in steps of delay.
    """

    owned: FloatArray
    pool: IntArray
    gpus: IntArray
    free: float
    weight: FloatArray

    def stretch(self, arrays: OracleArrays, starts: IntArray) -> FloatArray:
        """α (T,) of a schedule (J,)."""
        use = np.zeros((len(self.owned), arrays.horizon + 1), dtype=np.int64)
        np.add.at(use, (self.pool, starts), self.gpus)
        np.add.at(use, (self.pool, starts + arrays.duration), -self.gpus)
        most: FloatArray = (np.cumsum(use, axis=1)[:, :-1] / self.owned[:, None]).max(axis=0)
        return np.maximum(most - self.free, 0.0)


def fairness_of(data: SiaOracle, arrays: OracleArrays) -> Fairness:
    """Fairness of `data`, whose `arrays` are in steps."""
    used = {job.pool for job in data.jobs}
    pools = [pool for pool in data.pools if pool.name in used]
    names = {pool.name: i for i, pool in enumerate(pools)}
    steps = np.ones(arrays.horizon)
    np.add.at(steps, *arrays.idle)
    return Fairness(
        owned=np.array([pool.gpus for pool in pools], dtype=float),
        pool=np.array([names[job.pool] for job in data.jobs]),
        gpus=np.array([job.gpus for job in data.jobs]),
        free=0.0 if data.fair_share == "all-use" else 1.0,
        weight=data.fairness_weight * steps,
    )


DIGITS = 60  # All sums are below 2 to this power.
MOST_DIGITS = 30  # Prices are multiples of 1/2 to this power, or coarser.


@dataclass(frozen=True)
class FairPrices:
    """Prices `capacity` λ (T,), `shares` μ (P, T), in steps of delay."""

    capacity: FloatArray
    shares: FloatArray


def lagrangian_prices(
    arrays: OracleArrays,
    fairness: Fairness,
    target: float,
    clock: Stopwatch,
    parameters: OracleParameters = DEFAULTS,
) -> FairPrices:
    """Prices of a good bound, in no more rounds than `parameters` say.

    Parameters:

    - `arrays`: the problem.
    - `fairness`: shares and weights.
    - `target`: objective of a schedule, in steps.
    - `clock`: ends the rounds when the time is over.
    - `parameters`: rounds, steps and weights of the algorithm.
    """
    from models.sia.kernels import jobs_of, least_charges, project  # compiled at first use, which takes seconds

    p = parameters
    jobs = jobs_of(arrays)
    unit = (arrays.unit / fairness.owned)[:, None]  # share of a pool that a unit of GPUs is
    shares = np.repeat(fairness.weight[None, :] / len(unit), len(unit), axis=0)
    capacity, use = np.zeros(arrays.horizon), np.zeros_like(shares)

    def evaluated(capacity: FloatArray, shares: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        charges = least_charges(jobs, fairness.pool, capacity + shares * unit, use)
        bound = charges - arrays.capacity * capacity.sum() - fairness.free * shares.sum()
        return bound, use.sum(axis=0) - arrays.capacity, use * unit - fairness.free

    best, over, stretched = evaluated(capacity, shares)
    step, failures = p.price_step, 0
    for _ in range(p.price_rounds):
        if clock.expired or step < p.price_least_step or best >= target:
            break
        norm = (over[(over > 0) | (capacity > 0)] ** 2).sum() + (stretched[(stretched > 0) | (shares > 0)] ** 2).sum()
        length = step * (target - best) / max(norm, 1e-9)
        tried_capacity, tried_shares = np.maximum(capacity + length * over, 0.0), shares + length * stretched
        project(tried_shares, fairness.weight)
        bound, new_over, new_stretched = evaluated(tried_capacity, tried_shares)
        if bound > best:
            if (over * new_over).sum() + (stretched * new_stretched).sum() > 0:
                step = min(2.0, step * p.price_growth)
            best, capacity, shares, failures = bound, tried_capacity, tried_shares, 0
        else:
            failures += 1
            if failures == p.price_failures:
                step, failures = step * p.price_decay, 0
        over = over + p.price_weight * (new_over - over)
        stretched = stretched + p.price_weight * (new_stretched - stretched)
    return FairPrices(capacity, shares)


def close_columns(
    data: SiaOracle, columns: StartColumns, fairness: Fairness, prices: FairPrices, objective: float
) -> Fraction | None:
    """Close the columns that no schedule of at most `objective` (in steps) has; the bound of `prices`, in steps.

    `None`, and no column is closed, where the numbers are too large for 64 bits.
    """
    arrays = columns.arrays
    unit, owned = arrays.unit, fairness.owned.astype(np.int64)
    price = prices.capacity + prices.shares.sum(axis=0) * unit
    largest = (
        float((arrays.cutoff - arrays.submit).sum())
        + float(arrays.gpus.sum() + arrays.capacity + int(owned.sum())) * float(price.sum() + 1.0)
        + float(unit) * float(fairness.weight.sum())
        + abs(objective)
    )
    digits = min(MOST_DIGITS, DIGITS - math.ceil(math.log2(largest + 1.0)))
    if digits < 0:
        return None
    scale = 1 << digits
    capacity = np.floor(prices.capacity * scale).astype(np.int64)
    shares = np.floor(prices.shares * (unit / fairness.owned)[:, None] * scale).astype(np.int64)
    weight = _scaled_weight(data, arrays, unit * scale)
    excess = np.maximum((shares * owned[:, None]).sum(axis=0) - weight, 0)  # a rounding error or none
    most, all_steps = (shares * owned[:, None]).argmax(axis=0), np.arange(arrays.horizon)
    shares[most, all_steps] -= -(-excess // owned[most])
    shares[:, (shares < 0).any(axis=0)] = 0
    until = np.zeros((len(owned), arrays.horizon + 1), dtype=np.int64)
    until[:, 1:] = np.cumsum(capacity + shares, axis=1)
    pool = fairness.pool[columns.job]
    charge = columns.delay * scale + columns.gpus * (until[pool, columns.end] - until[pool, columns.start])
    least = np.minimum.reduceat(charge, columns.offset[:-1])
    free = -(-int((shares * owned[:, None]).sum()) // unit) if fairness.free else 0
    bound = int(least.sum()) - arrays.capacity * int(capacity.sum()) - free
    limit = math.ceil(objective * (1 + 1e-9) * scale) + 1
    columns.open &= bound + charge - least[columns.job] <= limit
    return Fraction(bound, scale)


def _scaled_weight(data: SiaOracle, arrays: OracleArrays, scale: int) -> IntArray:
    """What α costs at each step (T,), in steps of delay, times `scale`, rounded down."""
    weight, steps = Fraction(repr(data.fairness_weight)) * scale, np.ones(arrays.horizon, dtype=np.int64)
    np.add.at(steps, *arrays.idle)
    lengths, which = np.unique(steps, return_inverse=True)
    return np.array([math.floor(weight * int(length)) for length in lengths], dtype=np.int64)[which]
