"""SIA_VC (section 5.1): virtual clocks and reservations, by exact knowledge of all future jobs.

`sia_vc_literal` is Figure 6; comments name the lines of its pseudocode. `sia_vc` fixes the virtual start times at the
cut-offs, so that Theorem 1 holds. `safe_ssf` is a policy of our own with the same reservations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from heuristics.sia.baselines import service
from instances import Solution
from instances.method import ANY, Solve, method
from instances.sia import SiaOracle
from instances.sia.arrays import slot_arrays
from instances.sia.reservations import backfill


def keep_cutoffs(data: SiaOracle, priority: Sequence[float]) -> list[int]:
    """Return the start slot of each job in `data.jobs`, by backfilling before reservations at the cut-offs.

    - `priority`: the job of minimum priority is tried first.

    If the cut-offs are those of pools without sharing, the reservations fit together, and no job is late (Theorem 1).
    If cut-offs from `latest_start` cannot all be kept, jobs start as soon as GPUs are idle.
    """
    arrays = slot_arrays(data)
    starts: list[int] = arrays.to_slots(backfill(arrays, arrays.cutoff, np.array(priority))).tolist()
    return starts


class LiteralVirtualClock:
    """A run of Figure 6 over the jobs of `data`, which are all known from the beginning."""

    def __init__(self, data: SiaOracle) -> None:
        self.jobs, self.capacity = data.jobs, data.capacity
        self.quota = {pool.name: pool.gpus for pool in data.pools}
        self.waiting = {name: [] for name in self.quota}  # type: dict[str, list[int]]
        for i in sorted(range(len(self.jobs)), key=lambda i: self.jobs[i].submit):
            self.waiting[self.jobs[i].pool].append(i)
        self.running: dict[int, int] = {}  # job -> end
        self.starts: dict[int, int] = {}

    def run(self) -> list[int]:
        """Return the start slot of each job."""
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
        """Run AllocateResources, and return the jobs that start now."""
        pending = {i for queue in self.waiting.values() for i in queue if self.jobs[i].submit <= now}
        if not pending or sum(self.jobs[i].gpus for i in self.running) >= self.capacity:
            return []
        span = max(self.jobs[i].duration for i in pending)
        order = sorted(
            (start, self.jobs[i].submit, i) for q in self.quota for i, start in self._virtual_starts(q, now, span)
        )  # lines 1 and 5
        started: list[int] = []
        while (chosen := self._find_schedulable(order, pending, now)) is not None:  # lines 2 to 6 and 13
            pending.discard(chosen)
            order = [entry for entry in order if entry[2] != chosen]
            self.starts[chosen] = now  # lines 9 to 11
            self.running[chosen] = now + self.jobs[chosen].duration
            self.waiting[self.jobs[chosen].pool].remove(chosen)
            started.append(chosen)
        return started

    def _find_schedulable(self, order: list[tuple[int, int, int]], pending: set[int], now: int) -> int | None:
        """Run lines 4 to 8: return the first fitting job by virtual start; all jobs before it make reservations.

        The plan is new in each call, which is line 12.
        """
        ahead = [(max(start, now) - now, i) for start, _, i in order]
        ends = [end - now for end in self.running.values()]
        times = [ends, [t for t, _ in ahead], [t + self.jobs[i].duration for t, i in ahead]]
        slots = np.unique(np.concatenate([[0], *times]))  # the plan is constant between two of them
        plan = np.zeros(len(slots), dtype=np.int64)
        for i, end in self.running.items():
            plan[: np.searchsorted(slots, end - now)] += self.jobs[i].gpus
        left = len(pending)
        for t, i in ahead:
            job = self.jobs[i]
            if i in pending:
                if plan[: np.searchsorted(slots, job.duration)].max() + job.gpus <= self.capacity:  # line 6
                    return i
                left -= 1
                if left == 0:
                    return None
            plan[slice(*np.searchsorted(slots, [t, t + job.duration]))] += job.gpus  # line 7
        return None

    def _virtual_starts(self, pool: str, now: int, span: int) -> list[tuple[int, int]]:
        """Run CalculateVSTs: return (job, virtual start) of jobs that are pending or may start within `span`."""
        ends = [(end, self.jobs[i].gpus) for i, end in self.running.items() if self.jobs[i].pool == pool]
        idle, clock, starts = self.quota[pool] - sum(gpus for _, gpus in ends), now, []
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
            starts.append((i, clock))
        return starts


@method("heuristic", ANY)
def sia_vc(data: SiaOracle) -> Solution:
    """Run SIA_VC (section 5.1, Figure 6) with virtual start times fixed at the cut-offs, for which Theorem 1 holds."""
    return _solution(data, keep_cutoffs(data, list(data.cutoffs)))


@method("heuristic", ANY)
def sia_vc_literal(data: SiaOracle) -> Solution:
    """Run SIA_VC with virtual start times recomputed at every event, as in Figure 6; it violates Theorem 1."""
    return _solution(data, LiteralVirtualClock(data).run())


@method("heuristic", ANY)
def safe_ssf(data: SiaOracle) -> Solution:
    """Start jobs by increasing GPU time, before reservations at all cut-offs; a policy of our own."""
    return _solution(data, keep_cutoffs(data, [service(job) for job in data.jobs]))


PLANNED: Mapping[str, Solve[SiaOracle]] = {"sia-vc": sia_vc, "sia-vc-literal": sia_vc_literal, "safe-ssf": safe_ssf}
"""Policies that know all future jobs, so each is a schedule."""


def _solution(data: SiaOracle, starts: Iterable[int]) -> Solution:
    return {"starts": {job.id: start for job, start in zip(data.jobs, starts, strict=True)}}
