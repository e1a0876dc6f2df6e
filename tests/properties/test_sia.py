"""Test properties that hold on every SIA instance."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from experiments.simulator import simulate
from experiments.simulator.sia import PoolsWorld, Scripted
from heuristics import sia
from heuristics.sia import ONLINE, Perfect, Sia, replay
from models.sia import exact, literal
from tests.sampling import sample
from tests.sia_cases import oracles, schedules
from tests.sia_optima import best_oracle

slow = settings(suppress_health_check=list(HealthCheck))


@settings(slow, max_examples=sample(200, 1000))
@given(oracles(most_jobs=12, late=12))
def test_theorem_1(data):
    """No job is later than without sharing, whatever the workload: 1,000 random instances where all are asked for."""
    for method in (sia.sia_vc, sia.safe_ssf, sia.sia_perfect, sia.sia_fine):
        assert method(data).status == "feasible"


@settings(slow, max_examples=sample(20, 60))
@given(oracles(most_jobs=6))
def test_exact_equals_enumeration(data):
    assume(schedules(data) <= 3000)
    result = exact(data)
    assert result.status == "optimal"
    assert result.objective == best_oracle(data)


@settings(slow, max_examples=sample(10, 25))
@given(oracles(most_jobs=6, most_pools=2, late=3))
def test_literal_equals_exact(data):
    assert literal(data).objective == exact(data).objective


@settings(slow, max_examples=sample(10, 25))
@given(oracles(most_jobs=6))
def test_fairness_equals_enumeration(data):
    assume(schedules(data) <= 500)
    fair = data.model_copy(update={"fairness_weight": 0.25})
    assert abs(exact(fair).objective - best_oracle(fair)) < 1e-6


@settings(slow, max_examples=sample(30, 100))
@given(oracles(most_jobs=10))
def test_policies_in_the_simulator_as_by_themselves(data):
    """Two event loops that share no code start every job at the same slot."""
    for name, make in ONLINE.items():
        world = PoolsWorld.of(data)
        simulate(world, make(data, 3))
        jobs = world.jobs_table()
        assert dict(zip(jobs["job"], jobs["start"], strict=True)) == replay(data, make(data, 3)), name


@settings(slow, max_examples=sample(10, 30))
@given(oracles(most_jobs=8))
def test_a_schedule_replayed_has_the_objective_to_the_slot(data):
    result = exact(data)
    world = PoolsWorld.of(data)
    simulate(world, Scripted(result.solution["starts"]))
    assert world.jobs_table()["delay"].sum() == result.objective


@settings(slow, max_examples=sample(100, 300))
@given(oracles(most_jobs=12, late=12), st.sets(st.integers(1, 9), min_size=1), st.booleans())
def test_perfect_predictions_slow_nobody_down_over_any_windows(data, windows, apart):
    found = replay(data, Sia(Perfect(data.jobs), sorted(windows), apart=apart))
    assert all(found[job.id] <= cutoff for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
