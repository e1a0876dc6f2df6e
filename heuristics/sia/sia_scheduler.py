"""SIA's scheduler (section 5.3, Figures 7 and 8): dedicated starts in order, spare GPUs by coarse predictions.

Partial preemption (section 5.5) is defined here, for the paper gives the idea alone: keep fewer GPUs idle where many
running jobs are preemptible at little cost. SIA decides as if the jobs that may be interrupted, and that run on GPUs it
would keep idle, were still waiting. When it would start such a job, the job goes on as one that is not interrupted any
more; when it would start another and GPUs are missing, the youngest of them are interrupted. So reservations shrink by
what can be taken back, and SIA's own starts are never later for it.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from zlib import crc32

from heuristics.sia.predictors import Predictor
from instances.sia.online import PendingJob, PoolsView, Start


class Sia:
    """The policy of Figures 7 and 8 over windows `windows`, in slots, increasing.

    A pool's next job in order starts within the pool's own quota. What is idle beyond the reservations of all pools
    for the coming window goes to jobs that will end within that window, shortest window first. A job on spare GPUs
    does not count against its pool's quota. It is asked again after the shortest window while jobs wait on idle GPUs.

    With `apart`, which Figure 8 does not have, a job that is considered for spare GPUs is left out of the pending load
    of its own pool: once it has started, nothing has to be kept for it.
    """

    def __init__(self, predictor: Predictor, windows: Sequence[float], *, apart: bool = False) -> None:
        self.predictor, self.windows, self.apart = predictor, tuple(windows), apart
        self._dedicated: dict[str, int] = {}
        self._own: set[str] = set()
        self._queues: dict[str, _Queue] = {}
        self._future: dict[float, dict[str, float]] = {}  # of each window, at the moment of the decision

    def decide(self, view: PoolsView) -> Start:
        self.predictor.observe(view)
        for job in view.finished:
            if job.id in self._own:
                self._own.discard(job.id)
                self._dedicated[job.pool] -= job.gpus
        for job in view.arrived:
            queue = self._queues.setdefault(job.pool, _Queue())
            queue.add(job, self.predictor.duration_class(job, self.windows))
        if not any(queue.gpus for queue in self._queues.values()):
            return Start()
        starts: list[str] = []
        left, allocated = view.idle, dict(view.used)
        self._future.clear()
        before = -1
        while len(starts) > before:  # a job that leaves on spare GPUs may let the one behind it start in order
            before = len(starts)
            left = self._dedicated_starts(view, left, allocated, starts)
            left = self._spare_starts(view, left, allocated, starts)
        waiting = left > 0 and any(queue.gpus for queue in self._queues.values())
        return Start(starts, view.now + self.windows[0] if waiting else None)

    def duration_class(self, job: PendingJob) -> int:
        """The predicted class of a job that waits."""
        return self._queues[job.pool].duration_class(job)

    def leave(self, job: PendingJob) -> None:
        """Let a job that waits leave its queue without a start."""
        self._queues[job.pool].remove(job)

    def _dedicated_starts(self, view: PoolsView, left: int, allocated: dict[str, int], starts: list[str]) -> int:
        """Figure 7: GPUs still idle after each pool's next jobs in order start on the pool's quota."""
        heads = {pool: head for pool, queue in self._queues.items() if (head := queue.head()) is not None}
        while True:
            able = [
                pool
                for pool, job in heads.items()
                if job.gpus <= left and self._dedicated.get(pool, 0) + job.gpus <= view.quota[pool]
            ]
            if not able:
                return left
            pool = min(able, key=lambda name: allocated[name] / view.quota[name])
            job = heads.pop(pool)
            self._own.add(job.id)
            self._dedicated[pool] = self._dedicated.get(pool, 0) + job.gpus
            left -= self._start(job, allocated, starts)
            following = self._queues[pool].head()
            if following is not None:
                heads[pool] = following

    def _spare_starts(self, view: PoolsView, left: int, allocated: dict[str, int], starts: list[str]) -> int:
        """Figure 8: GPUs still idle after jobs start on spare GPUs."""
        for k, window in enumerate(self.windows):
            if left <= 0 or not any(queue.shortest <= k for queue in self._queues.values()):
                continue
            future = self._new_load(view, window)
            kept = {pool: self._reserved(view, pool, load) for pool, load in future.items()}
            while left > 0:
                usable = left - sum(kept.values())
                offers: dict[str, PendingJob] = {}
                for pool, queue in self._queues.items():
                    if queue.shortest > k:
                        continue
                    more = self._given_back(view, pool, future[pool], kept[pool]) if self.apart else None
                    if usable > 0 or more is not None:
                        job = queue.first(k, usable, more)
                        if job is not None:
                            offers[pool] = job
                if not offers:
                    break
                pool = min(offers, key=lambda name: allocated[name] / view.quota[name])
                left -= self._start(offers[pool], allocated, starts)
                kept[pool] = self._reserved(view, pool, future[pool])
        return left

    def _new_load(self, view: PoolsView, window: float) -> dict[str, float]:
        """Each pool's new load in the window from now, which is asked for once a decision."""
        known = self._future.get(window)
        if known is None:
            known = {pool: self.predictor.new_load(pool, view.now, window) for pool in view.quota}
            self._future[window] = known
        return known

    def _reserved(self, view: PoolsView, pool: str, future: float, started: int = 0) -> float:
        """ReserveResourcesForFuture: GPUs kept for `pool`, whose new load in the window is `future`.

        `started`: GPUs of the pool's pending jobs that are left out.
        """
        needed = future + (self._queues[pool].gpus - started if pool in self._queues else 0)
        unused = view.quota[pool] - self._dedicated.get(pool, 0)
        return needed if needed < unused else unused

    def _given_back(self, view: PoolsView, pool: str, future: float, kept: float) -> Callable[[int], float]:
        """GPUs of `kept` that are no longer needed for `pool` once a job of so many GPUs has started."""
        return lambda gpus: kept - self._reserved(view, pool, future, gpus)

    def _start(self, job: PendingJob, allocated: dict[str, int], starts: list[str]) -> int:
        self._queues[job.pool].remove(job)
        allocated[job.pool] += job.gpus
        starts.append(job.id)
        return job.gpus


