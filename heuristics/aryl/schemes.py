"""The schemes of section 7.1 of Aryl: Baseline (FIFO), AFS, Gandiva and equal split, and fixed orders of jobs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from fractions import Fraction

from heuristics.aryl.two_phase import Moment, Queue, allocate, reject_jobs
from instances import InputError, Solution
from instances.aryl import ArylElastic
from instances.method import ANY, method

MAX_STEPS = 100_000  # workers that are given one at a time, which limits time
Gain = Callable[[Moment, str, int], tuple[Fraction, ...]]
"""`gain(moment, job, w)`: the gain of worker w + 1 of a job; the next numbers break ties of the first."""


@method("heuristic", ANY)
def fifo(data: ArylElastic) -> Solution:
    """Start jobs in file order on their base demand, and never scale them: Baseline (section 7.1)."""
    return allocate(data, lambda moment: moment.admit("fifo")[0])


@method("heuristic", ANY)
def afs(data: ArylElastic) -> Solution:
    """Run AFS (section 7.1): base demands by SJF, then one worker at a time to the largest throughput gain per GPU.

    Throughput is relative to that on the base demand, because jobs of several models have no other common unit. The
    paper has no rule for ties; they go to the first job in the file.
    """
    return _afs(data, lambda moment, name, w: (_relative_gain(moment, name, w),))


@method("heuristic", ANY)
def afs_gpus(data: ArylElastic) -> Solution:
    """Run AFS with throughput in GPUs that scale without loss, the unit of Appendix C; ties go in file order.

    Without a scaling loss, every worker gains one GPU per GPU, so all jobs tie.
    """
    return _afs(data, lambda moment, name, w: (_gain(moment, name, w),))


@method("heuristic", ANY)
def afs_shorter(data: ArylElastic) -> Solution:
    """Run AFS on relative throughput; ties go to the job that is shorter on its base demand, unlike in the paper."""
    return _afs(data, lambda moment, name, w: (_relative_gain(moment, name, w), -moment.longest(name)))


@method("heuristic", ANY)
def equal_split(data: ArylElastic) -> Solution:
    """Start jobs by FIFO on base demands, then give one worker at a time to the job with the fewest GPUs."""
    return _equal_split(data, "fifo")


@method("heuristic", ANY)
def equal_split_sjf(data: ArylElastic) -> Solution:
    """Start jobs by SJF on base demands, then give one worker at a time to the job with the fewest GPUs."""
    return _equal_split(data, "sjf")


@method("heuristic", ANY)
def gandiva(data: ArylElastic) -> Solution:
    """Grow jobs in file order while no job waits; they begin by FIFO as in Baseline (Gandiva, section 7.1)."""
    return _gandiva(data, "fifo")


@method("heuristic", ANY)
def gandiva_sjf(data: ArylElastic) -> Solution:
    """Grow jobs in file order while no job waits, as in `gandiva`, but start them by SJF."""
    return _gandiva(data, "sjf")


@method("heuristic", ANY)
def favour(data: ArylElastic, *, order: Sequence[str]) -> Solution:
    """Start jobs by SJF on base demands, then give all free GPUs to the jobs in `order`, as in Tables 3 and 4.

    Raises InputError unless `order` names every job once.
    """
    if sorted(order) != sorted(job.id for job in data.jobs):
        raise InputError(f"order: must name every job once, got {', '.join(order)}")

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admit()
        return _grow(moment, workers, free, [name for name in order if name in moment.left])

    return allocate(data, rule)


def explain_many_steps(data: ArylElastic) -> str | None:
    """Return why workers cannot be given one at a time, `None` if they can."""
    fastest = data.fastest_workers()
    wanted = sum(fastest[job.id] - job.min_workers for job in data.jobs)
    steps = min(wanted, data.whole_gpus // min(job.gpus_per_worker for job in data.jobs))
    return f"{steps:,} workers to give one at a time, more than {MAX_STEPS:,}" if steps > MAX_STEPS else None


def _gain(moment: Moment, name: str, w: int) -> Fraction:
    """Return the throughput gain of worker w + 1."""
    return moment.speed(name, w + 1) - moment.speed(name, w)


def _relative_gain(moment: Moment, name: str, w: int) -> Fraction:
    """Return the throughput gain of worker w + 1 per GPU, relative to the throughput on the base demand."""
    job = moment.jobs[name]
    return _gain(moment, name, w) / moment.speed(name, job.min_workers) / job.gpus_per_worker


def _afs(data: ArylElastic, gain: Gain) -> Solution:
    if data.scaling_loss:
        reject_jobs(explain_many_steps(data))
    jobs = {job.id: job for job in data.jobs}

    def alike(name: str, w: int) -> int:
        job = jobs[name]
        return max(1, (job.midpoint if data.scaling_loss else job.max_workers) - w)

    return allocate(data, lambda moment: _give_one_at_a_time(moment, gain, alike))


def _equal_split(data: ArylElastic, queue: Queue) -> Solution:
    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        return (Fraction(int(_gain(moment, name, w) > 0)), -Fraction(w * moment.jobs[name].gpus_per_worker))

    reject_jobs(explain_many_steps(data))
    return allocate(data, lambda moment: _give_one_at_a_time(moment, gain, lambda name, w: 1, queue))


def _gandiva(data: ArylElastic, queue: Queue) -> Solution:
    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admit(queue)
        return workers if len(workers) < len(moment.left) else _grow(moment, workers, free, list(moment.left))

    return allocate(data, rule)


def _grow(moment: Moment, workers: dict[str, int], free: int, order: Sequence[str]) -> dict[str, int]:
    for name in order:
        if name in workers:
            job = moment.jobs[name]
            more = moment.data.fastest(job, min(job.max_workers, workers[name] + free // job.gpus_per_worker))
            free -= (more - workers[name]) * job.gpus_per_worker
            workers[name] = more
    return workers


def _give_one_at_a_time(
    moment: Moment, gain: Gain, alike: Callable[[str, int], int], queue: Queue = "sjf"
) -> dict[str, int]:
    """Give one worker at a time to the job of the largest gain while a gain is positive; ties go in file order.

    - `alike(name, w)`: number of workers after the w-th that have the same gain; they are given at once.
    - `queue`: which waiting jobs begin first.
    """
    workers, free = moment.admit(queue)
    offers: list[tuple[tuple[Fraction, ...], int, str]] = []

    def enqueue(place: int, name: str) -> None:
        if workers[name] < moment.jobs[name].max_workers:
            value = gain(moment, name, workers[name])
            if value[0] > 0:
                heapq.heappush(offers, (tuple(-v for v in value), place, name))

    for place, name in enumerate(moment.left):
        if name in workers:
            enqueue(place, name)
    while offers:
        _, place, name = heapq.heappop(offers)
        gpus = moment.jobs[name].gpus_per_worker
        if gpus <= free:  # a worker that does not fit now will not fit later
            more = min(alike(name, workers[name]), free // gpus)
            workers[name] += more
            free -= more * gpus
            enqueue(place, name)
    return workers
