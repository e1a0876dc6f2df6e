"""Test presolve of sia-oracle and start enumeration against all schedules of small instances."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from instances.sia import synthetic
from instances.sia.arrays import OracleArrays, oracle_arrays
from models.sia import exact
from models.sia.orders import enumerate_orders
from models.sia.parameters import DEFAULTS
from models.sia.presolve import isolate_jobs, presolve
from models.sia.rows import NO_JOB
from tests.sampling import sample
from tests.sia_cases import made

APART = replace(DEFAULTS, enumeration_jobs=0, component_effort=1)
"""Constants with which parts are given up at once, and proven together."""


def _small(rng: random.Random) -> OracleArrays:
    """Jobs as wide as all pools, of one GPU, alike, without a choice, at once and far apart."""
    pools = tuple((f"p{i}", rng.choice([1, 1, 2, 3, 4])) for i in range(rng.choice([1, 1, 2, 3])))
    late, longest, later = rng.choice([0, 2, 5, 10]), rng.choice([1, 3, 5, 8]), rng.choice([0, 9, 25])
    jobs = []
    for _ in range(rng.randint(1, 7)):
        pool, gpus = rng.choice(pools)
        submit, width = rng.randint(0, late) + rng.choice([0, later]), rng.choice([1, gpus, rng.randint(1, gpus)])
        jobs.append((pool, submit, rng.randint(1, longest), width))
    arrays = oracle_arrays(made(*jobs, pools=pools))
    if rng.random() < 0.3:
        own = arrays.submit + np.array([rng.choice([0, 0, 1, 2, 5, 8]) for _ in jobs])
        arrays = replace(arrays, cutoff=np.where([rng.random() < 0.6 for _ in jobs], own, arrays.cutoff))
    return arrays


def _schedules(arrays: OracleArrays) -> list[np.ndarray]:
    """All starts within windows, feasible or not; none where these are too many."""
    if np.prod(arrays.cutoff - arrays.submit + 1.0) > 2_000:
        return []
    windows = zip(arrays.submit.tolist(), arrays.cutoff.tolist(), strict=True)
    return [np.array(starts) for starts in product(*(range(s, m + 1) for s, m in windows))]


def _cases(count: int):
    """Arrays with their feasible schedules, the optima among them, and one of them at hand."""
    rng = random.Random(7)
    while count:
        arrays = _small(rng)
        feasible = [starts for starts in _schedules(arrays) if arrays.feasible(starts)]
        if feasible:
            least = min(map(arrays.delay, feasible))
            yield arrays, rng.choice(feasible), [starts for starts in feasible if arrays.delay(starts) == least]
            count -= 1


def test_no_optimal_schedule_is_lost_and_parts_have_nothing_to_do_with_each_other():
    several = 0
    for arrays, at_hand, optima in _cases(sample(100, 1000)):
        narrow, part, best = presolve(arrays, at_hand)
        assert arrays.feasible(best)
        assert arrays.delay(best) <= arrays.delay(at_hand)
        for starts in (best, *optima):
            assert (starts <= narrow.cutoff).all()
            assert (starts == arrays.submit)[part == NO_JOB].all()
        apart = [np.flatnonzero(part == name) for name in range(part.max() + 1)]
        problems = [isolate_jobs(narrow, chosen, best)[0] for chosen in apart]
        several += len(apart) > 1
        for starts in _schedules(narrow):
            fits = [
                own.feasible(np.concatenate([starts[chosen], own.cutoff[len(chosen) :]]))
                for chosen, own in zip(apart, problems, strict=True)
            ]
            assert all(fits) == arrays.feasible(starts)
    assert several > 0


def test_all_orders_have_the_optimum_and_few_prove_nothing_false():
    for arrays, at_hand, optima in _cases(sample(100, 1000)):
        everybody = np.arange(len(at_hand))
        found, proven = enumerate_orders(arrays, everybody, at_hand, 10**6)
        assert proven
        assert arrays.feasible(found)
        assert arrays.delay(found) == arrays.delay(optima[0])
        some, proven = enumerate_orders(arrays, everybody, at_hand, 3)
        assert arrays.feasible(some)
        assert not proven or arrays.delay(some) == arrays.delay(optima[0])


def test_windows_of_a_schedule_with_idle_gaps_hold_it():
    """A job that could start earlier by itself, where nothing is full."""
    arrays = oracle_arrays(made(("p", 0, 3, 2), ("p", 0, 3, 2), ("q", 0, 2, 1), pools=(("p", 2), ("q", 2))))
    narrow, part, best = presolve(arrays, arrays.cutoff)
    assert arrays.delay(best) == 3
    assert (part == NO_JOB).tolist() == (narrow.submit == narrow.cutoff).tolist()


@pytest.mark.parametrize(("seed", "optimum"), [(5, 37.0), (9, 105.0)])
def test_parts_that_are_given_up_are_proven_together(seed, optimum):
    for starts in (0, DEFAULTS.component_starts):
        result = exact(synthetic("base", seed, days=0.5).data, parameters=replace(APART, component_starts=starts))
        assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
