"""SIA's heuristics and the paper's baselines as methods: data in, checked result out.

The module contains policies that know all future jobs and keep every cut-off (SIA_VC and safe shortest-first), SIA_VC
as Figure 6 is written, and a fast event loop for the online policies. The simulator of pools runs the same policies in
an independent loop; a test compares the two.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Any

import numpy as np

from heuristics.sia.baselines import service
from heuristics.sia.online import ONLINE, sia
from heuristics.sia.predictors import RECENT, WINDOWS_MINUTES, Perfect, SlidingMaximum
from instances import Options, Solution
from instances.method import ANY, SEEDED, Solve, method
from instances.online import Policy, RuleBroken
from instances.sia import Job, SiaOracle
from instances.sia.arrays import slot_arrays
from instances.sia.online import PoolsView, RunningJob
from instances.sia.reservations import backfill


def keep_cutoffs(data: SiaOracle, priority: Sequence[float]) -> list[int]:
    """Return the start slot of each job in `data.jobs`, by backfilling before reservations at the cut-offs.

    - `priority`: the job of minimum priority is tried first.

    If the cut-offs are those of pools without sharing, the reservations fit together, and no job is late (Theorem 1).
    If cut-offs from `latest_start` cannot all be kept, jobs start as soon as GPUs are idle.
    """
    arrays = slot_arrays(data)
    starts: list[int] = arrays.in_slots(backfill(arrays, arrays.cutoff, np.array(priority))).tolist()
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
        """Run AllocateResources of Figure 6, and return the jobs that start now."""
        pending = {i for queue in self.waiting.values() for i in queue if self.jobs[i].submit <= now}
        if not pending or sum(self.jobs[i].gpus for i in self.running) >= self.capacity:
            return []
        span = max(self.jobs[i].duration for i in pending)
        order = sorted(
            (start, self.jobs[i].submit, i) for q in self.quota for i, start in self._virtual_starts(q, now, span)
        )
        started: list[int] = []
        while (chosen := self._find_schedulable(order, pending, now)) is not None:
            pending.discard(chosen)
            order = [entry for entry in order if entry[2] != chosen]
            self.starts[chosen] = now
            self.running[chosen] = now + self.jobs[chosen].duration
            self.waiting[self.jobs[chosen].pool].remove(chosen)
            started.append(chosen)
        return started

    def _find_schedulable(self, order: list[tuple[int, int, int]], pending: set[int], now: int) -> int | None:
        """Run lines 4 to 11: return the first fitting job by virtual start; all jobs before it make reservations."""
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
                if plan[: np.searchsorted(slots, job.duration)].max() + job.gpus <= self.capacity:
                    return i
                left -= 1
                if left == 0:
                    return None
            plan[slice(*np.searchsorted(slots, [t, t + job.duration]))] += job.gpus
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


def replay(data: SiaOracle, policy: Policy[Any, Any]) -> dict[str, int]:
    """Return the start slot of each job under `policy`; raises RuleBroken if jobs wait forever."""
    quota = {pool.name: pool.gpus for pool in data.pools}
    queues: dict[str, OrderedDict[str, Job]] = {name: OrderedDict() for name in quota}
    used = dict.fromkeys(quota, 0)
    running: dict[str, RunningJob] = {}
    shown = MappingProxyType({name: MappingProxyType(queue) for name, queue in queues.items()})
    view = PoolsView(
        0, data.capacity, MappingProxyType(quota), MappingProxyType(used), shown, MappingProxyType(running)
    )
    coming = sorted(data.jobs, key=lambda job: job.submit)[::-1]  # the next job is last; ties in the order of the data
    ending: list[tuple[int, int, Job]] = []
    wake_at: float | None = None
    starts: dict[str, int] = {}
    waiting: dict[str, Job] = {}
    while coming or ending or waiting:
        moments = [
            moment
            for moment in (coming[-1].submit if coming else None, ending[0][0] if ending else None, wake_at)
            if moment is not None
        ]
        if not moments:
            raise _stuck(policy, next(iter(waiting)), view.now)
        now = int(min(moments))
        quiet = not coming and not ending  # the policy was called by its own timer, and no events remain
        finished, arrived, wake_at = [], [], None
        while ending and ending[0][0] <= now:
            job = heappop(ending)[2]
            del running[job.id]
            view.idle += job.gpus
            used[job.pool] -= job.gpus
            finished.append(job)
        while coming and coming[-1].submit <= now:
            job = coming.pop()
            queues[job.pool][job.id] = waiting[job.id] = job
            arrived.append(job)
        view.now, view.arrived, view.finished = now, arrived, finished
        decision = policy.decide(view)
        if decision.interrupted:
            raise RuleBroken(f"job {decision.interrupted[0]} is interrupted at {now}: here jobs run to their end")
        for name in tuple(decision.starts):  # a copy, because it may be the queue itself
            job = waiting.pop(name)
            del queues[job.pool][name]
            view.idle -= job.gpus
            used[job.pool] += job.gpus
            starts[name] = now
            running[name] = RunningJob(job, now)
            heappush(ending, (now + job.duration, len(starts), job))
        if quiet and not ending and waiting:
            job = next(iter(waiting.values()))
            raise _stuck(policy, job.id, now)
        if decision.wake_at is not None and waiting:
            wake_at = max(now + 1, -int(-decision.wake_at // 1))
    return starts


def _stuck(policy: Policy[Any, Any], job: str, now: float) -> RuleBroken:
    name = type(policy).__name__
    return RuleBroken(f"job {job} is left waiting by policy {name} at {now}: nothing runs and nothing is to come")


@method("heuristic", ANY)
def fcfs(data: SiaOracle) -> Solution:
    """Serve each pool first come, first served, without sharing (section 4.1)."""
    return _solution(data, data.fcfs_starts)


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


@method("heuristic", ANY)
def ssf(data: SiaOracle) -> Solution:
    """Start jobs with the shortest service first within each pool, without sharing (section 4.1)."""
    return _online("ssf", data, 0)


@method("heuristic", ANY)
def sjf(data: SiaOracle) -> Solution:
    """Start the shortest jobs first within each pool, without sharing (section 6.1)."""
    return _online("sjf", data, 0)


@method("heuristic", ANY)
def gssf(data: SiaOracle) -> Solution:
    """Start jobs with the shortest service first over all pools, on all GPUs (section 4.1)."""
    return _online("gssf", data, 0)


@method("heuristic", ANY)
def mmfs(data: SiaOracle) -> Solution:
    """Share fairly by max-min between the pools with pending jobs (section 4.1)."""
    return _online("mmfs", data, 0)


@method("heuristic", ANY)
def hived(data: SiaOracle) -> Solution:
    """Run HiveD* without preemption (section 6.1)."""
    return _online("hived", data, 0)


@method("heuristic", ANY)
def themis(data: SiaOracle) -> Solution:
    """Run Themis* with exact durations and without preemption (section 6.1)."""
    return _online("themis", data, 0)


@method("heuristic", ANY)
def sia_perfect(
    data: SiaOracle, *, windows_minutes: Sequence[float] = WINDOWS_MINUTES, apart: bool = False
) -> Solution:
    """Run SIA (Figures 7 and 8) with perfect coarse predictions over any windows; `apart` as in `Sia`."""
    return {"starts": replay(data, sia(data, Perfect(data.jobs), windows_minutes, apart=apart))}


@method("heuristic", ANY)
def sia_fine(data: SiaOracle) -> Solution:
    """Run SIA with perfect predictions, windows that double from 5 minutes on, and `apart` as in `Sia`."""
    return _online("sia-fine", data, 0)


@method("heuristic", ANY)
def sia_sliding(data: SiaOracle, *, recent: int = RECENT) -> Solution:
    """Run SIA with the maximum over `recent` past windows as the estimate of new load (section 5.4.1)."""
    return {"starts": replay(data, sia(data, SlidingMaximum(recent)))}


@method("heuristic", ANY)
def sia_perfect_arrivals(data: SiaOracle) -> Solution:
    """Run SIA with known arrivals, and with the sliding maximum as the estimate of their load (section 5.4.1)."""
    return _online("sia-perfect-arrivals", data, 0)


@method("heuristic", SEEDED)
def sia_random_load(data: SiaOracle, options: Options) -> Solution:
    """Run SIA with random predictions of arrivals: ablation of section 6.3."""
    return _online("sia-random-load", data, options.seed)


@method("heuristic", SEEDED)
def sia_random(data: SiaOracle, options: Options) -> Solution:
    """Run SIA with random predictions of new load and durations: ablation of section 6.3."""
    return _online("sia-random", data, options.seed)


def _online(name: str, data: SiaOracle, seed: int) -> Solution:
    return {"starts": replay(data, ONLINE[name](data, seed))}


def _solution(data: SiaOracle, starts: Iterable[int]) -> Solution:
    return {"starts": {job.id: start for job, start in zip(data.jobs, starts, strict=True)}}
