"""SIA's scheduler (section 5.3, Figures 7 and 8): dedicated starts in order, spare GPUs by coarse predictions.

Comments name the lines of the pseudocode, which each procedure counts from 1.

The paper gives only the idea of partial preemption (section 5.5): keep fewer GPUs idle if many running jobs can be
preempted at low cost. It is defined here as follows. Interruptible jobs run on GPUs that SIA would keep idle. SIA
decides as if these jobs were still pending. If it starts such a job, the job continues and can no longer be
interrupted. If it starts another job and GPUs are missing, the youngest interruptible jobs are interrupted. So
reservations shrink by the GPUs that can be taken back, and SIA's own starts are never delayed.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from zlib import crc32

from heuristics.sia.baselines import find_fitting
from heuristics.sia.predictors import Predictor
from instances.sia.online import PendingJob, PoolsView, Start


class Sia:
    """The policy of Figures 7 and 8.

    - `predictor`: predicts new load and duration classes.
    - `windows`: increasing time windows, in slots.
    - `apart`: whether the pending load of a pool excludes a job that is considered for spare GPUs, because it needs no
      reservation once it has started. Figure 8 has no such rule.

    A pool's next job in order starts within the pool's own quota. GPUs beyond the reservations of all pools for a
    window go to jobs that end within this window, shortest window first. A job on spare GPUs does not count against its
    pool's quota. The policy is called again after the shortest window while jobs wait and GPUs are idle.
    """

    def __init__(self, predictor: Predictor, windows: Sequence[float], *, apart: bool = False) -> None:
        self.predictor, self.windows, self.apart = predictor, tuple(windows), apart
        self._dedicated: dict[str, int] = {}
        self._own: set[str] = set()
        self._queues: dict[str, _Queue] = {}
        self._future: dict[float, dict[str, float]] = {}  # predicted load by window and pool, for one decision

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
        while len(starts) > before:  # a start on spare GPUs may let the next job start in order
            before = len(starts)
            left = self._allocate_dedicated(view, left, allocated, starts)  # line 1
            left = self._allocate_spare(view, left, allocated, starts)  # line 2
        waiting = left > 0 and any(queue.gpus for queue in self._queues.values())
        return Start(starts, view.now + self.windows[0] if waiting else None)

    def duration_class(self, job: PendingJob) -> int:
        """Return the predicted class of a pending job."""
        return self._queues[job.pool].duration_class(job)

    def leave(self, job: PendingJob) -> None:
        """Remove a pending job from its queue without a start."""
        self._queues[job.pool].remove(job)

    def _allocate_dedicated(self, view: PoolsView, left: int, allocated: dict[str, int], starts: list[str]) -> int:
        """Run AllocateDedicatedResources (Figure 7), and return the number of GPUs that stay idle."""
        heads = {pool: head for pool, queue in self._queues.items() if (head := queue.head()) is not None}
        while True:  # line 1
            able = [
                pool
                for pool, job in heads.items()  # line 3
                if job.gpus <= left and self._dedicated.get(pool, 0) + job.gpus <= view.quota[pool]  # line 4
            ]
            if not able:
                return left  # line 7
            pool = min(able, key=lambda name: allocated[name] / view.quota[name])  # line 2
            job = heads.pop(pool)
            self._own.add(job.id)
            self._dedicated[pool] = self._dedicated.get(pool, 0) + job.gpus
            left -= self._start(job, allocated, starts)  # line 5
            following = self._queues[pool].head()
            if following is not None:
                heads[pool] = following

    def _allocate_spare(self, view: PoolsView, left: int, allocated: dict[str, int], starts: list[str]) -> int:
        """Run AllocateSpareResources (Figure 8), and return the number of GPUs that stay idle."""
        for k, window in enumerate(self.windows):  # line 1
            if left <= 0 or not any(queue.shortest <= k for queue in self._queues.values()):
                continue
            future = self._new_load(view, window)
            kept = {pool: self._reserve(view, pool, load) for pool, load in future.items()}  # lines 3 and 4
            while left > 0:  # line 2
                usable = left - sum(kept.values())  # line 5
                offers: dict[str, PendingJob] = {}
                for pool, queue in self._queues.items():
                    if queue.shortest > k:
                        continue
                    more = self._count_released(view, pool, future[pool], kept[pool]) if self.apart else None
                    if usable > 0 or more is not None:
                        job = queue.first(k, usable, more)  # lines 7 and 8
                        if job is not None:
                            offers[pool] = job
                if not offers:
                    break  # lines 9 and 13
                pool = min(offers, key=lambda name: allocated[name] / view.quota[name])  # line 6
                left -= self._start(offers[pool], allocated, starts)  # line 10
                kept[pool] = self._reserve(view, pool, future[pool])  # line 12, and lines 3 and 4 again
        return left

    def _new_load(self, view: PoolsView, window: float) -> dict[str, float]:
        """Return each pool's predicted new load in the window from now, computed once per decision."""
        known = self._future.get(window)
        if known is None:
            known = {pool: self.predictor.new_load(pool, view.now, window) for pool in view.quota}
            self._future[window] = known
        return known

    def _reserve(self, view: PoolsView, pool: str, future: float, started: int = 0) -> float:
        """Run ReserveResourcesForFuture (Figure 8), and return the number of GPUs reserved for `pool` (line 4).

        - `future`: predicted new load in the window.
        - `started`: GPUs of pending jobs that are excluded.
        """
        needed = future + (self._queues[pool].gpus - started if pool in self._queues else 0)  # lines 1 and 2
        unused = view.quota[pool] - self._dedicated.get(pool, 0)  # line 3
        return needed if needed < unused else unused

    def _count_released(self, view: PoolsView, pool: str, future: float, kept: float) -> Callable[[int], float]:
        """Return a function from the width of a starting job to the GPUs of `kept` that it makes unnecessary."""
        return lambda gpus: kept - self._reserve(view, pool, future, gpus)

    def _start(self, job: PendingJob, allocated: dict[str, int], starts: list[str]) -> int:
        self._queues[job.pool].remove(job)
        allocated[job.pool] += job.gpus
        starts.append(job.id)
        return job.gpus


class _Queue:
    """The pending jobs of a pool, by predicted class and width, to find the first fitting job at once."""

    def __init__(self) -> None:
        self.gpus = 0
        self.shortest: float = math.inf  # minimum class of the pending jobs
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
        """Return the first job in order of submission whose class is at most the given one and that fits.

        - `gpus`: maximum width.
        - `more(width)`: number of GPUs beyond `gpus` for a job of this width.
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
    """SIA, with interruptible jobs on GPUs that it keeps idle: shortest class first, then in order of submission.

    Each interruption makes space for a job that SIA starts for good. So the number of interruptions is at most the sum
    of the widths of all jobs.
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
        decision = self.sia.decide(seen)
        starts: list[str] = []
        left = view.idle
        waiting = {name: job for queue in view.queues.values() for name, job in queue.items()}
        for name in decision.starts:
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
            candidates.sort(key=lambda job: (self.sia.duration_class(job), job.submit))
            lent = find_fitting(candidates, left)
            self._lent |= {name: waiting[name] for name in lent}
            starts += lent
        return Start(starts, decision.wake_at, interrupted)
