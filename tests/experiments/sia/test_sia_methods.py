"""Test which instances each method of sia-oracle accepts, and the start of `exact`."""

from __future__ import annotations

import importlib

import pytest

from experiments.sia.methods import METHODS
from instances.sia import Job, Pool, SiaOracle, synthetic
from models.sia import exact

NAMED = {method.name: method for method in METHODS["sia-oracle"]}


def solve(name, data):
    module, _, function = NAMED[name].target.partition(":")
    return getattr(importlib.import_module(module), function)(data)


def pair(*jobs, **weights):
    made = tuple(
        Job(id=f"j{i}", pool=p, submit=s, duration=d, gpus=n, latest_start=m) for i, (p, s, d, n, m) in enumerate(jobs)
    )
    return SiaOracle(slot_minutes=1.0, pools=(Pool(name="a", gpus=2), Pool(name="b", gpus=4)), jobs=made, **weights)


WIDE = pair(("a", 0, 800, 4, 50), ("a", 1, 5, 1, None))


@pytest.mark.parametrize(
    "name", ["fcfs", "ssf", "sjf", *(name for name in NAMED if name.startswith("sia-") and "vc" not in name)]
)
def test_a_method_that_can_never_start_a_job_wider_than_its_pool_refuses_it(name):
    assert "job j0 is wider than its pool" in NAMED[name].unfit(WIDE)


@pytest.mark.parametrize("name", ["gssf", "mmfs", "hived", "themis", "sia-vc", "sia-vc-literal", "safe-ssf", "exact"])
def test_the_others_start_it(name):
    assert NAMED[name].unfit(WIDE) is None
    assert set(solve(name, WIDE).solution["starts"]) == {"j0", "j1"}


def test_more_wakings_than_anybody_waits_for_are_refused():
    data = pair(("a", 0, 10**9, 2, None), ("a", 1, 5, 1, None))
    assert NAMED["sia-perfect"].unfit(data) == "it could be woken 200,000,001 times, more than 10,000,000"
    assert NAMED["mmfs"].unfit(data) is None


def test_exact_starts_from_heuristics_that_are_fast():
    data = synthetic("less-skewed", 360682, days=0.25, fairness_weight=0.2).data
    found = [solve(start.name, data) for start in NAMED["exact"].starts]
    best = min((result for result in found if result.status == "feasible"), key=lambda result: result.objective)
    assert best.objective == pytest.approx(159.6)
    told = []

    class Enough(Exception):
        pass

    def stop(solution, bound):
        told.append(solution)
        raise Enough

    with pytest.raises(Enough):
        exact(data, report=stop, start=best.solution)
    assert told == [best.solution]