class _Queue:
    """The pending jobs of a pool, by predicted class and width, to find the first that fits at once."""

    def __init__(self) -> None:
        self.gpus = 0
        self.shortest: float = math.inf  # the least class that waits
        self._order: OrderedDict[str, PendingJob] = OrderedDict()
        self._kinds: dict[tuple[int, int], OrderedDict[str, PendingJob]] = {}  # without those of which nobody waits
        self._kind_of: dict[str, tuple[int, int]] = {}
        self._place: dict[str, int] = {}

    def add(self, job: PendingJob, duration_class: int) -> None:
        kind = duration_class, job.gpus
        self._order[job.id] = job
        self._kinds.setdefault(kind, OrderedDict())[job.id] = job
        self._kind_of[job.id] = kind
        self._place[job.id] = len(self._place)
        self.gpus += job.gpus
        self.shortest = min(self.shortest, duration_class)

    def remove(self, job: PendingJob) -> None:
        del self._order[job.id]
        kind = self._kind_of.pop(job.id)
        alike = self._kinds[kind]
        del alike[job.id]
        self.gpus -= job.gpus
        if not alike:
            del self._kinds[kind]
            self.shortest = min((k for k, _ in self._kinds), default=math.inf)

    def duration_class(self, job: PendingJob) -> int:
        return self._kind_of[job.id][0]

    def head(self) -> PendingJob | None:
        return next(iter(self._order.values())) if self._order else None

    def first(self, duration_class: int, gpus: float, more: Callable[[int], float] | None = None) -> PendingJob | None:
        """The first in order of submission that is of the class or shorter and no wider than `gpus`.

        `more` tells how many GPUs beyond `gpus` there are for a job of a width.
        """
        heads = (
            next(iter(jobs.values()))
            for (k, width), jobs in self._kinds.items()
            if k <= duration_class and width <= gpus + (0 if more is None else more(width))
        )
        return min(heads, key=lambda job: self._place[job.id], default=None)


Preemptible = Callable[[PendingJob], bool]


def share_of_jobs(share: float) -> Preemptible:
    """So large a share of the jobs, chosen by a digest of their ids, may be interrupted."""
    return lambda job: crc32(job.id.encode()) < share * 2**32


class PreemptiveSia:
    """SIA, and on what it keeps idle the jobs that may be interrupted: shortest class first, then in order.

    Each interruption makes room for a job that SIA starts for good, so that there are no more of them than GPUs of all
    jobs together.
    """

    def __init__(self, sia: Sia, preemptible: Preemptible) -> None:
        self.sia, self.preemptible = sia, preemptible
        self._lent: dict[str, PendingJob] = {}  # jobs that run and may be interrupted, the youngest last

    def decide(self, view: PoolsView) -> Start:
        for job in view.finished:
            if self._lent.pop(job.id, None) is not None:
                self.sia.leave(job)
        used = dict(view.used)
        for job in self._lent.values():
            used[job.pool] -= job.gpus
        seen = replace(view, idle=view.idle + sum(job.gpus for job in self._lent.values()), used=used)
        found = self.sia.decide(seen)
        starts: list[str] = []
        left = view.idle
        waiting = {name: job for queue in view.queues.values() for name, job in queue.items()}
        for name in found.starts:
            if self._lent.pop(name, None) is None:
                left -= waiting.pop(name).gpus
                starts.append(name)
        interrupted: list[str] = []
        while left < 0:
            name, job = self._lent.popitem()
            left += job.gpus
            interrupted.append(name)
        if left > 0:
            candidates = [job for job in waiting.values() if self.preemptible(job)]
            for job in sorted(candidates, key=lambda job: (self.sia.duration_class(job), job.submit)):
                if job.gpus <= left:
                    left -= job.gpus
                    self._lent[job.id] = job
                    starts.append(job.id)
        return Start(starts, found.wake_at, interrupted)
