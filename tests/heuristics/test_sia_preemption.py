"""Test interruptions of the world, and SIA with partial preemption on its idle GPUs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.simulator import simulate
from experiments.simulator.sia import PoolsWorld
from heuristics.sia import Perfect, SlidingMaximum, replay
from heuristics.sia.sia_scheduler import PreemptiveSia, Sia, share_of_jobs
from instances.online import RuleBroken
from instances.sia import SiaOracle
from instances.sia.online import Start
from tests.sampling import sample
from tests.sia_cases import made, oracles

slow = settings(suppress_health_check=list(HealthCheck), max_examples=sample(26, 80))
WINDOWS = (2, 5, 12)


def run(data: SiaOracle, *, share: float = 1.0, restart: int = 1, perfect: bool = True) -> PoolsWorld:
    predictor = Perfect(data.jobs) if perfect else SlidingMaximum()
    world = PoolsWorld.of(data, restart_minutes=restart * data.slot_minutes)
    simulate(world, PreemptiveSia(Sia(predictor, WINDOWS), share_of_jobs(share)))
    return world


class Script:
    """What is to be said at each moment, and at no other."""

    def __init__(self, **said):
        self.said = {int(name.removeprefix("at")): start for name, start in said.items()}

    def decide(self, view):
        later = [t for t in self.said if t > view.now]
        starts, interrupted = self.said.get(view.now, ((), ()))
        return Start(starts, min(later) if later else None, interrupted)


def test_a_job_that_is_interrupted_keeps_its_work_and_pays_for_the_restart():
    jobs = [("x", "p", 0, 10, 2), ("y", "p", 1, 4, 2)]
    world = PoolsWorld({"p": 2}, jobs, restart=3)
    simulate(world, Script(at0=(["x"], []), at6=(["y"], ["x"]), at10=(["x"], [])))
    table = world.jobs_table()
    assert table["start"].tolist() == [0, 6]
    assert table["end"].tolist() == [10 + 4 + 3, 10]
    assert table["delay"].tolist() == [4 + 3, 5]
    assert world.totals() == {"interruptions": 1}


def test_a_restart_costs_no_more_than_to_begin_anew():
    world = PoolsWorld({"p": 2}, [("x", "p", 0, 10, 2), ("y", "p", 1, 4, 2)], restart=100)
    simulate(world, Script(at0=(["x"], []), at6=(["y"], ["x"]), at10=(["x"], [])))
    assert world.jobs_table()["end"].tolist() == [20, 10]


def test_an_interrupted_job_is_back_in_its_place():
    seen = []

    class Watching(Script):
        def decide(self, view):
            seen.append((view.now, {name: job.duration for name, job in view.queues["p"].items()}, view.idle))
            return super().decide(view)

    jobs = [("w", "p", 0, 9, 1), ("x", "p", 0, 10, 2), ("y", "p", 1, 4, 2)]
    policy = Watching(at0=(["x"], []), at2=(["y"], ["x"]), at6=(["w"], []), at15=(["x"], []))
    simulate(PoolsWorld({"p": 2}, jobs, restart=3), policy)
    assert (6, {"w": 9, "x": 10}, 2) in seen


@pytest.mark.parametrize(("at", "name"), [(0, "x"), (1, "y"), (1, "z")])
def test_only_what_runs_can_be_interrupted(at, name):
    jobs = [("x", "p", 0, 3, 2), ("y", "p", 1, 2, 1)]
    said = {"at0": (["x"], [])} | {f"at{at}": ([], [name])}
    with pytest.raises(RuleBroken, match=f"job {name} is interrupted at {at} and does not run"):
        simulate(PoolsWorld({"p": 2}, jobs), Script(**said))


def test_where_jobs_run_to_their_end_an_interruption_is_an_error():
    data = made(("p", 0, 9, 2), ("q", 1, 3, 2))
    with pytest.raises(RuleBroken, match="job j0 is interrupted at 1: here jobs run to their end"):
        replay(data, Script(at0=(["j0"], []), at1=([], ["j0"])))


@slow
@given(oracles(most_jobs=12, late=10), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 8), st.booleans())
def test_no_run_hangs_and_interruptions_are_no_more_than_gpus_of_all_jobs(data, share, restart, perfect):
    world = run(data, share=share, restart=restart, perfect=perfect)
    assert set(world.records.end) == {job.id for job in data.jobs}
    assert sum(world.records.interruptions.values()) <= sum(job.gpus for job in data.jobs)
    for job in data.jobs:
        assert world.records.end[job.id] >= job.submit + job.duration
        assert job.id not in world.records.interruptions or share > 0


@slow
@given(oracles(most_jobs=12, late=10), st.sampled_from([0.5, 1.0]), st.integers(0, 8))
def test_perfect_predictions_slow_no_job(data, share, restart):
    world = run(data, share=share, restart=restart)
    for job, start in zip(data.jobs, data.fcfs_starts, strict=True):
        assert world.records.end[job.id] <= start + job.duration


@slow
@given(oracles(most_jobs=10, late=8))
def test_without_preemptible_jobs_it_is_sia(data):
    world = run(data, share=0.0)
    assert world.records.start == replay(data, Sia(Perfect(data.jobs), WINDOWS))
    assert world.totals() == {}


def test_a_long_job_runs_on_what_sia_keeps_and_gives_it_back():
    data = made(("p", 0, 9, 2), ("p", 1, 30, 2), ("q", 4, 3, 2))
    alone = replay(data, Sia(Perfect(data.jobs), WINDOWS))
    world = run(data, restart=2)
    assert alone == {"j0": 0, "j1": 9, "j2": 4}
    assert (world.records.start["j1"], world.records.start["j2"], world.records.end["j2"]) == (1, 4, 7)
    assert world.records.interruptions == {"j1": 1}
    assert world.records.end["j1"] == 7 + (30 - 3) + 2
