"""Fairness in the objective, β Σ_t α_t, where α_t is the largest share that a pool uses of its own GPUs at slot t.

Multipliers λ_t >= 0 of (12) and μ_it >= 0 of (13) with Σ_i μ_it <= β remove α and separate the jobs. They give the
Lagrangian bound

    Σ_j min_t (t - s_j + Σ_{u = t .. t + d_j - 1} n_j (λ_u + μ_iu / c_i)) - C Σ_t λ_t - free Σ_it μ_it

The volume algorithm (Barahona and Anbil, 2000) finds them in floating-point numbers. They are rounded to integers that
satisfy the conditions, so the bound and the starts that it excludes are evaluated in integers, without a solver.
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

MAX_SUM_BITS = 60  # all sums stay below 2 to this power, so that they fit into 64 bits
MAX_SCALE_BITS = 30  # multipliers are multiples of 1/2 to this power, or coarser


@dataclass(frozen=True)
class Fairness:
    """Fair shares of pools with jobs (P,), for jobs (J,) and steps (T,).

    - `owned` (P,): GPUs that a pool owns.
    - `pool` (J,): pool of a job.
    - `gpus` (J,): GPUs of a job, in the units of the data.
    - `free`: share up to which use is not charged.
    - `weight` (T,): cost of α at each step, in steps of delay.
    """

    owned: FloatArray
    pool: IntArray
    gpus: IntArray
    free: float
    weight: FloatArray

    def evaluate_stretch(self, arrays: OracleArrays, starts: IntArray) -> FloatArray:
        """Return α (T,) of a schedule (J,)."""
        use = np.zeros((len(self.owned), arrays.horizon + 1), dtype=np.int64)
        np.add.at(use, (self.pool, starts), self.gpus)
        np.add.at(use, (self.pool, starts + arrays.duration), -self.gpus)
        largest: FloatArray = (np.cumsum(use, axis=1)[:, :-1] / self.owned[:, None]).max(axis=0)
        return np.maximum(largest - self.free, 0.0)


def build_fairness(data: SiaOracle, arrays: OracleArrays) -> Fairness:
    """Return the fair shares of `data` in the steps of `arrays`."""
    used = {job.pool for job in data.jobs}
    pools = [pool for pool in data.pools if pool.name in used]
    index = {pool.name: i for i, pool in enumerate(pools)}
    return Fairness(
        owned=np.array([pool.gpus for pool in pools], dtype=float),
        pool=np.array([index[job.pool] for job in data.jobs]),
        gpus=np.array([job.gpus for job in data.jobs]),
        free=0.0 if data.fair_share == "all-use" else 1.0,
        weight=data.fairness_weight * _measure_steps(arrays).astype(float),
    )


def _measure_steps(arrays: OracleArrays) -> IntArray:
    """Return the length of each step, (T,), with the idle time that is left out after it."""
    steps = np.ones(arrays.horizon, dtype=np.int64)
    np.add.at(steps, *arrays.idle)
    return steps


@dataclass(frozen=True)
class FairMultipliers:
    """Multipliers λ (T,) of the `capacity` and μ (P, T) of the fair `shares`, in steps of delay."""

    capacity: FloatArray
    shares: FloatArray


def find_multipliers(
    arrays: OracleArrays,
    fairness: Fairness,
    target: float,
    clock: Stopwatch,
    parameters: OracleParameters = DEFAULTS,
) -> FairMultipliers:
    """Return multipliers of a good Lagrangian bound.

    - `arrays`: the problem.
    - `fairness`: shares and weights.
    - `target`: objective of a schedule, in steps.
    - `clock`: time limit.
    - `parameters`: iterations, step lengths and weights.
    """
    horizon = arrays.horizon

    def should_stop(count: int, bound: float) -> bool:
        return count >= parameters.fair_ascent_rounds or clock.has_expired

    first = np.zeros((len(fairness.owned) + 1, horizon))
    first[1:] = fairness.weight / len(fairness.owned)
    values = ascend(_FairSubproblem(arrays, fairness), first.ravel(), target, parameters, should_stop)
    return FairMultipliers(values[:horizon], values[horizon:].reshape(-1, horizon))


class _FairSubproblem:
    """The Lagrangian relaxation; its multipliers ((1 + P) T,) are those of the capacity, then those of the shares."""

    def __init__(self, arrays: OracleArrays, fairness: Fairness) -> None:
        from models.sia.kernels import build_jobs  # compiled at first use, which takes seconds

        self.arrays, self.fairness, self.jobs = arrays, fairness, build_jobs(arrays)
        self.unit = (arrays.unit / fairness.owned)[:, None]  # share of a pool that one unit of GPUs is
        self.use = np.zeros((len(fairness.owned), arrays.horizon))

    def minimise(self, multipliers: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound, and the excess of the cheapest starts over capacity and shares."""
        from models.sia.kernels import minimise_with_shares

        arrays, fairness, use = self.arrays, self.fairness, self.use
        capacity, shares = multipliers[: arrays.horizon], multipliers[arrays.horizon :].reshape(use.shape)
        minimum = minimise_with_shares(self.jobs, fairness.pool, capacity + shares * self.unit, use)
        bound = minimum - arrays.capacity * capacity.sum() - fairness.free * shares.sum()
        excess = use.sum(axis=0) - arrays.capacity, (use * self.unit - fairness.free).ravel()
        return float(bound), np.concatenate(excess)

    def project(self, multipliers: FloatArray) -> None:
        """Replace the multipliers by the nearest non-negative ones whose shares sum to at most the cost of α."""
        from models.sia.kernels import project_columns

        np.maximum(multipliers, 0.0, out=multipliers)
        project_columns(multipliers[self.arrays.horizon :].reshape(self.use.shape), self.fairness.weight)

    def update_average(self, weight: float) -> None:
        """Do nothing: the average solution is not used."""


