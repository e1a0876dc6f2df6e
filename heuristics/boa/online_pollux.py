"""Pollux as time goes by: every minute the cluster is split anew, and with autoscaling its size is chosen too.

Pollux (OSDI'21) searches with a genetic algorithm. Both of its objectives are sums over the jobs, so the best split is
found exactly, for every size of the cluster at once (section 6.1 of BOA describes what Pollux was given there).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heuristics.boa.online_kernels import efficiencies, split, splits
from heuristics.boa.online_rigid import nodes_for
from heuristics.boa.widest import widest
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import JobState, View, Widths

MOST = 10**6  # GPUs
Split = Callable[[FloatArray, int], IntArray]


@dataclass(frozen=True)
class PolluxParameters:
    """How Pollux decides.

    - `objective`: `"sum"`, of speedups relative to one GPU, as in its successor AdaptDL; `"mean"`, the power mean with
      exponent -1 of speedups relative to a fair share, as in the paper's artifact.
    - `efficiency`: sum of speedups over GPUs that autoscaling aims at; `None` is a cluster of the budget.
    - `band`: share of the way from the aim to 0 and to 1, the shorter, within which the size is left alone.
    - `quantum_seconds`: time between two decisions.
    - `kept`: with `"sum"` what the speedup of a job counts for whose width changes.
    - `restart_seconds`: with `"mean"` what a restart is taken to last.
    - `floor`: with `"mean"` what is added to every speedup, so that a job that waits has one.
    - `widest`: most GPUs of a job.
    - `first`: with autoscaling, sizes further from the aim than this are looked at only where there is none closer.
    """

    objective: Literal["sum", "mean"] = "sum"
    efficiency: float | None = None
    band: float = 0.3
    quantum_seconds: float = 60.0
    kept: float = 0.9
    restart_seconds: float = 30.0
    floor: float = 1e-3
    widest: int = 64
    first: float = 0.02


class Pollux:
    """Pollux with exact splits, or with those of `search(gains, gpus)`, which answers the width of each job."""

    def __init__(
        self, data: BoaRenting, parameters: PolluxParameters = PolluxParameters(), search: Split | None = None
    ) -> None:
        self.parameters, self.search = parameters, search
        self._widest = {name: min(most, parameters.widest) for name, most in widest(data).items()}
        self._per_node = data.gpus_per_node
        self._nodes = nodes_for(data) if parameters.efficiency is None else 0
        self._next = 0.0
        self._widths: dict[str, int] = {}
        self._believed: BoaAllocation | None = None
        self._speed = np.zeros((0, 1))
        self._row: dict[tuple[str, int], int] = {}

    def decide(self, view: View) -> Widths:
        for name in view.finished:
            self._widths.pop(name, None)
        if view.now >= self._next:
            quantum = self.parameters.quantum_seconds
            self._next = (view.now // quantum + 1) * quantum
            self._plan(view)
        return Widths(widths=self._widths, nodes=self._nodes, wake_at=self._next)

    def _plan(self, view: View) -> None:
        if view.believed is not self._believed:
            self._believe(view.believed)
        jobs = list(view.jobs.values())
        if not jobs:
            self._widths = {}
            self._nodes = 0 if self.parameters.efficiency is not None else self._nodes
            return
        speed = self._speed[[self._row[job.job_class, job.epoch] for job in jobs]]
        gains = self._gains(jobs, speed, view.now)
        if self.parameters.efficiency is None:
            width = self._split(gains, self._nodes * self._per_node)
        else:
            width = self._autoscaled(jobs, gains, speed)
        self._widths = {job.id: int(k) for job, k in zip(jobs, width, strict=True)}

    def _split(self, gains: FloatArray, gpus: int) -> IntArray:
        return split(splits(gains, gpus), gpus) if self.search is None else self.search(gains, gpus)

    def _autoscaled(self, jobs: list[JobState], gains: FloatArray, speed: FloatArray) -> IntArray:
        """The split of the cluster of the size that is to be had, of all sizes that could be."""
        assert self.parameters.efficiency is not None
        per_node, aim = self._per_node, self.parameters.efficiency
        every = -(-sum(self._widest[job.job_class] for job in jobs) // per_node) * per_node
        within = self.parameters.first
        while True:
            most = min(every, -(-beyond(speed, aim - within) // per_node) * per_node)
            most = max(most, min(every, (self._nodes + 1) * per_node), self._nodes * per_node)
            choice = splits(gains, most)
            found = efficiencies(choice, speed, per_node)
            nodes = self._size(found)
            if nodes <= self._nodes or abs(found[nodes] - aim) <= within or most >= every:
                break  # wider clusters are all further from the aim
            within = min(2 * abs(found[nodes] - aim), aim)
        self._nodes = nodes
        gpus = nodes * per_node
        return split(choice, gpus) if self.search is None else self.search(gains, gpus)

    def _size(self, found: FloatArray) -> int:
        """The nodes to have: another number only where the efficiency is outside the band, then the closest to the aim.

        More nodes where it is above, fewer where it is below (section 6.1 of BOA).
        """
        aim, now = self.parameters.efficiency, self._nodes
        assert aim is not None
        off = min(self.parameters.band * (1 - aim), self.parameters.band * aim)
        distance = np.abs(found - aim)
        if now == 0 or found[now] > aim + off:
            return now + 1 + int(distance[now + 1 :].argmin()) if now + 1 < len(found) else now
        if found[now] < aim - off and now > 1:
            return 1 + int(distance[1:now].argmin())
        return now

    def _gains(self, jobs: list[JobState], speed: FloatArray, now: float) -> FloatArray:
        """What each job is worth at each width (n, K + 1); the sum over the jobs is to be large."""
        p = self.parameters
        width = np.array([job.width for job in jobs])
        place = np.arange(len(jobs))
        if p.objective == "sum":
            gains = speed * p.kept
            gains[place, width] = speed[place, width]
            return np.where(speed > 0, gains, np.where(np.arange(speed.shape[1]) == 0, 0.0, -np.inf))
        fair = max(1, -(-self._nodes * self._per_node // len(jobs)))
        base = speed[:, : fair + 1].max(axis=1, keepdims=True)
        age = now - np.array([job.arrival_seconds for job in jobs])
        restarts = np.maximum(0, np.array([job.rescalings for job in jobs]) - 1)
        lasting = np.maximum(age - p.restart_seconds * restarts, 0) / (age + p.restart_seconds)
        scaled = speed / base
        worth = scaled * lasting[:, None]
        worth[place, width] = scaled[place, width]
        gains = -1 / (worth + p.floor)
        past = (speed == 0) & (np.arange(speed.shape[1]) > 0)
        return np.where(past, -np.inf, gains)

    def _believe(self, believed: BoaAllocation) -> None:
        """The speedups that are believed, at whole widths as they were measured, 0 past the last one."""
        self._believed = believed
        rows: list[FloatArray] = []
        self._row = {}
        last = max(self._widest.values())
        for c in believed.classes:
            most = self._widest[c.name]
            for j, epoch in enumerate(c.epochs):
                table = epoch.speedup.table
                curve = epoch.speedup.at(np.arange(1.0, most + 1)) if table is None else table.raw(most)
                self._row[c.name, j] = len(rows)
                rows.append(np.concatenate([[0.0], curve, np.zeros(last - len(curve))]))
        self._speed = np.array(rows)


def beyond(speed: FloatArray, aim: float) -> int:
    """GPUs beyond which no split of them has an efficiency over `aim`; `speed` (n, K + 1).

    With a price of a GPU, no split's speedups add up to more than the price of all and what each job has over it.
    """
    if aim <= 0:
        return MOST
    width = np.arange(speed.shape[1])
    prices = aim * np.linspace(0, 0.95, 20)
    over = [float((speed - price * width).max(axis=1).sum()) / (aim - price) for price in prices]
    return min(MOST, int(np.ceil(min(over))))
