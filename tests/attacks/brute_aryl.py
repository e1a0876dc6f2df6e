"""Draw Aryl's families of small instances; `tests.aryl_cases` has their optima by enumeration in fractions."""

from __future__ import annotations

import random
from fractions import Fraction

from instances import InputError
from instances.aryl import ArylElastic, ArylPlacement, ArylReclaim, ElasticJob, HostServer, LoanedJob, PlacedJob
from models.aryl import exact, literal
from tests.aryl_cases import best_mean_jct, best_reduction, fewest_preemptions, least_cost
from tests.attacks.families import Family, names
from tests.rows import heuristics_of

GRID = 1e-9
SECONDS = (1.0, 1.0, 1.0, 2.0, 3.0, 2.5, 10.0, 1 + GRID, 1 - GRID, 7.123456789)
HOURS = (0.0, 0.0, 1.0, 1.0, 1 + GRID, 1 - GRID, 0.5, 2.25, 3.0, 0.1, 0.3, 40.0, GRID, 2 * GRID, 1e9)
LOSSES = (0.0, 0.0, 0.1, 0.5, 1.0, 0.333333333, 0.25, GRID)


def elastic(rng: random.Random, objective: str, most_jobs: int) -> ArylElastic | None:
    """Equal jobs, jobs a step of the grid apart, and jobs of which one takes 10^15 times as long as another."""
    scale = rng.choice([1.0, 1.0, 1e-9, 1e-6, 1e-3, 1e3, 1e6])
    wide = rng.random() < 0.3
    gpus = rng.choice([1, 1, 1, 2, 10**6])
    same = rng.random() < 0.2
    jobs: list[ElasticJob] = []
    for name in names(rng, rng.randint(1, most_jobs)):
        if jobs and (same or rng.random() < 0.15):
            jobs.append(jobs[-1].model_copy(update={"id": name}))
            continue
        least = rng.randint(1, 3)
        seconds = rng.choice(SECONDS) * (rng.choice([1e-9, 1e-6, 1e-3, 1.0, 10.0, 1e3, 1e6]) if wide else scale)
        jobs.append(
            ElasticJob(
                id=name,
                min_workers=least,
                max_workers=least + rng.choice([0, 1, 1, 2, 3]),
                gpus_per_worker=gpus * rng.randint(1, 3),
                min_running_time=max(seconds, GRID),
            )
        )
    base, most = [job.base_gpus for job in jobs], [job.max_workers * job.gpus_per_worker for job in jobs]
    least_gpus = sum(base) if objective == "jct-reduction" else max(base)
    capacity = rng.choice([least_gpus, least_gpus + gpus * rng.randint(0, 8), least_gpus + gpus, sum(most)])
    return _valid(
        ArylElastic,
        capacity_gpus=max(capacity, least_gpus) + rng.choice([0.0, 0.0, 0.5, 1 - GRID]),
        jobs=tuple(jobs),
        objective=objective,
        scaling_loss=rng.choice(LOSSES),
    )


def reclaim(rng: random.Random) -> ArylReclaim | None:
    """Servers of several jobs, flexible ones, least numbers of workers and losses from nothing to a billion hours."""
    servers = names(rng, rng.randint(1, 7))
    alike = rng.random() < 0.4
    jobs = []
    for name in names(rng, rng.randint(0, 6)):
        on = rng.sample(servers, rng.randint(0, min(4, len(servers))))
        base = rng.choice([len(on), rng.randint(0, len(on))])
        workers = {server: rng.choice([1, 1, 2, 3, 6, 10**6]) for server in on} if rng.random() < 0.5 else None
        every = 0 if workers is None else sum(workers.values())
        jobs.append(
            LoanedJob(
                id=name,
                servers=tuple(on[:base]),
                flexible_servers=tuple(on[base:]),
                workers=workers,
                min_workers=None if workers is None else rng.choice([0, every, rng.randint(0, every)]),
                gpu_hours=1.0 if alike else rng.choice(HOURS),
            )
        )
    objective = rng.choice(["preempted-jobs", "lost-gpu-hours"])
    count = rng.choice([0, len(servers), rng.randint(0, len(servers)), len(servers) // 2])
    return _valid(ArylReclaim, servers=tuple(servers), jobs=tuple(jobs), reclaim=count, objective=objective)


def placement(rng: random.Random) -> ArylPlacement | None:
    """Full servers, servers in use, gangs that fit exactly or not at all, and costs of nothing."""
    unit = rng.choice([1, 1, 1, 10**6])
    servers = []
    for name in names(rng, rng.randint(1, 4)):
        kind, gpus = rng.choice(["training", "loaned"]), rng.choice([1, 2, 4, 4, 8, 8])
        free = rng.choice([0, gpus, gpus, rng.randint(0, gpus)])
        group = rng.choice([None, "base", "flexible"]) if kind == "loaned" and free < gpus else None
        servers.append(HostServer(id=name, kind=kind, gpus=gpus * unit, free_gpus=free * unit, group=group))
    jobs = []
    for name in names(rng, rng.randint(1, 3)):
        base, is_elastic = rng.randint(0, 3), rng.random() < 0.6
        flexible = rng.randint(0, 2) if is_elastic else 0
        kinds = rng.choice([("training",), ("loaned",), ("training", "loaned"), ("loaned", "training")])
        loaned = rng.choice([None, None, 1, 2, 6])
        jobs.append(
            PlacedJob(
                id=name,
                gpus_per_worker=unit * rng.choice([1, 2, 2, 4, 5]),
                loaned_gpus_per_worker=loaned and loaned * unit,
                base_workers=base or int(not flexible),
                flexible_workers=flexible,
                elastic=is_elastic,
                kinds=kinds,
                heterogeneous=len(kinds) == 2 and rng.random() < 0.5,
            )
        )
    costs = rng.choice([(10, 100), (0, 1), (3, 2), (0, 0), (10**6, 1), (1, 10**6), (10**6, 10**6)])
    return _valid(
        ArylPlacement,
        servers=tuple(servers),
        jobs=tuple(jobs),
        misplaced_cost=costs[0],
        unplaced_cost=costs[1],
        grouped=rng.random() < 0.6,
    )


def _valid(kind, **values):
    """Return the data, or `None` if the numbers are rejected together."""
    try:
        return kind(**values)
    except InputError:
        return None


def _optimum(data: ArylElastic) -> Fraction:
    return best_reduction(data) if data.objective == "jct-reduction" else best_mean_jct(data)


EXACT, LITERAL = {"exact": exact}, {"literal": literal}
ON_ELASTIC = heuristics_of("aryl-elastic")
FAMILIES = (
    Family(
        "aryl-elastic jct-reduction",
        lambda rng: elastic(rng, "jct-reduction", 4),
        _optimum,
        EXACT,
        LITERAL,
        ON_ELASTIC,
    ),
    Family("aryl-elastic mean-jct", lambda rng: elastic(rng, "mean-jct", 3), _optimum, EXACT, LITERAL, ON_ELASTIC),
    Family(
        "aryl-reclaim",
        reclaim,
        fewest_preemptions,
        EXACT,
        LITERAL,
        heuristics_of("aryl-reclaim"),
    ),
    Family(
        "aryl-placement",
        placement,
        least_cost,
        EXACT,
        LITERAL,
        heuristics_of("aryl-placement"),
    ),
)
