"""Define Aryl online: the view of a scheduler with loaned servers, its decision, and the exact problems of a moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from instances.arrays import BoolArray, FloatArray, IntArray
from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.loaning import ArylLoaning
from instances.aryl.reclaim import ArylReclaim, LoanedJob
from instances.fields import STEPS
from instances.online import Decision
from instances.options import Solution
from instances.renamed import find_old_names

TRAINING, LOANED = 0, 1
"""The kinds of servers, as indices of pairs."""


@dataclass(frozen=True)
class Demands:
    """The demands of the n jobs of a workload, in order of arrival.

    - `gpus` (2, n): GPUs of a worker on training and on loaned servers.
    - `any_gpu` (n,): whether the job may use loaned servers, and these are large enough for a worker.
    - `inelastic` (n,): whether the job has only one number of workers.
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
        """Build the demands of the jobs of a workload."""
        jobs = sorted(data.jobs, key=lambda job: job.arrival_seconds)
        own = np.array([job.gpus_per_worker for job in jobs], dtype=np.int64)
        loaned = np.array([data.count_gpus_on_loan(job) for job in jobs], dtype=np.int64)
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
    """The changing state, as arrays.

    - `waiting`, `elastic`: the indices of waiting jobs, and of elastic jobs that run.
    - `free_gpus`: the idle GPUs of each kind of servers.
    - `flexible_gpus`: the GPUs of flexible workers on each kind.
    - `widest`: the maximum number of GPUs on one server of each kind that base workers can get.
    - `workers`, `kind`: the present workers of every job, and the kind of the servers of its base workers.
    - `left(places)`: the predicted remaining work of jobs, in worker-seconds.
    - `hosted()`: the id of each loaned server, with the ids of the jobs with base and with flexible workers there.
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
    """A training server or a loaned one; `group` is the part that it hosts in grouped placement, `None` while empty."""

    id: str
    kind: Kind
    gpus: int
    free_gpus: int
    group: Part | None = None


@dataclass(frozen=True, slots=True)
class LoaningJobView:
    """An unfinished job: it runs if it has base workers, otherwise it waits.

    - `remaining_work`: the predicted remaining work in worker-seconds.
    - `done_work`: the completed work that is kept so far, in worker-seconds.
    - `base`, `flexible`: workers by server.
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
        """Return whether the job has its base workers."""
        return bool(self.base)

    @property
    def base_gpus(self) -> int:
        """Return the number of GPUs of the base demand."""
        return self.min_workers * self.gpus_per_worker

    @property
    def base_seconds(self) -> float:
        """Return the remaining seconds on the base demand, at the speed of training GPUs."""
        return self.remaining_work / self.min_workers


