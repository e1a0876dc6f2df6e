"""Compute cut-offs and optima of small instances of SIA's oracle, slot by slot and in fractions.

They share nothing with the project but the data classes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from instances.sia import SiaLocalOracle, SiaOracle


def cutoffs(data: SiaOracle) -> list[int]:
    """When each job has to start: as it would where its pool serves one job after the other, unless it says when."""
    found = [0] * len(data.jobs)
    for pool in data.pools:
        running: list[tuple[int, int]] = []
        ahead = 0
        for i in sorted(
            (i for i, job in enumerate(data.jobs) if job.pool == pool.name), key=lambda i: data.jobs[i].submit
        ):
            job = data.jobs[i]
            if job.gpus <= pool.gpus:
                ahead = max(ahead, job.submit)
                while sum(gpus for end, gpus in running if end > ahead) + job.gpus > pool.gpus:
                    ahead = min(end for end, _ in running if end > ahead)
                running.append((ahead + job.duration, job.gpus))
                found[i] = ahead
            if job.latest_start is not None:
                found[i] = job.latest_start
    return found


def local_cutoffs(data: SiaLocalOracle) -> list[int]:
    """When each job has to start: as in the smallest free cell, the first of several, of its own pool's servers."""
    found = [0] * len(data.jobs)
    for pool in data.pools:
        running: list[tuple[int, int, int]] = []  # end, first GPU, GPUs
        ahead = 0
        for i in sorted(
            (i for i, job in enumerate(data.jobs) if job.pool == pool.name), key=lambda i: data.jobs[i].submit
        ):
            job = data.jobs[i]
            ahead = max(ahead, job.submit)
            while not (cells := list(_free_cells(pool.gpus, running, ahead, job.gpus))):
                ahead = min(end for end, _, _ in running if end > ahead)
            running.append((ahead + job.duration, min(cells)[1], job.gpus))
            found[i] = ahead
    return found


def _free_cells(gpus: int, running: list[tuple[int, int, int]], now: int, least: int) -> Iterator[tuple[int, int]]:
    """(size, first GPU) of the free cells of at least so many GPUs that are half of no free cell."""
    held = {g for end, first, count in running if end > now for g in range(first, first + count)}
    for size in (1, 2, 4, 8):
        for first in range(0, gpus, size):
            around = first - first % (2 * size)
            free = held.isdisjoint(range(first, first + size))
            if size >= least and free and (size == 8 or not held.isdisjoint(range(around, around + 2 * size))):
                yield size, first


def _times(data: SiaOracle | SiaLocalOracle, latest: list[int]) -> int:
    """Return a divisor of all time differences: a best schedule starts every job at a multiple of it."""
    origin = data.jobs[0].submit
    times = [job.submit - origin for job in data.jobs] + [job.duration for job in data.jobs]
    return math.gcd(*times, *(late - origin for late in latest)) or 1


def count_schedules(data: SiaOracle | SiaLocalOracle, latest: list[int]) -> int:
    """How many schedules are gone through."""
    step = _times(data, latest)
    return math.prod((late - job.submit) // step + 1 for job, late in zip(data.jobs, latest, strict=True))


def best_oracle(data: SiaOracle) -> Fraction | None:
    """Return the minimum objective of all schedules on a grid with an optimum, `None` if there is none."""
    latest = cutoffs(data)
    step, capacity = _times(data, latest), sum(pool.gpus for pool in data.pools)
    owned, weight = {pool.name: pool.gpus for pool in data.pools}, Fraction(repr(data.fairness_weight))
    free = 0 if data.fair_share == "all-use" else 1
    best: Fraction | None = None
    placed: list[tuple[int, int, str, int]] = []  # start, end, pool and GPUs of each job so far

    def use(t: int) -> dict[str, int]:
        """Return the GPUs that the jobs of each pool hold in slot t."""
        held: dict[str, int] = {}
        for start, end, pool, gpus in placed:
            if start <= t < end:
                held[pool] = held.get(pool, 0) + gpus
        return held

    def charge() -> Fraction:
        events = sorted({t for start, end, _, _ in placed for t in (start, end)})
        total = Fraction(0)
        for t, after in itertools.pairwise(events):
            share = max((Fraction(gpus, owned[name]) for name, gpus in use(t).items()), default=Fraction(0))
            total += (after - t) * max(Fraction(0), share - free)
        return weight * total

    def place(i: int, delay: int) -> None:
        nonlocal best
        if best is not None and delay >= best:
            return
        if i == len(data.jobs):
            value = delay + (charge() if weight else 0)
            best = Fraction(value) if best is None else min(best, Fraction(value))
            return
        job = data.jobs[i]
        for start in range(job.submit, latest[i] + 1, step):
            end = start + job.duration
            rises = {start, *(t for t, _, _, _ in placed if start < t < end)}  # the most is held where a job starts
            if all(sum(use(t).values()) + job.gpus <= capacity for t in rises):
                placed.append((start, end, job.pool, job.gpus))
                place(i + 1, delay + start - job.submit)
                placed.pop()

    place(0, 0)
    return best


def best_local(data: SiaLocalOracle) -> Fraction | None:
    """Return the minimum delay of all starts and servers; one empty server represents all empty ones."""
    latest = local_cutoffs(data)
    step, servers = _times(data, latest), sum(pool.gpus for pool in data.pools) // 8
    best: int | None = None
    used: list[dict[int, int]] = [{} for _ in range(servers)]

    def place(i: int, delay: int, touched: int) -> None:
        nonlocal best
        if best is not None and delay >= best:
            return
        if i == len(data.jobs):
            best = delay
            return
        job = data.jobs[i]
        for start in range(job.submit, latest[i] + 1, step):
            slots = range(start, start + job.duration, step)
            for server in range(min(touched + 1, servers)):
                held = used[server]
                if all(held.get(t, 0) + job.gpus <= 8 for t in slots):
                    for t in slots:
                        held[t] = held.get(t, 0) + job.gpus
                    place(i + 1, delay + start - job.submit, max(touched, server + 1))
                    for t in slots:
                        held[t] -= job.gpus

    place(0, 0, 0)
    return None if best is None else Fraction(best)
