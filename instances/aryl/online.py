"""Aryl online: the view of a scheduler with loaned servers, its decision, and the exact problems of a moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from instances.arrays import BoolArray, FloatArray, IntArray
from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.loaning import ArylLoaning
from instances.aryl.reclaim import ArylReclaim, LoanedJob
from instances.fields import STEPS
from instances.online import Decision
from instances.options import Solution

TRAINING, LOANED = 0, 1
"""Kinds of servers, as places in pairs."""


@dataclass(frozen=True)
class Demands:
    """What every job of a workload asks for, in order of arrival.

    `gpus` (2, n): GPUs of a worker on training and on loaned servers. `any_gpu`: whether loaned servers will do, which
    they do not where they are too small for a worker. `inelastic`: a job that no policy can scale.
    """

    ids: tuple[str, ...]
    min_workers: IntArray
    max_workers: IntArray
    gpus: IntArray
    any_gpu: BoolArray
    heterogeneous: BoolArray
    inelastic: BoolArray

    @classmethod
    def of(cls, data: ArylLoaning) -> Demands:
        """The demands of the jobs of a workload."""
        jobs = sorted(data.jobs, key=lambda job: job.arrival_seconds)
        own = np.array([job.gpus_per_worker for job in jobs], dtype=np.int64)
        loaned = np.array([data.loaned_gpus(job) for job in jobs], dtype=np.int64)
        fits = loaned <= data.gpus_per_server
        least, most = (np.array([getattr(job, f"{end}_workers") for job in jobs], np.int64) for end in ("min", "max"))
        return cls(
            ids=tuple(job.id for job in jobs),
            min_workers=least,
            max_workers=most,
            gpus=np.stack([own, loaned]),
            any_gpu=np.array([job.any_gpu for job in jobs], dtype=bool) & fits,
            heterogeneous=np.array([job.heterogeneous for job in jobs], dtype=bool) & fits,
            inelastic=least == most,
        )


@dataclass(frozen=True)
class Live:
    """What changes, as arrays; `waiting` and `elastic` are places of jobs that wait, and of elastic jobs that run.

    Of kinds of servers: `free_gpus`, GPUs that nobody has; `flexible_gpus`, those of flexible workers; `widest`, the
    most GPUs on one server that base workers could have. `workers` of every job now, `kind` of the servers of its base
    workers, and `left(places)`, the worker-seconds that policies believe to be left. `hosted()`: of each server on loan
    its id, and the ids of the jobs with base and with flexible workers there.
    """

    demands: Demands
    waiting: IntArray
    elastic: IntArray
    free_gpus: Sequence[int]
    flexible_gpus: Sequence[int]
    widest: Sequence[int]
    workers: IntArray
    kind: IntArray
    left: Callable[[IntArray], FloatArray]
    hosted: Callable[[], Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]]


Kind = Literal["training", "loaned"]
Part = Literal["base", "flexible"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """A training server or one on loan; `group` is what it hosts where placement is grouped, `None` while empty."""

    id: str
    kind: Kind
    gpus: int
    free_gpus: int
    group: Part | None = None


@dataclass(frozen=True, slots=True)
class LoaningJobView:
    """An unfinished job: it runs where it has base workers, and waits where it has none.

    `remaining_work`: worker-seconds, as policies believe; `done_work`: those that are done, and kept so far. `base`,
    `flexible`: workers by server.
    """

    id: str
    arrival_seconds: float
    min_workers: int
    max_workers: int
    gpus_per_worker: int
    remaining_work: float
    base: Mapping[str, int] = field(default_factory=dict)
    flexible: Mapping[str, int] = field(default_factory=dict)
    any_gpu: bool = False
    heterogeneous: bool = False
    checkpointed: bool = False
    preemptions: int = 0
    done_work: float = 0.0

    @property
    def running(self) -> bool:
        """Whether the job has its base workers."""
        return bool(self.base)

    @property
    def base_gpus(self) -> int:
        """GPUs of the base demand."""
        return self.min_workers * self.gpus_per_worker

    @property
    def base_seconds(self) -> float:
        """Seconds left on the base demand, at the speed of training GPUs."""
        return self.remaining_work / self.min_workers


@dataclass(slots=True)
class LoaningView:
    """A training cluster with loaned servers at one moment, by ids, in read-only mappings. It belongs to the world.

    Parameters:

    - `now`: seconds.
    - `servers`: training servers and those on loan.
    - `jobs`: unfinished jobs in order of arrival.
    - `reclaim`: how many loaned servers have to go back now; then only that is asked, and the rest at the same moment
      once they are gone.
    - `loaned_worth`: what a loaned GPU counts as in the GPUs of a worker (`ArylLoaning.loaned_worth`).
    - `scaling_loss`: share of throughput that each worker beyond the midpoint of a job's range costs.
    - `arrived`, `finished`, `preempted`: jobs since the policy was last asked, by id.
    - `live`: the same as arrays, in the views of a world.
    """

    now: float
    servers: Mapping[str, ServerState]
    jobs: Mapping[str, LoaningJobView]
    reclaim: int = 0
    loaned_worth: float = 1.0
    scaling_loss: float = 0.0
    arrived: Sequence[str] = field(default=())
    finished: Sequence[str] = field(default=())
    preempted: Sequence[str] = field(default=())
    live: Live | None = None


@dataclass(frozen=True)
class Allocation(Decision):
    """The workers of every job that is to run from now on, in the order in which they are placed.

    A running job keeps its base workers; of a job that is not named only those are left. `give_back`: the loaned
    servers that go back, where that is asked. With `regroup` a job that loses base workers there, but keeps as many
    workers elsewhere as it needs, goes on: flexible workers become base workers. A job that does not find room on the
    servers, or not for all of its flexible workers, goes without. `scales`: as in `Changes`.
    """

    workers: Mapping[str, int] = field(default_factory=dict)
    give_back: tuple[str, ...] = ()
    regroup: bool = False
    scales: bool = True


@dataclass(frozen=True)
class Changes(Decision):
    """What changes, by places of jobs in `LoaningView.live`, for policies that decide often.

    `start`: waiting jobs that start on their base workers, in this order; with `in_order` none of them starts after one
    that finds no room. `workers`: new numbers of workers of elastic jobs that run or start, where they are placed in
    order. Without `loans` no job starts on loaned servers. A policy that never `scales` a job says so: then no job is
    elastic, and all are placed as inelastic ones.
    """

    start: Sequence[int] = ()
    in_order: bool = False
    workers: Mapping[int, int] = field(default_factory=dict)
    loans: bool = True
    scales: bool = True


def snapshot(view: LoaningView) -> ArylReclaim | ArylElastic | None:
    """The reclaiming problem where servers have to go back, else that of spare workers; `None` where there is none."""
    return reclaiming(view) if view.reclaim else spare_workers(view)


def decision(view: LoaningView, solution: Solution | None) -> Allocation:
    """The servers that `solution` gives back, where that is asked; else the workers of all jobs that are to run.

    Those are the jobs that run, and the waiting ones that `admitted` lets start; elastic jobs have the workers of the
    solution, the others, and all of them without a solution, their base workers.
    """
    if view.reclaim:
        return Allocation(give_back=() if solution is None else tuple(solution["servers"]))
    workers = {name: view.jobs[name].min_workers for name in admitted(view)[0]}
    return Allocation(workers=workers if solution is None else workers | solution["workers"])


def reclaiming(view: LoaningView) -> ArylReclaim:
    """Which of the loaned servers go back: all of them with the jobs that have workers there."""
    loaned = [server.id for server in view.servers.values() if server.kind == "loaned"]
    known = set(loaned)
    jobs = [job for job in view.jobs.values() if not known.isdisjoint([*job.base, *job.flexible])]
    return ArylReclaim(
        servers=tuple(loaned),
        jobs=tuple(loaned_job(job, known) for job in jobs),
        reclaim=min(view.reclaim, len(loaned)),
    )


def loaned_job(job: LoaningJobView, servers: Collection[str]) -> LoanedJob:
    """The workers of a job on loaned `servers`; it is preempted with any of those that have base workers."""
    base = {server: workers for server, workers in job.base.items() if server in servers}
    flexible = tuple(server for server in job.flexible if server in servers and server not in base)
    gpus = tuple(workers * job.gpus_per_worker for workers in base.values())
    return LoanedJob(id=job.id, servers=tuple(base), flexible_servers=flexible, gpus=gpus)


def loaned_workers(job: LoaningJobView, servers: Collection[str]) -> LoanedJob:
    """The same where any workers will do: a job is preempted where fewer are left than it needs."""
    found = loaned_job(job, servers)
    workers: dict[str, int] = {}
    for held in (job.base, job.flexible):
        for server, k in held.items():
            workers[server] = workers.get(server, 0) + k
    here = {server: workers[server] for server in (*found.servers, *found.flexible_servers)}
    elsewhere = sum(workers.values()) - sum(here.values())
    return found.model_copy(update={"workers": here, "min_workers": max(0, job.min_workers - elsewhere)})


def lost_gpu_hours(job: LoaningJobView, preemption_seconds: float) -> float:
    """What a preemption costs in GPU-hours: all that was done without a checkpoint, and the time to begin again."""
    lost = 0.0 if job.checkpointed else job.done_work * job.gpus_per_worker
    return round((lost + preemption_seconds * job.base_gpus) / 3600, 6)


def spare_workers(view: LoaningView) -> ArylElastic | None:
    """Who gets the GPUs that base demands leave (section 5.2, phase two), among jobs that run or are to start.

    The problem has the elastic jobs alone, with the work that is left of them, and counts GPUs, not servers; loaned
    ones count as what they are worth. `None` where there is no elastic job.
    """
    names, free = admitted(view)
    elastic = [job for job in map(view.jobs.__getitem__, names) if job.max_workers > job.min_workers]
    if not elastic:
        return None
    jobs = tuple(
        ElasticJob(
            id=job.id,
            min_workers=job.min_workers,
            max_workers=job.max_workers,
            gpus_per_worker=job.gpus_per_worker,
            min_running_time=max(job.remaining_work / job.max_workers, 1 / STEPS),
        )
        for job in elastic
    )
    capacity = sum(job.base_gpus for job in elastic) + free
    return ArylElastic(
        capacity_gpus=float(capacity), jobs=jobs, objective="jct-reduction", scaling_loss=view.scaling_loss
    )


def admitted(view: LoaningView) -> tuple[list[str], int]:
    """The jobs that run or are to start, and the GPUs that their base demands leave (section 5.2, phase one).

    Running jobs come first, then those that wait, the shortest on its base demand first; a job that does not fit is
    passed over. Of jobs that may use any GPU elastic ones go to loaned servers where there is room, the others to
    training servers. Flexible workers count as free.
    """
    free: dict[Kind, float] = {"training": 0.0, "loaned": 0.0}
    for server in view.servers.values():
        free[server.kind] += server.gpus * (view.loaned_worth if server.kind == "loaned" else 1)
    running = [job for job in view.jobs.values() if job.running]
    for job in running:
        for name, workers in job.base.items():
            free[view.servers[name].kind] -= workers * job.gpus_per_worker
    names = [job.id for job in running]
    for job in sorted((job for job in view.jobs.values() if not job.running), key=lambda job: job.base_seconds):
        both: tuple[Kind, ...] = ("loaned", "training") if job.max_workers > job.min_workers else ("training", "loaned")
        places: tuple[Kind, ...] = both if job.any_gpu else ("training",)
        fits = next((place for place in places if job.base_gpus <= free[place]), None)
        if fits is not None:
            free[fits] -= job.base_gpus
            names.append(job.id)
        elif job.heterogeneous and job.base_gpus <= free["training"] + free["loaned"]:
            free["loaned"] -= job.base_gpus - free["training"]
            free["training"] = 0.0
            names.append(job.id)
    return names, int(free["training"] + free["loaned"])
