"""Test reclaiming with minimum workers and unequal losses against enumeration and the literal model."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings

from heuristics.aryl import reclaim_greedy, reclaim_scf
from instances import InputError, Options, check
from instances.aryl import ArylReclaim, LoanedJob, loaned_servers
from models.aryl import exact, literal, pareto_front
from models.aryl.loss import MAX_INTEGER_LOSS, Losses, compute_loss, solve_loss
from models.aryl.reclaim import solve_reclaim
from tests.aryl_cases import fewest_preemptions, losses, reclaims
from tests.sampling import sample


def told(solution: object, bound: object) -> None:
    """Nobody listens."""


@settings(max_examples=sample(26, 80), deadline=None)
@given(losses())
def test_losses_are_exact_and_no_order_beats_them(data: ArylReclaim):
    best = exact(data)
    assert best.status == "optimal"
    assert best.objective == pytest.approx(fewest_preemptions(data), rel=1e-6, abs=1e-12)
    assert Fraction(repr(best.bound)) <= fewest_preemptions(data)
    for order in (reclaim_greedy, reclaim_scf):
        assert order(data).objective >= best.objective


@settings(max_examples=10, deadline=None)
@given(losses())
def test_the_literal_model_of_losses_agrees(data: ArylReclaim):
    if any(job.gpu_hours in (1e-9, 1e9) for job in data.jobs):
        data = data.model_copy(update={"objective": "preempted-jobs"})
    assert literal(data).objective == pytest.approx(exact(data).objective, rel=1e-6)


@settings(max_examples=sample(10, 30), deadline=None)
@given(reclaims())
def test_the_program_of_losses_agrees_with_the_tree_where_nothing_differs(data: ArylReclaim):
    general, tree = solve_loss(data, Options(), told), solve_reclaim(data, Options(), told)
    assert general.bound == tree.bound
    assert compute_loss(data, general.solution["servers"]) == compute_loss(data, tree.solution["servers"])


@settings(max_examples=sample(13, 40), deadline=None)
@given(losses(6, 5))
def test_the_front_is_that_of_enumeration(data: ArylReclaim):
    if any(job.gpu_hours in (1e-9, 1e9) for job in data.jobs):
        return  # beside a billion a billionth is within the gap
    weighed = data.model_copy(update={"objective": "lost-gpu-hours"})
    every = {compute_loss(weighed, servers)[::-1] for servers in itertools.combinations(data.servers, data.reclaim)}
    best = sorted(a for a in every if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in every))
    front = pareto_front(data)
    assert front.complete
    assert [(point.jobs, point.gpu_hours) for point in front.points] == best
    for point in front.points:
        assert check(weighed, point.solution).objective == float(point.gpu_hours)
        assert point.bound == float(point.gpu_hours)


@pytest.mark.parametrize("fragmentation", [0.35, 1.0])
@pytest.mark.parametrize("objective", ["preempted-jobs", "lost-gpu-hours"])
def test_pools_have_the_optimum_of_the_literal_model(fragmentation: float, objective):
    data = loaned_servers(50, fragmentation, 1, 15, elastic_share=0.4, objective=objective, flexible_servers=2).data
    fast, slow = exact(data), literal(data)
    assert fast.status == slow.status == "optimal"
    assert fast.objective == pytest.approx(slow.objective, rel=1e-6)
    assert fast.objective <= reclaim_greedy(data).objective


def test_a_job_that_may_lose_workers_is_never_worse_for_it():
    for seed in range(3):
        rigid = loaned_servers(60, 0.7, seed, 20, elastic_share=0.0).data
        elastic = loaned_servers(60, 0.7, seed, 20, elastic_share=0.5).data
        assert (
            exact(elastic).objective
            <= exact(rigid).objective
            == exact(loaned_servers(60, 0.7, seed, 20).data).objective
        )


def test_jobs_that_need_all_of_their_workers_or_none_are_those_of_the_paper():
    data = loaned_servers(60, 0.7, 1, 20, elastic_share=0.0).data
    needless = data.jobs[0].model_copy(update={"min_workers": 0})
    strict = data.model_copy(update={"jobs": (needless, *data.jobs[1:])}).as_in_the_paper()
    assert strict is not None
    assert strict.jobs[0].servers == ()
    assert [set(job.servers) for job in strict.jobs[1:]] == [set(job.workers or ()) for job in data.jobs[1:]]
    assert loaned_servers(60, 0.7, 1, 20, elastic_share=0.5).data.as_in_the_paper() is None
    assert loaned_servers(60, 0.7, 1, 20, objective="lost-gpu-hours").data.as_in_the_paper() is None
    plain = loaned_servers(60, 0.7, 1, 20).data
    assert plain.as_in_the_paper() is plain


def test_losses_too_fine_for_whole_units_have_a_bound_that_holds():
    jobs = tuple(LoanedJob(id=f"j{j}", servers=(f"s{j}",), gpu_hours=1 + j * 1e-9 + j) for j in range(6))
    data = ArylReclaim(servers=tuple(f"s{s}" for s in range(6)), jobs=jobs, reclaim=3, objective="lost-gpu-hours")
    assert not Losses.from_data(data).is_integral
    assert sum(data.losses()) > MAX_INTEGER_LOSS * Fraction(1, 10**9)
    result = exact(data)
    assert result.status == "optimal"
    assert result.bound <= result.objective == pytest.approx(6 + 3e-9, rel=1e-15)


def test_a_limit_on_jobs_that_no_choice_keeps_has_no_solution():
    data = loaned_servers(20, 1.0, 0, 19, objective="lost-gpu-hours").data
    answer = solve_loss(data, Options(), told, max_jobs=1)
    assert (answer.solution, answer.termination) == (None, "infeasible")


def test_a_front_needs_the_hours_of_every_job():
    with pytest.raises(InputError, match="gpu_hours: must be given for a Pareto front"):
        pareto_front(loaned_servers(20, 0.5, 0, 4).data)


def test_a_loss_that_is_tiny_beside_another_is_not_taken_for_none():
    """Server s1 goes back for nothing; a solver does not see the loss on s0 beside that of the job on all servers."""
    servers = ("s0", "s1", "s2", "s3")
    large = LoanedJob(
        id="b", servers=(), flexible_servers=servers, workers=dict.fromkeys(servers, 1), min_workers=1, gpu_hours=1e9
    )
    small = LoanedJob(id="a", servers=("s0",), gpu_hours=1e-9)
    data = ArylReclaim(servers=servers, jobs=(small, large), reclaim=1, objective="lost-gpu-hours")
    result = exact(data)
    assert (result.status, result.objective, result.bound) == ("optimal", 0.0, 0.0)
    assert Losses.from_data(data).convert_bound(1e-15) == 0.0
