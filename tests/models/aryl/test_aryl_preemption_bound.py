"""Test the bound on preemptions against all choices of jobs, all reclaimers and all orchestrators."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from experiments.aryl.reclaims import bound_forced_preemptions, stays_of
from experiments.aryl.simulation import POLICIES, RECLAIMERS
from experiments.simulator import simulate
from experiments.simulator.aryl import LoaningWorld
from heuristics.aryl.online import Loaning
from instances import Options
from instances.aryl import ArylLoaning, InferenceLoad, LoaningJob, loaning_days
from models.aryl.preemption_bound import Stay, bound_preemptions, make_stay
from tests.sampling import few

HOUR = 3600.0


def cluster(use: tuple[float, ...], jobs: list[LoaningJob], servers: int = 3) -> ArylLoaning:
    """One training server and some that may be lent, of 2 GPUs each, at half the speed, by hours."""
    return ArylLoaning(
        training_servers=1,
        inference_servers=servers,
        gpus_per_server=2,
        loaned_speed=0.5,
        inference_load=InferenceLoad(step_seconds=HOUR, use=use),
        orchestrator_period_seconds=HOUR,
        jobs=tuple(jobs),
    )


def job(name: str, hours: float, gpus: int = 1, workers: int = 1, **more: Any) -> LoaningJob:
    fields = {"min_workers": workers, "max_workers": workers, "gpus_per_worker": gpus, "min_running_time": hours * HOUR}
    return LoaningJob(id=name, **(fields | {"arrival_seconds": 0.0, "any_gpu": True} | more))


def by_enumeration(stays: list[Stay], data: ArylLoaning) -> int:
    """Return the minimum number of stays to drop so that the others fit at every time of a fine grid."""
    moments = np.arange(0.0, max(s.start + s.seconds for s in stays), 300.0)

    def fits(kept: tuple[Stay, ...]) -> bool:
        return all(
            sum(s.gpus for s in kept if s.start <= t < s.start + s.seconds) <= 2 * data.lendable(t // HOUR * HOUR)
            for t in moments
        )

    return min(k for k in range(len(stays) + 1) if any(map(fits, combinations(stays, len(stays) - k))))


def test_the_bound_is_the_least_number_of_stays_to_drop_of_all_choices():
    rng = np.random.default_rng(3)
    found = set()
    for _ in range(60):
        data = cluster(tuple((rng.integers(0, 4, 8) / 3).tolist()), [job("a", 1)])
        stays = [
            Stay(HOUR * int(rng.integers(0, 5)), 300.0 * int(rng.integers(1, 60)), int(rng.integers(1, 5)))
            for _ in range(6)
        ]
        forced = bound_preemptions(stays, data)
        assert (forced.preemptions, forced.proven) == (by_enumeration(stays, data), True)
        found.add(forced.preemptions)
    assert len(found) > 3


def test_a_stay_that_ends_when_its_servers_go_back_is_not_cut_short():
    data = cluster((0.0, 1.0), [job("a", 1)])
    assert bound_preemptions([Stay(0.0, HOUR, 6)], data).preemptions == 0
    assert bound_preemptions([Stay(0.0, HOUR + 60, 6)], data).preemptions == 1
    assert bound_preemptions([], data).preemptions == 0


def test_a_stay_holds_the_base_workers_for_as_long_as_the_most_workers_take():
    data = cluster((0.0,), [job("a", 1)])
    wide = job("e", 2, gpus=1, workers=2, max_workers=4)
    assert make_stay(data, wide, 5.0) == Stay(5.0, 4 * HOUR, 2)
    assert make_stay(data, wide, 5.0, scales=False) == Stay(5.0, 8 * HOUR, 2)
    assert make_stay(data, job("h", 1, heterogeneous=True), 0.0) is None
    assert make_stay(data, job("t", 1, any_gpu=False), 0.0) is None


@pytest.mark.parametrize("seed", few(range(2), 1))
def test_no_reclaimer_has_fewer_preemptions_than_its_own_starts_force(seed: int):
    shares = {"elastic_share": 0.3, "any_gpu_share": 0.9, "training_servers": 6, "workers": "small"}
    data = loaning_days(0.5, seed, load=6.0, orchestrator_period_seconds=1800.0, **shares).data
    forced = 0
    for reclaimer in ["", *(f"-{name}" for name in RECLAIMERS if name != "greedy")]:
        for prefix, scales in (("sjf-loans", False), ("aryl", True)):
            if f"{prefix}{reclaimer}" in POLICIES:
                world = LoaningWorld(data)
                simulate(world, POLICIES[f"{prefix}{reclaimer}"](data, Options()))
                least = bound_forced_preemptions(world, scales=scales)
                assert least.preemptions <= preempted(world)
                forced += least.preemptions
    assert forced > 0


def preempted(world: LoaningWorld) -> int:
    """Jobs that were preempted at all."""
    return int((world.jobs_table()["preemptions"] > 0).sum())


class Scripted:
    """A reclaimer that takes the choices of a script, then the first of all, and notes how many there were."""

    def __init__(self, script: list[int]) -> None:
        self.script, self.choices = script, []

    def __call__(self, view: Any) -> tuple[str, ...]:
        loaned = [name for name, server in view.servers.items() if server.kind == "loaned"]
        options = list(combinations(loaned, view.reclaim))
        place = self.script[len(self.choices)] if len(self.choices) < len(self.script) else 0
        self.choices.append(len(options))
        return options[place]


def every_run(data: ArylLoaning) -> list[LoaningWorld]:
    """Return the runs of all orchestrators: all choices of servers at every reclaim."""
    scripts, worlds = [[]], []
    while scripts:
        reclaimer = Scripted(scripts.pop())
        world = LoaningWorld(data)
        simulate(world, Loaning(data, "fifo", reclaimer))
        worlds.append(world)
        done = len(reclaimer.script)
        for place in range(done, len(reclaimer.choices)):
            taken = [*reclaimer.script, *[0] * (place - done)]
            scripts += [[*taken, other] for other in range(1, reclaimer.choices[place])]
    return worlds


def test_no_orchestrator_has_fewer_preemptions_of_jobs_that_start_at_once():
    """All jobs are there at the outset and start then, whoever decides what goes back later."""
    forced = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        jobs = [job("t", 9, gpus=2, any_gpu=False)]
        jobs += [job(f"j{i}", float(rng.choice([0.3, 0.6, 1.2])), gpus=int(rng.integers(1, 3))) for i in range(3)]
        data = cluster((0.0, 2 / 3, 2 / 3, 1.0), jobs)
        worlds = every_run(data)
        assert len(worlds) > 2
        stays = {tuple(sorted(stays_of(data, w.jobs_table(), scales=False), key=repr)) for w in worlds}
        assert len(stays) == 1
        fewest = min(preempted(world) for world in worlds)
        forced.append((bound_preemptions(list(stays.pop()), data).preemptions, fewest))
    assert all(least <= fewest for least, fewest in forced)
    assert any(least == fewest > 0 for least, fewest in forced)
