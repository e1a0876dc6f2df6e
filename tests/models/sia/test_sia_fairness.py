"""Test sia-oracle with fairness: the optimum by enumeration, bounds by multipliers, and annealing."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from instances import Stopwatch, check
from instances.sia import Job, Pool, SiaOracle, synthetic
from instances.sia.arrays import oracle_arrays, solution_of
from models.sia import exact, literal, time_indexed
from models.sia.fairness import build_fairness, close_columns, find_multipliers
from models.sia.parameters import DEFAULTS
from models.sia.rows import StartColumns
from models.sia.search import anneal_with_penalties
from tests.attacks.families import PLAIN, faults
from tests.sampling import sample
from tests.sia_cases import schedules
from tests.sia_optima import best_oracle

ALWAYS = replace(
    DEFAULTS, fair_min_starts=0, fair_tries=50, fair_ascent_rounds=100
)  # annealing and prices on any instance


def _small(seed: int, fair_share: str) -> SiaOracle:
    rng = random.Random(seed)
    pools = tuple(Pool(name=f"p{i}", gpus=rng.choice((1, 2, 3, 4, 6))) for i in range(rng.randint(1, 3)))
    jobs = []
    for k in range(rng.randint(2, 6)):
        pool = rng.choice(pools)
        submit, length, gpus = rng.randint(0, 5), rng.randint(1, 5), rng.randint(1, pool.gpus)
        jobs.append(Job(id=f"j{k}", pool=pool.name, submit=submit, duration=length, gpus=gpus))
    weight = rng.choice((0.01, 0.3, 1.0, 7.0))
    return SiaOracle(slot_minutes=1.0, pools=pools, jobs=tuple(jobs), fairness_weight=weight, fair_share=fair_share)


CASES = [
    data
    for seed in range(sample(20, 40))
    for share in ("all-use", "above-share")
    if schedules(data := _small(seed, share)) <= 300
]


def test_with_prices_and_annealing_the_optimum_is_that_of_enumeration():
    for data in CASES:
        result = exact(data, parameters=ALWAYS)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(best_oracle(data), rel=1e-9, abs=1e-9)


def test_prices_bound_every_schedule_and_exclude_none_of_at_most_the_objective():
    closed = 0
    for data in CASES:
        arrays = oracle_arrays(data)
        fairness, columns, best = build_fairness(data, arrays), StartColumns(arrays), float(best_oracle(data))
        target = best / arrays.slot
        prices = find_multipliers(arrays, fairness, target, Stopwatch(), ALWAYS)
        bound = close_columns(data, columns, fairness, prices, target)
        assert bound is not None
        assert bound * arrays.slot <= Fraction(best) * (1 + Fraction(1, 10**12))
        closed += int((~columns.open).sum())
        for starts in product(*(range(s, m + 1) for s, m in zip(arrays.submit, arrays.cutoff, strict=True))):
            verdict = check(data, solution_of(data, arrays, np.array(starts)))
            if not verdict.violations and verdict.objective <= best:
                assert columns.open[columns.find_columns(np.array(starts))].all()
    assert closed > 0


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_any_prices_prove_a_valid_bound(scale):
    """Prices that break the condition on their sum, and prices of all sizes: rounded, they still bound the optimum."""
    rng = np.random.default_rng(0)
    for data in CASES[:25]:
        arrays = oracle_arrays(data)
        fairness, best = build_fairness(data, arrays), float(best_oracle(data))
        prices = find_multipliers(
            arrays, fairness, best / arrays.slot, Stopwatch(), replace(ALWAYS, fair_ascent_rounds=0)
        )
        noise = rng.random(prices.shares.shape)
        wild = replace(prices, capacity=scale * rng.random(arrays.horizon), shares=prices.shares * (1 + noise))
        bound = close_columns(data, StartColumns(arrays), fairness, wild, best / arrays.slot)
        assert bound is None or bound * arrays.slot <= Fraction(best) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("fair_share", ["all-use", "above-share"])
def test_a_quarter_of_a_day_is_proven_as_by_the_literal_model(fair_share):
    base = synthetic("base", 3, days=0.25, slot_minutes=5.0).data
    data = base.model_copy(update={"fairness_weight": 1.3, "fair_share": fair_share})
    one, other = exact(data, parameters=ALWAYS), literal(data)
    assert one.status == other.status == "optimal"
    assert one.objective == pytest.approx(other.objective, rel=1e-6)


def test_annealing_makes_a_schedule_of_starts_that_are_too_wide_together():
    arrays = oracle_arrays(synthetic("base", 3, days=0.5, slot_minutes=5.0).data)
    assert not arrays.feasible(arrays.submit)
    runs = [anneal_with_penalties(arrays, arrays.submit, Stopwatch(), seed=3, tries=2_000) for _ in range(2)]
    (first, _), (second, _) = runs
    assert first is not None
    assert arrays.feasible(first)
    assert (first == second).all()


def test_annealing_never_loses_the_schedule_that_it_is_given():
    arrays = oracle_arrays(synthetic("base", 4, days=0.5, slot_minutes=5.0).data)
    found, _ = anneal_with_penalties(arrays, arrays.cutoff, Stopwatch(), tries=1)
    assert found is not None
    assert arrays.delay(found) <= arrays.delay(arrays.cutoff)


def _two_wide_jobs(seed: int) -> SiaOracle:
    """Four jobs of which two are as wide as their pool, and a weight of few steps of the grid."""
    rng, jobs = random.Random(seed), []
    for k, (pool, submit, length, gpus, slack) in enumerate(
        ((1, 2, 1, 3, 1), (0, 0, 2, 2, 2), (1, 0, 4, 3, None), (1, 1, 6, 1, 4))
    ):
        begin, duration = max(0, submit + rng.choice((0, 0, 0, 1, -1))), max(1, length + rng.choice((0, 0, 0, 1, -1)))
        latest = None if slack is None else begin + slack + rng.choice((0, 0, 1, 2))
        jobs.append(Job(id=f"j{k}", pool=f"p{pool}", submit=begin, duration=duration, gpus=gpus, latest_start=latest))
    return SiaOracle(
        slot_minutes=1.0,
        pools=tuple(Pool(name=f"p{i}", gpus=gpus) for i, gpus in enumerate((2, 3, 2))),
        jobs=tuple(jobs),
        fairness_weight=rng.choice((1e-9, 1e-9, 2e-9, 1e-8, 1e-7)),
        fair_share="above-share",
    )


def test_no_bound_is_false_on_the_way_where_a_slot_is_a_billion_times_what_fairness_costs():
    """HiGHS's own was 2.0000005e-9 beside schedules of 2e-9."""
    for seed in range(sample(120, 1000)):
        data, bounds = _two_wide_jobs(seed), []
        result = time_indexed(data, PLAIN, lambda _, bound, to=bounds: to.append(0.0 if bound is None else bound))
        assert list(faults(result, best_oracle(data), PLAIN, bounds)) == []
        assert result.status == "optimal"
