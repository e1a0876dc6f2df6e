"""SIA's families of random small instances, with cut-offs and optima of their own, slot by slot and in fractions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from heuristics import sia as heuristics
from instances import InputError
from instances.sia import Job, LocalJob, Pool, SiaLocalOracle, SiaOracle
from models.sia import exact, literal, local_exact, local_literal, time_indexed
from tests.attacks.families import Family, names

GRID = 1e-9
MOST_SCHEDULES = 5_000  # more are not enumerated
WEIGHTS = (0.25, 0.7, 1.0, 3.0, 0.1, 0.333333333, GRID, 1e-6, 1e6)
SCALES = (1, 1, 1, 2, 60, 1000)  # slots that all times are multiples of
MOST_LITERAL_SLOTS = 500


def oracle(rng: random.Random, fairness: str | None) -> SiaOracle | None:
    """A few pools of one to eight GPUs; jobs as wide as a pool and wider, alike, together, and far from time 0."""
    step, offset = rng.choice(SCALES), rng.choice([0, 0, 0, 1, 100])
    pools = [Pool(name=name, gpus=rng.choice([1, 2, 2, 3, 4, 8])) for name in names(rng, rng.randint(1, 3))]
    widest, own, alike = max(pool.gpus for pool in pools), rng.random() < 0.3, rng.random() < 0.15
    jobs: list[Job] = []
    for name in names(rng, rng.randint(1, 6)):
        if alike and jobs:
            jobs.append(jobs[0].model_copy(update={"id": name, "pool": rng.choice(pools).name}))
            continue
        pool, submit = rng.choice(pools), (offset + rng.choice([0, rng.randint(0, 5)])) * step
        gpus = rng.choice([1, pool.gpus, rng.randint(1, pool.gpus), rng.randint(1, widest) if own else 1])
        late = submit + rng.choice([0, rng.randint(0, 5)]) * step
        given = late if gpus > pool.gpus or (own and rng.random() < 0.5) else None
        duration = rng.choice([1, 2, rng.randint(1, 6)]) * step
        jobs.append(Job(id=name, pool=pool.name, submit=submit, duration=duration, gpus=gpus, latest_start=given))
    try:
        data = SiaOracle(
            slot_minutes=rng.choice([1.0, 5.0, GRID, 0.1]),
            pools=tuple(pools),
            jobs=tuple(jobs),
            fairness_weight=0.0 if fairness is None else rng.choice(WEIGHTS),
            fair_share=fairness or "all-use",
        )
    except InputError:  # a job wider than its pool without a cut-off of its own
        return None
    return data if _schedules(data, cutoffs(data)) <= MOST_SCHEDULES else None


def local(rng: random.Random) -> SiaLocalOracle | None:
    """One to three servers of one to three pools; jobs of whole servers beside slivers of one."""
    step = rng.choice(SCALES)
    pools = [Pool(name=name, gpus=8 * rng.choice([1, 1, 1, 2])) for name in names(rng, rng.randint(1, 3))]
    jobs = tuple(
        LocalJob(
            id=name,
            pool=rng.choice(pools).name,
            submit=rng.choice([0, rng.randint(0, 4)]) * step,
            duration=rng.choice([1, 2, rng.randint(1, 6)]) * step,
            gpus=rng.choice([1, 2, 4, 4, 8, 8]),
        )
        for name in names(rng, rng.randint(1, 6))
    )
    data = SiaLocalOracle(slot_minutes=1.0, pools=tuple(pools), jobs=jobs)
    return data if _schedules(data, local_cutoffs(data)) <= MOST_SCHEDULES else None


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
    """What divides every difference of times: some best schedule starts no job between its multiples."""
    origin = data.jobs[0].submit
    times = [job.submit - origin for job in data.jobs] + [job.duration for job in data.jobs]
    return math.gcd(*times, *(late - origin for late in latest)) or 1


def _schedules(data: SiaOracle | SiaLocalOracle, latest: list[int]) -> int:
    step = _times(data, latest)
    return math.prod((late - job.submit) // step + 1 for job, late in zip(data.jobs, latest, strict=True))


def best_oracle(data: SiaOracle) -> Fraction | None:
    """The least objective of all schedules, on a grid that holds a best one; `None` where there is none."""
    latest = cutoffs(data)
    step, capacity = _times(data, latest), sum(pool.gpus for pool in data.pools)
    owned, weight = {pool.name: pool.gpus for pool in data.pools}, Fraction(repr(data.fairness_weight))
    free = 0 if data.fair_share == "all-use" else 1
    best: Fraction | None = None
    used: dict[int, dict[str, int]] = {}

    def charge() -> Fraction:
        shares = (max(Fraction(gpus, owned[name]) for name, gpus in use.items()) for use in used.values() if use)
        return weight * step * sum((max(Fraction(0), share - free) for share in shares), Fraction(0))

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
            slots = range(start, start + job.duration, step)
            if all(sum(used.get(t, {}).values()) + job.gpus <= capacity for t in slots):
                for t in slots:
                    use = used.setdefault(t, {})
                    use[job.pool] = use.get(job.pool, 0) + job.gpus
                place(i + 1, delay + start - job.submit)
                for t in slots:
                    used[t][job.pool] -= job.gpus

    place(0, 0)
    return best


def best_local(data: SiaLocalOracle) -> Fraction | None:
    """The least delay of all starts and servers; of servers that have held nothing one stands for all."""
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


def _short(method: Callable, data: SiaOracle | SiaLocalOracle, *given: object) -> object:
    """The literal model has a variable for each slot: refused where they are many."""
    if max(job.submit + job.duration for job in data.jobs) > MOST_LITERAL_SLOTS:
        raise InputError("too many slots")
    return method(data, *given)


EXACT = {"exact": exact, "time_indexed": time_indexed}
LITERAL = {"literal": partial(_short, literal)}
RULES = {
    name: getattr(heuristics, name)
    for name in (
        "fcfs",
        "gssf",
        "hived",
        "mmfs",
        "safe_ssf",
        "sia_fine",
        "sia_perfect",
        "sia_vc",
        "sia_vc_literal",
        "sjf",
        "ssf",
    )
}
LOCAL_RULES = {
    name: getattr(heuristics, f"local_{name}")
    for name in ("fcfs", "hived", "safe_ssf", "sia_perfect", "sia_sliding", "sia_vc")
}
FAMILIES = (
    Family("sia-oracle", lambda rng: oracle(rng, None), best_oracle, EXACT, LITERAL),
    Family("sia-oracle all-use", lambda rng: oracle(rng, "all-use"), best_oracle, EXACT, LITERAL),
    Family("sia-oracle above-share", lambda rng: oracle(rng, "above-share"), best_oracle, EXACT, LITERAL),
    Family(
        "sia-local-oracle",
        local,
        best_local,
        {"exact": local_exact},
        {"literal": partial(_short, local_literal)},
        LOCAL_RULES,
    ),
)
