"""A training cluster and what it borrows, between two decisions: jobs arrive and complete, servers come and go.

At one moment jobs complete first, then they arrive, and last the orchestrator lends, or says what it needs back.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable

import numpy as np

from experiments.simulator.aryl.records import Reclaim, Records
from experiments.simulator.aryl.servers import Servers
from experiments.simulator.kernel import Calendar, Event
from instances.arrays import FloatArray, IntArray
from instances.aryl import ArylLoaning
from instances.aryl.live import Demands
from instances.online import RuleBroken

COMPLETION, ARRIVAL, ORCHESTRATOR = range(3)
"""The order in which things happen at one moment."""
LEAST_BELIEVED = 1.0  # worker-seconds that policies believe to be left of a job that takes longer than was predicted
CHECK_SECONDS = 14_400.0  # between two counts of all that is kept


class Cluster:
    """Jobs and servers of a workload, and the calendar of all that happens to them.

    Jobs go by their places in order of arrival. `waiting` is in that order. `arrived`, `finished` and `preempted` are
    jobs since somebody looked, and `wanted` the servers that have to go back now.
    """

    def __init__(self, data: ArylLoaning) -> None:
        self.data = data
        self.jobs = sorted(data.jobs, key=lambda job: job.arrival_seconds)
        self.demands = Demands.of(data)
        self.servers = Servers(data, self.demands)
        self.calendar = Calendar()
        self.work = np.array([job.work for job in self.jobs])
        self.left = self.work.copy()
        self.predicted = np.array([job.predicted_work for job in self.jobs])
        self.rate = np.zeros(len(self.jobs))
        self.since = np.zeros(len(self.jobs))
        """When `left` was, or when progress begins where that is still to come."""
        self.waiting: list[int] = []
        self.elastic: set[int] = set()
        """Elastic jobs that run."""
        self.unfinished = len(self.jobs)
        self.arrived: list[int] = []
        self.finished: list[int] = []
        self.preempted: list[int] = []
        self.wanted = self.lendable = 0
        self.next_step = 0.0
        """The next moment of the orchestrator."""
        self.records = Records(self)
        self._end_of_load = len(data.inference_load.use) * data.inference_load.step_seconds
        self._last_check = 0.0
        self._completions: list[Event | None] = [None] * len(self.jobs)
        self._running: set[int] = set()
        self._to_come = 0
        self._calendar_arrival()
        self.calendar.at(0.0, self._orchestrate, rank=ORCHESTRATOR)

    @property
    def now(self) -> float:
        """The moment that it is, in seconds."""
        return self.calendar.now

    @property
    def running(self) -> Collection[int]:
        """Jobs that have their base workers."""
        return self._running

    def go_to(self, moment: float) -> None:
        """Let happen what does until a moment, and at that moment."""
        while self.calendar and self.calendar.next_moment <= moment:
            self.calendar.advance()
        self.calendar.now = max(self.calendar.now, moment)
        self.records.integrate()

    def done(self, places: IntArray) -> FloatArray:
        """Worker-seconds that are done of some jobs, and not lost."""
        passed = np.maximum(0.0, self.now - self.since[places])
        return self.work[places] - self.left[places] + self.rate[places] * passed

    def believed_left(self, places: IntArray) -> FloatArray:
        """Worker-seconds that policies believe to be left of some jobs."""
        return np.maximum(LEAST_BELIEVED, self.predicted[places] - self.done(places))

    def start(self, job: int, *, loans: bool = True) -> bool:
        """Start a job that waits on its base workers; whether there is room."""
        if not self.servers.start(job, loans=loans):
            return False
        del self.waiting[bisect_left(self.waiting, job)]
        self._running.add(job)
        again = self.records.start(job)
        self.since[job] = self.now + (self.data.preemption_seconds if again else 0.0)
        if not self.demands.inelastic[job]:
            self.elastic.add(job)
        return True

    def settle(self) -> None:
        """Let the jobs whose workers have changed go on at their new speed."""
        for job in sorted(self.servers.touched):
            if job in self._running:
                self._set_rate(job)
        self.servers.touched.clear()

    def take_back(self, gone: Iterable[int], *, regroup: bool) -> None:
        """Return loaned servers, and preempt the jobs that cannot go on without them."""
        servers, places = self.servers, set(gone)
        hit = sorted({job for s in places for job in servers.base_on[s]})
        loaned, idle = servers.on_loan, sum(not servers.base_on[s] for s in places)
        held = sum(servers.used), sum(servers.gpus - int(servers.free[s]) for s in places)
        lost = [job for job in hit if not (regroup and servers.regroup(job, places))]
        for job in lost:
            self._preempt(job)
        for s in sorted(places):
            servers.clear_flexible(s)
            servers.give_back(s)
        collateral = held[0] - sum(servers.used) - held[1]
        self.records.reclaims.append(Reclaim(self.now, loaned, len(places), idle, len(lost), collateral))
        self.wanted = 0
        self.settle()

    def _calendar_arrival(self) -> None:
        if self._to_come < len(self.jobs):
            self.calendar.at(self.jobs[self._to_come].arrival_seconds, self._arrive, rank=ARRIVAL)

    def _arrive(self) -> None:
        job = self._to_come
        self._to_come += 1
        self.records.queue(job)
        self.waiting.append(job)
        self.arrived.append(job)
        self._calendar_arrival()

    def _orchestrate(self) -> None:
        """Lend what the load leaves, or say what it needs back; once the load is over there is nothing to lend."""
        data, servers = self.data, self.servers
        self.records.integrate()
        if servers.on_loan > self.lendable:
            raise RuleBroken(f"{servers.on_loan} servers are on loan at {self.now}, {self.lendable} may be")
        target = self.lendable = data.lendable(self.now)
        if servers.on_loan < target:
            servers.lend(target - servers.on_loan)
        self.wanted = servers.on_loan - target
        self.records.step(target)
        if self.now - self._last_check >= CHECK_SECONDS:
            self._last_check = self.now
            servers.check(self.now)
        if self.unfinished and (self.now < self._end_of_load or servers.on_loan):
            step = round(self.now / data.orchestrator_period_seconds) + 1
            self.next_step = step * data.orchestrator_period_seconds
            self.calendar.at(self.next_step, self._orchestrate, rank=ORCHESTRATOR)
        else:
            self.next_step = np.inf

    def _set_rate(self, job: int) -> None:
        self._progress(job)
        loaned = int(self.servers.loaned_workers[job])
        workers = int(self.servers.workers[job])
        rate = self.data.speed(self.jobs[job], workers - loaned, loaned)
        self.records.hold(job)
        if rate == self.rate[job]:
            return
        self.rate[job] = rate
        event = self._completions[job]
        if event is not None:
            event.cancel()
        if not rate > 0:
            raise RuleBroken(f"job {self.demands.ids[job]} runs on {workers} workers at {self.now} without progress")
        end = max(self.now, self.since[job]) + max(0.0, self.left[job]) / rate
        self._completions[job] = self.calendar.at(end, lambda: self._complete(job), rank=COMPLETION)

    def _progress(self, job: int) -> None:
        """Count what has been done until now."""
        passed = self.now - self.since[job]
        if passed > 0:
            done = self.rate[job] * passed
            self.left[job] -= done
            self.records.work(job, done)
            self.since[job] = self.now

    def _complete(self, job: int) -> None:
        self.records.integrate()
        self._progress(job)
        self._completions[job] = None
        self._stop(job)
        self.records.finish(job)
        self.finished.append(job)
        self.unfinished -= 1

    def _preempt(self, job: int) -> None:
        self._progress(job)
        event = self._completions[job]
        if event is not None:
            event.cancel()
            self._completions[job] = None
        self._stop(job)
        lost = 0.0 if self.jobs[job].checkpointed else float(self.work[job] - self.left[job])
        self.left[job] += lost
        self.records.preempt(job, lost)
        self.records.queue(job)
        insort(self.waiting, job)
        self.preempted.append(job)

    def _stop(self, job: int) -> None:
        self.servers.release(job)
        self.servers.touched.discard(job)
        self.records.hold(job)
        self.rate[job] = 0.0
        self._running.discard(job)
        self.elastic.discard(job)
