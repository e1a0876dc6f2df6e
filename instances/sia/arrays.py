"""Convert data of `sia-oracle` to arrays, with time from the first submission on, in slots or in larger steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from instances.arrays import IntArray
from instances.options import Solution
from instances.sia.oracle import SiaOracle

LONG = 100_000  # Above this number of steps, stretches without events are removed.
_NONE: IntArray = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class OracleArrays:
    """Jobs j = 0..J-1 in the order of the data: arrays of shape (J,), in steps of `slot` slots and of `unit` GPUs.

    Delays are Σ (t_j - s_j) in steps, and `slot` times as many in slots.

    - `submit` s_j, `duration` d_j, `gpus` n_j, `cutoff` m_j: as in Figure 19.
    - `capacity`: Σ_i c_i.
    - `origin`: the submission in slots of the data.
    - `idle`: pairs of a step and the number of steps removed after it.
    """

    submit: IntArray
    duration: IntArray
    gpus: IntArray
    cutoff: IntArray
    capacity: int
    origin: IntArray
    slot: int = 1
    unit: int = 1
    idle: tuple[IntArray, IntArray] = (_NONE, _NONE)

    @cached_property
    def horizon(self) -> int:
        """Return the first step at which no job can be running."""
        return int((self.cutoff + self.duration).max())

    @property
    def starts(self) -> int:
        """Return the number of starts in all windows."""
        return self.most + len(self.submit)

    @property
    def most(self) -> int:
        """Return Σ_j (m_j - s_j): no feasible schedule delays jobs by more."""
        return int((self.cutoff - self.submit).sum())

    def delay(self, starts: IntArray) -> int:
        """Return the total queueing delay of all jobs in steps."""
        return int((starts - self.submit).sum())

    def use(self, starts: IntArray) -> IntArray:
        """Return the GPUs in use at each step, shape (horizon + 1,)."""
        changes = np.zeros(self.horizon + 1, dtype=np.int64)
        np.add.at(changes, starts, self.gpus)
        np.add.at(changes, starts + self.duration, -self.gpus)
        return np.cumsum(changes)

    def peak(self, starts: IntArray) -> int:
        """Return the maximum number of GPUs in use at any step."""
        moments = np.concatenate([starts + self.duration, starts])  # at one moment, jobs end before others start
        order = np.argsort(moments, kind="stable")
        return int(np.cumsum(np.concatenate([-self.gpus, self.gpus])[order]).max(initial=0))

    def feasible(self, starts: IntArray) -> bool:
        """Return whether all constraints of Figure 19 hold."""
        timely = (starts >= self.submit).all() and (starts <= self.cutoff).all()
        return bool(timely and self.peak(starts) <= self.capacity)

    def to_slots(self, starts: IntArray) -> IntArray:
        """Convert starts (J,) to slots of the data."""
        return self.origin + (starts - self.submit) * self.slot

    def starts_of(self, data: SiaOracle, solution: Solution) -> IntArray:
        """Return the starts (J,) of a solution in JSON form, each rounded down to a step."""
        starts = np.array([solution["starts"][job.id] for job in data.jobs], dtype=np.int64)
        return self.submit + (starts - self.origin) // self.slot


def slot_arrays(data: SiaOracle) -> OracleArrays:
    """Build the arrays of `data` in the slots and the GPUs of the data."""
    origin = np.array([job.submit for job in data.jobs], dtype=np.int64)
    first = origin.min()
    return OracleArrays(
        submit=origin - first,
        duration=np.array([job.duration for job in data.jobs], dtype=np.int64),
        gpus=np.array([job.gpus for job in data.jobs], dtype=np.int64),
        cutoff=np.array(data.cutoffs, dtype=np.int64) - first,
        capacity=data.capacity,
        origin=origin,
    )


def oracle_arrays(data: SiaOracle) -> OracleArrays:
    """Build the arrays of `data` in the largest time steps and units of GPUs that divide all numbers of the data.

    If submissions and durations are multiples of g slots, rounding every start down to such a multiple keeps a schedule
    feasible. Jobs that then run together at a step all ran together at one of its g slots before. With fairness, the
    cut-offs must be multiples as well. For a fixed order of starts and ends, the objective is then linear in the
    starts, with constraints only on differences and bounds. The unit of GPUs divides all widths. In long schedules,
    stretches in which no job can start or end are removed, because the GPUs in use do not change there.
    """
    plain = slot_arrays(data)
    submit, duration, gpus, window = plain.submit, plain.duration, plain.gpus, plain.cutoff - plain.submit
    whole = [submit, duration, window] if data.fairness_weight else [submit, duration]
    slot = int(np.gcd.reduce(np.concatenate(whole)))
    submit, duration, window, idle = submit // slot, duration // slot, window // slot, (_NONE, _NONE)
    if int((submit + window + duration).max()) > LONG:
        submit, duration, idle = _remove_idle_steps(submit, duration, window)
    unit = int(np.gcd.reduce(gpus))
    return OracleArrays(
        submit=submit,
        duration=duration,
        gpus=gpus // unit,
        cutoff=submit + window,
        capacity=data.capacity // unit,
        origin=plain.origin,
        slot=slot,
        unit=unit,
        idle=idle,
    )


def coarse(arrays: OracleArrays, most_units: int) -> OracleArrays:
    """Return a relaxation of `arrays`: GPUs rounded down to units, with at most `most_units` units in total."""
    unit = -(-arrays.capacity // most_units)
    return replace(arrays, gpus=arrays.gpus // unit, capacity=arrays.capacity // unit, unit=arrays.unit * unit)


def narrow_windows(arrays: OracleArrays, delay: int) -> OracleArrays:
    """Return arrays with windows of at most `delay`, which is valid for schedules of at most this total delay."""
    window = np.minimum(arrays.cutoff - arrays.submit, delay)
    submit, duration = arrays.submit, arrays.duration
    if arrays.horizon > LONG:
        submit, duration, _ = _remove_idle_steps(submit, duration, window)
    return replace(arrays, submit=submit, duration=duration, cutoff=submit + window)


def _remove_idle_steps(
    submit: IntArray, duration: IntArray, window: IntArray
) -> tuple[IntArray, IntArray, tuple[IntArray, IntArray]]:
    """Return submissions, durations and `idle` after removing the steps at which no job may start or end.

    All steps of a job's window and all steps at which the job may end are kept. So the number of steps of a job does
    not depend on its start.
    """
    first = np.concatenate([submit, submit + duration])
    order = np.argsort(first, kind="stable")
    begin, end = first[order], np.maximum.accumulate((first + np.concatenate([window, window]) + 1)[order])
    gap = np.maximum(begin[1:] - end[:-1], 0)
    shown = np.empty_like(first)
    shown[order] = begin - np.concatenate([[0], np.cumsum(gap)])
    behind = np.flatnonzero(gap)
    idle = shown[order][behind + 1] - 1, gap[behind]
    return shown[: len(submit)], shown[len(submit) :] - shown[: len(submit)], idle


def solution_of(data: SiaOracle, arrays: OracleArrays, starts: IntArray) -> dict[str, dict[str, int]]:
    """Return a solution in JSON form with `starts` (J,), given in steps."""
    return {"starts": {job.id: int(t) for job, t in zip(data.jobs, arrays.to_slots(starts), strict=True)}}
