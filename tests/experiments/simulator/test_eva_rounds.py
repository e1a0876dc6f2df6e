"""Test the rounds of Eva's cloud as exact problems, and their methods as policies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.eva import cloud_studies
from experiments.eva.simulation import Rounds, rounds_of_eva
from experiments.simulator import simulate
from experiments.simulator.eva import CloudWorld
from experiments.simulator.online import Replan
from experiments.simulator.simulation import policy_names
from heuristics.eva.online import WaitingAlone
from heuristics.eva.round import eva_choice, stay
from instances import Instance, Options, Result, check, load, save
from instances.eva import EvaCloud, EvaReconfiguration
from instances.eva.online import CloudView, Configuration
from models.eva.reconfiguration import exact_reconfiguration, short_list
from tests.commands import call
from tests.eva_cloud_cases import random_cloud


def short(data: EvaReconfiguration) -> Result:
    return short_list(data, Options(effort=200))


class Seen:
    """The policy of a method, and what it was asked."""

    def __init__(self, data: EvaCloud, solve) -> None:
        self.rounds, self.asked = Rounds(data), []
        self.policy = Replan(solve, self._snapshot, self.rounds.decision, WaitingAlone())

    def _snapshot(self, view: CloudView) -> EvaReconfiguration | None:
        made = self.rounds.snapshot(view)
        if made is not None:
            self.asked.append((view.now, made))
            held = [name for i in view.instances.values() for name in i.tasks]
            pinned = {t.instance for t in view.tasks.values() if t.pinned}
            there = {e.id: sum(e.tasks.values()) for e in made.existing}
            assert pinned.isdisjoint(there)
            assert sum(there.values()) == sum(view.tasks[n].instance not in pinned for n in held)
        return made

    def decide(self, view: CloudView) -> Configuration:
        return self.policy.decide(view)


@pytest.mark.parametrize("delay_factor", [1.0, 10.0])
@pytest.mark.parametrize("solve", [short, eva_choice, stay], ids=lambda solve: solve.__name__)
def test_a_method_of_rounds_finishes_all_jobs_and_keeps_the_laws(solve, delay_factor: float):
    data = random_cloud(4, jobs=10, delay_factor=delay_factor)
    world, policy = CloudWorld(data), Seen(data, solve)
    simulate(world, policy)  # which refuses a configuration that breaks a rule, and a bill that is not the instances'
    assert world.jobs_table()["end"].notna().all()
    assert len(policy.policy.log) == len(policy.asked) > 5
    assert all(entry.fallback is None for entry in policy.policy.log)


def test_a_run_is_the_same_every_time():
    data = random_cloud(2)
    bills = []
    for _ in range(2):
        world = CloudWorld(data)
        simulate(world, Seen(data, short))
        bills.append(world.totals()["cost_usd"])
    assert bills[0] == bills[1]


def test_stay_is_what_no_packing_pays():
    """Every task gets an instance of its own and nothing moves, so that the bills are the same."""
    from heuristics.eva.online import ONLINE

    data = random_cloud(5)
    bills = []
    for policy in (Seen(data, stay), ONLINE["no-packing"](data)):
        world = CloudWorld(data)
        simulate(world, policy)
        bills.append(world.totals()["cost_usd"])
    assert bills[0] == pytest.approx(bills[1])


def test_eva_is_never_above_the_optimum_of_its_own_rounds():
    rounds = rounds_of_eva(Instance.of(random_cloud(6), "six"), every=3)
    assert len(rounds) > 2
    for instance in rounds:
        best = exact_reconfiguration(instance.data)
        assert best.status in ("optimal", "feasible")
        assert eva_choice(instance.data).objective <= best.bound * (1 + 1e-6) + 1e-6


def test_the_command_tells_how_often_eva_chooses_the_best(tmp_path: Path):
    file = tmp_path / "cloud.json"
    save(Instance.of(random_cloud(6), "six"), file)
    lines = call("study", "eva-choices", file, "--every", 3, "--quiet").stdout.splitlines()
    rounds = len(rounds_of_eva(load(file), every=3))
    assert lines[0].startswith(f"{rounds} of {rounds} rounds proven optimal")
    assert [line.split(":")[0] for line in lines[1:]] == list(cloud_studies.PLANS)


def test_rounds_are_drawn_as_files_and_a_method_is_a_policy_by_name(tmp_path: Path):
    file = tmp_path / "cloud.json"
    save(Instance.of(random_cloud(7, jobs=4), "four"), file)
    done = call("draw", "eva-reconfiguration", "--workload", file, "--every", 2, "--out", tmp_path / "rounds")
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "rounds").glob("*.json.gz"))
    assert len(files) > 1
    data = load(files[0]).data
    assert isinstance(data, EvaReconfiguration)
    assert check(data, stay(data).solution).violations == ()
    flags = "--policy", "reconfiguration-eva-choice", "--format", "json", "--out", tmp_path / "out", "--quiet"
    done = call("simulate", file, *flags)
    assert done.returncode == 0, done.stderr
    rows = {row["policy"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert rows["reconfiguration-eva-choice"]["finished"] == 4
    assert rows["reconfiguration-eva-choice"]["decisions"] > 2


def test_what_is_no_workload_of_eva_is_refused_in_one_line(tmp_path: Path):
    file = tmp_path / "round.json"
    save(rounds_of_eva(Instance.of(random_cloud(7, jobs=4), "four"))[0], file)
    done = call("draw", "eva-reconfiguration", "--workload", file, "--out", tmp_path / "rounds")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "must be eva-cloud, got eva-reconfiguration" in done.stderr


def test_packing_methods_and_methods_of_rounds_have_names_of_their_own():
    names = policy_names("eva-cloud")
    assert len(names) == len(set(names))
    assert {"exact", "eva-with-exact", "reconfiguration-exact", "reconfiguration-eva-choice"} <= set(names)
