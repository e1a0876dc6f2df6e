"""Fairness in the objective: β Σ_t α_t, where α_t is the largest share that a pool uses of what it owns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.sia import SiaOracle
from instances.sia.arrays import OracleArrays


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
