"""Test Eva's cloud: its laws, its rounds second by second, and the figures of the artifact."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from experiments.simulator import simulate
from experiments.simulator.eva import CloudWorld
from experiments.simulator.online import Nothing, Replan
from heuristics.eva import full_reconfiguration_artifact
from heuristics.eva.online import ONLINE, WaitingAlone, eva_with
from instances.eva import EvaCloud
from instances.eva.online import CloudView, Configuration, Hosting, decision, snapshot
from instances.online import RuleBroken
from tests.eva_cloud_cases import random_cloud
from tests.sampling import few
from tests.second_by_second import SecondBySecond

POLICIES = sorted(ONLINE)


def run(data: EvaCloud, policy) -> CloudWorld:
    world = CloudWorld(data)
    simulate(world, policy)
    return world


@pytest.mark.parametrize("delay_factor", few([1.0, 2.0, 10.0], 2))
@pytest.mark.parametrize("name", POLICIES)
def test_events_come_to_what_every_second_comes_to(name: str, delay_factor: float):
    """Bill, completions, moves and instances; at ten times the delays tasks are pinned in many rounds."""
    data = random_cloud(POLICIES.index(name), delay_factor=delay_factor, dealt=delay_factor == 1.0)
    seconds = SecondBySecond(data)
    seconds.run(ONLINE[name](data))
    world = run(data, ONLINE[name](data))
    jobs = world.jobs_table().set_index("job")
    assert {name: job.end for name, job in seconds.jobs.items()} == jobs["end"].to_dict()
    assert {name: job.moves for name, job in seconds.jobs.items()} == jobs["moves"].to_dict()
    assert world.totals()["cost_usd"] == pytest.approx(seconds.bill, rel=1e-9)
    assert world.totals()["instances_launched"] == seconds.ordered


class Watched:
    """A policy under the eyes of a test: pinned tasks stay, no instance is overfull, and every task is there once."""

    def __init__(self, policy, data: EvaCloud) -> None:
        self.policy, self.data, self.pinned, self.moves = policy, data, 0, 0
        self.before: dict[str, tuple[str | None, bool]] = {}

    def decide(self, view: CloudView) -> Configuration:
        for name, task in view.tasks.items():
            where, held = self.before.get(name, (None, False))
            assert not (held and task.pinned and where != task.instance)
            self.pinned += task.pinned
        for state in view.instances.values():
            kind = view.instance_types[state.instance_type]
            inside = [view.tasks[name] for name in state.tasks]
            inside += [view.tasks[name] for name in state.leaving if name in view.tasks and state.ready]
            own = [task for task in inside if task.instance == state.id]
            demands = [view.classes[task.task_class].demand for task in own]
            for r in view.resources:
                assert sum(d.get(kind.family, d["default"])[r] for d in demands) <= kind.capacity[r]
        placed = [name for state in view.instances.values() for name in state.tasks]
        assert sorted(placed) == sorted(name for name, task in view.tasks.items() if task.instance is not None)
        found = self.policy.decide(view)
        self.before = {name: (task.instance, task.pinned) for name, task in view.tasks.items()}
        return found


@pytest.mark.parametrize("delay_factor", [10.0, 20.0])
@pytest.mark.parametrize("name", POLICIES)
def test_nothing_pinned_moves_and_everything_is_there_once(name: str, delay_factor: float):
    data = random_cloud(50 + POLICIES.index(name), jobs=12, delay_factor=delay_factor)
    watched = Watched(ONLINE[name](data), data)
    world = run(data, watched)
    assert watched.pinned
    jobs = world.jobs_table()
    assert (jobs["run"] >= jobs["duration"]).all()
    assert (jobs["jct"] >= jobs["run"]).all()


@pytest.mark.parametrize("seconds", [-2.0, 2.0])
def test_a_job_that_has_done_more_or_less_than_its_work_is_refused(seconds: float):
    data = random_cloud(3)
    world = run(data, ONLINE["no-packing"](data))
    world.close()
    world.records.jobs[0].work.worked += seconds
    with pytest.raises(RuleBroken, match=r"job j0 has ended at .* s of work left"):
        world.close()


def test_a_job_alone_costs_what_its_delays_say():
    """Ordered at the first round, billed from acquisition to the end of the termination that the next round orders."""
    data = random_cloud(3, jobs=1)
    (job,) = data.jobs
    ((name, tasks),) = job.tasks.items()
    world = run(data, ONLINE["no-packing"](data))
    kind_of = {c.name: c for c in data.classes}[name]
    table = world.fleet.table()
    assert len(table) == tasks
    types = {kind.name: kind for kind in data.instance_types}
    first = math.ceil(job.arrival_seconds / 300) * 300
    ups = {row.id: first + types[row.kind].acquisition_seconds for row in table.itertuples()}
    ready = {row.id: ups[row.id] + types[row.kind].setup_seconds for row in table.itertuples()}
    start = max(ready.values()) + kind_of.fetch_seconds + kind_of.build_seconds + kind_of.init_seconds
    end = start + math.ceil(job.duration_seconds)
    assert world.jobs_table()["end"].tolist() == [end]
    gone = (end // 300 + 1) * 300
    for row in table.itertuples():
        assert (row.since, row.until) == (ups[row.id], gone + types[row.kind].termination_seconds)


@pytest.mark.parametrize("delay_factor", [1.0, 10.0])
def test_any_method_of_packing_plans_anew_and_is_not_asked_twice(delay_factor: float):
    """Nor does anything pinned move where the problem of a moment leaves it out."""
    data = random_cloud(5, delay_factor=delay_factor)
    replan = Replan(full_reconfiguration_artifact, snapshot, decision, WaitingAlone())
    world = run(data, Watched(replan, data))
    assert len(data.jobs) <= len(replan.log) < len(world.timeline_table())
    assert not any(entry.fallback for entry in replan.log)


@pytest.mark.parametrize("delay_factor", [1.0, 10.0])
def test_eva_takes_the_plan_of_another_method_in_the_place_of_full(delay_factor: float):
    data = random_cloud(6, delay_factor=delay_factor)
    replan = Replan(full_reconfiguration_artifact, snapshot, decision, Nothing())
    world = run(data, Watched(eva_with(data, replan.decide), data))
    assert replan.log
    assert world.totals()["cost_usd"] > 0
    nothing = run(data, eva_with(data, lambda view: None))
    assert nothing.totals() == run(data, ONLINE["eva"](data)).totals()


def test_a_policy_that_does_nothing_is_told_who_waits():
    class Idle:
        def decide(self, view: CloudView) -> Configuration:
            return Configuration()

    with pytest.raises(RuleBroken, match=r"^job j\d is left waiting at \d+ with nothing to come$"):
        run(random_cloud(0), Idle())


def test_a_policy_that_lets_a_job_wait_for_a_while_loses_that_while():
    class Late:
        """Everything waits in every second round, and is hosted anew in the next."""

        def __init__(self) -> None:
            self.rounds = 0

        def decide(self, view: CloudView) -> Configuration:
            self.rounds += 1
            if self.rounds % 6 == 0 and not any(task.pinned for task in view.tasks.values()):
                return Configuration(instances=())
            return WaitingAlone().decide(view)

    data = random_cloud(1)
    world = run(data, Late())
    jobs = world.jobs_table()
    assert jobs["moves"].sum() > 0
    assert jobs["end"].notna().all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: (replace(h, tasks=(*h.tasks, "x/0")),), r"task x/0 of the configuration of \d+ does not exist"),
        (lambda h: (h, h), r"instance \d+ is twice in the configuration of \d+"),
        (lambda h: (h, Hosting(h.instance_type, h.tasks)), r"task \S+ is twice in the configuration of \d+"),
        (lambda h: (replace(h, id="77"),), r"instance 77 of the configuration of \d+ is not rented"),
        (lambda h: (replace(h, instance_type="r7i.48xlarge"),), r"instance \d+ of .* is no r7i.48xlarge"),
        (lambda h: (Hosting("nothing", h.tasks),), r"an instance of unknown type nothing is rented at \d+"),
        (lambda h: (Hosting("c7i.large", h.tasks * 1),), r"instance \d+, a c7i.large, does not hold its tasks of \d+"),
        (lambda h: (Hosting("p3.16xlarge", h.tasks),), r"job \S+ is pinned and moved at \d+"),
        (lambda h: (), r"job \S+ is pinned and moved at \d+"),
    ],
)
def test_a_configuration_that_breaks_a_rule_is_refused(change, message: str):
    class Breaking:
        def decide(self, view: CloudView) -> Configuration:
            found = WaitingAlone().decide(view)
            if any(task.pinned for task in view.tasks.values()):
                return Configuration(instances=change(found.instances[0]))
            return found

    data = random_cloud(2, jobs=1, delay_factor=20.0)
    data = data.model_copy(update={"jobs": (data.jobs[0].model_copy(update={"tasks": {"a[0]": 1}}),)})
    with pytest.raises(RuleBroken, match=message):
        run(data, Breaking())


def test_a_job_is_placed_whole_or_not_at_all():
    class InPart:
        def decide(self, view: CloudView) -> Configuration:
            found = WaitingAlone().decide(view)
            return replace(found, instances=found.instances[:1])

    data = random_cloud(4, jobs=1)
    data = data.model_copy(update={"jobs": (data.jobs[0].model_copy(update={"tasks": {"a[0]": 2}}),)})
    with pytest.raises(RuleBroken, match=r"^job j0 is placed in part at \d+$"):
        run(data, InPart())
