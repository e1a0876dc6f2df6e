"""Test the oracle of Figure 19: models, fairness, own cut-offs, starts and limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from instances import InputError, Options, check
from instances.sia import Job, Pool, SiaOracle, five_jobs, synthetic
from models.sia import build_literal, exact, literal, literal_windows, time_indexed
from models.sia.parameters import DEFAULTS
from tests.sampling import few
from tests.sia_cases import crowd, made, oracles, schedules
from tests.sia_optima import best_oracle

LEAPS = count(0.0, 1e9)
"""A clock that leaps by thirty years at every look."""
NO_ORDERS = replace(DEFAULTS, enumeration_jobs=0)
"""Constants that leave the proof to the relaxation."""
NO_CUTS = replace(NO_ORDERS, cut_patience=0, cut_patience_gain=1e9)
"""Constants that leave most of the proof to the tree."""


@pytest.mark.parametrize("method", [exact, literal, time_indexed])
def test_five_jobs(method):
    result = method(five_jobs().data)
    assert (result.status, result.objective) == ("optimal", 3.0)
    assert result.bound == pytest.approx(3.0)


@pytest.mark.parametrize(("seed", "optimum"), few([(9, 105.0), (3, 35.0)], 1))
def test_half_a_day_of_the_base_workload(seed, optimum):
    """Pinned; proven by the fast method and by the time-indexed model as a whole."""
    data = synthetic("base", seed, days=0.5).data
    result = exact(data)
    assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
    assert time_indexed(data).objective == optimum


@pytest.mark.parametrize(("seed", "optimum"), few([(4, 141.0), (6, 324.0), (8, 414.0), (16, 269.0), (17, 58.0)], 3))
@pytest.mark.parametrize("parameters", [DEFAULTS, NO_ORDERS], ids=["orders", "cuts"])
def test_optima_of_half_days_are_pinned(seed, optimum, parameters):
    result = exact(synthetic("base", seed, days=0.5).data, parameters=parameters)
    assert (result.status, result.objective) == ("optimal", optimum)


@pytest.mark.parametrize("seed", few([1, 2, 5], 2))
def test_literal_and_fast_agree_on_six_hours(seed):
    data = synthetic("higher-load", seed, days=0.25, slot_minutes=5.0).data
    one, other = exact(data), literal(data)
    assert one.status == other.status == "optimal"
    assert one.objective == other.objective


def test_same_seed_same_answer():
    data = synthetic("base", 3, days=0.5).data
    assert exact(data).solution == exact(data).solution


@pytest.mark.parametrize(
    ("data", "effort", "parameters", "nodes"),
    [
        (synthetic("base", 0, days=0.5).data, 1, NO_ORDERS, None),
        (synthetic("base", 0, days=0.5).data, 2, NO_CUTS, 5),
        (synthetic("base", 4, days=0.15, slot_minutes=5.0, fairness_weight=0.7).data, 1, DEFAULTS, None),
    ],
    ids=["turns of cuts and search", "nodes", "time-indexed model"],
)
def test_under_effort_alone_nothing_depends_on_the_clock(data, effort, parameters, nodes, monkeypatch):
    told = [], []
    one = exact(data, Options(effort=effort), lambda *news: told[0].append(news), parameters=parameters)
    monkeypatch.setattr("instances.clock.time.monotonic", lambda: next(LEAPS))
    other = exact(data, Options(effort=effort), lambda *news: told[1].append(news), parameters=parameters)
    assert (one.termination, one.solution, one.bound, one.info) == (
        other.termination,
        other.solution,
        other.bound,
        other.info,
    )
    assert told[0] == told[1]
    assert data.fairness_weight or one.info.get("nodes") == nodes
    assert one.termination == "effort_limit" or data.fairness_weight


@pytest.mark.parametrize("parameters", [NO_ORDERS, NO_CUTS], ids=["cuts", "tree"])
@pytest.mark.parametrize(("seed", "optimum"), [(3, 35.0), (9, 105.0)])
def test_rows_that_are_coarser_than_the_problem_are_made_up_for_by_covers(seed, optimum, parameters):
    """A schedule that keeps rows in units of several GPUs may be too wide, and gets rows of its own until none is."""
    data = synthetic("base", seed, days=0.5).data
    for units in (3, 11):
        result = exact(data, parameters=replace(parameters, max_units=units))
        assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)


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
def test_fairness_literal_and_time_indexed_agree(fair_share):
    base = synthetic("base", 4, days=0.15, slot_minutes=5.0).data
    data = base.model_copy(update={"fairness_weight": 0.7, "fair_share": fair_share})
    one, other = exact(data), literal(data)
    assert one.status == other.status == "optimal"
    assert one.objective == pytest.approx(other.objective, rel=1e-6)
    plain = exact(base).objective
    assert one.objective >= plain


def test_cutoffs_nobody_can_keep_are_infeasible_with_a_reason():
    result = exact(crowd(5))
    assert result.status == "infeasible"
    assert "latest_start" in result.reason


def test_cutoffs_of_the_users_own_that_can_be_kept():
    result = exact(crowd(6))
    assert (result.status, result.objective) == ("optimal", 9.0)


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


def test_with_fairness_a_start_is_told_first_and_nothing_worse_is_returned():
    """From nothing HiGHS came to 893.6 in 8 seconds; heuristics have 159.6, and FCFS less than that."""
    from heuristics.sia import sia_vc

    data = synthetic("less-skewed", 360682, days=0.25, fairness_weight=0.2).data
    start, told = sia_vc(data), []
    result = exact(data, Options(time_limit=0.5), lambda solution, bound: told.append(solution), start.solution)
    assert told[0] == start.solution
    assert result.objective <= start.objective == pytest.approx(159.6)
    alone = exact(data, Options(time_limit=0.5))
    everybody = {"starts": {job.id: t for job, t in zip(data.jobs, data.fcfs_starts, strict=True)}}
    assert alone.objective <= check(data, everybody).objective


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_a_start_is_used_where_the_cutoffs_cannot_all_be_kept_at_once(weight):
    """Nobody has FCFS at hand here: two jobs may not be at their cut-offs together."""
    jobs = tuple(Job(id=f"j{k}", pool="p", submit=0, duration=3, gpus=1, latest_start=k and 4) for k in range(2))
    data = SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=1),), jobs=jobs, fairness_weight=weight)
    jobs = (*jobs, Job(id="j2", pool="p", submit=2, duration=1, gpus=1, latest_start=6))
    data = data.model_copy(update={"jobs": jobs})
    start = {"starts": {"j0": 0, "j1": 4, "j2": 3}}
    told = []
    result = exact(data, report=lambda solution, bound: told.append(solution), start=start)
    assert told[0] == start
    assert result.status == "optimal"
    assert result.objective <= check(data, start).objective
    assert result.objective == pytest.approx(literal(data).objective)


def test_a_start_that_breaks_a_constraint_is_refused():
    data = five_jobs().data
    with pytest.raises(InputError, match="start: job j4 starts at 9, cut-off 4"):
        exact(data, start={"starts": dict(zip(("j0", "j1", "j2", "j3", "j4"), (0, 0, 2, 3, 9), strict=True))})


def test_a_start_that_is_optimal_is_the_answer():
    data = synthetic("base", 3, days=0.5).data
    best = exact(data)
    again = exact(data, start=best.solution)
    assert (again.status, again.objective) == ("optimal", best.objective)


def test_the_tree_proves_three_days_of_five_minute_slots():
    """An optimum that trees of groups and integer programs proved before."""
    found = exact(synthetic("base", 17, slot_minutes=5.0).data)
    assert found.info["nodes"] > 1
    assert (found.status, found.objective, found.bound) == ("optimal", 287.0, 287.0)


@settings(max_examples=30)
@given(first=oracles(most_jobs=4, most_pools=2), second=oracles(most_jobs=4, most_pools=2), gap=st.integers(0, 12))
def test_the_tree_proves_the_optimum_of_two_instances_one_after_the_other(first, second, gap):
    pools = max(first.pools, second.pools, key=lambda pools: sum(pool.gpus for pool in pools))
    sizes = [pool.gpus for pool in pools]
    jobs = [
        (pools[k % len(pools)].name, job.submit + shift, job.duration, min(job.gpus, sizes[k % len(pools)]))
        for instance, shift in ((first, 0), (second, 12 + gap))
        for k, job in enumerate(instance.jobs)
    ]
    data = made(*jobs, pools=tuple((pool.name, pool.gpus) for pool in pools))
    assume(schedules(data) <= 500)
    assert exact(data, parameters=NO_CUTS).objective == best_oracle(data)
