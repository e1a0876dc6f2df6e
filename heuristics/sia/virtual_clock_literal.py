"""SIA_VC as Figure 6 is written: virtual start times are computed afresh at every event.

They begin with the current state of each pool. A job that runs on borrowed GPUs then counts against its own pool,
virtual start times move back, and reservations no longer protect the cut-offs: Theorem 1 fails.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from instances.sia import SiaOracle


class LiteralVirtualClock:
    """A run of Figure 6 over the jobs of `data`, all known from the beginning."""

    def __init__(self, data: SiaOracle) -> None:
        self.jobs, self.capacity = data.jobs, data.capacity
        self.quota = {pool.name: pool.gpus for pool in data.pools}
        self.waiting = {name: [] for name in self.quota}  # type: dict[str, list[int]]
        for i in sorted(range(len(self.jobs)), key=lambda i: self.jobs[i].submit):
            self.waiting[self.jobs[i].pool].append(i)
        self.running: dict[int, int] = {}  # job -> end
        self.starts: dict[int, int] = {}

    def run(self) -> list[int]:
        """Start slot of each job."""
        events = sorted({job.submit for job in self.jobs})
        heapify(events)
        while events:
            now = heappop(events)
            while events and events[0] == now:
                heappop(events)
            for i in [i for i, end in self.running.items() if end <= now]:
                del self.running[i]
            for i in self._allocate(now):
                heappush(events, self.running[i])
        return [self.starts[i] for i in range(len(self.jobs))]

    def _allocate(self, now: int) -> list[int]:
        """AllocateResources of Figure 6: the jobs that start now."""
        pending = {i for queue in self.waiting.values() for i in queue if self.jobs[i].submit <= now}
        if not pending or sum(self.jobs[i].gpus for i in self.running) >= self.capacity:
            return []
        span = max(self.jobs[i].duration for i in pending)
        order = sorted((start, self.jobs[i].submit, i) for q in self.quota for i, start in self._virtual(q, now, span))
        begun: list[int] = []
        while (chosen := self._first_schedulable(order, pending, now)) is not None:
            pending.discard(chosen)
            order = [entry for entry in order if entry[2] != chosen]
            self.starts[chosen] = now
            self.running[chosen] = now + self.jobs[chosen].duration
            self.waiting[self.jobs[chosen].pool].remove(chosen)
            begun.append(chosen)
        return begun

    def _first_schedulable(self, order: list[tuple[int, int, int]], pending: set[int], now: int) -> int | None:
        """Lines 4 to 11: the first job in order of virtual start that fits; all jobs before make reservations."""
        ahead = [(max(start, now) - now, i) for start, _, i in order]
        ends = [end - now for end in self.running.values()]
        turns = [ends, [t for t, _ in ahead], [t + self.jobs[i].duration for t, i in ahead]]
        slots = np.unique(np.concatenate([[0], *turns]))  # between two of them the plan does not change
        plan = np.zeros(len(slots), dtype=np.int64)
        for i, end in self.running.items():
            plan[: np.searchsorted(slots, end - now)] += self.jobs[i].gpus
        left = len(pending)
        for t, i in ahead:
            job = self.jobs[i]
            if i in pending:
                if plan[: np.searchsorted(slots, job.duration)].max() + job.gpus <= self.capacity:
                    return i
                left -= 1
                if left == 0:
                    return None
            plan[slice(*np.searchsorted(slots, [t, t + job.duration]))] += job.gpus
        return None

    def _virtual(self, pool: str, now: int, span: int) -> list[tuple[int, int]]:
        """CalculateVSTs: (job, virtual start) of the jobs of `pool` that are pending or could start within `span`."""
        ends = [(end, self.jobs[i].gpus) for i, end in self.running.items() if self.jobs[i].pool == pool]
        idle, clock, found = self.quota[pool] - sum(gpus for _, gpus in ends), now, []
        heapify(ends)
        for i in self.waiting[pool]:
            job = self.jobs[i]
            clock = max(clock, job.submit)
            if clock >= now + span and job.submit > now:
                break
            while ends and (ends[0][0] <= clock or idle < job.gpus):
                end, gpus = heappop(ends)
                clock, idle = max(clock, end), idle + gpus
            idle -= job.gpus
            heappush(ends, (clock + job.duration, job.gpus))
            found.append((i, clock))
        return found
