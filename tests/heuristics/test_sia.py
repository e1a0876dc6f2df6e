"""Test SIA's policies and their baselines."""

from __future__ import annotations

import math
from typing import ClassVar

import pytest

from heuristics import sia
from heuristics.sia import (
    ONLINE,
    EarliestCutoff,
    Fcfs,
    Perfect,
    ShortestFirst,
    Sia,
    SlidingMaximum,
    replay,
    windows_in_slots,
)
from heuristics.sia.predictors import RandomArrivals
from instances import Options
from instances.sia import Job, Pool, SiaOracle, five_jobs, synthetic
from instances.sia.online import PoolsView, QueuedJob, Start


def starts(result):
    return [result.solution["starts"][f"j{i}"] for i in range(len(result.solution["starts"]))]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (sia.fcfs, [0, 0, 2, 3, 4]),
        (sia.sia_vc, [0, 0, 2, 1, 3]),
        (sia.sia_vc_literal, [0, 0, 5, 1, 2]),
        (sia.safe_ssf, [0, 0, 2, 1, 3]),
    ],
)
def test_five_jobs(method, expected):
    """Figure 6 as written starts j2 at 5, past its cut-off 2; with virtual start times fixed nobody is late."""
    result = method(five_jobs().data)
    assert starts(result) == expected
    assert result.status == ("violates" if method is sia.sia_vc_literal else "feasible")


@pytest.mark.parametrize("variant", ["base", "more-wide"])
@pytest.mark.parametrize("seed", range(4))
def test_theorem_1_on_three_days(variant, seed):
    data = synthetic(variant, seed).data
    cutoffs = {job.id: cutoff for job, cutoff in zip(data.jobs, data.cutoffs, strict=True)}
    for method in (sia.sia_vc, sia.safe_ssf, sia.sia_perfect):
        found = method(data).solution["starts"]
        assert all(found[name] <= cutoff for name, cutoff in cutoffs.items())


@pytest.mark.parametrize("seed", range(3))
def test_fcfs_as_a_policy_gives_the_cutoffs(seed):
    data = synthetic("higher-load", seed).data
    found = replay(data, Fcfs())
    assert tuple(found[job.id] for job in data.jobs) == data.fcfs_starts


def one_pool(*jobs, gpus=2):
    made = tuple(Job(id=f"j{i}", pool="p", submit=s, duration=d, gpus=n) for i, (s, d, n) in enumerate(jobs))
    return SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=gpus),), jobs=made)


def test_shortest_service_is_not_shortest_job():
    data = one_pool((0, 5, 2), (1, 3, 2), (1, 4, 1))
    assert starts(sia.ssf(data)) == [0, 9, 5]
    assert starts(sia.sjf(data)) == [0, 5, 8]


def test_overtaking_is_offered():
    data = one_pool((0, 5, 1), (1, 1, 2), (1, 9, 1))
    strict, loose = replay(data, ShortestFirst()), replay(data, ShortestFirst(overtake=True))
    assert (strict["j1"], strict["j2"]) == (5, 6)
    assert (loose["j1"], loose["j2"]) == (10, 1)


def two_pools(*jobs):
    made = tuple(Job(id=f"j{i}", pool=p, submit=s, duration=d, gpus=n) for i, (p, s, d, n) in enumerate(jobs))
    return SiaOracle(slot_minutes=1.0, pools=(Pool(name="a", gpus=2), Pool(name="b", gpus=2)), jobs=made)


def test_max_min_fair_lends_and_hurts_the_owner():
    """Figure 2's point: b's GPUs are lent to a, and b's own job has to wait for them."""
    data = two_pools(("a", 0, 9, 2), ("a", 0, 9, 2), ("b", 1, 2, 2))
    result = sia.mmfs(data)
    assert starts(result) == [0, 0, 9]
    assert result.status == "violates"
    assert "job j2 starts at 9, cut-off 1" in result.violations


def test_hived_serves_the_owner_before_the_longest_wait():
    data = two_pools(("a", 0, 4, 2), ("b", 0, 4, 2), ("a", 1, 4, 2), ("b", 2, 3, 1))
    assert starts(sia.hived(data)) == [0, 0, 4, 4]


