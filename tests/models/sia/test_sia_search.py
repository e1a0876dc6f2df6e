"""Test the neighbourhood search of sia-oracle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from instances import Stopwatch
from instances.sia import five_jobs, synthetic
from instances.sia.arrays import oracle_arrays
from instances.sia.reservations import backfill
from models.sia.parameters import DEFAULTS
from models.sia.search import advance, improve, schedule_in_order
from tests.sia_cases import crowd


@pytest.mark.parametrize("seed", range(3))
def test_search_keeps_schedules_feasible_and_never_worse(seed):
    arrays = oracle_arrays(synthetic("base", seed, days=1).data)
    forward = backfill(arrays, arrays.cutoff, arrays.duration.astype(float))
    assert arrays.feasible(forward)
    assert (forward <= arrays.cutoff).all()
    better = improve(arrays, forward, Stopwatch(), tries=50)
    assert arrays.feasible(better)
    assert arrays.delay(better) <= arrays.delay(forward)


def test_search_is_deterministic_and_gains():
    arrays = oracle_arrays(synthetic("base", 2, days=1).data)
    forward = backfill(arrays, arrays.cutoff, arrays.duration.astype(float))
    found = [
        improve(arrays, forward, Stopwatch(), seed=seed, tries=200, parameters=replace(DEFAULTS, batches=1))
        for seed in (5, 5, 6)
    ]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()
    assert arrays.delay(found[0]) < arrays.delay(forward)


def test_the_search_ends_at_a_known_bound_and_with_the_clock():
    arrays = oracle_arrays(synthetic("base", 2, days=1).data)
    for clock, stop in ((Stopwatch(0.0), 0), (Stopwatch(), arrays.most)):
        found = improve(
            arrays, arrays.cutoff, clock, tries=10**6, stop=stop, parameters=replace(DEFAULTS, batches=10**6)
        )
        assert (found == advance(arrays, arrays.cutoff)).all()


def test_jobs_in_a_given_order():
    arrays = oracle_arrays(five_jobs().data)
    assert schedule_in_order(arrays, arrays.cutoff.astype(float)).tolist() == [0, 0, 2, 1, 3]
    nobody_can = oracle_arrays(crowd(5))
    assert schedule_in_order(nobody_can, nobody_can.submit.astype(float)) is None


@pytest.mark.parametrize("seed", range(3))
def test_an_order_that_breaks_cutoffs_is_mended(seed):
    arrays = oracle_arrays(synthetic("base", seed, days=0.5).data)
    starts = schedule_in_order(arrays, -arrays.cutoff.astype(float))  # the most urgent last
    assert arrays.feasible(starts)
