"""The oracle of Figure 19: literal and fast models, bounds, fairness, cut-offs of the user's own."""

from __future__ import annotations

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.sia import Job, Pool, SiaOracle, five_jobs, synthetic
from models.sia import build_literal, direct, exact, literal, literal_windows
from models.sia.arrays import oracle_arrays
from models.sia.columns import SCALE, Columns
from models.sia.conflicts import candidates, components, solve_component
from models.sia.greedy import pull_forward
from models.sia.improve import improve
from models.sia.relaxation import relax


@pytest.mark.parametrize("method", [exact, literal, direct])
def test_five_jobs(method):
    result = method(five_jobs().data)
    assert (result.status, result.objective) == ("optimal", 3.0)
    assert result.bound == pytest.approx(3.0)


@pytest.mark.parametrize(("seed", "optimum"), [(3, 35.0), (9, 105.0)])
def test_half_a_day_of_the_base_workload(seed, optimum):
    """Pinned; proven by the fast method and by the time-indexed model as a whole."""
    data = synthetic("base", seed, days=0.5).data
    result = exact(data)
    assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
    assert direct(data).objective == optimum


@pytest.mark.parametrize(("seed", "optimum"), [(4, 141.0), (6, 324.0), (8, 414.0), (16, 269.0), (17, 58.0)])
def test_optima_of_half_days_are_pinned(seed, optimum):
    result = exact(synthetic("base", seed, days=0.5).data)
    assert (result.status, result.objective) == ("optimal", optimum)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_literal_and_fast_agree_on_six_hours(seed):
    data = synthetic("higher-load", seed, days=0.25, slot_minutes=5.0).data
    one, other = exact(data), literal(data)
    assert one.status == other.status == "optimal"
    assert one.objective == other.objective


def test_same_seed_same_answer():
    data = synthetic("base", 3, days=0.5).data
    assert exact(data).solution == exact(data).solution


def test_literal_model_has_the_windows_of_the_paper():
    """X in [s_j, m_j], Y where the job can be running, one row (11) for each Y."""
    data = five_jobs().data
    model = build_literal(data)
    assert sorted(model.X_index) == [
        (0, 0),
        (1, 0),
        (2, 0),
        (2, 1),
        (2, 2),
        (3, 1),
        (3, 2),
        (3, 3),
        (4, 2),
        (4, 3),
        (4, 4),
    ]
    assert (
        len(model.is_running)
        == len(model.Y_index)
        == sum(cutoff + job.duration - job.submit for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
    )


def test_job_dependent_windows_give_long_jobs_as_few_starts_as_short_ones():
    data = synthetic("base", 3, days=0.5).data
    starts = {}
    for j, _ in build_literal(data, windows=4).X_index:
        starts[j] = starts.get(j, 0) + 1
    for j, (job, cutoff) in enumerate(zip(data.jobs, data.cutoffs, strict=True)):
        assert starts[j] <= (cutoff - job.submit) // -(-job.duration // 4) + 2
    restricted = literal_windows(data, windows=4)
    assert restricted.status == "feasible"
    assert restricted.bound is None
    assert restricted.objective >= exact(data).objective


@pytest.mark.parametrize("fair_share", ["all-use", "above-share"])
def test_fairness_literal_and_direct_agree(fair_share):
    base = synthetic("base", 4, days=0.15, slot_minutes=5.0).data
    data = base.model_copy(update={"fairness_weight": 0.7, "fair_share": fair_share})
    one, other = exact(data), literal(data)
    assert one.status == other.status == "optimal"
    assert one.objective == pytest.approx(other.objective, rel=1e-6)
    plain = exact(base).objective
    assert one.objective >= plain


def crowd(latest_start):
    jobs = tuple(Job(id=f"j{k}", pool="p", submit=0, duration=3, gpus=1, latest_start=latest_start) for k in range(3))
    return SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=1),), jobs=jobs)


def test_cutoffs_nobody_can_keep_are_infeasible_with_a_reason():
    result = exact(crowd(5))
    assert result.status == "infeasible"
    assert "latest_start" in result.reason


