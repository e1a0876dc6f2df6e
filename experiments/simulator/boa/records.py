"""Records of a run of the renting world: stretches of jobs, lifetimes of nodes, tables, totals, and the invariants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

import numpy as np
import pandas as pd

from experiments.simulator.boa.nodes import Nodes, RentedNode, RentingJobState
from experiments.simulator.kernel import HOUR, TOLERANCE, Calendar, Records, refuse_unequal
from instances.arrays import FloatArray
from instances.boa import BoaRenting
from instances.online import RuleBroken

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
        edges, count = self._rented()
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

    def _rented(self) -> tuple[FloatArray, FloatArray]:
        """Return the times at which the number of billed nodes changes, and the number from each time on."""
        begin = np.array([node.ordered_at for node in self.nodes])
        end = np.array([node.released_at for node in self.nodes])
        times = np.concatenate([begin, end])
        change = np.concatenate([np.ones(len(begin)), -np.ones(len(end))])
        edges, place = np.unique(times[np.isfinite(times)], return_inverse=True)
        return edges, np.cumsum(np.bincount(place, weights=change[np.isfinite(times)], minlength=len(edges)))

    def _per_gpu(self) -> _PerGpu:
        edges, count = self._rented()
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
        """Its values at some moments."""
        return np.interp(time, self._edges, self._integral)


def _refuse_work(jobs: Sequence[RentingJobState], stretches: Stretches) -> None:
    """Each job has done the work of each of its epochs, no more and no less."""
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
    """A job does one thing at a time, none before it arrives, and every change of width costs its pause."""
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
    """At no moment more GPUs are held than are there."""
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
    """The bill is that of the nodes' lives: from the order to the mark, or the minimum, and the reclamation."""
    lives = []
    for node in nodes:
        end = max(node.marked_at, node.ordered_at + data.minimum_rental_seconds) + data.reclamation_seconds
        if abs(node.released_at - end) > TOLERANCE * max(1.0, end):
            raise RuleBroken(f"node {node.id} is billed until {node.released_at}, not {end}")
        lives.append(end - node.ordered_at)
    wanted = data.gpus_per_node * fsum(lives) / HOUR
    refuse_unequal(wanted, bill, f"the bill is {bill} GPU-hours at {now}, the nodes' lives cost {wanted}")
