"""Schedules from the numbers of workers that a program or a solution states, with exact lengths.

What is handed over is exact whatever the tolerances of a solver were.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from instances import Solution
from instances.aryl import ArylElastic
from instances.aryl.arrays import ElasticArrays, Workers
from instances.aryl.schedule import Schedule
from models.aryl.list_schedules import exactly, list_rule


def in_json(schedule: Schedule[int], data: ArylElastic) -> dict[str, Any]:
    """The schedule in JSON form."""
    names = [job.id for job in data.jobs]
    return {
        "intervals": [
            {"length": float(length), "workers": {names[j]: w for j, w in sorted(workers.items())}}
            for length, workers in schedule.intervals
        ]
    }


def from_program(jobs: ElasticArrays, chosen: Sequence[Workers]) -> Schedule[int]:
    """The schedule of a program's answer: `chosen[m]` until the next completion once m jobs have completed.

    Where rounding made the program see two completions at once that are not, workers stay as they were; where rounding
    made the program give more GPUs than there are, they go by the list.
    """
    n = len(jobs.work)
    otherwise = list_rule(jobs, range(n), False)

    def rule(left: Mapping[int, Any], held: Workers) -> Workers:
        workers = {j: k for j, k in chosen[n - len(left)].items() if j in left}
        if workers and all(j in workers for j in held) and jobs.fit(workers):
            return workers
        return held or otherwise(left, held)

    return exactly(jobs, rule)


def from_solution(jobs: ElasticArrays, data: ArylElastic, solution: Solution) -> Schedule[int]:
    """The schedule with the workers of a feasible `solution` in JSON form, one allocation after the other."""
    place = {job.id: j for j, job in enumerate(data.jobs)}
    stated = [{place[name]: w for name, w in i["workers"].items() if w} for i in solution["intervals"]]
    ahead = [workers for workers, _ in itertools.groupby(stated)][::-1]
    otherwise = list_rule(jobs, range(len(jobs.work)), False)

    def rule(left: Mapping[int, Any], held: Workers) -> Workers:
        while ahead:
            workers = {j: w for j, w in ahead[-1].items() if j in left}
            if workers and not all(j in workers for j in held):
                break  # A job completes a little later than the rounded length says.
            ahead.pop()
            if workers:
                return workers
        return held or otherwise(left, held)

    return exactly(jobs, rule)
