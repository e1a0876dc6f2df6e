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
from models.sia.volume import ascend


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
    problem, horizon = _FairStarts(arrays, fairness), arrays.horizon

    def ended(count: int, bound: float) -> bool:
        return count >= parameters.price_rounds or clock.expired

    first = np.zeros((len(fairness.owned) + 1, horizon))
    first[1:] = fairness.weight / len(fairness.owned)
    _, prices = ascend(problem, first.ravel(), target, parameters, ended)
    return FairPrices(prices[:horizon], prices[horizon:].reshape(-1, horizon))


class _FairStarts:
    """The problem with prices of capacity and of shares, one after the other, ((1 + P) T,)."""

    def __init__(self, arrays: OracleArrays, fairness: Fairness) -> None:
        from models.sia.kernels import jobs_of  # compiled at first use, which takes seconds

        self.arrays, self.fairness, self.jobs = arrays, fairness, jobs_of(arrays)
        self.unit = (arrays.unit / fairness.owned)[:, None]  # share of a pool that a unit of GPUs is
        self.use = np.zeros((len(fairness.owned), arrays.horizon))

    def cheapest(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """The bound of prices, and by how much the cheapest starts exceed capacity and shares."""
        from models.sia.kernels import least_charges

        arrays, fairness, use = self.arrays, self.fairness, self.use
        capacity, shares = prices[: arrays.horizon], prices[arrays.horizon :].reshape(use.shape)
        charges = least_charges(self.jobs, fairness.pool, capacity + shares * self.unit, use)
        bound = charges - arrays.capacity * capacity.sum() - fairness.free * shares.sum()
        over = use.sum(axis=0) - arrays.capacity, (use * self.unit - fairness.free).ravel()
        return float(bound), np.concatenate(over)

    def project(self, prices: FloatArray) -> None:
        """Put prices to the nearest ones that are not negative, and of shares no more than α costs."""
        from models.sia.kernels import project

        np.maximum(prices, 0.0, out=prices)
        project(prices[self.arrays.horizon :].reshape(self.use.shape), self.fairness.weight)

    def average(self, share: float) -> None:
        """Nothing is asked of the average."""


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
