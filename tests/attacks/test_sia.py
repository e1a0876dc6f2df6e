"""Test that no feasible answer beats a claimed bound of sia-oracle.

Each instance is solved, and then hundreds of answers are made of its optimal, heuristic and random schedules. Small
instances are enumerated besides, and the literal model is asked for the same.
"""

from __future__ import annotations

import random

import pytest

from heuristics import sia
from instances import agree, better, check
from instances.sia import Job, Pool, SiaOracle
from models.sia import exact, literal
from tests.sampling import sample
from tests.sia_cases import schedules
from tests.sia_optima import best_oracle

BIG = 10**9
ANSWERS = sample(250, 1000)
HEURISTICS = (sia.fcfs, sia.sia_vc_literal, sia.gssf, sia.mmfs, sia.hived, sia.themis)
WEIGHTS = (0.0, 0.25, 1e-9, 1.0, BIG)


def small(rng, **options):
    """Draw pools of 1 to 4 GPUs with jobs, some of them wider than their pool, some with own cut-offs."""
    pools = [Pool(name=f"p{i}", gpus=rng.randint(1, 4)) for i in range(rng.randint(1, 3))]
    widest, own = max(pool.gpus for pool in pools), rng.random() < 1 / 3
    jobs = []
    for k in range(rng.randint(3, 6)):
        pool, submit = rng.choice(pools), rng.randint(0, 5)
        gpus = rng.randint(1, widest if own and rng.random() < 0.3 else pool.gpus)
        late = submit + rng.randint(0, 6) if gpus > pool.gpus or (own and rng.random() < 0.5) else None
        jobs.append(job(k, pool, submit, rng.randint(1, 5), gpus, late))
    return SiaOracle(slot_minutes=1.0, pools=tuple(pools), jobs=tuple(jobs), **options)


def wide(rng, **options):
    """Pools and jobs of one GPU, of a billion, and of anything in between."""
    sizes = (1, 7, 10**5, 999_999_937, BIG - 1, BIG)
    pools = [Pool(name=f"p{i}", gpus=rng.choice(sizes)) for i in range(rng.randint(1, 3))]
    jobs = []
    for k in range(rng.randint(3, 6)):
        pool = rng.choice(pools)
        gpus = rng.choice([1, pool.gpus, pool.gpus - 1, pool.gpus // 2, pool.gpus // 2 + 1, rng.randint(1, pool.gpus)])
        jobs.append(job(k, pool, rng.randint(0, 5), rng.randint(1, 5), min(max(gpus, 1), pool.gpus), None))
    return SiaOracle(slot_minutes=BIG, pools=tuple(pools), jobs=tuple(jobs), **options)


def long(rng, **options):
    """Jobs of a few slots beside jobs of a billion, at the beginning of time or a billion slots later."""
    pools = [Pool(name=f"p{i}", gpus=rng.randint(1, 3)) for i in range(rng.randint(1, 3))]
    base, jobs = rng.choice([0, BIG - 20]), []
    for k in range(rng.randint(2, 5)):
        pool, submit = rng.choice(pools), base + rng.randint(0, 5)
        duration = rng.choice([rng.randint(1, 4), BIG - rng.randint(0, 5)])
        jobs.append(job(k, pool, submit, duration, rng.randint(1, pool.gpus), submit + rng.randint(2, 8)))
    return SiaOracle(slot_minutes=1e-9, pools=tuple(pools), jobs=tuple(jobs), **options)


def equal(rng, **options):
    """Jobs that are all alike, submitted together, in steps of a billion slots."""
    pools = [Pool(name=f"p{i}", gpus=4) for i in range(2)]
    step, gpus = rng.choice([1, BIG]), rng.randint(1, 3)
    jobs = [job(k, rng.choice(pools), 0, step, gpus, None) for k in range(rng.randint(3, 6))]
    return SiaOracle(slot_minutes=1.0, pools=tuple(pools), jobs=tuple(jobs), **options)


def job(k, pool, submit, duration, gpus, late):
    return Job(id=f"j{k}", pool=pool.name, submit=submit, duration=duration, gpus=gpus, latest_start=late)


def answers(rng, data, known, count=ANSWERS):
    """Draw starts near those of `known` schedules, at ends of other jobs, at ends of windows, or anywhere."""
    windows = {job.id: (job.submit, cutoff) for job, cutoff in zip(data.jobs, data.cutoffs, strict=True)}
    for _ in range(count):
        starts = dict(rng.choice(known)) if rng.random() < 0.8 else {n: rng.randint(*w) for n, w in windows.items()}
        for name in rng.sample(list(windows), rng.randint(1, len(windows))):
            other = rng.choice(data.jobs)
            moves = (starts[name] - 1, starts[name] + 1, *windows[name], starts[other.id] + other.duration)
            starts[name] = rng.choice((*moves, rng.randint(*windows[name])))
        yield starts


def attack(data, rng):
    """Return the exact result, after no attack has found an error in it."""
    result = exact(data)
    assert result.status in ("optimal", "feasible", "infeasible")
    known = [method(data).solution["starts"] for method in HEURISTICS if method is not sia.fcfs or not too_wide(data)]
    known += [dict(zip((job.id for job in data.jobs), data.cutoffs, strict=True))]
    known += [result.solution["starts"]] if result.solution is not None else []
    for starts in answers(rng, data, known):
        verdict = check(data, {"starts": starts})
        if verdict.violations:
            continue
        assert result.status != "infeasible", starts
        assert not better(verdict.objective, result.bound, "minimize"), starts
    return result


def too_wide(data):
    owned = {pool.name: pool.gpus for pool in data.pools}
    return any(job.gpus > owned[job.pool] for job in data.jobs)


@pytest.mark.parametrize("fair_share", ["all-use", "above-share"])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("kind", [small, wide, long, equal])
def test_no_answer_that_the_checker_passes_is_better_than_a_bound(kind, weight, fair_share):
    for seed in range(sample(1, 2)):
        rng = random.Random(f"{kind.__name__} {weight} {fair_share} {seed}")
        data = kind(rng, fairness_weight=weight, fair_share=fair_share)
        result = attack(data, rng)
        if schedules(data) <= 500:
            best = best_oracle(data)
            assert (result.status == "infeasible") == (best is None)
            if best is not None:
                assert agree(result.objective, best) or result.status == "feasible"


@pytest.mark.parametrize("fair_share", ["all-use", "above-share"])
@pytest.mark.parametrize("weight", [0.0, 1e-9, 0.25, BIG])
def test_exact_and_literal_agree_on_extremes(weight, fair_share):
    for kind in (small, equal):
        rng = random.Random(f"{kind.__name__} {weight} {fair_share}")
        data = kind(rng, fairness_weight=weight, fair_share=fair_share)
        if sum(job.duration for job in data.jobs) > 1000:
            continue
        one, other = exact(data), literal(data)
        assert (one.status == "infeasible") == (other.status == "infeasible")
        if one.objective is not None:
            assert not better(other.objective, one.bound, "minimize")
            assert not better(one.objective, other.bound, "minimize")
