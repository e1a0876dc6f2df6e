"""An instance as arrays, with slots counted from the first submission on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances.sia import SiaOracle

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class OracleArrays:
    """Jobs j = 0..J-1 in the order of the data: arrays of shape (J,), in slots and GPUs.

    `submit` s_j, `duration` d_j, `gpus` n_j and `cutoff` m_j as in Figure 19; `capacity` is Σ_i c_i, `first` the slot
    that counts as 0, `horizon` the first slot at which no job can be running.
    """

    submit: IntArray
    duration: IntArray
    gpus: IntArray
    cutoff: IntArray
    capacity: int
    first: int

    @property
    def horizon(self) -> int:
        return int((self.cutoff + self.duration).max())

    @property
    def most(self) -> int:
        """Σ_j (m_j - s_j): no feasible schedule delays jobs by more."""
        return int((self.cutoff - self.submit).sum())

    def delay(self, starts: IntArray) -> int:
        """Queueing delay of all jobs together."""
        return int((starts - self.submit).sum())

    def use(self, starts: IntArray) -> IntArray:
        """GPUs in use at each slot, shape (horizon + 1,)."""
        changes = np.zeros(self.horizon + 1, dtype=np.int64)
        np.add.at(changes, starts, self.gpus)
        np.add.at(changes, starts + self.duration, -self.gpus)
        return np.cumsum(changes)

    def feasible(self, starts: IntArray) -> bool:
        """Whether all constraints of Figure 19 hold."""
        timely = (starts >= self.submit).all() and (starts <= self.cutoff).all()
        return bool(timely and self.use(starts).max() <= self.capacity)


def oracle_arrays(data: SiaOracle) -> OracleArrays:
    """The arrays of `data`."""
    submit = np.array([job.submit for job in data.jobs], dtype=np.int64)
    first = int(submit.min())
    return OracleArrays(
        submit=submit - first,
        duration=np.array([job.duration for job in data.jobs], dtype=np.int64),
        gpus=np.array([job.gpus for job in data.jobs], dtype=np.int64),
        cutoff=np.array(data.cutoffs, dtype=np.int64) - first,
        capacity=data.capacity,
        first=first,
    )


def solution_of(data: SiaOracle, arrays: OracleArrays, starts: IntArray) -> dict[str, dict[str, int]]:
    """`starts` as a solution in JSON form."""
    return {"starts": {job.id: int(t) + arrays.first for job, t in zip(data.jobs, starts, strict=True)}}
