"""Test the rules, tables and queue laws of the world of pools."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.simulator import simulate, summary
from experiments.simulator.sia import PoolsWorld, Scripted
from experiments.simulator.simulation import Simulation, chosen_policies
from heuristics.sia import Fcfs
from instances import InputError
from instances.online import RuleBroken
from instances.sia import synthetic
from instances.sia.online import Start
from models.sia import exact

JOBS = [("x", "p", 0, 3, 2), ("y", "p", 1, 2, 1)]


class Says:
    """Starts what it is told to, at every moment."""

    def __init__(self, *starts, wake_at=None):
        self.starts, self.wake_at = starts, wake_at

    def decide(self, view):
        return Start(self.starts, self.wake_at)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        (Says("x"), "job x is started at 1 and was at 0 before"),
        (Says("z"), "job z is started at 0 but does not exist"),
        (Says("y"), "job y is started at 0, before its submission at 1"),
        (Says("x", "x"), "job x is started at 0 and was at 0 before"),
        (Says(), "job x is left waiting at 1 with nothing to come"),
        (Says(wake_at=0), "the policy asks at 0 to be woken at 0"),
        (Scripted({"x": 0, "y": 1}), "job y is started at 1 on 1 GPUs, 0 are idle"),
    ],
)
def test_a_policy_that_breaks_a_rule_is_told_job_and_time(policy, line):
    with pytest.raises(RuleBroken) as error:
        simulate(PoolsWorld({"p": 2}, JOBS), policy)
    assert str(error.value) == line


def test_a_policy_that_is_only_ever_woken_is_told_job_and_time():
    """It may wait while others run or are to come, and for a moment of its own choice once."""

    class Later:
        def decide(self, view):
            return Start(view.queues["p"] if view.now >= self.when else (), view.now + 1)

    policy = Later()
    policy.when = 2  # the last completion or submission is at 1: asked at 1, woken at 2
    world = PoolsWorld({"p": 3}, JOBS)
    simulate(world, policy)
    assert world.jobs_table()["start"].tolist() == [2, 2]
    policy.when = 3
    with pytest.raises(RuleBroken, match="job x is left waiting at 2 with nothing to come"):
        simulate(PoolsWorld({"p": 3}, JOBS), policy)


@pytest.mark.parametrize(
    ("jobs", "line"),
    [
        ([("x", "q", 0, 1, 1)], "job x is of an unknown pool, q"),
        ([("x", "p", 0, 1, 3)], "job x needs 3 GPUs of 2"),
        ([("x", "p", 0, 1, 1)] * 2, "job x occurs twice"),
    ],
)
def test_bad_worlds(jobs, line):
    with pytest.raises(RuleBroken, match=line):
        PoolsWorld({"p": 2}, jobs)


def test_tables_of_a_small_run():
    world = PoolsWorld({"p": 2}, JOBS)
    simulate(world, Fcfs())
    jobs, timeline = world.jobs_table(), world.timeline_table()
    assert jobs[["job", "start", "end", "delay", "jct"]].to_numpy().tolist() == [["x", 0, 3, 0, 3], ["y", 3, 5, 2, 4]]
    assert timeline[["time", "in_use", "used p", "waiting"]].to_numpy().tolist() == [
        [0, 2, 2, 0],
        [1, 2, 2, 1],
        [3, 1, 1, 0],
        [5, 0, 0, 0],
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_oracles_schedule_has_its_objective_in_the_simulator(seed):
    data = synthetic("base", seed, days=0.5).data
    result = exact(data)
    world = PoolsWorld.of(data)
    simulate(world, Scripted(result.solution["starts"]))
    assert world.jobs_table()["delay"].sum() == result.objective


@pytest.mark.parametrize("name", ["fcfs", "gssf", "sia-perfect"])
def test_gpu_time_and_jobs_are_conserved(name):
    """The area under the use of each pool is the GPU time of its jobs."""
    instance = synthetic("base", 4, days=1)
    run = Simulation(instance, name).work(None)
    spans = np.diff(run.timeline_table()["time"])
    for pool in {job.pool for job in instance.data.jobs}:
        area = (run.timeline_table()[f"used {pool}"].to_numpy()[:-1] * spans).sum()
        assert area == sum(job.duration * job.gpus for job in instance.data.jobs if job.pool == pool)
    assert run.timeline_table()["in_use"].max() <= instance.data.capacity
    assert (run.jobs_table()["start"] >= run.jobs_table()["submit"]).all()
    assert (run.jobs_table()["end"] - run.jobs_table()["start"] == run.jobs_table()["duration"]).all()


def poisson(seed, jobs, rate, servers):
    """M/M/c: exponential gaps and durations of mean 1 on one pool of single GPUs, in real time."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.exponential(1 / rate, jobs))
    duration = rng.exponential(1.0, jobs)
    rows = zip(submit, duration, strict=True)
    return PoolsWorld({"p": servers}, [(f"j{k}", "p", s, d, 1) for k, (s, d) in enumerate(rows)])