def test_themis_takes_the_worst_finish_time_fairness():
    """At 6 both wait: j2 would end 9 after submission instead of 6, j3 7 instead of 10."""
    data = two_pools(("a", 0, 6, 2), ("b", 0, 6, 2), ("a", 0, 3, 2), ("b", 2, 3, 2), ("a", 3, 3, 2))
    found = starts(sia.themis(data))
    assert found[2] <= found[4]


def test_sia_starts_spare_jobs_only_where_nobody_will_miss_the_gpus():
    """b submits two GPUs at 7: until then a's long job may not borrow them, one of three slots may."""
    data = two_pools(("a", 0, 30, 2), ("a", 1, 30, 2), ("a", 1, 3, 2), ("b", 7, 5, 2))
    found = starts(sia.sia_perfect(data))
    assert found == [0, 12, 1, 7]


def test_perfect_counts_what_comes_within_the_window():
    data = one_pool((0, 1, 1), (5, 1, 2), (6, 1, 1))
    predictor = Perfect(data.jobs)
    assert [predictor.new_load("p", now, 5) for now in (0, 1, 5, 6)] == [2, 3, 1, 0]
    assert [
        predictor.duration_class(Job(id="x", pool="p", submit=0, duration=d, gpus=1), (5, 60)) for d in (5, 6, 61)
    ] == [
        0,
        1,
        2,
    ]


def test_sliding_maximum_is_the_most_of_the_recent_windows():
    data = one_pool((0, 1, 1), (1, 1, 2), (7, 1, 1))
    predictor = SlidingMaximum()
    predictor.observe(PoolsView(0, 2, {"p": 2}, {"p": 0}, {}, {}))
    predictor.observe(PoolsView(8, 2, {"p": 2}, {"p": 0}, {}, {}, arrived=data.jobs))
    assert predictor.new_load("p", 8, 4) == 2
    assert predictor.new_load("p", 8, 8) == 3
    assert predictor.new_load("elsewhere", 8, 8) == 0
    assert SlidingMaximum(recent=1).new_load("p", 8, 4) == math.inf


def test_a_pool_of_which_no_whole_window_was_seen_is_taken_to_need_all_it_owns():
    predictor = SlidingMaximum()
    predictor.observe(PoolsView(3, 2, {"p": 2}, {"p": 0}, {}, {}))
    assert predictor.new_load("p", 6, 4) == math.inf
    assert predictor.new_load("p", 7, 4) == 0


def test_fewer_recent_windows_forget_sooner():
    data = one_pool((0, 1, 2), (21, 1, 1))
    found = {}
    for recent in (1, 5):
        predictor = SlidingMaximum(recent=recent)
        predictor.observe(PoolsView(0, 2, {"p": 2}, {"p": 0}, {}, {}, arrived=data.jobs[:1]))
        predictor.observe(PoolsView(24, 2, {"p": 2}, {"p": 0}, {}, {}, arrived=data.jobs[1:]))
        found[recent] = predictor.new_load("p", 24, 5)
    assert found == {1: 1, 5: 2}


def test_a_coin_is_tossed_once_for_a_pool_a_window_and_a_tick():
    coins = RandomArrivals(seed=3, every=5)
    first = [coins.will_arrive("p", now, 60) for now in (0, 1, 4)]
    assert len(set(first)) == 1
    assert len({coins.will_arrive("p", now, 60) for now in range(0, 200, 5)}) == 2


def test_windows_round_up_to_slots():
    assert windows_in_slots(1.0) == (5, 60, 720)
    assert windows_in_slots(7.0) == (1, 9, 103)


def test_random_predictions_follow_the_seed():
    data = synthetic("base", 2, days=1).data
    one, again, other = (sia.sia_random(data, Options(seed=seed)) for seed in (1, 1, 2))
    assert one.solution == again.solution
    assert one.solution != other.solution


