"""BOA's renting world: jobs arrive, widths change, nodes are ordered and released. All GPUs are interchangeable.

A change of width pauses a job for its rescaling time; the job holds the new width meanwhile, as in Lemma 4.8. The clock
counts seconds. At one time, nodes become ready first, then epochs end, then jobs arrive.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from experiments.simulator.boa.nodes import Nodes, RentingJobState, jobs_of
from experiments.simulator.boa.records import RentingRecords
from experiments.simulator.kernel import HOUR, Activity, World
from instances.boa import BoaRenting
from instances.boa.learned import LearnedClasses
from instances.boa.online import RentingJobView, RentingView, Widths
from instances.online import RuleBroken

NODE, EPOCH_END, ARRIVAL, TICK = range(4)  # the order of simultaneous events
PATIENCE = 2_000  # maximum number of decision times without an event and without progress of any job
MOST_ASKED = 100_000  # maximum number of consecutive decisions without another event


class RentingWorld(World[RentingRecords]):
    """A `boa-renting` workload."""

    def __init__(self, data: BoaRenting) -> None:
        super().__init__()
        self.data = data
        self.nodes = Nodes(data, self.calendar, rank=NODE)
        all_jobs = jobs_of(data)
        self.records = RentingRecords(data, self.calendar, all_jobs, self.nodes)
        self._gpus = data.gpus_per_node
        self._jobs: dict[str, RentingJobState] = {}  # unfinished
        self._shown: dict[str, RentingJobView] = {}
        self._arrived: list[str] = []
        self._progressed: list[str] = []
        self._finished: list[str] = []
        self._to_come = len(all_jobs)
        self._held = 0
        self._partial: RentingJobState | None = None  # it runs on what was left
        self._happened = False
        self._idle = self._asked = 0
        self._tick = data.period_seconds == 0
        self._tick_at = -1.0
        self._estimate_at = data.estimate_seconds or float("inf")
        self._learned = LearnedClasses(data) if data.estimate_seconds else None
        self._view = RentingView(
            0.0, self._gpus, MappingProxyType(self._shown), MappingProxyType(self.nodes.states), data.believed
        )
        for job in all_jobs:
            self.calendar.at(job.arrival, partial(self._arrive, job), rank=ARRIVAL)

    def view(self) -> RentingView:
        view = self._view
        now = view.now = self.calendar.now
        view.ready_gpus = self.nodes.ready * self._gpus
        if now >= self._estimate_at:
            self._estimate(now)
        view.arrived, view.finished = tuple(self._arrived), tuple(self._finished)
        view.progressed = tuple(self._progressed)
        return view

    def apply(self, decision: Widths) -> None:
        """Apply widths and the number of nodes; after the last job, release every node."""
        nodes, happened = self.nodes, self._happened
        if happened:
            self._happened = False
            self._arrived.clear()
            self._progressed.clear()
            self._finished.clear()
        if not self._jobs and not self._to_come:
            nodes.give_up(len(nodes.states))
        elif self._tick:
            self._let(decision)
        self.records.moment(nodes.ready, self._held, len(self._jobs))
        if happened:
            self._idle = self._asked = 0
        elif self._jobs:
            self._refuse_standstill()
        if self.data.period_seconds:
            self._next_tick()

    def waiting(self) -> str | None:
        return f"job {next(iter(self._jobs))}" if self._jobs else None

    def _arrive(self, job: RentingJobState) -> None:
        self._to_come -= 1
        self._jobs[job.id] = job
        self._shown[job.id] = job.state
        self._arrived.append(job.id)
        self._happened = True
        job.work = Activity(self.calendar, job.sizes[0], partial(self._end_epoch, job), rank=EPOCH_END, rounding=0.0)
        if self._learned is not None:
            self._learned.arrive(job.kind.index, self.calendar.now)

    def _end_epoch(self, job: RentingJobState) -> None:
        now, self._happened = self.calendar.now, True
        self._note(job)
        job.epoch += 1
        if job.epoch == len(job.sizes):
            self._end(job)
            return
        job.work.renew(job.sizes[job.epoch])
        job.since = job.active_from = now
        self._progressed.append(job.id)
        self._go_on(job)
        state = job.state
        state.epoch, state.seen_at, state.remaining_hours = job.epoch, now, job.kind.mean_from[job.epoch]

    def _end(self, job: RentingJobState) -> None:
        job.end = self.calendar.now
        self._held -= job.width
        self.nodes.leave(job)
        job.state.width = job.width = 0
        if self._partial is job:
            self._partial = None
        del self._jobs[job.id], self._shown[job.id]
        self._finished.append(job.id)

    def _note(self, job: RentingJobState) -> None:
        """Record the stretch that ends now, at one width in one epoch."""
        now = self.calendar.now
        self.records.stretches.append((job.index, job.epoch, job.since, job.active_from, now, job.width, job.rate))
        if self._learned is not None and now > job.active_from:
            self._learned.run(job.kind.index, job.epoch, job.width, job.rate, now)

    def _go_on(self, job: RentingJobState) -> None:
        """Continue the work at the job's width, from `active_from` on."""
        job.rate = job.kind.speed(job.epoch, job.width)
        job.work.set_rate(job.rate, job.active_from)
        job.state.speed = job.rate * job.kind.data.epochs[job.epoch].size_hours * HOUR / job.sizes[job.epoch]

    def _set_width(self, job: RentingJobState, width: int) -> None:
        """Change the width of a job, and pause it unless it goes to the queue."""
        now, state = self.calendar.now, job.state
        if job.width:
            if now > job.since:
                self._note(job)
            job.work.stop()
            job.show(now)
        self._held += width - job.width
        job.width = state.width = width
        job.since = now
        if not width:
            self.nodes.leave(job)
            state.speed = 0.0
            state.paused_until = None
            return
        cold = self.nodes.place(job)
        pause = job.kind.cold if cold and job.kind.cold is not None else job.kind.pause
        job.active_from = state.paused_until = now + pause
        state.rescalings += 1
        if job.start is None:
            job.start = now
        self._go_on(job)

    def _let(self, decision: Widths) -> None:
        """Shrink jobs, order nodes, grow jobs in order while GPUs suffice, and release surplus nodes."""
        growing = []
        for name, width in decision.widths.items():
            job = self._jobs.get(name)
            if job is None:
                raise RuleBroken(f"job {name} is given {width} GPUs at {self.calendar.now}, but is not there")
            if width != job.width:
                if width != int(width) or width < 0:
                    raise RuleBroken(f"job {name} is given {width} GPUs at {self.calendar.now}")
                if width > job.width:
                    growing.append((job, int(width)))
                else:
                    self._set_width(job, int(width))
        self.nodes.aim(decision.nodes)
        if growing:
            self._grow(growing)
        if len(self.nodes.states) > decision.nodes:
            spare = (self.nodes.ready * self._gpus - self._held) // self._gpus
            self.nodes.give_up(min(spare, len(self.nodes.states) - decision.nodes))

    def _grow(self, growing: list[tuple[RentingJobState, int]]) -> None:
        short, partial_job = None, self._partial
        for job, width in growing:
            if width > job.kind.last:
                job.kind.refuse(width)
            if self._held + width - job.width <= self.nodes.ready * self._gpus:
                self._set_width(job, width)
                if job is partial_job:
                    partial_job = self._partial = None
            elif short is None and not job.width:
                short = job
        left = self.nodes.ready * self._gpus - self._held
        if short is None or left <= 0 or not self.data.partial_jobs:
            return
        if partial_job is None or not any(job is partial_job for job, _ in growing):
            self._set_width(short, left)
            self._partial = short

    def _refuse_standstill(self) -> None:
        """Raise RuleBroken if the run would not end: jobs move forever, or the policy is asked forever."""
        now = self.calendar.now
        self._asked += 1
        self._idle = 0 if any(job.width and job.active_from < now for job in self._jobs.values()) else self._idle + 1
        if self._idle > PATIENCE or self._asked > MOST_ASKED:
            times = self._asked if self._asked > MOST_ASKED else self._idle
            raise RuleBroken(f"{self.waiting()} is not done at {now}, and nothing has happened at {times} moments")

    def _next_tick(self) -> None:
        """Schedule the next multiple of the period at which widths may change, if there are jobs."""
        self._tick = False
        if not self._jobs and not self.nodes.states:
            return
        period = self.data.period_seconds
        due = (self.calendar.now // period + 1) * period
        if due > self._tick_at:
            self._tick_at = due
            self.calendar.at(due, self._ticks, rank=TICK)

    def _ticks(self) -> None:
        self._tick = True

    def _estimate(self, now: float) -> None:
        """Update the estimates of the classes from the observed runs."""
        assert self._learned is not None
        for job in self._jobs.values():
            if job.width and now > job.active_from:
                self._learned.run(job.kind.index, job.epoch, job.width, job.rate, now)
        self._view.believed = self._learned.believed(now)
        every = self.data.estimate_seconds
        self._estimate_at = (now // every + 1) * every
