"""Elastic jobs from completion to completion under a rule for who gets how many workers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from instances import Answer, Result, Stopwatch, conclude
from instances.aryl import ArylElastic, ElasticJob
from instances.options import Options


@dataclass(frozen=True)
class Moment:
    """What a rule sees at time 0 and at each completion.

    `left`: work left of each unfinished job, worker-seconds, by its id in file order; `running`: jobs that have started
    and keep their base demand; `waiting`: the others, the shortest on its base demand first.
    """

    data: ArylElastic
    jobs: Mapping[str, ElasticJob]
    left: Mapping[str, Fraction]
    running: tuple[str, ...]
    waiting: tuple[str, ...]

    def longest(self, name: str) -> Fraction:
        """T_j^max of what is left: seconds on the base demand."""
        job = self.jobs[name]
        return self.left[name] / self.data.throughput(job, job.min_workers)

    def speed(self, name: str, workers: int) -> Fraction:
        """Throughput of a job, worker-seconds a second."""
        return self.data.throughput(self.jobs[name], workers)

    def admitted(self) -> tuple[dict[str, int], int]:
        """Phase one: base demands by shortest running time first, and the GPUs they leave.

        Running jobs keep theirs. A job that does not fit is passed over (section 5.2).
        """
        workers = {name: self.jobs[name].min_workers for name in self.running}
        free = self.data.whole_gpus - sum(self.jobs[name].base_gpus for name in self.running)
        for name in self.waiting:
            if free <= 0:
                break
            if self.jobs[name].base_gpus <= free:
                workers[name] = self.jobs[name].min_workers
                free -= self.jobs[name].base_gpus
        return workers, free


Rule = Callable[[Moment], dict[str, int]]
"""Workers by job until the next completion."""


def allocate(data: ArylElastic, method: str, rule: Rule) -> Result:
    """One allocation for `jct-reduction`, all of them until the last completion for `mean-jct`."""
    with Stopwatch() as clock:
        if data.objective == "jct-reduction":
            solution: dict[str, Any] = {"workers": rule(_start(data))}
        else:
            solution = {"intervals": _until_the_end(data, rule)}
    return conclude(data, method, Answer(solution, solve_s=clock.cpu_s), Options(), kind="heuristic")


def _start(data: ArylElastic) -> Moment:
    jobs = {job.id: job for job in data.jobs}
    left = {job.id: Fraction(job.min_running_time) * job.max_workers for job in data.jobs}
    alone = {name: work / data.throughput(jobs[name], jobs[name].min_workers) for name, work in left.items()}
    return Moment(data, jobs, left, (), tuple(sorted(left, key=alone.__getitem__)))


def _until_the_end(data: ArylElastic, rule: Rule) -> list[dict[str, Any]]:
    intervals = []
    moment = _start(data)
    while moment.left:
        workers = rule(moment)
        speed = {name: moment.speed(name, w) for name, w in workers.items()}
        times = {name: moment.left[name] / rate for name, rate in speed.items()}
        length = _rounded_up(min(times.values()))
        intervals.append({"length": length, "workers": workers})
        left = dict(moment.left)
        for name, rate in speed.items():
            if times[name] <= length:
                del left[name]
            else:
                left[name] -= Fraction(length) * rate
        running = tuple(name for name in workers if name in left)
        moment = Moment(data, moment.jobs, left, running, tuple(n for n in moment.waiting if n not in workers))
    return intervals


def _rounded_up(seconds: Fraction) -> float:
    """The least floating-point number that is no less.

    Jobs that complete within the rounding complete together, and the work left is a short number however many
    completions there are.
    """
    nearest = float(seconds)
    return nearest if nearest >= seconds else math.nextafter(nearest, math.inf)
