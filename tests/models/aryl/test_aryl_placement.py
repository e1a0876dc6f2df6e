"""Test the placement checker, best-fit decreasing and both exact methods against enumeration."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from heuristics.aryl import best_fit_decreasing
from instances import MalformedSolution, Options, check
from instances.aryl import ArylPlacement, HostServer, PlacedJob, five_servers, placement_moment
from models.aryl import exact, literal
from models.aryl.placement import explain_too_many_patterns
from tests.aryl_cases import least_cost, placements


@settings(max_examples=40, deadline=None)
@given(placements())
def test_placement_is_that_of_enumeration(data: ArylPlacement):
    best, rule = exact(data), best_fit_decreasing(data)
    assert best.status == "optimal"
    assert best.objective == best.bound == least_cost(data)
    assert rule.violations == ()
    assert rule.objective >= best.objective


@settings(max_examples=15, deadline=None)
@given(placements(most_servers=4, most_jobs=4))
def test_the_literal_placement_agrees(data: ArylPlacement):
    assert literal(data).objective == exact(data).objective


@pytest.mark.parametrize("seed", range(3))
def test_moments_have_the_optimum_of_the_literal_model_and_best_fit_is_no_better(seed: int):
    data = placement_moment(4, 4, seed, gpus_per_worker=(2, 3, 5)).data
    fast = exact(data)
    assert fast.objective == literal(data).objective == fast.bound
    assert best_fit_decreasing(data).objective >= fast.objective


def test_best_fit_decreasing_opens_a_server_more_than_it_has_to():
    data = five_servers().data
    assert best_fit_decreasing(data).objective == 4
    assert exact(data).objective == literal(data).objective == 3


def moment(*jobs: PlacedJob, **free: int) -> ArylPlacement:
    """Servers of 8 GPUs by name, `t...` of training and `l...` on loan, and their free GPUs."""
    servers = tuple(
        HostServer(id=name, kind="training" if name[0] == "t" else "loaned", gpus=8, free_gpus=gpus)
        for name, gpus in free.items()
    )
    return ArylPlacement(servers=servers, jobs=jobs)


BOTH = ("training", "loaned")


def test_best_fit_decreasing_takes_the_tightest_server_in_use_before_a_new_one():
    small = PlacedJob(id="small", gpus_per_worker=2, base_workers=3)
    large = PlacedJob(id="large", gpus_per_worker=5, base_workers=1)
    placed = best_fit_decreasing(moment(small, large, t1=8, t2=7, t3=5)).solution
    assert placed["base"] == {"large": {"t3": 1}, "small": {"t2": 3}}


def test_elastic_jobs_prefer_loaned_servers_others_training_and_both_fall_back():
    elastic = PlacedJob(id="e", gpus_per_worker=4, base_workers=2, flexible_workers=1, elastic=True, kinds=BOTH)
    rigid = PlacedJob(id="r", gpus_per_worker=4, base_workers=2, kinds=BOTH)
    placed = best_fit_decreasing(moment(elastic, rigid, t1=8, t2=8, l1=8, l2=8)).solution
    assert placed == {"base": {"e": {"l1": 2}, "r": {"t1": 2}}, "flexible": {"e": {"l2": 1}}}
    data = moment(elastic, rigid, t1=4, l1=8, l2=8)
    assert best_fit_decreasing(data).solution["base"] == {"e": {"l1": 2}}  # and no room where base workers may be
    data = moment(rigid, t1=4, l1=8)
    assert best_fit_decreasing(data).solution["base"] == {"r": {"l1": 2}}
    assert best_fit_decreasing(data).objective == 1 + 10 * 8


def test_heterogeneous_jobs_come_last_with_base_workers_on_training_servers():
    mixed = PlacedJob(
        id="m", gpus_per_worker=4, base_workers=2, flexible_workers=1, elastic=True, kinds=BOTH, heterogeneous=True
    )
    rigid = PlacedJob(id="r", gpus_per_worker=2, base_workers=2)
    placed = best_fit_decreasing(moment(mixed, rigid, t1=8, l1=8, l2=8)).solution
    assert placed["base"] == {"r": {"t1": 2}, "m": {"t1": 1, "l1": 1}}
    assert placed["flexible"] == {"m": {"l2": 1}}


def test_the_placement_checker_finds_what_is_broken():
    elastic = PlacedJob(id="e", gpus_per_worker=3, base_workers=2, flexible_workers=2, elastic=True, kinds=BOTH)
    rigid = PlacedJob(id="r", gpus_per_worker=2, base_workers=1)
    data = moment(elastic, rigid, t1=8, l1=8, l2=8)

    def broken(base: dict, flexible: dict | None = None) -> tuple[str, ...]:
        return check(data, {"base": base, "flexible": flexible or {}}).violations

    assert broken({"e": {"l1": 2}, "r": {"t1": 1}}, {"e": {"l2": 2}}) == ()
    assert broken({"e": {"l1": 1}}) == ("job e has 1 base workers, not 2",)
    assert broken({"e": {"l1": 2}}, {"e": {"l2": 2, "l1": 1}})[0] == "job e has 3 flexible workers, more than 2"
    assert broken({}, {"e": {"l1": 1}}) == ("job e has flexible workers and no base workers",)
    assert broken({"r": {"l1": 1}}) == ("job r has workers on server l1, a loaned one",)
    assert broken({"e": {"l1": 1, "t1": 1}}) == ("job e has workers on both kinds of servers",)
    assert broken({"e": {"l1": 1, "l2": 1}}, {"e": {"l1": 1}}) == ("server l1 hosts base and flexible workers",)
    assert broken({"e": {"t1": 2}, "r": {"t1": 1}}, {"e": {"t1": 1}}) == (
        "server t1 holds 11 GPUs more, and has 8 free",
    )
    nothing = check(data, {})
    assert (nothing.objective, nothing.violations) == (100 * (3 * 4 + 2), ())


@pytest.mark.parametrize(
    "solution",
    [[], {"workers": {}}, {"base": []}, {"base": {"z": {}}}, {"base": {"r": {"z": 1}}}, {"base": {"r": {"t1": 0}}}],
)
def test_malformed_placements(solution):
    data = moment(PlacedJob(id="r", gpus_per_worker=2, base_workers=1), t1=8)
    with pytest.raises(MalformedSolution):
        check(data, solution)


def test_a_placement_that_runs_out_of_effort_has_a_bound_that_holds():
    data = placement_moment(40, 20, 1, load=0.9, gpus_per_worker=(1, 2, 3, 5)).data
    start = best_fit_decreasing(data)
    result = exact(data, Options(effort=1), start=start.solution)
    assert result.bound <= exact(data).objective <= result.objective <= start.objective


def test_servers_with_too_many_ways_to_fill_them_are_refused():
    jobs = tuple(PlacedJob(id=f"j{n}", gpus_per_worker=n, base_workers=50) for n in range(1, 30))
    data = ArylPlacement(servers=(HostServer(id="s", kind="training", gpus=200, free_gpus=200),), jobs=jobs)
    assert explain_too_many_patterns(data) == "more than 50,000 ways to fill them"
