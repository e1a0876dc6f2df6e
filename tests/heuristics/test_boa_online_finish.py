"""Test that every policy of the renting world finishes within laws and bound, without oscillation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.boa.simulation import ONLINE_OF
from heuristics.boa.online import ONLINE, OneGpuEach
from heuristics.boa.online_pollux import Pollux, PolluxParameters
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaRenting, poisson_renting
from instances.boa.online import RentingView, Widths, decision
from models.boa import exact
from tests.boa_renting_cases import ran
from tests.sampling import few


def drawn(seed: int, **said: Any) -> BoaRenting:
    data = poisson_renting(1, seed, rate=0.6, **said).data
    jobs = (job.model_copy(update={"requested_gpus": 1 + i % 6}) for i, job in enumerate(data.jobs))
    return data.model_copy(update={"jobs": tuple(jobs)})


CASES = {
    "nodes of 4 at once": drawn(1, acquisition_seconds=0.0, gpus_per_node=4),
    "nodes of 1 at once": drawn(2, acquisition_seconds=0.0, gpus_per_node=1),
    "nodes of 4 after a while": drawn(2, acquisition_seconds=120.0, gpus_per_node=4),
}
GENETIC = {
    "pollux-sum-genetic": PolluxParameters(),
    "pollux-mean-genetic": PolluxParameters(objective="mean"),
    "pollux-as-sum-0.7-genetic": PolluxParameters(efficiency=0.7),
    "pollux-as-mean-0.7-genetic": PolluxParameters(objective="mean", efficiency=0.7),
}


class Guesses:
    """A poor search: the best of some random splits, other ones at every decision."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def __call__(self, gains: FloatArray, gpus: int) -> IntArray:
        last = gains.shape[1] - 1 - np.isfinite(gains)[:, ::-1].argmax(axis=1)
        place = np.arange(len(gains))
        tried = [np.zeros(len(gains), dtype=np.int64)]
        for _ in range(20):
            share = self._rng.dirichlet(np.ones(len(gains)))
            tried.append(np.minimum((share * gpus).astype(np.int64), last))
        return max(tried, key=lambda width: gains[place, width].sum())


class Turns:
    """A policy as it is, and how often its cluster turned round while nothing happened to any job."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self._nodes = self._turn = self.count = 0

    def decide(self, view: RentingView) -> Widths:
        if view.arrived or view.progressed or view.finished:
            self._turn = 0
        said: Widths = self._policy.decide(view)
        turn = int(np.sign(said.nodes - self._nodes))
        self.count += turn * self._turn < 0
        self._nodes, self._turn = said.nodes, turn or self._turn
        return said


def policies(data: BoaRenting) -> dict[str, Any]:
    """Every policy by name, those that search genetically with a search that is worse and cheap, and two plans."""
    found = {name: make(data) for name, make in ONLINE.items() if name not in GENETIC}
    found |= {name: Pollux(data, parameters, Guesses()) for name, parameters in GENETIC.items()}
    plan = exact(data.believed).solution
    return found | {"exact": lambda view: decision(view, plan), "one-gpu-each": OneGpuEach()}


def test_no_policy_is_left_out():
    assert {name for name in ONLINE if name.endswith("-genetic")} == set(GENETIC)


@pytest.mark.parametrize("case", few(CASES, 1))
def test_every_policy_finishes_keeps_the_laws_and_does_not_beat_the_bound(case: str):
    data = CASES[case]
    worlds = {}
    for name, policy in policies(data).items():
        world = worlds[name] = ran(data, policy)  # it refuses who stands still, and checks every law of laws.py
        table, timeline = world.jobs_table(), world.timeline_table()
        assert len(table) == len(data.jobs), name
        assert table["end"].notna().all(), name
        assert (timeline["held"] <= timeline["ready"]).all(), name
        assert (timeline["ready"] <= timeline["rented"]).all(), name
        assert timeline["rented"].iloc[-1] == 0, name
    bound = ONLINE_OF[data.problem].bound
    assert bound is not None
    for (name, world), least in zip(
        worlds.items(), bound(data, [world.totals() for world in worlds.values()]), strict=True
    ):
        assert least is not None, name
        assert least <= world.jobs_table()["jct"].mean() / 3600, name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("objective", ["sum", "mean"])
def test_a_cluster_does_not_turn_round_before_something_happens_to_a_job(case: str, objective: str):
    for aim in (0.5, 0.9):
        policy = Turns(ONLINE[f"pollux-as-{objective}-{aim:g}"](CASES[case]))
        ran(CASES[case], policy)
        assert policy.count == 0


def test_a_size_stays_where_no_other_is_closer_to_the_aim():
    """One node is above the band of 0.9 and two are below it: neither is left for what is further away."""
    pollux = Pollux(CASES["nodes of 4 at once"], PolluxParameters(efficiency=0.9))
    for found, end in (((0.0, 0.95, 0.80, 0.76), 1), ((0.0, 1.0, 0.86, 0.76), 2)):
        for begin in (0, 1, 2, 3):
            pollux.nodes = begin
            for _ in range(2):
                pollux.nodes = pollux.choose_size(np.array(found))
            assert pollux.nodes == end


def test_a_search_that_finds_no_better_split_rescales_nobody():
    data = CASES["nodes of 4 at once"]
    world = ran(data, Pollux(data, PolluxParameters(objective="mean"), lambda gains, gpus: np.ones(len(gains), int)))
    assert world.totals()["rescalings"] == len(data.jobs)
    with_guesses = ran(data, Pollux(data, PolluxParameters(objective="mean"), Guesses()))
    assert with_guesses.totals()["rescalings"] < 20 * len(data.jobs)