@pytest.mark.parametrize("name", list(ONLINE))
def test_online_policies_start_everybody(name):
    data = synthetic("base", 6, days=0.5).data
    found = replay(data, ONLINE[name](data, 0))
    assert set(found) == {job.id for job in data.jobs}


def test_a_policy_that_starts_nobody_is_an_error():
    class Idle:
        def decide(self, view):
            return Start()

    with pytest.raises(
        RuntimeError, match="job j0 is left waiting by policy Idle at 0: nothing runs and nothing is to come"
    ):
        replay(one_pool((0, 1, 1), (0, 1, 1)), Idle())


def test_sia_asks_to_be_woken_while_jobs_wait_on_idle_gpus():
    data = two_pools(("a", 0, 30, 2), ("a", 1, 30, 2), ("b", 20, 1, 2))

    class Spy(Sia):
        woken: ClassVar[list] = []

        def decide(self, view):
            decision = super().decide(view)
            self.woken.append(decision.wake_at)
            return decision

    replay(data, Spy(Perfect(data.jobs), (5, 60, 720)))
    assert 6 in Spy.woken


def wide():
    """Build a job of 4 GPUs and 800 slots in a pool of 2, which no pool could run in order, and one behind it."""
    jobs = (
        Job(id="w", pool="a", submit=0, duration=800, gpus=4, latest_start=50),
        Job(id="x", pool="a", submit=1, duration=5, gpus=1),
    )
    return SiaOracle(slot_minutes=1.0, pools=(Pool(name="a", gpus=2), Pool(name="b", gpus=4)), jobs=jobs)


@pytest.mark.parametrize(("name", "when"), [("sia-perfect", 11), ("sia-sliding", 16), ("sia-random-load", 11)])
def test_a_job_wider_than_its_pool_wakes_no_policy_for_ever(name, when):
    """The first window has to pass before `sia-sliding` lends anything to the job behind it."""
    line = f"job w is left waiting by policy Sia at {when}: nothing runs and nothing is"
    with pytest.raises(RuntimeError, match=line):
        replay(wide(), ONLINE[name](wide(), 0))


@pytest.mark.parametrize(
    "method", [sia.fcfs, sia.ssf, sia.sjf, sia.gssf, sia.mmfs, sia.hived, sia.themis, sia.sia_vc_literal]
)
def test_pools_of_a_billion_gpus_and_jobs_of_a_billion_slots_take_no_memory(method):
    data = one_pool((0, 10**9, 10**9 - 1), (5, 10**9, 10**9), gpus=10**9)
    assert starts(method(data)) == [0, 10**9]


def test_a_candidate_apart_from_pending_load_borrows_what_was_kept_for_itself():
    """a's second job needs two GPUs: one is left of a's own and one of b's. Figure 8 keeps a's for that very job."""
    pools = (Pool(name="a", gpus=3), Pool(name="b", gpus=1))
    jobs = tuple(Job(id=f"j{s}", pool="a", submit=s, duration=d, gpus=2) for s, d in ((0, 9), (1, 2)))
    data = SiaOracle(slot_minutes=1.0, pools=pools, jobs=jobs)
    plain, apart = (replay(data, Sia(Perfect(data.jobs), (5,), apart=apart)) for apart in (False, True))
    assert (plain["j1"], apart["j1"]) == (9, 1)


def test_the_earliest_cutoff_starts_a_job_that_takes_all_idle_gpus_and_holds_up_those_behind_a_wider_one():
    late, soon, wide = (
        QueuedJob(name, "p", 0, 5, gpus, cutoff) for name, gpus, cutoff in (("a", 1, 9), ("b", 2, 3), ("c", 4, 6))
    )
    queue = {job.id: job for job in (late, soon, wide)}

    def started(idle: int) -> list[str]:
        return list(EarliestCutoff().decide(PoolsView(0, idle, {"p": 8}, {"p": 8 - idle}, {"p": queue}, {})).starts)

    assert [started(idle) for idle in (1, 2, 5, 6, 7)] == [[], ["b"], ["b"], ["b", "c"], ["b", "c", "a"]]