def test_cutoffs_of_the_users_own_that_can_be_kept():
    result = exact(crowd(6))
    assert (result.status, result.objective) == ("optimal", 9.0)


def test_the_lagrangian_bound_is_valid_for_any_prices():
    data = synthetic("base", 3, days=0.5).data
    columns, optimum = Columns(oracle_arrays(data)), exact(data).objective
    rng = np.random.default_rng(0)
    for share in (0.01, 0.1, 1.0):
        prices = np.rint(rng.random(columns.arrays.horizon) * share * 0.05 * SCALE).astype(np.int64)
        assert columns.lagrangian(prices)[0] <= optimum * SCALE


def test_relaxation_equals_the_literal_models_own():
    """Column and row generation, and leaving Y out, change no value."""
    from pyomo.environ import TransformationFactory

    from models.highs import solve_arrays
    from models.literal import compile_model

    data = synthetic("base", 7, days=0.3).data
    model = build_literal(data)
    TransformationFactory("core.relax_integer_vars").apply_to(model)
    whole = solve_arrays(compile_model(model).model, Options()).objective
    arrays = oracle_arrays(data)
    relaxed = relax(Columns(arrays), arrays.cutoff, Stopwatch())
    assert relaxed.value == pytest.approx(whole, abs=1e-6)
    assert relaxed.bound <= whole + 1


def test_components_relax_and_their_bounds_add_up():
    data = synthetic("base", 3, days=0.5).data
    columns = Columns(oracle_arrays(data))
    optimum = exact(data).objective
    slots = np.flatnonzero(columns.arrays.use(columns.arrays.submit) > columns.arrays.capacity)[::7]
    parts, first = components(columns, slots)
    tied = {j for part in parts for j in part.jobs}
    assert sum(len(part.jobs) for part in parts) == len(tied)
    found = [solve_component(columns, part, Options(), cutoff=10**6, tolerance=0.9) for part in parts]
    assert all(outcome.closed for outcome in found)
    assert 0 < sum(outcome.bound for outcome in found) <= optimum
    assert (first == columns.arrays.submit).all()


def test_a_cutoff_that_nothing_reaches_is_the_bound():
    data = synthetic("base", 3, days=0.5).data
    columns = Columns(oracle_arrays(data))
    slots = np.flatnonzero(columns.arrays.use(columns.arrays.submit) > columns.arrays.capacity)[::7]
    part = max(components(columns, slots)[0], key=lambda part: part.size)
    best = solve_component(columns, part, Options(), cutoff=10**6, tolerance=0.9).bound
    assert solve_component(columns, part, Options(), cutoff=best - 1, tolerance=0.9).bound == best


def test_candidates_are_the_first_start_and_those_behind_each_slot():
    starts = np.array([2, 3, 4, 7, 8, 9])
    assert candidates(starts, np.array([1, 3, 5, 8])).tolist() == [2, 4, 7, 9]


@pytest.mark.parametrize("seed", range(3))
def test_search_keeps_schedules_feasible_and_never_worse(seed):
    arrays = oracle_arrays(synthetic("base", seed, days=1).data)
    forward = pull_forward(arrays, arrays.cutoff, arrays.duration.astype(float))
    assert arrays.feasible(forward)
    assert (forward <= arrays.cutoff).all()
    better = improve(arrays, forward, Stopwatch(), batches=1)
    assert arrays.feasible(better)
    assert arrays.delay(better) <= arrays.delay(forward)


def test_a_time_limit_leaves_a_schedule_and_a_bound():
    data = synthetic("base", 12).data
    told = []
    result = exact(data, Options(time_limit=2.0), lambda solution, bound: told.append((solution, bound)))
    assert result.status == "feasible"
    assert result.termination == "time_limit"
    assert 0 <= result.bound < result.objective
    assert any(solution is not None for solution, _ in told)
    bounds = [bound for _, bound in told if bound is not None]
    assert bounds == sorted(bounds)