@dataclass(slots=True)
class LoaningView:
    """A training cluster with loaned servers at one moment, by ids, in read-only mappings. It belongs to the world.

    Parameters:

    - `now`: seconds.
    - `servers`: training servers and loaned ones.
    - `jobs`: unfinished jobs in order of arrival.
    - `reclaim`: how many loaned servers must be returned now. The policy then decides only on these, and on everything
      else at the same moment after they are gone.
    - `loaned_worth`: the weight of a loaned GPU in terms of a worker's GPUs (`ArylLoaning.loaned_worth`).
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
    """The workers of every job that runs from now on, in the order of placement.

    A running job keeps its base workers; a running job that is not named keeps only these. Workers that do not fit on
    the servers are not placed.

    - `workers`: the number of workers by job.
    - `give_back`: the loaned servers to return, if the view requests it.
    - `regroup`: a job that loses base workers on these, but keeps enough workers elsewhere, continues; its flexible
      workers become base workers.
    - `scales`: as in `Changes`.
    """

    workers: Mapping[str, int] = field(default_factory=dict)
    give_back: tuple[str, ...] = ()
    regroup: bool = False
    scales: bool = True


@dataclass(frozen=True)
class Changes(Decision):
    """Changes by indices of jobs in `LoaningView.live`, for policies that decide often.

    - `start`: waiting jobs that start on their base workers, in this order.
    - `in_order`: after the first job that does not fit, no further job of `start` starts.
    - `workers`: new numbers of workers of elastic jobs that run or start, placed in this order.
    - `loans`: whether jobs may start on loaned servers.
    - `scales`: false for a policy that never scales a job; then all jobs are placed as inelastic ones.
    """

    start: Sequence[int] = ()
    in_order: bool = False
    workers: Mapping[int, int] = field(default_factory=dict)
    loans: bool = True
    scales: bool = True


def snapshot(view: LoaningView) -> ArylReclaim | ArylElastic | None:
    """Return the reclaiming problem if servers must be returned, else that of spare workers, or `None`."""
    return reclaiming(view) if view.reclaim else spare_workers(view)


def decision(view: LoaningView, solution: Solution | None) -> Allocation:
    """Return the servers that `solution` returns, if the view requests it, otherwise the workers of all jobs.

    Running jobs and the waiting jobs that `admit_jobs` starts get workers. Elastic jobs have those of the solution.
    All other jobs, or all jobs without a solution, have their base workers.
    """
    if view.reclaim:
        return Allocation(give_back=() if solution is None else tuple(solution["servers"]))
    workers = {name: view.jobs[name].min_workers for name in admit_jobs(view)[0]}
    return Allocation(workers=workers if solution is None else workers | solution["workers"])


def reclaiming(view: LoaningView) -> ArylReclaim:
    """Return the problem of choosing loaned servers to return, with all jobs that have workers there."""
    loaned = [server.id for server in view.servers.values() if server.kind == "loaned"]
    known = set(loaned)
    jobs = [job for job in view.jobs.values() if not known.isdisjoint([*job.base, *job.flexible])]
    return ArylReclaim(
        servers=tuple(loaned),
        jobs=tuple(place_on_loan(job, known) for job in jobs),
        reclaim=min(view.reclaim, len(loaned)),
    )


def place_on_loan(job: LoaningJobView, servers: Collection[str]) -> LoanedJob:
    """Return a job on loaned `servers`; returning any server with its base workers preempts it."""
    base = {server: workers for server, workers in job.base.items() if server in servers}
    flexible = tuple(server for server in job.flexible if server in servers and server not in base)
    gpus = tuple(workers * job.gpus_per_worker for workers in base.values())
    return LoanedJob(id=job.id, servers=tuple(base), flexible_servers=flexible, gpus=gpus)


def place_flexibly_on_loan(job: LoaningJobView, servers: Collection[str]) -> LoanedJob:
    """Return a job on loaned `servers` that is preempted only if fewer workers than its minimum are left."""
    found = place_on_loan(job, servers)
    workers: dict[str, int] = {}
    for held in (job.base, job.flexible):
        for server, k in held.items():
            workers[server] = workers.get(server, 0) + k
    here = {server: workers[server] for server in (*found.servers, *found.flexible_servers)}
    elsewhere = sum(workers.values()) - sum(here.values())
    return found.model_copy(update={"workers": here, "min_workers": max(0, job.min_workers - elsewhere)})


def lost_gpu_hours(job: LoaningJobView, preemption_seconds: float) -> float:
    """Return the loss of a preemption in GPU-hours: work without a checkpoint, and the time of the restart."""
    lost = 0.0 if job.checkpointed else job.done_work * job.gpus_per_worker
    return round((lost + preemption_seconds * job.base_gpus) / 3600, 6)


def spare_workers(view: LoaningView) -> ArylElastic | None:
    """Return the problem of spare GPUs among running and starting jobs (section 5.2, phase two).

    The problem contains only the elastic jobs with their remaining work, and counts GPUs, not servers. Loaned GPUs
    count with `loaned_worth`. Return `None` if there is no elastic job.
    """
    names, free = admit_jobs(view)
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


def admit_jobs(view: LoaningView) -> tuple[list[str], int]:
    """Return the jobs that run or start, and the GPUs that their base demands leave (section 5.2, phase one).

    Running jobs come first, then waiting jobs, the shortest on its base demand first; a job that does not fit is
    skipped. Among jobs that may use any GPU, elastic ones prefer loaned servers and the others training servers.
    Flexible workers count as free.
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


if not TYPE_CHECKING:  # names of the previous version
    __getattr__ = find_old_names(
        __name__,
        {
            "admitted": "admit_jobs",
        },
    )
