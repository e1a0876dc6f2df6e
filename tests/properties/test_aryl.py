"""Test properties of Aryl's problems that hold on every instance."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.aryl import two_phase
from instances.aryl import ArylElastic, ArylReclaim
from models.aryl import exact, literal
from tests.aryl_cases import best_mean_jct, best_reduction, elastic, fewest_preemptions, reclaims
from tests.rows import heuristics_of
from tests.sampling import sample

RULES = heuristics_of("aryl-elastic")
ORDERS = heuristics_of("aryl-reclaim")


@settings(max_examples=sample(20, 60))
@given(reclaims())
def test_reclaiming_is_exact_and_no_order_beats_it(data: ArylReclaim):
    best = exact(data)
    assert best.status == "optimal"
    assert best.objective == best.bound == fewest_preemptions(data)
    for order in ORDERS.values():
        assert order(data).objective >= best.objective


@settings(max_examples=sample(13, 40))
@given(reclaims(), st.randoms(use_true_random=False))
def test_reclaiming_more_removing_a_job_and_reordering(data: ArylReclaim, rng: random.Random):
    objective = exact(data).objective
    jobs, servers = list(data.jobs), list(data.servers)
    if data.reclaim < len(servers):
        assert exact(data.model_copy(update={"reclaim": data.reclaim + 1})).objective >= objective
    assert exact(data.model_copy(update={"servers": (*data.servers, "spare")})).objective <= objective
    if jobs:
        assert exact(data.model_copy(update={"jobs": tuple(jobs[1:])})).objective in (objective, objective - 1)
    rng.shuffle(jobs)
    rng.shuffle(servers)
    assert exact(data.model_copy(update={"jobs": tuple(jobs), "servers": tuple(servers)})).objective == objective


@settings(max_examples=sample(20, 60))
@given(elastic("jct-reduction", most_jobs=4))
def test_the_knapsack_is_exact_and_no_rule_beats_it(data: ArylElastic):
    best = exact(data)
    assert best.status == "optimal"
    assert best.objective == pytest.approx(best_reduction(data), rel=1e-9, abs=1e-9)
    assert two_phase(data).objective == pytest.approx(best.objective, rel=1e-9, abs=1e-9)
    for rule in RULES.values():
        assert rule(data).objective <= best.objective + 1e-9


@settings(max_examples=sample(10, 30))
@given(elastic("mean-jct"))
def test_mean_jct_is_exact_and_no_rule_beats_it(data: ArylElastic):
    best = exact(data)
    assert best.status == "optimal"
    assert best.objective == pytest.approx(best_mean_jct(data), rel=1e-9)
    for rule in RULES.values():
        assert rule(data).objective >= best.objective * (1 - 1e-9)


@settings(max_examples=15)
@given(elastic("mean-jct"))
def test_the_literal_mean_jct_agrees_and_a_gpu_more_never_hurts(data: ArylElastic):
    best = exact(data).objective
    assert literal(data).objective == pytest.approx(best, rel=1e-6)
    more = data.model_copy(update={"capacity_gpus": data.capacity_gpus + 1})
    assert exact(more).objective <= best * (1 + 1e-9)


@settings(max_examples=15)
@given(elastic("mean-jct"), st.randoms(use_true_random=False))
def test_the_order_of_jobs_changes_no_optimum(data: ArylElastic, rng: random.Random):
    jobs = list(data.jobs)
    rng.shuffle(jobs)
    turned = data.model_copy(update={"jobs": tuple(jobs)})
    assert exact(turned).objective == pytest.approx(exact(data).objective, rel=1e-9)
