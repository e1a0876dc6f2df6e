"""Pollux as an online policy: it splits the cluster again every minute; with autoscaling it also chooses the size.

Pollux (OSDI'21) searches with a genetic algorithm. Both of its objectives are sums over the jobs. So a dynamic program
finds the best split exactly, for all sizes of the cluster at once. Section 6.1 of BOA describes the budget of Pollux.

Two rules come from the simulator that section 6.1 follows (petuum/adaptdl, osdi21-artifact, simulator/simulator.py). An
average over the last minutes changes the size (`Cluster.step`), and a job gets at most twice the GPUs that it has run
on (`get_pollux_job_info`). The BOA authors' own Pollux averages over two minutes (Li-Zhouzi/adaptdl, policy/pollux.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np

from heuristics.boa.online_rigid import count_nodes, max_widths
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import RentingJobView, RentingView, Widths
from instances.compiled import compile_lazily

MAX_GPUS = 10**6  # upper limit if efficiencies limit nothing
Split = Callable[[FloatArray, int], IntArray]


@dataclass(frozen=True)
class PolluxParameters:
    """The parameters of Pollux.

    - `objective`: `"sum"`, the sum of speedups relative to one GPU, as in its successor AdaptDL; `"mean"`, the power
      mean with exponent -1 of speedups relative to a fair share, as in the paper's artifact.
    - `efficiency`: target of autoscaling for the sum of speedups over GPUs; `None` for a fixed cluster of the budget.
    - `band`: the size stays unchanged if the efficiency is within this fraction of the distance from the target to 0 or
      1, whichever is closer.
    - `quantum_seconds`: time between two decisions.
    - `kept`: with `"sum"`, factor on the speedup of a job whose width changes.
    - `restart_seconds`: with `"mean"`, assumed time of a restart.
    - `floor`: with `"mean"`, constant added to every speedup, so that it is positive for a waiting job.
    - `widest`: maximum number of GPUs of a job.
    - `first`: with autoscaling, sizes farther than this from the target are evaluated only if there is none closer.
    - `window`: with autoscaling, number of efficiencies, one per quantum, whose mean has to leave the band before the
      size changes. The window is then cleared. 0: the efficiency of the current best split decides.
    - `profiled`: maximum ratio of a job's GPUs to the most it has run on, which begins at one; `None` for no limit.
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
    """Pollux with exact splits, or with those of `search(gains, gpus)`, which returns the width of each job."""

    def __init__(
        self, data: BoaRenting, parameters: PolluxParameters = PolluxParameters(), search: Split | None = None
    ) -> None:
        self.parameters, self.search = parameters, search
        self._widest = {name: min(most, parameters.widest) for name, most in max_widths(data).items()}
        self._per_node = data.gpus_per_node
        self.nodes = count_nodes(data) if parameters.efficiency is None else 0
        self._direction = 0  # 1 or -1: the cluster grew or shrank since the last event of a job
        self._next = 0.0
        self._seen: deque[float] = deque(maxlen=parameters.window)  # efficiencies since the last change of size
        self._waited = 0  # quanta since the last change of size
        self._run: dict[str, int] = {}  # maximum number of GPUs that each job has run on
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
            self._direction = 0
        if view.now >= self._next:
            quantum = self.parameters.quantum_seconds
            self._next = (view.now // quantum + 1) * quantum
            self._plan(view)
        return Widths(widths=self._widths, nodes=self.nodes, wake_at=self._next)

    def _profile(self, view: RentingView) -> None:
        """Record how wide each job has run; a job that is being rescaled does not run yet."""
        for name, job in view.jobs.items():
            if job.width > self._run.get(name, 0) and job.paused_until is not None and job.paused_until < view.now:
                self._run[name] = job.width

    def _plan(self, view: RentingView) -> None:
        if view.believed is not self._believed:
            self._store_speedups(view.believed)
        jobs = list(view.jobs.values())
        if not jobs:
            self._widths = {}
            self.nodes = 0 if self.parameters.efficiency is not None else self.nodes
            return
        speed = self._speed[[self._row[job.job_class, job.epoch] for job in jobs]]
        gains = self._gains(jobs, speed, view.now)
        if self.parameters.efficiency is None:
            gpus = self.nodes * self._per_node
            width = self._split(jobs, gains, gpus)
        else:
            before = self.nodes
            width = self._autoscale(jobs, gains, speed)
            if self.nodes != before:
                self._direction = 1 if self.nodes > before else -1
        self._widths = {job.id: int(k) for job, k in zip(jobs, width, strict=True)}

    def _split(
        self, jobs: list[RentingJobView], gains: FloatArray, gpus: int, choice: IntArray | None = None
    ) -> IntArray:
        """Return the widths of the jobs in the best split of `gpus` GPUs, of `choice` from `splits` if it is known.

        With a search, it is the split that this finds, or the current one if it fits and gains as much.
        """
        if self.search is None:
            return split(splits(gains, gpus) if choice is None else choice, gpus)
        candidate, present = self.search(gains, gpus), np.array([job.width for job in jobs])
        totals = [gains[np.arange(len(jobs)), width].sum() for width in (candidate, present)]
        return present if present.sum() <= gpus and totals[1] >= totals[0] else candidate

    def _autoscale(self, jobs: list[RentingJobView], gains: FloatArray, speed: FloatArray) -> IntArray:
        """Choose the size of the cluster, and return the split of the cluster of this size."""
        assert self.parameters.efficiency is not None
        per_node, aim = self._per_node, self.parameters.efficiency
        if self.parameters.window and self._keeps_size(jobs, speed):
            return self._split(jobs, gains, self.nodes * per_node)
        all_gpus = -(-int(self._max_widths(jobs).sum()) // per_node) * per_node
        within = self.parameters.first
        while True:
            max_gpus = min(all_gpus, -(-max_useful_gpus(speed, aim - within) // per_node) * per_node)
            max_gpus = max(max_gpus, min(all_gpus, (self.nodes + 1) * per_node), self.nodes * per_node)
            choice = splits(gains, max_gpus)
            efficiency = efficiencies(choice, speed, per_node)
            nodes = self.choose_size(efficiency)
            if not self._may_grow(efficiency) or abs(efficiency[nodes] - aim) <= within or max_gpus >= all_gpus:
                break  # larger clusters are all farther from the target
            within = min(2 * abs(efficiency[nodes] - aim), aim)
        self.nodes = nodes
        return self._split(jobs, gains, nodes * per_node, choice)

    def choose_size(self, efficiency: FloatArray) -> int:
        """Return the number of nodes: unchanged within the band, otherwise the one closest to the target.

        - `efficiency` (sizes,): efficiency of the best split for each number of nodes.

        If the efficiency is above the band, only larger sizes are candidates; below the band, only smaller ones
        (section 6.1 of BOA). The size is also kept if no candidate is closer. Otherwise a cluster that has no size
        within the band would grow and shrink forever, and its jobs would be rescaled at every decision. Efficiencies
        depend on the current widths, so a closer size alone does not suffice: the direction may reverse only after an
        event of a job. With a `window`, the closest of all sizes is chosen, because the wait prevents such oscillation.
        """
        aim, now = self.parameters.efficiency, self.nodes
        assert aim is not None
        distance = np.abs(efficiency - aim)
        if self.parameters.window:
            return 1 + int(distance[1:].argmin())
        if self._may_grow(efficiency):
            start = max(now, 1)
            return start + int(distance[start:].argmin())
        if self._direction <= 0 and efficiency[now] < aim - self._half_band():
            return 1 + int(distance[1 : now + 1].argmin())
        return now

    def _may_grow(self, efficiency: FloatArray) -> bool:
        """Return whether larger sizes are candidates: there are no nodes, or the efficiency is above the band."""
        aim = self.parameters.efficiency
        if self.nodes == 0 or self.parameters.window:
            return True
        return aim is not None and self._direction >= 0 and bool(efficiency[self.nodes] > aim + self._half_band())

    def _keeps_size(self, jobs: list[RentingJobView], speed: FloatArray) -> bool:
        """Return whether the size stays unchanged: the window is not full, or its mean is within the band.

        An efficiency is that of the current widths, over all GPUs that are rented or ordered.
        """
        aim = self.parameters.efficiency
        assert aim is not None
        if self.nodes:
            held = sum(float(speed[i, job.width]) for i, job in enumerate(jobs))
            self._seen.append(held / (self.nodes * self._per_node))
            self._waited += 1
            if self._waited <= self.parameters.window or abs(fmean(self._seen) - aim) <= self._half_band():
                return True
        self._seen.clear()
        self._waited = 0
        return False

    def _max_widths(self, jobs: list[RentingJobView]) -> IntArray:
        """Return the maximum number of GPUs of each job (n,)."""
        limits = [self._widest[job.job_class] for job in jobs]
        times = self.parameters.profiled
        if times is not None:
            profiled = (max(int(times * self._run.get(job.id, 0)), job.width, 1) for job in jobs)
            limits = [min(pair) for pair in zip(limits, profiled, strict=True)]
        return np.array(limits)

    def _half_band(self) -> float:
        """Return the half-width of the band around the target."""
        aim = self.parameters.efficiency or 0.0
        return min(self.parameters.band * (1 - aim), self.parameters.band * aim)

    def _gains(self, jobs: list[RentingJobView], speed: FloatArray, now: float) -> FloatArray:
        """Return the gain of each job at each width (n, K + 1); the sum over the jobs is maximised."""
        gains = self._compute_gains(jobs, speed, now)
        if self.parameters.profiled is not None:
            gains[np.arange(gains.shape[1]) > self._max_widths(jobs)[:, None]] = -np.inf
        return gains

    def _compute_gains(self, jobs: list[RentingJobView], speed: FloatArray, now: float) -> FloatArray:
        """Return the gains for all widths that have a speed, without the limits of `profiled`."""
        p = self.parameters
        width = np.array([job.width for job in jobs])
        place = np.arange(len(jobs))
        if p.objective == "sum":
            gains = speed * p.kept
            gains[place, width] = speed[place, width]
            return np.where(speed > 0, gains, np.where(np.arange(speed.shape[1]) == 0, 0.0, -np.inf))
        fair = max(1, -(-self.nodes * self._per_node // len(jobs)))
        base = speed[:, : fair + 1].max(axis=1, keepdims=True)
        age = now - np.array([job.arrival_seconds for job in jobs])
        restarts = np.maximum(0, np.array([job.rescalings for job in jobs]) - 1)
        lasting = np.maximum(age - p.restart_seconds * restarts, 0) / (age + p.restart_seconds)
        scaled = speed / base
        value = scaled * lasting[:, None]
        value[place, width] = scaled[place, width]
        gains = -1 / (value + p.floor)
        is_unavailable = (speed == 0) & (np.arange(speed.shape[1]) > 0)
        return np.where(is_unavailable, -np.inf, gains)

    def _store_speedups(self, believed: BoaAllocation) -> None:
        """Store the estimated speedups at integer widths; 0 beyond the last width."""
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


def max_useful_gpus(speed: FloatArray, aim: float) -> int:
    """Return a number of GPUs above which no split has an efficiency over `aim`; `speed` (n, K + 1).

    For a price per GPU, the speedups of a split add up to at most the price of all GPUs plus each job's maximum surplus
    over it.
    """
    if aim <= 0:
        return MAX_GPUS
    width = np.arange(speed.shape[1])
    prices = aim * np.linspace(0, 0.95, 20)
    limits = [float((speed - price * width).max(axis=1).sum()) / (aim - price) for price in prices]
    return min(MAX_GPUS, int(np.ceil(min(limits))))


@compile_lazily
def splits(gain: FloatArray, max_gpus: int) -> IntArray:
    """Return the choices (n, max_gpus + 1) of a dynamic program over jobs and GPUs, from which `split` reads widths.

    - `gain` (n, K + 1): gain of each job at each width, including 0; the sum is maximised.
    - `max_gpus`: maximum number of GPUs.

    A width is never chosen if a narrower one gains as much. A tie goes to the narrower width.
    """
    jobs, last = gain.shape
    value = np.zeros(max_gpus + 1)
    choice = np.zeros((jobs, max_gpus + 1), dtype=np.int64)
    widths = np.empty(last, dtype=np.int64)
    for j in range(jobs):
        count, best = 0, -np.inf
        for k in range(last):
            if gain[j, k] > best:
                best = gain[j, k]
                widths[count] = k
                count += 1
        new = np.empty(max_gpus + 1)
        for gpus in range(max_gpus + 1):
            top, at = -np.inf, 0
            for i in range(count):
                k = widths[i]
                if k > gpus:
                    break
                sum_here = value[gpus - k] + gain[j, k]
                if sum_here > top:
                    top, at = sum_here, k
            new[gpus] = top
            choice[j, gpus] = at
        value = new
    return choice


@compile_lazily
def split(choice: IntArray, gpus: int) -> IntArray:
    """Return the widths (n,) of the jobs in the best split of `gpus` GPUs."""
    jobs = choice.shape[0]
    width = np.zeros(jobs, dtype=np.int64)
    left = gpus
    for j in range(jobs - 1, -1, -1):
        width[j] = choice[j, left]
        left -= width[j]
    return width


@compile_lazily
def efficiencies(choice: IntArray, speed: FloatArray, gpus_per_node: int) -> FloatArray:
    """Return the sum of speedups over GPUs in the best split of 1, 2, ... nodes; `speed` (n, K + 1)."""
    nodes = (choice.shape[1] - 1) // gpus_per_node
    efficiency = np.zeros(nodes + 1)
    for m in range(1, nodes + 1):
        width = split(choice, m * gpus_per_node)
        total = 0.0
        for j in range(len(width)):
            total += speed[j, width[j]]
        efficiency[m] = total / (m * gpus_per_node)
    return efficiency
