"""The work of an `eva-cloud` workload by classes of tasks: hours at full speed, and how many tasks there are."""

from __future__ import annotations

import numpy as np

from instances.arrays import FloatArray, IntArray
from instances.eva.cloud import CloudJob, EvaCloud, TaskClass

SECONDS = 3600.0


def work_seconds(job: CloudJob, first: TaskClass) -> float:
    """Seconds of work of a job at full speed; whole iterations where its `first` class of tasks counts them."""
    speed = first.iterations_per_second
    return job.duration_seconds if speed is None else int(job.duration_seconds * speed) / speed


def work_of_classes(data: EvaCloud) -> tuple[FloatArray, IntArray]:
    """Hours of work (C,) of the tasks of each class, every task the work of its job, and the number of tasks (C,)."""
    place = {c.name: i for i, c in enumerate(data.classes)}
    hours = np.zeros(len(data.classes))
    tasks = np.zeros(len(data.classes), dtype=np.int64)
    for job in data.jobs:
        work = work_seconds(job, data.classes[place[next(iter(job.tasks))]])
        for name, k in job.tasks.items():
            hours[place[name]] += k * work / SECONDS
            tasks[place[name]] += k
    return hours, tasks


def pairs_of_classes(data: EvaCloud) -> FloatArray:
    """Throughputs (C, C) of a task of each class beside one other, whose products no task on an instance exceeds.

    The true ones; with `larger_sets`, which are no products, 1.
    """
    if data.larger_sets is not None:
        return np.ones((len(data.classes), len(data.classes)))
    known = {(workload, beside): value for workload, beside, value in data.throughput.pairwise}
    names = [c.workload for c in data.classes]
    return np.array([[known.get((own, other), data.throughput.default) for other in names] for own in names])
