"""Policies for a cluster with loaned servers: an order of the queue, who goes back, and who gets the spare GPUs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from heuristics.aryl.online_kernels import admit, grow, knapsack, largest_gain
from instances.arrays import FloatArray, IntArray
from instances.aryl import ArylLoaning, ArylReclaim
from instances.aryl.online import (
    LOANED,
    TRAINING,
    Allocation,
    Changes,
    Live,
    LoaningView,
    decision,
    loaned_job,
    loaned_workers,
    lost_gpu_hours,
)
from instances.online import Policy

Online = Policy[LoaningView, Allocation | Changes]
Order = Literal["fifo", "sjf"]
Reclaimer = Callable[[ArylReclaim], Sequence[str]]
"""The servers that go back, of those that host base workers."""
Allocator = Callable[[IntArray, IntArray, IntArray, FloatArray, float, int], IntArray]
"""Workers of jobs from their ranges, GPUs of a worker, work left, scaling loss, and the spare GPUs."""


def _relative_gain(
    least: IntArray, most: IntArray, gpus: IntArray, left: FloatArray, loss: float, capacity: int
) -> IntArray:
    found: IntArray = largest_gain(least, most, gpus, left, loss, capacity, True)
    return found


def _gain(least: IntArray, most: IntArray, gpus: IntArray, left: FloatArray, loss: float, capacity: int) -> IntArray:
    found: IntArray = largest_gain(least, most, gpus, left, loss, capacity, False)
    return found


ALLOCATORS: dict[str, Allocator] = {
    "two-phase": knapsack,
    "afs": _relative_gain,
    "afs-workers": _gain,
    "gandiva": grow,
}
"""Who gets the spare GPUs: phase two of Algorithm 2, AFS in two units, and Gandiva, which grows while no job waits."""
OPPORTUNISTIC = ("gandiva",)


class Loaning:
    """A scheduler of a cluster with loaned servers.

    `order`: strict FIFO, where the first job that finds no room holds up the others, or SJF on the base demand, where
    it is passed over. Without a `reclaimer` no loaned server is used. Those without base workers go back first; where
    they are too few, `reclaimer` names others. `allocator`: who gets GPUs beyond the base demands, of each kind of
    servers; `opportunistic` ones only while no job waits. Without one nobody scales, and every job is placed as an
    inelastic one. With `regroup` the reclaimer is asked at once, and flexible workers may take the place of base
    workers that go.
    """

    def __init__(
        self,
        data: ArylLoaning,
        order: Order,
        reclaimer: Callable[[LoaningView], Sequence[str]] | None = None,
        allocator: Allocator | None = None,
        *,
        opportunistic: bool = False,
        regroup: bool = False,
    ) -> None:
        self.order, self.reclaimer, self.allocator = order, reclaimer, allocator
        self.opportunistic, self.regroup = opportunistic, regroup
        self._loss = data.scaling_loss
        self._plain = data.placement == "plain"

    def decide(self, view: LoaningView) -> Allocation | Changes:
        if view.reclaim:
            gone = without_base(view) if self.reclaimer is None else self.reclaimer(view)
            return Allocation(give_back=tuple(gone[: view.reclaim]), regroup=self.regroup)
        live = view.live
        assert live is not None
        start, kinds = self._admitted(live)
        return Changes(
            start=start.tolist(),
            in_order=self.order == "fifo",
            workers={} if self.allocator is None else self._widths(live, start, kinds),
            loans=self.reclaimer is not None,
            scales=self.allocator is not None,
        )

    def _admitted(self, live: Live) -> tuple[IntArray, IntArray]:
        demands, order = live.demands, live.waiting
        room = np.array(live.free_gpus) + np.array(live.flexible_gpus)
        if self.reclaimer is None:
            room[LOANED] = 0
        if not len(order) or not room.any():
            return order[:0], order[:0]
        if self.order == "sjf":
            order = order[np.argsort(live.left(order) / demands.min_workers[order], kind="stable")]
        prefers = ~(demands.inelastic | demands.heterogeneous | self._plain | (self.allocator is None))
        arrays = demands.min_workers, demands.gpus, demands.any_gpu, demands.heterogeneous, prefers
        found: tuple[IntArray, IntArray] = admit(order, *arrays, room, np.array(live.widest), self.order == "fifo")
        return found

    def _widths(self, live: Live, start: IntArray, kinds: IntArray) -> dict[int, int]:
        """Workers of the elastic jobs that run or start, the jobs with the most GPUs a worker first."""
        assert self.allocator is not None
        demands = live.demands
        new = ~demands.inelastic[start]
        jobs = np.concatenate([live.elastic, start[new]])
        if not len(jobs):
            return {}
        found: dict[int, int] = {}
        if self.opportunistic and len(live.waiting) > len(start):
            return {int(j): int(demands.min_workers[j]) for j in jobs}
        kind = np.concatenate([live.kind[live.elastic], kinds[new]])
        if self.reclaimer is not None:
            kind = np.where(demands.heterogeneous[jobs], LOANED, kind)
        for pool in (TRAINING, LOANED):
            here = jobs[kind == pool]
            taken = demands.min_workers[start] * demands.gpus[pool, start]
            spare = live.free_gpus[pool] + live.flexible_gpus[pool] - int(taken[kinds == pool].sum())
            if len(here):
                gpus = demands.gpus[pool, here]
                least, most, left = demands.min_workers[here], demands.max_workers[here], live.left(here)
                workers = self.allocator(least, most, gpus, left, self._loss, max(0, spare))
                order = np.argsort(-gpus, kind="stable")
                found |= dict(zip(here[order].tolist(), np.asarray(workers)[order].tolist(), strict=True))
        return found


def without_base(view: LoaningView) -> list[str]:
    """Servers on loan without base workers, idle ones first (section 5.3), then the others."""
    assert view.live is not None
    hosted = sorted(view.live.hosted(), key=lambda found: (len(found[1]) > 0, len(found[2])))
    return [name for name, _, _ in hosted]


def flexible_first(
    reclaimer: Reclaimer, preemption_seconds: float | None = None
) -> Callable[[LoaningView], Sequence[str]]:
    """Servers without base workers go back, and where they are too few, those that `reclaimer` names among the rest.

    With `preemption_seconds` lost GPU-hours are counted instead of jobs.
    """

    def gone(view: LoaningView) -> Sequence[str]:
        assert view.live is not None
        hosted = list(view.live.hosted())
        free = sorted((found for found in hosted if not found[1]), key=lambda found: len(found[2]))
        names = [name for name, _, _ in free][: view.reclaim]
        if len(names) == view.reclaim:
            return names
        rest = {name for name, base, _ in hosted if base}
        states = [view.jobs[job] for job in dict.fromkeys(job for _, base, _ in hosted for job in base)]
        jobs = [loaned_job(state, rest) for state in states]
        if preemption_seconds is not None:
            hours = [lost_gpu_hours(state, preemption_seconds) for state in states]
            jobs = [job.model_copy(update={"gpu_hours": h}) for job, h in zip(jobs, hours, strict=True)]
        problem = ArylReclaim(
            servers=tuple(name for name, base, _ in hosted if base),
            jobs=tuple(jobs),
            reclaim=view.reclaim - len(names),
            objective="preempted-jobs" if preemption_seconds is None else "lost-gpu-hours",
        )
        return [*names, *reclaimer(problem)]

    return gone


def any_workers(reclaimer: Reclaimer) -> Callable[[LoaningView], Sequence[str]]:
    """The servers that `reclaimer` names among all on loan, where a job goes on with as many workers as it needs."""

    def gone(view: LoaningView) -> Sequence[str]:
        assert view.live is not None
        hosted = list(view.live.hosted())
        servers = tuple(name for name, _, _ in hosted)
        names = dict.fromkeys(job for _, base, flexible in hosted for job in (*base, *flexible))
        jobs = tuple(loaned_workers(view.jobs[name], set(servers)) for name in names)
        return reclaimer(ArylReclaim(servers=servers, jobs=jobs, reclaim=view.reclaim))

    return gone


def at_random(seed: int) -> Reclaimer:
    """Servers drawn at random (section 7.1), others each time."""
    rng = random.Random(seed)
    return lambda problem: rng.sample(problem.servers, problem.reclaim)


class Fallback:
    """Base demands alone, the shortest job first; servers without base workers go back first. It has no memory."""

    def decide(self, view: LoaningView) -> Allocation:
        if not view.reclaim:
            return decision(view, None)
        loaned = [server for server in view.servers.values() if server.kind == "loaned"]
        base = {server for job in view.jobs.values() for server in job.base}
        loaned.sort(key=lambda server: (server.id in base, -server.free_gpus))
        return Allocation(give_back=tuple(server.id for server in loaned[: view.reclaim]))
