"""Test Eva's views by hand, the packing of a snapshot, and configurations from solutions."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from instances import InputError, check
from instances.eva import CloudType, RentedInstance, TaskClass, interference, keep_most_tasks, trace_cloud
from instances.eva.learned import LearnedThroughput
from instances.eva.online import (
    CloudJobView,
    CloudView,
    Configuration,
    Hosting,
    InstanceState,
    TaskState,
    decision,
    snapshot,
)
from models.eva import exact
from tests.eva_cloud_cases import TRACE
from tests.sampling import few

TYPES = {
    name: CloudType(
        name=name,
        family="f",
        capacity={"gpu": gpus},
        usd_per_hour=price,
        acquisition_seconds=20,
        setup_seconds=150,
        termination_seconds=1,
    )
    for name, gpus, price in (("small", 1.0, 1.0), ("large", 4.0, 3.5))
}
CLASSES = {
    name: TaskClass(name=name, workload=workload, demand={"default": {"gpu": gpus}})
    for name, workload, gpus in (("one", "W", 1.0), ("two", "V", 2.0), ("three", "V", 3.0))
}


def view(jobs: dict[str, list[str]], on: dict[str, tuple[str, list[str]]], pinned: tuple[str, ...] = ()) -> CloudView:
    """Jobs by the classes of their tasks, which are called `job/0`, ...; instances by their type and tasks."""
    host = {task: name for name, (_, tasks) in on.items() for task in tasks}
    tasks = {
        f"{job}/{k}": TaskState(f"{job}/{k}", job, name, host.get(f"{job}/{k}"), pinned=job in pinned)
        for job, names in jobs.items()
        for k, name in enumerate(names)
    }
    learned = LearnedThroughput(1.0)
    for beside in ("one", "two"):
        learned.add((beside, ("three",)), 0.9)
    return CloudView(
        now=300,
        resources=("gpu",),
        instance_types=TYPES,
        classes=CLASSES,
        jobs={
            job: CloudJobView(job, 0, 3600, tuple(f"{job}/{k}" for k in range(len(names))))
            for job, names in jobs.items()
        },
        tasks=tasks,
        instances={name: InstanceState(name, kind, tasks=tuple(held)) for name, (kind, held) in on.items()},
        learned=learned,
    )


def decided(seen: CloudView) -> Configuration:
    problem = snapshot(seen)
    assert problem is not None
    result = exact(problem)
    assert result.status == "optimal"
    assert check(problem, result.solution).objective == result.objective
    return decision(seen, result.solution)


def test_tasks_that_wait_are_hosted_by_what_the_exact_method_rents():
    (hosting,) = decided(view({"a": ["one"], "b": ["three"]}, {})).instances
    assert (hosting.instance_type, set(hosting.tasks), hosting.id) == ("large", {"a/0", "b/0"}, None)


def test_where_nothing_better_is_possible_nothing_moves():
    held = {"i0": ("large", ["a/0", "b/0", "c/0", "d/0"]), "i1": ("small", ["e/0"])}
    seen = view({name: ["one"] for name in "abcde"}, held)
    for hosting in decided(seen).instances:
        assert hosting.id is not None
        assert set(hosting.tasks) == set(held[hosting.id][1])


def test_a_new_task_takes_the_room_of_an_instance_and_moves_nobody():
    seen = view({"a": ["three"], "b": ["one"], "c": ["one"]}, {"i0": ("small", ["b/0"]), "i1": ("large", ["a/0"])})
    where = {task: h.id for h in decided(seen).instances for task in h.tasks}
    assert where == {"a/0": "i1", "b/0": "i0", "c/0": "i1"}


def test_an_instance_that_the_solution_does_without_is_given_up():
    seen = view({"a": ["three"], "b": ["one"]}, {"i0": ("large", ["b/0"]), "i1": ("large", ["a/0"])})
    (hosting,) = decided(seen).instances
    assert (hosting.instance_type, set(hosting.tasks)) == ("large", {"a/0", "b/0"})
    assert hosting.id in ("i0", "i1")


def test_pinned_tasks_stay_and_so_do_those_beside_them():
    held = {"i0": ("large", ["a/0", "b/0"]), "i1": ("large", ["c/0"])}
    seen = view({"a": ["one"], "b": ["one"], "c": ["three"], "d": ["one"]}, held, pinned=("a",))
    problem = snapshot(seen)
    assert {task.key: task.count for task in problem.tasks} == {"three": 1, "one": 1}  # c and d
    assert Hosting("large", ("a/0", "b/0"), "i0") in decided(seen).instances
    everything = view({"a": ["one"]}, {"i0": ("small", ["a/0"])}, pinned=("a",))
    assert snapshot(everything) is None
    assert decision(everything, None).instances is None  # all stays as it is


def test_the_tasks_of_a_larger_job_are_told_apart_by_their_job():
    seen = view({"a": ["one", "one"], "b": ["one"], "c": ["one", "three"]}, {"i0": ("small", ["a/1"])})
    problem = snapshot(seen)
    assert [(t.key, t.count, t.tasks_in_job) for t in problem.tasks] == [
        ("one@a", 2, 2),
        ("one", 1, None),
        ("one@c", 1, 2),
        ("three@c", 1, 2),
    ]
    assert problem.throughput.pairwise == (("one", "three", 0.9),)  # no task is of class `two`
    hosted = [task for h in decided(seen).instances for task in h.tasks]
    assert sorted(hosted) == ["a/0", "a/1", "b/0", "c/0", "c/1"]


@pytest.mark.parametrize("seed", few(range(20), 5))
def test_every_task_is_hosted_once_as_the_solution_says(seed: int):
    rng = np.random.default_rng(seed)
    jobs = {f"j{k}": list(rng.choice(list(CLASSES), size=rng.integers(1, 4))) for k in range(6)}
    tasks = [f"{job}/{k}" for job, names in jobs.items() for k in range(len(names))]
    on = {f"i{k}": (str(rng.choice(list(TYPES))), []) for k in range(4)}
    for task in tasks:
        if rng.random() < 0.6:
            on[f"i{rng.integers(4)}"][1].append(task)
    seen = view(jobs, on)
    problem = snapshot(seen)
    solution = exact(problem).solution
    found = decision(seen, solution).instances
    assert sorted(task for h in found for task in h.tasks) == sorted(tasks)
    name = {t.id: t.task_class if len(jobs[t.job]) == 1 else f"{t.task_class}@{t.job}" for t in seen.tasks.values()}
    said = Counter(
        (g["type"], tuple(sorted(g["tasks"].items()))) for g in solution["instances"] for _ in range(g["count"])
    )
    assert said == Counter((h.instance_type, tuple(sorted(Counter(name[t] for t in h.tasks).items()))) for h in found)
    ids = [h.id for h in found if h.id is not None]
    assert len(set(ids)) == len(ids)
    assert all(on[h.id][0] == h.instance_type for h in found if h.id is not None)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_choice_of_instances_keeps_more_tasks(seed: int):
    rng = np.random.default_rng(seed)

    def instances(n: int, named: bool) -> list[RentedInstance]:
        return [
            RentedInstance("t", {key: int(k) for key, k in zip("abc", rng.integers(0, 3, 3), strict=True)}, f"i{i}")
            if named
            else RentedInstance("t", {key: int(k) for key, k in zip("abc", rng.integers(0, 3, 3), strict=True)})
            for i in range(n)
        ]

    current, planned = instances(4, True), instances(int(rng.integers(1, 5)), False)

    def kept(ids: tuple[str, ...]) -> int:
        held = {i.id: i.tasks for i in current}
        return sum(min(k, held[name][key]) for name, i in zip(ids, planned, strict=True) for key, k in i.tasks.items())

    found = tuple(i.id for i in keep_most_tasks(current, planned))
    assert kept(found) == max(kept(ids) for ids in permutations([i.id for i in current], len(planned)))


def test_a_rented_instance_without_an_id_is_refused():
    with pytest.raises(InputError, match="has no id"):
        keep_most_tasks([RentedInstance("t", {})], [])


def test_the_interference_of_a_trace_is_what_is_asked_for():
    names = ("figure-1", "artifact", 0.9)
    figure_1, artifact, constant = (trace_cloud(TRACE, limit=50, slowdown=name).data for name in names)
    measured = interference({job_class.workload: job_class.workload for job_class in figure_1.classes})
    assert set(figure_1.throughput.pairwise) == set(measured.pairwise) != set(artifact.throughput.pairwise)
    assert figure_1.throughput.default == measured.default
    assert (constant.throughput.default, constant.throughput.pairwise) == (0.9, ())
