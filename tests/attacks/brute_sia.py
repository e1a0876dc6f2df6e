"""Draw SIA's families of small instances; `tests.sia_optima` has their cut-offs and optima."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from heuristics import sia as heuristics
from instances import InputError
from instances.sia import Job, LocalJob, Pool, SiaLocalOracle, SiaOracle
from models.sia import exact, literal, local_exact, local_literal, time_indexed
from tests.attacks.families import Family, names
from tests.sia_optima import best_local, best_oracle, count_schedules, cutoffs, local_cutoffs

GRID = 1e-9
MOST_SCHEDULES = 5_000  # more are not enumerated
WEIGHTS = (0.25, 0.7, 1.0, 3.0, 0.1, 0.333333333, GRID, 1e-6, 1e6)
ENDS = (GRID, 2 * GRID, 1e-8, 1e-7, 123e-9, 1e-6, 1e-5, 999e-6, 1e-3, 1e3, 1e6, 123456.789012345, 1e9 - GRID, 1e9)
SCALES = (1, 1, 1, 2, 60, 1000)  # slots that all times are multiples of
MOST_LITERAL_SLOTS = 500


def oracle(rng: random.Random, fairness: str | None, weights: tuple[float, ...] = WEIGHTS) -> SiaOracle | None:
    """Draw pools of one to eight GPUs; jobs may exceed a pool, be identical, or start far from time 0."""
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
            fairness_weight=0.0 if fairness is None else rng.choice(weights),
            fair_share=fairness or "all-use",
        )
    except InputError:  # a job wider than its pool without a cut-off of its own
        return None
    return data if count_schedules(data, cutoffs(data)) <= MOST_SCHEDULES else None


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
    return data if count_schedules(data, local_cutoffs(data)) <= MOST_SCHEDULES else None


def _short(method: Callable, data: SiaOracle | SiaLocalOracle, *given: object) -> object:
    """Run the literal method; reject instances with many slots, because the model has a variable per slot."""
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
    Family("sia-oracle ends all-use", lambda rng: oracle(rng, "all-use", ENDS), best_oracle, EXACT, LITERAL),
    Family("sia-oracle ends above-share", lambda rng: oracle(rng, "above-share", ENDS), best_oracle, EXACT, LITERAL),
    Family(
        "sia-local-oracle",
        local,
        best_local,
        {"exact": local_exact},
        {"literal": partial(_short, local_literal)},
        LOCAL_RULES,
    ),
)
