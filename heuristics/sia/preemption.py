"""Partial preemption (section 5.5), as defined here: jobs that may be interrupted run on what SIA keeps idle.

The paper gives the idea alone: keep fewer GPUs idle where many running jobs are preemptible at little cost. Here SIA
decides as if the jobs that may be interrupted, and that run on GPUs it would keep idle, were still waiting. When it
would start such a job, the job goes on as one that is not interrupted any more; when it would start another and GPUs
are missing, the youngest of them are interrupted. So reservations shrink by what can be taken back, and SIA's own
starts are never later for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from zlib import crc32

from heuristics.sia.sia_scheduler import Sia
from instances.sia.online import PendingJob, PoolsView, Start

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