def close_columns(
    data: SiaOracle, columns: StartColumns, fairness: Fairness, multipliers: FairMultipliers, objective: float
) -> Fraction | None:
    """Close the columns that no schedule with at most `objective` contains, and return the bound of the multipliers.

    - `data`: the problem.
    - `columns`: its columns; `open` changes.
    - `fairness`: shares and weights.
    - `multipliers`: multipliers of the Lagrangian bound.
    - `objective`: objective of a schedule, in steps.

    The bound is in steps. Returns `None`, and closes no column, if the numbers do not fit into 64 bits.
    """
    arrays = columns.arrays
    unit, owned = arrays.unit, fairness.owned.astype(np.int64)
    total = multipliers.capacity + multipliers.shares.sum(axis=0) * unit
    largest = (
        float((arrays.cutoff - arrays.submit).sum())
        + float(arrays.gpus.sum() + arrays.capacity + int(owned.sum())) * float(total.sum() + 1.0)
        + float(unit) * float(fairness.weight.sum())
        + abs(objective)
    )
    bits = min(MAX_SCALE_BITS, MAX_SUM_BITS - math.ceil(math.log2(largest + 1.0)))
    if bits < 0:
        return None
    scale = 1 << bits
    capacity = np.floor(multipliers.capacity * scale).astype(np.int64)
    shares = np.floor(multipliers.shares * (unit / fairness.owned)[:, None] * scale).astype(np.int64)
    lengths, index = np.unique(_measure_steps(arrays), return_inverse=True)
    exact_weight = Fraction(repr(data.fairness_weight)) * unit * scale
    weight = np.array([math.floor(exact_weight * int(length)) for length in lengths], dtype=np.int64)[index]
    excess = np.maximum((shares * owned[:, None]).sum(axis=0) - weight, 0)  # caused by rounding errors only
    largest_share, steps = (shares * owned[:, None]).argmax(axis=0), np.arange(arrays.horizon)
    shares[largest_share, steps] -= -(-excess // owned[largest_share])
    shares[:, (shares < 0).any(axis=0)] = 0
    until = np.zeros((len(owned), arrays.horizon + 1), dtype=np.int64)
    until[:, 1:] = np.cumsum(capacity + shares, axis=1)
    pool = fairness.pool[columns.job]
    cost = columns.delay * scale + columns.gpus * (until[pool, columns.end] - until[pool, columns.start])
    minimum = np.minimum.reduceat(cost, columns.offset[:-1])
    free = -(-int((shares * owned[:, None]).sum()) // unit) if fairness.free else 0
    bound = int(minimum.sum()) - arrays.capacity * int(capacity.sum()) - free
    limit = math.ceil(objective * (1 + 1e-9) * scale) + 1
    columns.open &= bound + cost - minimum[columns.job] <= limit
    return Fraction(bound, scale)
