"""Test Aryl's exact methods against one another, enumeration and the paper's figures."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path

import highspy
import numpy as np
import pytest

from experiments.harness.run import apply
from experiments.papers import METHODS
from heuristics.aryl import afs, equal_split, gandiva, reclaim_greedy, two_phase
from instances import InputError, Instance, Options, Stopwatch, check
from instances.aryl import (
    ArylElastic,
    ArylReclaim,
    ElasticJob,
    LoanedJob,
    elastic_jobs,
    figure_5,
    loaned_servers,
    spread_jobs,
    table_2,
    table_4,
)
from instances.aryl.arrays import ElasticArrays
from instances.aryl.schedule import replay
from models.aryl import build_elastic, build_reclaim, exact, literal
from models.aryl.annealing import anneal_jobs, choose_greedily
from models.aryl.event_intervals import EventIntervals
from models.aryl.interval_limits import compute_dual_bound, tighten_program
from models.aryl.knapsack import list_items, solve_relaxation
from models.aryl.list_schedules import ListSearch, make_list_rule, replay_rule
from models.aryl.mean_jct import bound_total
from models.aryl.parameters import AnnealingParameters, ArylParameters, KnapsackParameters, MeanJctParameters
from models.aryl.server_groups import ServerGroups
from models.aryl.spectral import SpectralBound
from models.core.highs import LinearModel, solve_arrays
from models.core.pyomo_model import write_model
from tests.aryl_cases import best_mean_jct
from tests.sampling import WHOLE, few


@pytest.mark.parametrize(
    "instance",
    [table_2(), table_4(), table_2("jct-reduction"), table_4("jct-reduction"), figure_5()],
    ids=lambda instance: instance.name,
)
def test_the_paper_s_examples(instance):
    for method in (exact, literal):
        result = method(instance.data)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(instance.reference.objective, rel=1e-9)


@pytest.mark.parametrize("seed", few(range(6), 3))
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_knapsack_and_literal_model_agree(seed: int, loss: float):
    data = elastic_jobs(60, seed, scaling_loss=loss, gpus_per_worker=(3, 5, 7), load=0.7).data
    fast, slow = exact(data), literal(data)
    assert fast.status == slow.status == "optimal"
    assert fast.objective == pytest.approx(slow.objective, rel=1e-9)


@pytest.mark.skipif(not WHOLE, reason="takes twelve CPU seconds")
def test_no_bound_of_fourteen_jobs_is_above_what_a_schedule_has():
    """At tolerances of 1e-9 HiGHS cut off a schedule that breaks no row, and had proved 53,061.14 after 10 CPU s."""
    data = elastic_jobs(14, 4, objective="mean-jct").data
    bound = exact(data, Options(time_limit=12.0)).bound
    assert bound is not None
    assert bound <= 53_060.186


def test_the_linear_bound_is_a_bound_and_tight_for_many_jobs():
    data = elastic_jobs(2000, 1, gpus_per_worker=(3, 5, 7), spare_gpus=3544).data
    result = exact(data)
    bound, price = solve_relaxation(list_items(data))
    assert result.objective <= bound * (1 + 1e-12)
    assert bound <= result.objective * 1.001
    assert price > 0


def test_a_job_with_a_huge_range_takes_what_fits():
    job = ElasticJob(id="a", min_workers=1, max_workers=10**9, gpus_per_worker=2, min_running_time=1.0)
    result = exact(ArylElastic(capacity_gpus=100, jobs=(job,), objective="jct-reduction"))
    assert result.solution == {"workers": {"a": 50}}


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_mean_jct_by_enumeration(seed: int):
    rng = random.Random(seed)
    jobs = tuple(
        ElasticJob(
            id=f"j{i}",
            min_workers=(least := rng.randint(1, 2)),
            max_workers=least + rng.randint(0, 1),
            gpus_per_worker=rng.randint(1, 3),
            min_running_time=float(rng.randint(1, 50)),
        )
        for i in range(4)
    )
    capacity = max(max(job.base_gpus for job in jobs), rng.randint(4, 9))
    data = ArylElastic(capacity_gpus=capacity, jobs=jobs, objective="mean-jct")
    result = exact(data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best_mean_jct(data), rel=1e-9)


LONG_AND_SHORT = (
    (9.0, 0.1, ((2, 3, 2, 1e6), (3, 3, 1, 1.0), (3, 4, 1, 10.0))),
    (1e7, 0.1, ((3, 3, 10**6, 1e7), (3, 6, 3 * 10**6, 7123.456789), (2, 4, 10**6, 2.5))),
    (18.0, 0.5, ((1, 1, 2, 1e-9), (3, 6, 6, 0.001), (2, 5, 2, 7123.456789))),
    (10.0, 1.0, ((3, 3, 3, 1.0), (1, 2, 3, 1e-6), (1, 2, 2, 100.0))),
    (10.0, 0.1, ((3, 4, 1, 1e-9), (1, 4, 2, 7123.456789), (3, 4, 3, 1000.0))),
    (6.0, 1.0, ((3, 4, 2, 0.02777667), (3, 4, 2, 16.0), (3, 3, 1, 0.003528955), (2, 2, 1, 1.0))),  # limits not roomy
    (7.0, 0.1, ((2, 2, 2, 8489.880838598), (2, 3, 1, 1.0), (3, 5, 2, 22.139336135))),
    (6.0, 1.0, ((3, 3, 2, 70.907916309), (2, 3, 1, 630.065493744), (3, 5, 1, 0.061651886))),
    (6.0, 0.1, ((3, 3, 1, 1.0), (3, 3, 1, 1e6), (3, 3, 2, 12.522728015), *2 * ((2, 2, 2, 0.011911961),))),
)


TWINS = (
    (2.0, 0.5, (*3 * ((2, 2, 1, 35.0),), *2 * ((1, 2, 1, 19.0),))),
    (12.0, 0.3, (*2 * ((3, 3, 2, 0.302648348),), (3, 3, 1, 1000.0), (1, 2, 3, 1000.0), (3, 3, 2, 4.260318967))),
    (3.0, 0.0, ((1, 1, 1, 60.846571758), *3 * ((1, 1, 1, 0.001),), (2, 3, 1, 5.017220843))),
)


def of_shapes(capacity: float, loss: float, shapes: tuple[tuple[int, int, int, float], ...]) -> ArylElastic:
    """Jobs of (least workers, most, GPUs of each, seconds)."""
    jobs = tuple(
        ElasticJob(id=f"j{i}", min_workers=a, max_workers=b, gpus_per_worker=g, min_running_time=t)
        for i, (a, b, g, t) in enumerate(shapes)
    )
    return ArylElastic(capacity_gpus=capacity, jobs=jobs, objective="mean-jct", scaling_loss=loss)


@pytest.mark.parametrize(("capacity", "loss", "shapes"), LONG_AND_SHORT)
@pytest.mark.parametrize("method", [exact, literal])
def test_the_bound_on_the_mean_jct_holds_where_a_job_is_a_millionth_of_another(method, capacity, loss, shapes):
    """HiGHS ignores gains below its tolerances, and drops entries that are more than a factor of 1e12 apart."""
    data = of_shapes(capacity, loss, shapes)
    result, best = method(data), best_mean_jct(data)
    assert result.bound <= best
    assert result.status != "optimal" or result.objective == pytest.approx(float(best), rel=1e-6)
    if method is exact:
        assert result.bound == pytest.approx(float(best), rel=1e-5)
        assert result.objective == pytest.approx(float(best), rel=1e-5)


@pytest.mark.parametrize(("capacity", "loss", "shapes"), TWINS)
def test_intervals_that_limits_leave_no_length_do_not_end_the_search(capacity, loss, shapes):
    """Jobs that complete together: limits of what lies between them are of the size of the solver's tolerance."""
    data = of_shapes(capacity, loss, shapes)
    result = exact(data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(float(best_mean_jct(data)), rel=1e-9)


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_schedules_with_fleeting_jobs_are_points_of_no_greater_total(seed: int):
    """Whenever such a job runs, and whoever changes workers as it completes."""
    rng = random.Random(seed)
    shapes = [(1, 1 + rng.randint(0, 2), rng.randint(1, 2), rng.uniform(1, 9)) for _ in range(3)]
    shapes += [(1, 2, rng.randint(1, 3), rng.uniform(1e-7, 9e-7)) for _ in range(rng.randint(1, 2))]
    arrays = ElasticArrays.of(of_shapes(4.0, rng.choice([0.0, 0.5]), tuple(shapes)))
    orders = itertools.permutations(range(len(shapes)))
    schedules = sorted(
        (replay_rule(arrays, make_list_rule(arrays, o, o[0] > 1)) for o in orders), key=lambda s: s.total
    )
    loose = EventIntervals(arrays, schedules[-1])
    assert loose.negligible
    for program in (loose, tighten_program(loose, Options(), Stopwatch())):
        model = program.build(set(range(len(shapes))))
        for schedule in schedules:
            x = program.encode(schedule)
            rows = model.matrix @ x
            assert np.all(rows >= np.asarray(model.row_lower) - 1e-9)
            assert np.all(rows <= np.asarray(model.row_upper) + 1e-9)
            assert np.all((x >= np.asarray(model.lower) - 1e-9) & (x <= np.asarray(model.upper) + 1e-9))
            assert float(model.cost @ x * program.scale) <= float(schedule.total) * (1 + 1e-12)


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_mean_jct_and_literal_model_agree(seed: int):
    data = elastic_jobs(4, seed, objective="mean-jct", elastic_share=0.75).data
    fast, slow = exact(data), literal(data)
    assert fast.status == slow.status == "optimal"
    assert fast.objective == pytest.approx(slow.objective, rel=1e-6)
    assert fast.bound <= slow.objective


@pytest.mark.parametrize("seed", range(4))
def test_schedules_no_worse_than_the_start_are_points_of_the_event_interval_program(seed: int):
    """Of the program as it begins and with its limits: the best list schedule, and one that is a little worse."""
    jobs = ElasticArrays.of(elastic_jobs(7, seed, objective="mean-jct").data)
    search = ListSearch(jobs, Stopwatch())
    first = search.build_first()
    best = search.improve(first)
    loose = EventIntervals(jobs, first)
    limited = tighten_program(loose, Options(), Stopwatch())
    for program in (loose, limited):
        model = program.build(set(range(7)))
        for schedule in (first, best):
            x = program.encode(schedule)
            rows = model.matrix @ x
            assert np.all(rows >= np.asarray(model.row_lower) - 1e-9)
            assert np.all(rows <= np.asarray(model.row_upper) + 1e-9)
            assert np.all(x >= np.asarray(model.lower) - 1e-9)
            assert np.all(x <= np.asarray(model.upper) + 1e-9)
            assert program.decode(x).total <= schedule.total
    assert sum(limited.max_length) < sum(loose.max_length)


@pytest.mark.parametrize("seed", few(range(20), 6))
def test_limits_hold_for_every_list_schedule_no_worse_than_the_start(seed: int):
    rng = random.Random(seed)
    jobs = [
        ElasticJob(
            id=f"j{i}",
            min_workers=(least := rng.randint(1, 2)),
            max_workers=least + rng.randint(0, 2),
            gpus_per_worker=rng.randint(1, 2),
            min_running_time=10 ** rng.uniform(-3, 3),
        )
        for i in range(rng.randint(1, 4))
    ]
    jobs.append(jobs[0].model_copy(update={"id": "twin"}))
    capacity = rng.randint(4, 4 + sum(job.max_workers for job in jobs))
    loss = rng.choice([0.0, 0.3, 1.0])
    data = ArylElastic(capacity_gpus=capacity, jobs=tuple(jobs), objective="mean-jct", scaling_loss=loss)
    arrays = ElasticArrays.of(data)
    orders = itertools.islice(itertools.permutations(range(len(jobs))), 30)
    schedules = sorted((replay_rule(arrays, make_list_rule(arrays, o, True)) for o in orders), key=lambda s: s.total)
    start = rng.choice(schedules)
    program = tighten_program(EventIntervals(arrays, start), Options(), Stopwatch())
    model = program.build(set(range(len(jobs))))
    for schedule in schedules[: schedules.index(start) + 1]:
        x = program.encode(schedule)
        rows = model.matrix @ x
        assert np.all(rows >= np.asarray(model.row_lower) - 1e-9)
        assert np.all(rows <= np.asarray(model.row_upper) + 1e-9)
        assert np.all((x >= np.asarray(model.lower) - 1e-9) & (x <= np.asarray(model.upper) + 1e-9))


def test_completions_are_not_told_apart_where_all_jobs_have_their_fastest_workers():
    jobs = tuple(
        ElasticJob(id=f"j{i}", min_workers=1, max_workers=2, gpus_per_worker=1, min_running_time=1.0 + i)
        for i in range(4)
    )
    for capacity, told in ((8, 0), (6, 1), (4, 2)):
        data = ArylElastic(capacity_gpus=capacity, jobs=jobs, objective="mean-jct")
        arrays = ElasticArrays.of(data)
        search = ListSearch(arrays, Stopwatch())
        assert EventIntervals(arrays, search.improve(search.build_first())).modelled == told
        assert exact(data).objective == pytest.approx(float(best_mean_jct(data)), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_any_prices_bound_a_linear_program_and_the_best_ones_attain_it(seed: int):
    rng = np.random.default_rng(seed)
    matrix, point = rng.normal(size=(4, 6)), rng.uniform(size=6)
    room = np.where(rng.uniform(size=4) < 0.5, np.inf, rng.uniform(size=4))
    model = LinearModel(rng.normal(size=6), matrix, matrix @ point - 0.1, matrix @ point + room, 0.0, 1.0)
    solved = solve_arrays(model, Options())
    assert solved.objective is not None
    assert solved.duals is not None
    for prices in rng.normal(size=(20, 4)):
        assert compute_dual_bound(model, prices) <= solved.objective
    assert compute_dual_bound(model, solved.duals) == pytest.approx(solved.objective, abs=1e-6)
    assert compute_dual_bound(model, solved.duals) < solved.objective


def test_jobs_that_complete_together_and_jobs_that_wait():
    twins = [ElasticJob(id=i, min_workers=2, max_workers=4, gpus_per_worker=1, min_running_time=9.0) for i in "abcd"]
    data = ArylElastic(capacity_gpus=4, jobs=tuple(twins), objective="mean-jct")
    result = exact(data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(22.5)


def test_a_time_limit_keeps_the_list_schedule_and_a_bound():
    data = elastic_jobs(14, 0, objective="mean-jct").data
    result = exact(data, Options(time_limit=0.2))
    assert result.status in ("feasible", "optimal")
    assert result.bound is None or result.bound <= result.objective


@pytest.mark.parametrize(("fragmentation", "reclaim"), [(0.0, 12), (0.35, 15), (0.7, 12), (1.0, 10)])
def test_reclaiming_and_literal_model_agree(fragmentation: float, reclaim: int):
    for seed in range(4):
        data = loaned_servers(50, fragmentation, seed, reclaim, flexible_servers=2).data
        fast, slow = exact(data), literal(data)
        assert fast.status == slow.status == "optimal"
        assert fast.objective == slow.objective <= reclaim_greedy(data).objective


def test_reclaiming_on_spread_jobs_goes_through_every_stage():
    data = spread_jobs(48, 48, 0, 12).data
    result = exact(data)
    assert result.status == "optimal"
    assert result.objective == literal(data).objective


def test_reclaiming_takes_a_start_and_never_ends_worse():
    data = spread_jobs(80, 120, 3, 20).data
    start = reclaim_greedy(data)
    result = exact(data, Options(time_limit=1.0), start=start.solution)
    assert result.bound <= result.objective <= start.objective
    with pytest.raises(InputError, match="start: 1 servers are reclaimed, not 20"):
        exact(data, start={"servers": ["s1"]})
    with pytest.raises(InputError, match="start: must be an object with the list `intervals`"):
        exact(table_2().data, start={"servers": ["s1"]})


def test_reclaiming_nothing_and_everything():
    servers, jobs = figure_5().data.servers, figure_5().data.jobs
    assert exact(ArylReclaim(servers=servers, jobs=jobs, reclaim=0)).objective == 0
    assert exact(ArylReclaim(servers=servers, jobs=jobs, reclaim=6)).objective == 4
    assert exact(ArylReclaim(servers=servers, jobs=(), reclaim=3)).objective == 0


def test_idle_servers_with_flexible_workers_of_the_fewest_jobs_go_first():
    jobs = (
        LoanedJob(id="a", servers=("s",), flexible_servers=("t", "u")),
        LoanedJob(id="b", servers=("s",), flexible_servers=("t",)),
    )
    data = ArylReclaim(servers=("s", "t", "u"), jobs=jobs, reclaim=1)
    assert exact(data).solution == {"servers": ["u"]}


@pytest.mark.parametrize("seed", few(range(6), 3))
def test_the_spectral_bound_holds_for_every_number_of_jobs(seed: int):
    data = spread_jobs(9, 8, seed, 4, most=4).data
    groups = ServerGroups.from_data(data)
    sets = [jobs for jobs, members in zip(groups.jobs, groups.members, strict=True) for _ in members]
    for p in range(1, 8):
        freed = max(
            sum(set(jobs) <= set(hit) for jobs in sets) for hit in itertools.combinations(range(len(data.jobs)), p)
        )
        for smoothing in ((0.3,), (0.3, 0.01)):
            assert SpectralBound(sets, 8).bound_freed(p, smoothing, steps=20) >= freed


def test_annealing_is_seeded_and_never_worse_than_its_start():
    data = spread_jobs(40, 40, 1, 10).data
    groups = ServerGroups.from_data(data)
    sets = [jobs for jobs, members in zip(groups.jobs, groups.members, strict=True) for _ in members]
    start = choose_greedily(sets, groups.n_jobs, 10)
    hit = {j for s in start for j in sets[s]}
    moves = AnnealingParameters(moves=5000)
    fewer = anneal_jobs(groups.jobs, groups.count.tolist(), groups.n_jobs, hit, 10, 5, moves)
    assert fewer == anneal_jobs(groups.jobs, groups.count.tolist(), groups.n_jobs, hit, 10, 5, moves)
    assert len(fewer) <= len(hit)
    assert sum(fewer.issuperset(jobs) for jobs in sets) >= 10


def test_many_jobs_get_a_list_schedule_and_a_bound_in_closed_form():
    result = exact(elastic_jobs(60, 0, objective="mean-jct").data)
    assert result.status == "feasible"
    assert 0.5 * result.objective < result.bound < result.objective
    assert "60 jobs" in result.reason
    small = elastic_jobs(6, 0, objective="mean-jct").data
    assert bound_total(ElasticArrays.of(small)) / 6 <= exact(small).objective


def elastic(objective: str, capacity: float, *jobs: tuple[int, int, int, float], loss: float = 0.0) -> ArylElastic:
    """Jobs (least workers, most workers, GPUs of a worker, seconds)."""
    made = [
        ElasticJob(id=f"j{i}", min_workers=a, max_workers=b, gpus_per_worker=g, min_running_time=t)
        for i, (a, b, g, t) in enumerate(jobs)
    ]
    return ArylElastic(capacity_gpus=capacity, jobs=tuple(made), objective=objective, scaling_loss=loss)


EMPTY = [
    elastic("jct-reduction", 8, (2, 2, 1, 5.0), (1, 1, 1, 9.0)),
    elastic("jct-reduction", 5.5, (1, 3, 3, 5.0), (1, 2, 2, 9.0)),
    elastic("mean-jct", 8, (2, 4, 1, 5.0)),
    elastic("mean-jct", 2, (2, 2, 1, 5.0), (1, 1, 1, 9.0)),
    ArylReclaim(servers=("s",), jobs=(), reclaim=1),
    ArylReclaim(servers=("s", "t"), jobs=(), reclaim=0),
    ArylReclaim(servers=("s", "t"), jobs=(LoanedJob(id="a", servers=("t",)),), reclaim=2),
    ArylReclaim(servers=("s", "t"), jobs=(LoanedJob(id="a", servers=(), flexible_servers=("s",), gpus=()),), reclaim=2),
]


@pytest.mark.parametrize("data", EMPTY)
def test_a_problem_with_next_to_nothing_in_it_has_an_answer_by_every_method(data):
    fast, slow = exact(data), literal(data)
    assert fast.status == slow.status == "optimal"
    assert fast.objective == pytest.approx(slow.objective, rel=1e-9)
    for method in METHODS[data.problem]:
        result = apply(method, Instance.of(data, "x"), Options())
        assert (result.solved, result.violations) == (True, ())


@pytest.mark.parametrize("unit", [1e-9, 1e-7, 1.0, 1e6])
def test_the_smallest_and_the_largest_seconds_have_the_same_optimum_but_for_the_unit(unit: float):
    jobs = [(1, 3, 1, 40.0), (2, 4, 1, 15.0), (1, 1, 2, 30.0)]
    for objective, best in (("mean-jct", exact(elastic("mean-jct", 5, *jobs))), ("jct-reduction", None)):
        data = elastic(objective, 5 if objective == "mean-jct" else 7, *((a, b, g, t * unit) for a, b, g, t in jobs))
        fast, slow = exact(data), literal(data)
        assert fast.status == slow.status == "optimal"
        assert fast.objective == pytest.approx(slow.objective, rel=1e-6)
        if best is not None:
            assert fast.objective == pytest.approx(best.objective * unit, rel=1e-6)


def test_completions_closer_together_than_floating_point_can_tell_are_no_error():
    data = elastic("mean-jct", 8, (1, 2, 1, 1e4), (1, 2, 1, 1e4 + 1e-9), (1, 2, 1, 1e-7), (3, 5, 1, 2e-7))
    fast, slow = exact(data), literal(data)
    assert fast.status == slow.status == "optimal"
    for rule in (two_phase, afs, gandiva, equal_split):
        assert rule(data).violations == ()


def test_numbers_of_workers_that_slow_a_job_down_do_not_hide_what_the_literal_knapsack_can_save():
    half = 5 * 10**8
    data = elastic("jct-reduction", 10**9, (half - 5, half + 5, 1, 3.0), (half - 7, half + 9, 1, 4.0), loss=0.1)
    fast, slow = exact(data), literal(data)
    assert fast.objective == pytest.approx(slow.objective, rel=1e-6)
    assert fast.objective > 0


def test_ranges_of_a_billion_workers_are_cut_to_the_gpus_or_refused_in_one_line():
    jobs = (1, 10**9, 1, 100.0), (1, 10**9, 1, 50.0)
    few = elastic("mean-jct", 12, *jobs)
    assert exact(few).status == "optimal"
    shared = elastic("jct-reduction", 12, *jobs)
    assert exact(shared).objective == two_phase(shared).objective
    many = elastic("mean-jct", 10**9, *jobs)
    result = exact(many)
    assert result.solved
    assert "4,000,000,000 binaries" in result.reason
    contested = elastic("jct-reduction", 10**9, *jobs)
    line = "1,999,999,998 numbers of workers to choose from, more than 500,000"
    with pytest.raises(InputError, match=line):
        exact(contested)
    unfit = {m.name: m.unfit(contested) for m in METHODS["aryl-elastic"]}
    assert unfit["exact"] == line
    assert unfit["two-phase"] == "a table of 1,999,999,998 cells, more than 50,000,000"
    assert unfit["equal-split"] == "1,000,000,000 workers to give one at a time, more than 100,000"
    assert unfit["afs"] is unfit["gandiva"] is None
    for rule in (two_phase, equal_split):
        with pytest.raises(InputError, match="more than"):
            rule(contested)
    alone = elastic("jct-reduction", 10**9, jobs[0])
    assert exact(alone).solution == two_phase(alone).solution == gandiva(alone).solution == {"workers": {"j0": 10**9}}


@pytest.mark.parametrize("gpus", [(3, 5, 7), (1, 2, 4)])
def test_the_knapsack_by_highs_is_that_by_dynamic_programming(gpus):
    data = elastic_jobs(40, 2, gpus_per_worker=gpus, load=0.6).data
    table = exact(data)
    highs = exact(data, parameters=ArylParameters(knapsack=KnapsackParameters(cells=0)))
    assert highs.status == "optimal"
    assert highs.objective == pytest.approx(table.objective, rel=1e-6)
    assert highs.bound >= table.objective


STARTS = [
    (elastic_jobs(5, 1, objective="mean-jct").data, afs),
    (elastic_jobs(40, 1, objective="mean-jct").data, afs),
    (elastic_jobs(50, 1, gpus_per_worker=(3, 5, 7)).data, two_phase),
    (spread_jobs(40, 40, 1, 10).data, reclaim_greedy),
]


@pytest.mark.parametrize(("data", "heuristic"), STARTS)
def test_a_start_is_told_at_once_and_the_result_is_never_worse(data, heuristic):
    start, told = heuristic(data), []
    result = exact(data, Options(time_limit=0.3), lambda solution, bound: told.append(solution), start.solution)
    assert told[0] == start.solution
    assert result.objective <= start.objective if data.sense == "minimize" else result.objective >= start.objective
    best = exact(data, Options(time_limit=1.0)).solution
    again = exact(data, Options(time_limit=0.001), start=best)
    known = check(data, best).objective
    assert again.objective <= known if data.sense == "minimize" else again.objective >= known


@pytest.mark.parametrize("objective", ["mean-jct", "jct-reduction"])
def test_the_exported_model_has_gapwise_s_own_objective(tmp_path: Path, objective):
    for data in (table_2(objective).data, table_4(objective).data):
        for name in ("m.lp", "m.mps"):
            write_model(build_elastic(data), tmp_path / name)
            h = highspy.Highs()
            h.setOptionValue("output_flag", False)
            h.readModel(str(tmp_path / name))
            h.run()
            assert h.getInfo().objective_function_value == pytest.approx(exact(data).objective, rel=1e-4)


def test_any_name_goes_through_the_literal_models_and_their_exports(tmp_path: Path):
    names = ["$x^$", "日本 \"q' a]b[ \\\n" + "z" * 150, "ONE_VAR_CONSTANT", "x(0)", " "]
    jobs = [ElasticJob(id=n, min_workers=1, max_workers=2, gpus_per_worker=1, min_running_time=3.0) for n in names[:2]]
    elastics = [ArylElastic(capacity_gpus=3, jobs=tuple(jobs), objective=o) for o in ("mean-jct", "jct-reduction")]
    loaned = tuple(LoanedJob(id=name, servers=(name,)) for name in names)
    for data in (*elastics, ArylReclaim(servers=tuple(names), jobs=loaned, reclaim=2)):
        assert literal(data).objective == pytest.approx(exact(data).objective, rel=1e-9)
        build = build_reclaim if isinstance(data, ArylReclaim) else build_elastic
        for name in ("m.lp", "m.mps"):
            write_model(build(data), tmp_path / name)
            assert highspy.Highs().readModel(str(tmp_path / name)) == highspy.HighsStatus.kOk


def test_a_time_limit_holds_from_the_first_schedule_of_hundreds_of_jobs_on():
    data, told = elastic_jobs(400, 0, objective="mean-jct", load=0.05, scaling_loss=0.1).data, []
    result = exact(data, Options(time_limit=0.001), lambda solution, bound: told.append(solution))
    assert result.solved
    assert told[0] is not None
    assert 0 < result.bound <= result.objective


def test_past_the_limit_the_answer_on_thousands_of_jobs_is_the_start_or_the_jobs_one_by_one():
    data = elastic_jobs(1000, 0, objective="mean-jct", gpus_per_worker=(1,)).data
    start = {
        "intervals": [
            {"length": job.min_running_time * job.max_workers / job.min_workers, "workers": {job.id: job.min_workers}}
            for job in data.jobs
        ]
    }
    known = exact(data, Options(time_limit=1e-6), start=start)
    assert known.solution == start
    assert 0 < known.bound < known.objective
    impatient = ArylParameters(mean_jct=MeanJctParameters(late_s=0.0))
    alone = exact(data, Options(time_limit=1e-6), parameters=impatient)
    assert alone.solved
    assert all(len(interval["workers"]) == 1 for interval in alone.solution["intervals"])
    assert known.bound == alone.bound < alone.objective < known.objective


def test_a_completion_costs_arithmetic_only_for_jobs_whose_workers_change():
    asked = []

    def speed(job: int, workers: int) -> Fraction:
        asked.append(job)
        return Fraction(workers)

    work = {j: Fraction(j + 1) for j in range(300)}
    schedule = replay(work, speed, lambda left, held: dict.fromkeys(left, 1))
    assert asked == list(range(300))
    assert schedule.total == sum(work.values())
