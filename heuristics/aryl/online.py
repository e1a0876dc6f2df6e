"""Policies for a cluster with loaned servers: queue order, choice of servers to return, and use of spare GPUs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
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
    lost_gpu_hours,
    place_flexibly_on_loan,
    place_on_loan,
)
from instances.online import Policy

Online = Policy[LoaningView, Allocation | Changes]
Order = Literal["fifo", "sjf"]
Reclaimer = Callable[[ArylReclaim], Sequence[str]]
"""Return the servers to give back, among those that host base workers."""
Allocator = Callable[[IntArray, IntArray, IntArray, FloatArray, float, int], IntArray]
"""Return the workers of jobs from their ranges, GPUs per worker, remaining work, scaling loss, and the spare GPUs."""


ALLOCATORS: dict[str, Allocator] = {
    "two-phase": knapsack,
    "afs": partial(largest_gain, True),
    "afs-workers": partial(largest_gain, False),
    "gandiva": grow,
}
"""Rules for spare GPUs: phase two of Algorithm 2, AFS in two units, and Gandiva, which grows jobs while none waits."""
OPPORTUNISTIC = ("gandiva",)


class Loaning:
    """A scheduler of a cluster with loaned servers.

    - `order`: strict FIFO, in which a job that does not fit blocks the others, or SJF on the base demand, in which it
      is skipped.
    - `reclaimer`: chooses the servers to return. Without one, loaned servers are not used, and servers without base
      workers are returned.
    - `allocator`: distributes the GPUs beyond the base demands, for each kind of servers. Without one, no job scales,
      and every job is placed like an inelastic one.
    - `opportunistic`: jobs grow only while no job waits.
    - `regroup`: flexible workers may replace base workers on returned servers.
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
            gone = order_by_base_workers(view) if self.reclaimer is None else self.reclaimer(view)
            return Allocation(give_back=tuple(gone[: view.reclaim]), regroup=self.regroup)
        live = view.live
        assert live is not None
        start, kinds = self._admit(live)
        return Changes(
            start=start.tolist(),
            in_order=self.order == "fifo",
            workers={} if self.allocator is None else self._widths(live, start, kinds),
            loans=self.reclaimer is not None,
            scales=self.allocator is not None,
        )

    def _admit(self, live: Live) -> tuple[IntArray, IntArray]:
        demands, order = live.demands, live.waiting
        capacity = np.array(live.free_gpus) + np.array(live.flexible_gpus)
        if self.reclaimer is None:
            capacity[LOANED] = 0
        if not len(order) or not capacity.any():
            return order[:0], order[:0]
        if self.order == "sjf":
            order = order[np.argsort(live.left(order) / demands.min_workers[order], kind="stable")]
        prefers = ~(demands.inelastic | demands.heterogeneous | self._plain | (self.allocator is None))
        arrays = demands.min_workers, demands.gpus, demands.any_gpu, demands.heterogeneous, prefers
        admitted: tuple[IntArray, IntArray] = admit(
            order, *arrays, capacity, np.array(live.widest), self.order == "fifo"
        )
        return admitted

    def _widths(self, live: Live, start: IntArray, kinds: IntArray) -> dict[int, int]:
        """Return the workers of the elastic jobs that run or start, jobs with the most GPUs per worker first."""
        assert self.allocator is not None
        demands = live.demands
        is_elastic = ~demands.inelastic[start]
        jobs = np.concatenate([live.elastic, start[is_elastic]])
        if not len(jobs):
            return {}
        widths: dict[int, int] = {}
        if self.opportunistic and len(live.waiting) > len(start):
            return {int(j): int(demands.min_workers[j]) for j in jobs}
        kind = np.concatenate([live.kind[live.elastic], kinds[is_elastic]])
        if self.reclaimer is not None:
            kind = np.where(demands.heterogeneous[jobs], LOANED, kind)
        for pool in (TRAINING, LOANED):
            in_pool = jobs[kind == pool]
            taken = demands.min_workers[start] * demands.gpus[pool, start]
            spare = live.free_gpus[pool] + live.flexible_gpus[pool] - int(taken[kinds == pool].sum())
            if len(in_pool):
                gpus = demands.gpus[pool, in_pool]
                low, high, left = demands.min_workers[in_pool], demands.max_workers[in_pool], live.left(in_pool)
                workers = self.allocator(low, high, gpus, left, self._loss, max(0, spare))
                order = np.argsort(-gpus, kind="stable")
                widths |= dict(zip(in_pool[order].tolist(), np.asarray(workers)[order].tolist(), strict=True))
        return widths


def order_by_base_workers(view: LoaningView) -> list[str]:
    """Return the loaned servers by preference: idle ones, those without base workers (section 5.3), the others."""
    assert view.live is not None
    hosted = sorted(view.live.hosted(), key=lambda entry: (len(entry[1]) > 0, len(entry[2])))
    return [name for name, _, _ in hosted]


def flexible_first(
    reclaimer: Reclaimer, preemption_seconds: float | None = None
) -> Callable[[LoaningView], Sequence[str]]:
    """Return a reclaimer that prefers servers without base workers, and asks `reclaimer` for the remaining number.

    - `preemption_seconds`: if given, lost GPU-hours are minimised instead of preempted jobs.
    """

    def choose_servers(view: LoaningView) -> Sequence[str]:
        assert view.live is not None
        hosted = list(view.live.hosted())
        free = sorted((entry for entry in hosted if not entry[1]), key=lambda entry: len(entry[2]))
        names = [name for name, _, _ in free][: view.reclaim]
        if len(names) == view.reclaim:
            return names
        rest = {name for name, base, _ in hosted if base}
        states = [view.jobs[job] for job in dict.fromkeys(job for _, base, _ in hosted for job in base)]
        jobs = [place_on_loan(state, rest) for state in states]
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

    return choose_servers


def reclaim_any_workers(reclaimer: Reclaimer) -> Callable[[LoaningView], Sequence[str]]:
    """Return a reclaimer over all loaned servers, in which a job continues while it has enough workers of any kind."""

    def choose_servers(view: LoaningView) -> Sequence[str]:
        assert view.live is not None
        hosted = list(view.live.hosted())
        servers = tuple(name for name, _, _ in hosted)
        names = dict.fromkeys(job for _, base, flexible in hosted for job in (*base, *flexible))
        jobs = tuple(place_flexibly_on_loan(view.jobs[name], set(servers)) for name in names)
        return reclaimer(ArylReclaim(servers=servers, jobs=jobs, reclaim=view.reclaim))

    return choose_servers


def draw_servers(seed: int) -> Reclaimer:
    """Return a reclaimer that draws servers at random (section 7.1), from a new state each time."""
    rng = random.Random(seed)
    return lambda problem: rng.sample(problem.servers, problem.reclaim)


class Fallback:
    """Base demands only, by SJF; servers without base workers are returned first. The policy has no state."""

    def decide(self, view: LoaningView) -> Allocation:
        if not view.reclaim:
            return decision(view, None)
        loaned = [server for server in view.servers.values() if server.kind == "loaned"]
        base = {server for job in view.jobs.values() for server in job.base}
        loaned.sort(key=lambda server: (server.id in base, -server.free_gpus))
        return Allocation(give_back=tuple(server.id for server in loaned[: view.reclaim]))