def erlang_c_wait(rate, servers):
    """Mean waiting time of M/M/c with unit service rate."""
    terms = sum(rate**k / math.factorial(k) for k in range(servers))
    last = rate**servers / math.factorial(servers) * servers / (servers - rate)
    return last / (terms + last) / (servers - rate)


@pytest.mark.parametrize(("rate", "servers"), [(0.7, 1), (3.2, 4)])
def test_m_m_c_waits_as_erlang_says(rate, servers):
    world = poisson(5, 20_000, rate, servers)
    simulate(world, Fcfs())
    waited = world.jobs_table()["delay"][2_000:]
    batches = waited.to_numpy()[: len(waited) // 20 * 20].reshape(20, -1).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(20)
    assert abs(waited.mean() - erlang_c_wait(rate, servers)) < 4 * error
    assert error < 0.15 * erlang_c_wait(rate, servers)


def test_littles_law_on_a_long_run():
    """Mean number of jobs in the system = rate of arrival × mean time in it, from empty to empty exactly."""
    world = poisson(9, 5_000, 1.5, 2)
    simulate(world, Fcfs())
    jobs, timeline = world.jobs_table(), world.timeline_table()
    spans = np.diff(timeline["time"])
    inside = (timeline["in_use"] + timeline["waiting"]).to_numpy()[:-1]
    span = timeline["time"].iloc[-1] - timeline["time"].iloc[0]
    assert (inside * spans).sum() / span == pytest.approx(len(jobs) / span * jobs["jct"].mean(), rel=1e-9)


def test_summary_compares_with_the_baseline():
    world, base = PoolsWorld({"p": 2}, JOBS), PoolsWorld({"p": 2}, JOBS)
    simulate(world, Scripted({"y": 1, "x": 3}))
    simulate(base, Fcfs())
    found = summary(world.jobs_table(), base.jobs_table())
    assert (found["slowed"], found["total_slowdown"], found["worst_slowdown"]) == (1, 3, 3)
    assert found["jct_speedup"] == pytest.approx(3.5 / 4)
    assert found["geometric_speedup"] == pytest.approx(math.sqrt(3 / 6 * 4 / 2))


def test_warm_up_leaves_out_the_first_jobs():
    world = PoolsWorld({"p": 2}, JOBS)
    simulate(world, Fcfs())
    assert summary(world.jobs_table(), warm_up=1)["jobs"] == 1
    assert summary(world.jobs_table(), warm_up=9) == {"jobs": 0}


def test_until_stops_in_between():
    world = PoolsWorld({"p": 2}, JOBS)
    simulate(world, Fcfs(), until=2)
    assert world.jobs_table()["start"].tolist()[0] == 0
    assert world.jobs_table()["end"].isna().all()


def test_unknown_policy():
    with pytest.raises(InputError, match="policy: must be all, fcfs"):
        chosen_policies([synthetic("base", 0, days=0.2)], ["magic"], None)
