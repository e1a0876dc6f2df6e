"""What is recorded of a run of the renting world: stretches of jobs, lives of nodes, tables, and totals over time."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np
import pandas as pd

from experiments.simulator.boa.laws import check
from experiments.simulator.boa.parts import SECONDS, Job, Node
from experiments.simulator.fleet import Fleet
from instances.arrays import FloatArray
from instances.boa import BoaRenting

COLUMNS = ("job", "epoch", "since", "active_from", "until", "width", "rate")


class RentingRecords:
    """Records of a run.

    `stretches`: for each stretch of a job at one width in one epoch the job's index, the epoch, when it began, from
    when on the job made progress, when it ended, the width, and the speed. `nodes`: all that were ever ordered.
    """

    fleet: Fleet

    def __init__(self, data: BoaRenting, jobs: Sequence[Job]) -> None:
        self._data, self._jobs = data, jobs
        self.stretches: list[tuple[int, int, float, float, float, int, float]] = []
        self.nodes: list[Node] = []
        self._moments: list[tuple[float, int, int, int]] = []
        self._last: tuple[int, int, int, int] | None = None

    def moment(self, now: float, ready: int, held: int, jobs: int) -> None:
        """What there is after a moment: nodes, GPUs held, jobs."""
        found = (len(self.nodes), ready, held, jobs)
        if found != self._last:
            self._last = found
            self._moments.append((now, ready, held, jobs))

    def arrays(self) -> dict[str, FloatArray]:
        """The stretches as arrays, by COLUMNS."""
        found = np.array(self.stretches, dtype=float).reshape(-1, len(COLUMNS))
        return {name: found[:, i] for i, name in enumerate(COLUMNS)}

    def stretches_table(self) -> pd.DataFrame:
        """One row a stretch, see COLUMNS, times in seconds; `job` is the index in order of arrival."""
        return pd.DataFrame(self.arrays()).astype({"job": int, "epoch": int, "width": int})

    def jobs_table(self) -> pd.DataFrame:
        """One row a job in order of arrival, times in seconds; `NaN` for what has not happened.

        `delay`: all the time without GPUs; `run`: making progress; `gpu_hours`: held, pauses included.
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
            gpu_hours = total["gpus"][job.index] / SECONDS
            rows.append(
                (job.id, job.state.job_class, job.arrival, job.start, job.end, delay, jct, total["run"][job.index],
                 job.state.rescalings, gpu_hours)
            )  # fmt: skip
        columns = ["job", "class", "submit", "start", "end", "delay", "jct", "run", "rescalings", "gpu_hours"]
        return pd.DataFrame(rows, columns=columns)

    def timeline_table(self) -> pd.DataFrame:
        """One row a change: seconds, GPUs that are rented, there and held, unfinished jobs."""
        gpus = self._data.gpus_per_node
        time = np.array([m[0] for m in self._moments])
        edges, count = self._rented()
        rented = count[np.searchsorted(edges, time, side="right") - 1] if len(edges) else np.zeros(len(time))
        columns = {"time": time, "rented": rented * gpus, "ready": [m[1] * gpus for m in self._moments]}
        return pd.DataFrame(columns | {"held": [m[2] for m in self._moments], "jobs": [m[3] for m in self._moments]})

    def totals(self) -> dict[str, Any]:
        """What the world is about: the bill, and what it was for.

        `rented_gpus`: the bill over the time until the last arrival, which is what a budget says. Efficiency is speed
        over rented GPUs: as a scheduler sees it, which takes jobs that are being rescaled for running, and of work
        really done; over the whole bill, and averaged over time.
        """
        billed = self.fleet.bill
        span = max(job.arrival for job in self._jobs) / SECONDS
        found = self.arrays()
        since, until, rate = (found[name] for name in ("since", "until", "rate"))
        active = np.minimum(np.maximum(since, found["active_from"]), until)
        held = fsum((found["width"] * (until - since)).tolist()) / SECONDS
        integral = self._per_gpu()
        there = integral.hours
        seen, done = (fsum((rate * (until - a)).tolist()) / SECONDS for a in (since, active))
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

    def check(self, now: float) -> None:
        """Refuse a run that broke a law: RuleBroken says which one, and when."""
        check(self._data, self._jobs, self.arrays(), self.nodes, self.fleet.bill, now)

    def _rented(self) -> tuple[FloatArray, FloatArray]:
        """Moments at which nodes begin or cease to be billed, and how many are from then on."""
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
