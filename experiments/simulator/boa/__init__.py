"""BOA's renting world: jobs arrive, widths change, nodes are ordered and released. All GPUs are interchangeable.

A change of width pauses a job for its rescaling time; the job holds the new width meanwhile, as in Lemma 4.8. The clock
counts seconds. At one time, nodes become ready first, then epochs end, then jobs arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import fsum
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from experiments.simulator.boa.nodes import Nodes, RentedNode, RentingJobState, jobs_of
from experiments.simulator.kernel import HOUR, TOLERANCE, Activity, Calendar, Records, World, refuse_unequal
from instances.arrays import FloatArray
from instances.boa import BoaRenting
from instances.boa.online import LearnedClasses, RentingJobView, RentingView, Widths
from instances.online import RuleBroken

NODE, EPOCH_END, ARRIVAL, TICK = range(4)  # the order of simultaneous events
PATIENCE = 2_000  # maximum number of decision times without an event and without progress of any job
MOST_ASKED = 100_000  # maximum number of consecutive decisions without another event


class RentingWorld(World["RentingRecords"]):
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
            self._schedule_tick()

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

    def _schedule_tick(self) -> None:
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


COLUMNS = ("job", "epoch", "since", "active_from", "until", "width", "rate")
Stretches = Mapping[str, FloatArray]
"""Stretches of jobs as arrays, by COLUMNS."""


class RentingRecords(Records):
    """Records of a run.

    - `stretches`: one tuple for each stretch of a job at one width in one epoch: the job's index, the epoch, the times
      of its begin, of the begin of progress and of its end, the width, and the speed.
    - `nodes`: all nodes ever ordered.
    """

    def __init__(self, data: BoaRenting, calendar: Calendar, jobs: Sequence[RentingJobState], nodes: Nodes) -> None:
        self._data, self._calendar, self._jobs = data, calendar, jobs
        self.fleet, self.nodes = nodes.fleet, nodes.ever
        self.stretches: list[tuple[int, int, float, float, float, int, float]] = []
        self._moments: list[tuple[float, int, int, int]] = []
        self._last: tuple[int, int, int, int] | None = None

    def moment(self, ready: int, held: int, jobs: int) -> None:
        """Record the state after an event time: ready nodes, held GPUs, and jobs."""
        found = (len(self.nodes), ready, held, jobs)
        if found != self._last:
            self._last = found
            self._moments.append((self._calendar.now, ready, held, jobs))

    def arrays(self) -> dict[str, FloatArray]:
        """Return the stretches as arrays, by COLUMNS."""
        found = np.array(self.stretches, dtype=float).reshape(-1, len(COLUMNS))
        return {name: found[:, i] for i, name in enumerate(COLUMNS)}

    def stretches_table(self) -> pd.DataFrame:
        """Return one row per stretch, see COLUMNS, times in seconds; `job` is the index in order of arrival."""
        return pd.DataFrame(self.arrays()).astype({"job": int, "epoch": int, "width": int})

    def jobs_table(self) -> pd.DataFrame:
        """Return one row per job in order of arrival, times in seconds; `NaN` for events that have not happened.

        `delay`: total time without GPUs; `run`: time with progress; `gpu_hours`: held GPU-hours, including pauses.
        """
        found = self.arrays()
        held = found["until"] - found["since"]
        run = np.maximum(0, found["until"] - np.maximum(found["since"], found["active_from"]))
        index = found["job"].astype(int)
        total = {
            name: np.bincount(index, weights=values, minlength=len(self._jobs))
            for name, values in {"held": held, "run": run, "gpus": held * found["width"]}.items()
        }
        rows = []
        for job in self._jobs:
            jct = None if job.end is None else job.end - job.arrival
            delay = None if jct is None else max(0.0, jct - total["held"][job.index])
            gpu_hours = total["gpus"][job.index] / HOUR
            rows.append(
                (job.id, job.state.job_class, job.arrival, job.start, job.end, delay, jct, total["run"][job.index],
                 job.state.rescalings, gpu_hours)
            )  # fmt: skip
        columns = ["job", "class", "submit", "start", "end", "delay", "jct", "run", "rescalings", "gpu_hours"]
        return pd.DataFrame(rows, columns=columns)

    def timeline_table(self) -> pd.DataFrame:
        """Return one row per change: seconds, rented, ready and held GPUs, and unfinished jobs."""
        gpus = self._data.gpus_per_node
        time = np.array([m[0] for m in self._moments])
        edges, count = self._count_rented()
        rented = count[np.searchsorted(edges, time, side="right") - 1] if len(edges) else np.zeros(len(time))
        columns = {"time": time, "rented": rented * gpus, "ready": [m[1] * gpus for m in self._moments]}
        return pd.DataFrame(columns | {"held": [m[2] for m in self._moments], "jobs": [m[3] for m in self._moments]})

    def totals(self) -> dict[str, Any]:
        """Return the bill and the use of the rented GPUs.

        `rented_gpus`: the bill divided by the time until the last arrival, which is comparable with a budget.
        Efficiency is speed over rented GPUs, over the entire bill and averaged over time. The scheduler's view counts
        jobs in rescaling as running (`seen_efficiency`); `efficiency` counts only the work done.
        """
        billed = self.fleet.bill
        span = max(job.arrival for job in self._jobs) / HOUR
        found = self.arrays()
        since, until, rate = (found[name] for name in ("since", "until", "rate"))
        active = np.minimum(np.maximum(since, found["active_from"]), until)
        held = fsum((found["width"] * (until - since)).tolist()) / HOUR
        integral = self._per_gpu()
        there = integral.hours
        seen, done = (fsum((rate * (until - a)).tolist()) / HOUR for a in (since, active))
        over_time = [fsum((rate * (integral.at(until) - integral.at(a))).tolist()) for a in (since, active)]
        return {
            "billed_gpu_h": billed,
            "budget_gpus": self._data.budget_gpus,
            "rented_gpus": billed / span if span else None,
            "rescalings": sum(job.state.rescalings for job in self._jobs),
            "nodes_rented": len(self.nodes),
            "mean_allocation": held / billed if billed else None,
            "seen_efficiency": seen / billed if billed else None,
            "efficiency": done / billed if billed else None,
            "seen_efficiency_over_time": over_time[0] / there if there else None,
            "efficiency_over_time": over_time[1] / there if there else None,
        }

    def check(self) -> None:
        """Check that all work is done, on no more GPUs than were ready, and that the bill matches the nodes' lifetimes.

        The check uses the recorded events, not the sums of the world.
        """
        now, stretches = self._calendar.now, self.arrays()
        for job in self._jobs:
            if job.end is None:
                raise RuleBroken(f"job {job.id} is not done at {now}")
        for node in self.nodes:
            if node.released_at == float("inf"):
                raise RuleBroken(f"node {node.id} is still rented at {now}")
        _refuse_work(self._jobs, stretches)
        _refuse_order(self._jobs, stretches)
        _refuse_crowding(self._data, stretches, self.nodes)
        _refuse_bill(self._data, self.nodes, self.fleet.bill, now)

    def _count_rented(self) -> tuple[FloatArray, FloatArray]:
        """Return the times at which the number of billed nodes changes, and the number from each time on."""
        begin = np.array([node.ordered_at for node in self.nodes])
        end = np.array([node.released_at for node in self.nodes])
        times = np.concatenate([begin, end])
        change = np.concatenate([np.ones(len(begin)), -np.ones(len(end))])
        edges, place = np.unique(times[np.isfinite(times)], return_inverse=True)
        return edges, np.cumsum(np.bincount(place, weights=change[np.isfinite(times)], minlength=len(edges)))

    def _per_gpu(self) -> _PerGpu:
        edges, count = self._count_rented()
        if not len(edges):
            return _PerGpu(np.zeros(1), np.zeros(1), 0.0)
        gpus = np.maximum(count[:-1] * self._data.gpus_per_node, 0)
        passed = np.diff(edges)
        steps = np.divide(passed, gpus, out=np.zeros(len(passed)), where=gpus > 0)
        return _PerGpu(edges, np.concatenate([[0.0], np.cumsum(steps)]), float(passed[gpus > 0].sum()))


class _PerGpu:
    """The time integral of one over the rented GPUs, and how long there were any."""

    def __init__(self, edges: FloatArray, integral: FloatArray, hours: float) -> None:
        self._edges, self._integral, self.hours = edges, integral, hours

    def at(self, time: FloatArray) -> FloatArray:
        """Return its values at some times."""
        return np.interp(time, self._edges, self._integral)


def _refuse_work(jobs: Sequence[RentingJobState], stretches: Stretches) -> None:
    """Check that each job has done exactly the work of each of its epochs."""
    begin = np.maximum(stretches["since"], stretches["active_from"])
    done = stretches["rate"] * np.maximum(0.0, stretches["until"] - begin)
    first = np.concatenate([[0], np.cumsum([len(job.sizes) for job in jobs])])
    found = np.bincount(
        first[stretches["job"].astype(int)] + stretches["epoch"].astype(int), weights=done, minlength=first[-1]
    )
    asked = np.concatenate([job.sizes for job in jobs])
    rounding = TOLERANCE * (asked + stretches["rate"].max())  # moments that are one differ by as much
    for at in np.flatnonzero(~(np.abs(found - asked) <= rounding)):
        index = int(np.searchsorted(first, at, side="right")) - 1
        job, epoch = jobs[index], at - first[index]
        raise RuleBroken(
            f"job {job.id} has done {found[at]} s of work in epoch {epoch} by {job.end}, which has {asked[at]}"
        )


def _refuse_order(jobs: Sequence[RentingJobState], stretches: Stretches) -> None:
    """Check that the states of a job do not overlap, and that every change of width costs its pause."""
    order = np.lexsort((stretches["since"], stretches["job"]))
    job = stretches["job"][order].astype(int)
    since, until, width = (stretches[name][order] for name in ("since", "until", "width"))
    active = stretches["active_from"][order]
    first = np.concatenate([[True], job[1:] != job[:-1]])
    before = np.concatenate([[0.0], until[:-1]])
    before[first] = [jobs[index].arrival for index in job[first]]
    for at in np.flatnonzero(since < before - TOLERANCE):
        raise RuleBroken(f"job {jobs[job[at]].id} is in two states at {since[at]}")
    changed = first | (width != np.concatenate([[0], width[:-1]])) | (since > before + TOLERANCE)
    pause = np.array([jobs[index].kind.pause for index in job])
    cold = np.array(
        [jobs[index].kind.pause if jobs[index].kind.cold is None else jobs[index].kind.cold for index in job]
    )
    least, most = np.minimum(pause, cold), np.maximum(pause, cold)
    wrong = changed & ~((active - since >= least - TOLERANCE) & (active - since <= most + TOLERANCE))
    for at in np.flatnonzero(wrong):
        raise RuleBroken(f"job {jobs[job[at]].id} is rescaled at {since[at]} for {active[at] - since[at]} s")


def _refuse_crowding(data: BoaRenting, stretches: Stretches, nodes: Sequence[RentedNode]) -> None:
    """Check that jobs never hold more GPUs than there are."""
    there = [node for node in nodes if node.marked_at >= node.ready_at]
    gpus = data.gpus_per_node
    times = np.concatenate(
        [stretches["since"], stretches["until"], [n.ready_at for n in there], [n.marked_at for n in there]]
    )
    change = np.concatenate(
        [stretches["width"], -stretches["width"], np.full(len(there), -gpus), np.full(len(there), gpus)]
    ).astype(float)
    moments, place = np.unique(times, return_inverse=True)
    over = np.cumsum(np.bincount(place, weights=change, minlength=len(moments)))
    for at in np.flatnonzero(over > 0):
        if at + 1 < len(moments) and moments[at + 1] - moments[at] <= TOLERANCE:
            continue  # moments so close are one
        raise RuleBroken(f"{over[at]:g} more GPUs are held at {moments[at]} than are there")


def _refuse_bill(data: BoaRenting, nodes: Sequence[RentedNode], bill: float, now: float) -> None:
    """Check the bill of the nodes: from order to mark, at least the minimum, plus the reclamation."""
    lives = []
    for node in nodes:
        end = max(node.marked_at, node.ordered_at + data.minimum_rental_seconds) + data.reclamation_seconds
        if abs(node.released_at - end) > TOLERANCE * max(1.0, end):
            raise RuleBroken(f"node {node.id} is billed until {node.released_at}, not {end}")
        lives.append(end - node.ordered_at)
    wanted = data.gpus_per_node * fsum(lives) / HOUR
    refuse_unequal(wanted, bill, f"the bill is {bill} GPU-hours at {now}, the nodes' lives cost {wanted}")
