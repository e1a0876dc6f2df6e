"""Pollux as time goes by: every minute the cluster is split anew, and with autoscaling its size is chosen too.

Pollux (OSDI'21) searches with a genetic algorithm. Both of its objectives are sums over the jobs, so the best split is
found exactly, for every size of the cluster at once (section 6.1 of BOA describes what Pollux was given there).

Two rules are of the simulator that section 6.1 follows (petuum/adaptdl, osdi21-artifact, simulator/simulator.py): an
average over the last minutes changes the size (`Cluster.step`), and a job gets no more than twice the GPUs that it
has run on (`get_pollux_job_info`). The BOA authors' own Pollux averages over two (Li-Zhouzi/adaptdl, policy/pollux.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from heuristics.boa.online_kernels import efficiencies, split, splits
from heuristics.boa.online_rigid import nodes_for, widest
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import RentingJobView, RentingView, Widths

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
    - `window`: with autoscaling, the number of efficiencies, one a quantum, whose mean has to leave the band before the
      size is changed; they are counted afresh from then on. 0: the efficiency of the best split of the moment decides.
    - `profiled`: a job gets at most so many times the most GPUs that it has run on, one at first; `None`: no limit.
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
    window: int = 0
    profiled: float | None = None


class Pollux:
    """Pollux with exact splits, or with those of `search(gains, gpus)`, which answers the width of each job."""

    def __init__(
        self, data: BoaRenting, parameters: PolluxParameters = PolluxParameters(), search: Split | None = None
    ) -> None:
        self.parameters, self.search = parameters, search
        self._widest = {name: min(most, parameters.widest) for name, most in widest(data).items()}
        self._per_node = data.gpus_per_node
        self._nodes = nodes_for(data) if parameters.efficiency is None else 0
        self._turn = 0  # 1 where the cluster has grown since a job last came, ended or went on to an epoch, -1: shrunk
        self._next = 0.0
        self._seen: deque[float] = deque(maxlen=parameters.window)  # efficiencies since the size was last changed
        self._waited = 0  # quanta since then
        self._run: dict[str, int] = {}  # the most GPUs that each job has run on
        self._widths: dict[str, int] = {}
        self._believed: BoaAllocation | None = None
        self._speed = np.zeros((0, 1))
        self._row: dict[tuple[str, int], int] = {}

    def decide(self, view: RentingView) -> Widths:
        for name in view.finished:
            self._widths.pop(name, None)
            self._run.pop(name, None)
        if self.parameters.profiled is not None:
            self._profile(view)
        if view.arrived or view.progressed or view.finished:
            self._turn = 0
        if view.now >= self._next:
            quantum = self.parameters.quantum_seconds
            self._next = (view.now // quantum + 1) * quantum
            self._plan(view)
        return Widths(widths=self._widths, nodes=self._nodes, wake_at=self._next)

    def _profile(self, view: RentingView) -> None:
        """Keep in mind how wide each job has run; a job that is being rescaled does not run yet."""
        for name, job in view.jobs.items():
            if job.width > self._run.get(name, 0) and job.paused_until is not None and job.paused_until < view.now:
                self._run[name] = job.width

    def _plan(self, view: RentingView) -> None:
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
            gpus = self._nodes * self._per_node
            width = self._split(jobs, gains, gpus)
        else:
            before = self._nodes
            width = self._autoscaled(jobs, gains, speed)
            if self._nodes != before:
                self._turn = 1 if self._nodes > before else -1
        self._widths = {job.id: int(k) for job, k in zip(jobs, width, strict=True)}

    def _split(self, jobs: list[RentingJobView], gains: FloatArray, gpus: int) -> IntArray:
        """The widths of the jobs in the split of so many GPUs."""
        return split(splits(gains, gpus), gpus) if self.search is None else self._searched(jobs, gains, gpus)

    def _searched(self, jobs: list[RentingJobView], gains: FloatArray, gpus: int) -> IntArray:
        """The split that the search finds, or the present one where it fits and gains no less."""
        assert self.search is not None
        found, present = self.search(gains, gpus), np.array([job.width for job in jobs])
        gained = [gains[np.arange(len(jobs)), width].sum() for width in (found, present)]
        return present if present.sum() <= gpus and gained[1] >= gained[0] else found

    def _autoscaled(self, jobs: list[RentingJobView], gains: FloatArray, speed: FloatArray) -> IntArray:
        """The split of the cluster of the size that is to be had, of all sizes that could be."""
        assert self.parameters.efficiency is not None
        per_node, aim = self._per_node, self.parameters.efficiency
        if self.parameters.window and self._stays(jobs, speed):
            return self._split(jobs, gains, self._nodes * per_node)
        every = -(-int(self._limits(jobs).sum()) // per_node) * per_node
        within = self.parameters.first
        while True:
            most = min(every, -(-beyond(speed, aim - within) // per_node) * per_node)
            most = max(most, min(every, (self._nodes + 1) * per_node), self._nodes * per_node)
            choice = splits(gains, most)
            found = efficiencies(choice, speed, per_node)
            nodes = self._size(found)
            if not self._grows(found) or abs(found[nodes] - aim) <= within or most >= every:
                break  # wider clusters are all further from the aim
            within = min(2 * abs(found[nodes] - aim), aim)
        self._nodes = nodes
        gpus = nodes * per_node
        return split(choice, gpus) if self.search is None else self._searched(jobs, gains, gpus)

    def _size(self, found: FloatArray) -> int:
        """The nodes to have: another number only where the efficiency is outside the band, then the closest to the aim.

        More nodes where it is above, fewer where it is below (section 6.1 of BOA), and the same number where none of
        them is closer. Without that a cluster of which no size is within the band grows and shrinks for ever, and its
        jobs are rescaled at every decision. Efficiencies depend on the widths that jobs hold, so being closer does not
        suffice: until something happens to a job a cluster does not turn round. With a `window` the size is the closest
        of all: its wait keeps a cluster from that.
        """
        aim, now = self.parameters.efficiency, self._nodes
        assert aim is not None
        distance = np.abs(found - aim)
        if self.parameters.window:
            return 1 + int(distance[1:].argmin())
        if self._grows(found):
            least = max(now, 1)
            return least + int(distance[least:].argmin())
        if self._turn <= 0 and found[now] < aim - self._off():
            return 1 + int(distance[1 : now + 1].argmin())
        return now

    def _grows(self, found: FloatArray) -> bool:
        """Whether more nodes are looked for: where there are none, or the efficiency is above the band."""
        aim = self.parameters.efficiency
        if self._nodes == 0 or self.parameters.window:
            return True
        return aim is not None and self._turn >= 0 and bool(found[self._nodes] > aim + self._off())

    def _stays(self, jobs: list[RentingJobView], speed: FloatArray) -> bool:
        """Whether the size is left alone: until there are more efficiencies than the window has, and their mean is off.

        An efficiency is that of the widths that jobs hold, over all GPUs that are rented or ordered.
        """
        aim = self.parameters.efficiency
        assert aim is not None
        if self._nodes:
            held = sum(float(speed[i, job.width]) for i, job in enumerate(jobs))
            self._seen.append(held / (self._nodes * self._per_node))
            self._waited += 1
            if self._waited <= self.parameters.window or abs(fmean(self._seen) - aim) <= self._off():
                return True
        self._seen.clear()
        self._waited = 0
        return False

    def _limits(self, jobs: list[RentingJobView]) -> IntArray:
        """The most GPUs that each job may have (n,)."""
        limits = [self._widest[job.job_class] for job in jobs]
        times = self.parameters.profiled
        if times is not None:
            profiled = (max(int(times * self._run.get(job.id, 0)), job.width, 1) for job in jobs)
            limits = [min(pair) for pair in zip(limits, profiled, strict=True)]
        return np.array(limits)

    def _off(self) -> float:
        """How far from the aim the efficiency may be for the size to be left alone."""
        aim = self.parameters.efficiency or 0.0
        return min(self.parameters.band * (1 - aim), self.parameters.band * aim)

    def _gains(self, jobs: list[RentingJobView], speed: FloatArray, now: float) -> FloatArray:
        """What each job gains at each width (n, K + 1); the sum over the jobs is to be large."""
        gains = self._unlimited(jobs, speed, now)
        if self.parameters.profiled is not None:
            gains[np.arange(gains.shape[1]) > self._limits(jobs)[:, None]] = -np.inf
        return gains

    def _unlimited(self, jobs: list[RentingJobView], speed: FloatArray, now: float) -> FloatArray:
        """The same, for all widths that the classes have speeds for."""
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
        value = scaled * lasting[:, None]
        value[place, width] = scaled[place, width]
        gains = -1 / (value + p.floor)
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
