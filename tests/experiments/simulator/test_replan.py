"""Test that any method can be a policy that replans at each event, with a fallback if it fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.papers import ONLINE
from experiments.simulator import Replan, simulate
from experiments.simulator.sia import PoolsWorld, Scripted
from experiments.simulator.simulation import Simulation, policy_names
from heuristics.sia import EarliestCutoff
from instances import Answer, Instance, Options
from instances.aryl import ArylElastic, ArylReclaim, figure_5, loaning_days, table_4
from instances.method import method
from instances.sia import Job, Pool, SiaOracle, five_jobs, synthetic
from instances.sia.online import PoolsView, decision, snapshot
from models.sia import exact


def known_at_once(seed):
    """Build a workload whose jobs are all submitted at slot 0."""
    data = synthetic("base", seed, days=0.15).data
    return SiaOracle(slot_minutes=1.0, pools=data.pools, jobs=[j.model_copy(update={"submit": 0}) for j in data.jobs])


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_is_to_come_the_exact_method_in_the_loop_is_as_good_as_the_oracle(seed):
    data = known_at_once(seed)
    run = Simulation(Instance.of(data, "at once"), "exact").work(None)
    assert run.fallbacks == 0
    assert set(run.decisions["status"]) == {"optimal"}
    assert run.jobs_table()["delay"].sum() == exact(data).objective


def test_a_snapshot_keeps_running_jobs_and_cutoffs():
    data = five_jobs().data
    seen = []

    class Looks:
        def decide(self, view):
            problem = snapshot(view)
            if problem is not None:
                seen.append((view.now, problem))
            return EarliestCutoff().decide(view)

    world = PoolsWorld.of(data)
    simulate(world, Looks())
    cutoff = {job.id: start for job, start in zip(data.jobs, data.cutoffs, strict=True)}
    assert seen
    for now, problem in seen:
        for job, latest in zip(problem.jobs, problem.cutoffs, strict=True):
            if job.id in world.records.start and world.records.start[job.id] < now:
                assert (job.submit, latest, job.duration) == (0, 0, world.records.end[job.id] - now)
            elif cutoff[job.id] >= now:
                assert latest == cutoff[job.id] - now


def test_every_simulation_is_the_same_again():
    workload = synthetic("base", 3, days=0.2)
    runs = [Simulation(workload, "exact", Options(effort=3)).work(None) for _ in range(2)]
    assert runs[0].model_copy(update={"cpu_s": None}) == runs[1].model_copy(update={"cpu_s": None})
    assert len(runs[0].decisions["time"]) > 3


def test_where_a_method_fails_the_fallback_decides_and_the_log_says_why():
    @method("exact")
    def gives_up(data):
        return Answer(None, termination="time_limit", reason="no luck")

    data = five_jobs().data
    world, policy = PoolsWorld.of(data), Replan(gives_up, snapshot, decision, EarliestCutoff())
    simulate(world, policy)
    assert policy.log
    assert {entry.fallback for entry in policy.log} == {"no luck"}
    other = PoolsWorld.of(data)
    simulate(other, EarliestCutoff())
    assert world.records.start == other.records.start


def test_a_problem_that_is_still_the_same_is_not_solved_again():
    data, solved = five_jobs().data, []

    def solve(problem):
        solved.append(problem)
        return exact(problem)

    policy = Replan(
        solve, lambda view: data if view.now < 3 else five_jobs().data, lambda view, solution: view.now, None
    )
    for now in range(5):
        assert policy.decide(PoolsView(now, 0, {}, {}, {}, {})) == now
    assert (len(solved), [entry.time for entry in policy.log]) == (3, [0, 3, 4])


def test_where_a_world_has_several_problems_a_name_stands_for_a_method_of_each(monkeypatch):
    workload = loaning_days(0.05, 0, training_servers=40)
    problems = (ArylElastic.problem, ArylReclaim.problem)
    like = replace(ONLINE[SiaOracle.problem], problems=problems, policies={}, unfit=lambda name, data: None)
    monkeypatch.setattr("experiments.simulator.simulation.ONLINE", {**ONLINE, workload.problem: like})
    names = policy_names(workload.problem)
    assert {"exact", "two-phase", "reclaim-scf"} <= set(names)
    assert len(set(names)) == len(names)
    for name, ran in (
        ("exact", ["exact", "exact"]),
        ("two-phase", ["two-phase", "exact"]),
        ("reclaim-scf", ["exact", "reclaim-scf"]),
    ):
        policy = Simulation(workload, name).make_policy(like, workload.data)
        assert [policy.solve(moment.data).method for moment in (table_4("jct-reduction"), figure_5())] == ran


def test_a_failure_is_logged_at_every_decision_that_a_fallback_makes():
    data, calls = five_jobs().data, []

    @method("exact")
    def gives_up(data):
        calls.append(data)
        return Answer(None, termination="time_limit", reason="no luck")

    policy = Replan(gives_up, lambda view: data, decision, EarliestCutoff())
    for now in range(3):
        policy.decide(PoolsView(now, 0, {}, {}, {}, {}))
    assert ([entry.fallback for entry in policy.log], len(calls)) == (["no luck"] * 3, 1)


def test_a_cutoff_that_is_past_binds_nobody():
    pools, jobs = (Pool(name="p", gpus=1),), [Job(id=f"j{k}", pool="p", submit=0, duration=2, gpus=1) for k in range(3)]
    data = SiaOracle(slot_minutes=1.0, pools=pools, jobs=[*jobs[:2], jobs[2].model_copy(update={"latest_start": 1})])
    run = Simulation(Instance.of(data, "late"), "exact").work(None)
    assert run.fallbacks >= 1  # j2 cannot start by slot 1 once another runs, but all three do in the end
    assert sorted(run.jobs_table()["start"]) == [0, 2, 4]


def test_heuristics_re_plan_too_and_world_policies_go_first():
    names = policy_names("sia-oracle")
    assert {"fcfs", "oracle", "exact", "literal"} <= set(names)
    assert len(names) == len(set(names))
    workload = synthetic("base", 1, days=0.1)
    assert Simulation(workload, "fcfs").work(None).decisions == {}
    assert Simulation(workload, "literal-windows").work(None).status == "finished"


def first_come(data: SiaOracle):
    """Start every job at its cut-off, as a user's method."""
    return {"starts": {job.id: start for job, start in zip(data.jobs, data.cutoffs, strict=True)}}


def test_a_user_s_method_is_a_policy_as_well_as_a_user_s_policy():
    run = Simulation(five_jobs(), "tests.experiments.simulator.test_replan:first_come").work(None)
    assert run.status == "finished"
    assert run.decisions["time"]


def test_a_schedule_made_beforehand_is_a_policy():
    data = five_jobs().data
    world = PoolsWorld.of(data)
    simulate(world, Scripted(exact(data).solution["starts"]))
    assert sum(world.records.start[job.id] - job.submit for job in data.jobs) == exact(data).objective
