"""Test Aryl's views by hand, both exact problems of a snapshot, and allocations from solutions."""

from __future__ import annotations

from typing import Any

from instances.aryl import loaning_days
from instances.aryl.online import Allocation, LoaningJobView, LoaningView, ServerState, admit_jobs, decision, snapshot
from models.aryl import exact

TRAINING = [ServerState(f"t{i}", "training", 8, 8) for i in range(2)]
LOANED = [ServerState(f"l{i}", "loaned", 8, 8) for i in range(3)]


def job(name: str, least: int, most: int, work: float, **more: Any) -> LoaningJobView:
    return LoaningJobView(name, 0.0, least, most, more.pop("gpus", 2), work, **more)


def view(*jobs: LoaningJobView, loans: int = 0, **more: Any) -> LoaningView:
    servers = [*TRAINING, *LOANED[:loans]]
    return LoaningView(now=0, servers={s.id: s for s in servers}, jobs={j.id: j for j in jobs}, **more)


def decided(seen: LoaningView) -> Allocation:
    problem = snapshot(seen)
    assert problem is not None
    result = exact(problem)
    assert result.status == "optimal"
    return decision(seen, result.solution)


def test_the_spare_gpus_go_where_they_save_the_most_time():
    long, short = job("long", 1, 3, 30_000.0, base={"t0": 1}), job("short", 1, 3, 3_000.0)
    fixed = job("fixed", 4, 4, 4_000.0, base={"t0": 1, "t1": 3})
    seen = view(long, short, fixed)
    problem = snapshot(seen)
    assert [j.id for j in problem.jobs] == ["long", "short"]
    assert problem.capacity_gpus == 8  # 16 less the base of the inelastic job
    assert [j.work for j in problem.jobs] == [30_000.0, 3_000.0]
    assert dict(decided(seen).workers) == {"long": 3, "short": 1, "fixed": 4}


def test_short_jobs_start_first_and_one_that_does_not_fit_is_passed_over():
    running = job("running", 5, 5, 9e9, base={"t0": 4, "t1": 1})
    jobs = [job("wide", 4, 4, 4.0), job("later", 2, 2, 2_000.0), job("soon", 1, 1, 10.0), running]
    names, free = admit_jobs(view(*jobs))
    assert (names, free) == (["running", "soon", "later"], 0)
    assert snapshot(view(*jobs)) is None
    assert dict(decision(view(*jobs), None).workers) == {"running": 5, "soon": 1, "later": 2}


def test_only_jobs_that_may_use_any_gpu_start_on_loaned_servers():
    full = job("full", 8, 8, 9e9, base={"t0": 4, "t1": 4})
    bound, free, both = job("bound", 1, 1, 1.0), job("free", 1, 1, 1.0, any_gpu=True), job("both", 2, 2, 1.0)
    assert admit_jobs(view(full, bound, free, loans=1)) == (["full", "free"], 6)
    assert admit_jobs(view(full, bound, free))[0] == ["full"]
    less = job("less", 7, 7, 9e9, base={"t0": 4, "t1": 3})
    assert admit_jobs(view(less, both, loans=1)) == (["less"], 10)
    split = job("both", 2, 2, 1.0, heterogeneous=True)
    assert admit_jobs(view(less, split, loans=1)) == (["less", "both"], 6)


def test_a_loaned_gpu_counts_as_what_it_is_worth():
    elastic = job("e", 1, 20, 1_000.0, base={"t0": 1})
    assert snapshot(view(elastic, loans=3)).capacity_gpus == 16 + 24
    assert snapshot(view(elastic, loans=3, loaned_worth=1 / 4)).capacity_gpus == 16 + 6
    data = loaning_days(0.2, 0, loaned_speed=0.25).data
    assert data.loaned_worth == 1
    assert data.model_copy(update={"loaned_workers": "wide"}).loaned_worth == 0.25


def test_the_servers_that_go_back_are_those_that_stop_no_job():
    one = job("one", 2, 4, 9.0, base={"l0": 1, "l1": 1}, flexible={"l1": 1, "l2": 2})
    seen = view(one, job("elsewhere", 1, 1, 9.0, base={"t0": 1}), loans=3, reclaim=1)
    problem = snapshot(seen)
    (known,) = problem.jobs
    assert (known.servers, known.flexible_servers, known.gpus) == (("l0", "l1"), ("l2",), (2, 2))
    assert (problem.servers, problem.reclaim) == (("l0", "l1", "l2"), 1)
    assert decided(seen) == Allocation(give_back=("l2",))


def test_no_more_servers_go_back_than_are_on_loan():
    assert snapshot(view(loans=2, reclaim=5)).reclaim == 2


def test_work_that_is_almost_done_is_still_a_job():
    assert snapshot(view(job("e", 1, 2, 1e-12, base={"t0": 1}))).jobs[0].min_running_time > 0


def test_without_jobs_there_is_nothing_to_decide():
    assert snapshot(view()) is None
    assert decision(view(), None) == Allocation()
