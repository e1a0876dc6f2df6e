"""Who gets the spare workers: the schemes of section 7.1, and jobs favoured in a given order (Tables 3 and 4).

All of them take whole workers only, never more than the range allows, and keep the base demand of running jobs.

Which waiting jobs begin is a choice of its own. By SJF, as in phase one of Algorithm 2, the shortest on the base demand
come first and a job that does not fit is passed over; by FIFO, as in the paper's Baseline, jobs begin in file order and
nobody overtakes one that does not fit.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from fractions import Fraction

from heuristics.aryl.allocation import refuse_jobs
from heuristics.aryl.moment import Moment, Queue, allocate
from instances import InputError, Solution
from instances.aryl import ArylElastic
from instances.method import ANY, method

MOST_STEPS = 100_000
"""So many workers may be given one at a time."""
Gain = Callable[[Moment, str, int], tuple[Fraction, ...]]
"""`gain(moment, job, w)`: what worker w + 1 gives a job; where the first numbers tie, the next ones decide."""


@method("heuristic", ANY)
def fifo(data: ArylElastic) -> Solution:
    """Baseline (section 7.1): jobs begin in file order on their base demand and never scale."""
    return allocate(data, lambda moment: moment.admitted("fifo")[0])


@method("heuristic", ANY)
def afs(data: ArylElastic) -> Solution:
    """AFS (section 7.1): base demands by SJF, then one worker at a time to the largest throughput gain per GPU.

    Throughput is relative to that on the base demand, for jobs of several models share no other unit. The paper names
    no rule for ties; they go to the job first in the file.
    """
    return _afs(data, lambda moment, name, w: (_relative_gain(moment, name, w),))


@method("heuristic", ANY)
def afs_gpus(data: ArylElastic) -> Solution:
    """AFS with throughput in GPUs that scale without loss, the unit of Appendix C; ties to the job first in the file.

    Without a scaling loss every worker gains one GPU per GPU, so that all jobs tie.
    """

    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        return (moment.speed(name, w + 1) - moment.speed(name, w),)

    return _afs(data, gain)


@method("heuristic", ANY)
def afs_shorter(data: ArylElastic) -> Solution:
    """AFS on relative throughput with ties to the job that is shorter on its base demand, which the paper's has not."""
    return _afs(data, lambda moment, name, w: (_relative_gain(moment, name, w), -moment.longest(name)))


@method("heuristic", ANY)
def equal_split(data: ArylElastic) -> Solution:
    """Base demands by FIFO, then one worker at a time to the job with the fewest GPUs."""
    return _equal_split(data, "fifo")


@method("heuristic", ANY)
def equal_split_sjf(data: ArylElastic) -> Solution:
    """Base demands by SJF, then one worker at a time to the job with the fewest GPUs."""
    return _equal_split(data, "sjf")


@method("heuristic", ANY)
def gandiva(data: ArylElastic) -> Solution:
    """Opportunistic growth (Gandiva, section 7.1): FIFO as in Baseline; in file order jobs grow while none waits."""
    return _gandiva(data, "fifo")


@method("heuristic", ANY)
def gandiva_sjf(data: ArylElastic) -> Solution:
    """Opportunistic growth as in `gandiva`, but jobs begin by SJF."""
    return _gandiva(data, "sjf")


@method("heuristic", ANY)
def favour(data: ArylElastic, *, order: Sequence[str]) -> Solution:
    """Base demands by SJF, then all that is left to the jobs in `order`, as in Tables 3 and 4.

    Raises InputError unless `order` names every job once.
    """
    if sorted(order) != sorted(job.id for job in data.jobs):
        raise InputError(f"order: must name every job once, got {', '.join(order)}")

    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted()
        return _grow(moment, workers, free, [name for name in order if name in moment.left])

    return allocate(data, rule)


def too_many_steps(data: ArylElastic) -> str | None:
    """Why workers cannot be given one at a time, `None` where they can."""
    fastest = data.fastest_workers()
    wanted = sum(fastest[job.id] - job.min_workers for job in data.jobs)
    steps = min(wanted, data.whole_gpus // min(job.gpus_per_worker for job in data.jobs))
    return f"{steps:,} workers to give one at a time, more than {MOST_STEPS:,}" if steps > MOST_STEPS else None


def _relative_gain(moment: Moment, name: str, w: int) -> Fraction:
    """What worker w + 1 adds to the throughput, of that on the base demand, per GPU."""
    job = moment.jobs[name]
    base = moment.speed(name, job.min_workers)
    return (moment.speed(name, w + 1) - moment.speed(name, w)) / base / job.gpus_per_worker


def _afs(data: ArylElastic, gain: Gain) -> Solution:
    if data.scaling_loss:
        refuse_jobs(too_many_steps(data))
    jobs = {job.id: job for job in data.jobs}

    def alike(name: str, w: int) -> int:
        job = jobs[name]
        return max(1, (job.midpoint if data.scaling_loss else job.max_workers) - w)

    return allocate(data, lambda moment: _one_at_a_time(moment, gain, alike))


def _equal_split(data: ArylElastic, queue: Queue) -> Solution:
    def gain(moment: Moment, name: str, w: int) -> tuple[Fraction, ...]:
        faster = moment.speed(name, w + 1) > moment.speed(name, w)
        return (Fraction(int(faster)), -Fraction(w * moment.jobs[name].gpus_per_worker))

    refuse_jobs(too_many_steps(data))
    return allocate(data, lambda moment: _one_at_a_time(moment, gain, lambda name, w: 1, queue))


def _gandiva(data: ArylElastic, queue: Queue) -> Solution:
    def rule(moment: Moment) -> dict[str, int]:
        workers, free = moment.admitted(queue)
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


def _one_at_a_time(
    moment: Moment, gain: Gain, alike: Callable[[str, int], int], queue: Queue = "sjf"
) -> dict[str, int]:
    """One worker at a time to the job of the largest gain, ties in file order, as long as the gain is positive.

    `alike(name, w)`: how many workers more than `w` have the same gain one after the other; they are given at once.
    """
    workers, free = moment.admitted(queue)
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
        if gpus <= free:  # A worker that does not fit now never will.
            more = min(alike(name, workers[name]), free // gpus)
            workers[name] += more
            free -= more * gpus
            enqueue(place, name)
    return workers
