"""Test the net saving at true job speeds against every grouping of tasks."""

from __future__ import annotations

from collections import Counter
from math import inf, prod

import pytest

from experiments.eva.cloud_studies import jobs_at_once
from instances import InputError, check
from instances.eva import EvaPacking, InstanceType, Task, Throughput, table_7
from models.eva import exact
from models.eva.true_speed import maximise_true_saving, true_saving
from tests.sampling import few


def partitions(items: list[int]):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for parts in partitions(rest):
        yield [[first], *parts]
        for i in range(len(parts)):
            yield [*parts[:i], [first, *parts[i]], *parts[i + 1 :]]


def best_by_hand(data: EvaPacking) -> float:
    """Over all ways to put the tasks together; a job runs at the least throughput of its tasks."""
    tasks = [task for task in data.tasks for _ in range(task.count)]
    pairs = {(a, b): value for a, b, value in data.throughput.pairwise}

    def price(group) -> float:
        return min(
            (
                kind.usd_per_hour
                for kind in data.instance_types
                if all(sum(t.demand_on(kind.family)[r] for t in group) <= kind.capacity[r] for r in data.resources)
            ),
            default=inf,
        )

    def rate(i: int, group: list[int]) -> float:
        return prod(pairs.get((tasks[i].workload, tasks[j].workload), data.throughput.default) for j in group if j != i)

    best = -inf
    for parts in partitions(list(range(len(tasks)))):
        speed = {i: rate(i, group) for group in parts for i in group}
        of_job = {t.job: min(speed[i] for i, other in enumerate(tasks) if other.job == t.job) for t in tasks}
        value = sum(price([t]) * of_job[t.job] for t in tasks) - sum(price([tasks[i] for i in g]) for g in parts)
        best = max(best, value)
    return best


@pytest.mark.parametrize("seed", few(range(6), 3))
def test_it_is_the_best_of_all_ways_to_put_tasks_together(seed: int):
    data = jobs_at_once(3, seed, tasks_per_job=2 if seed % 2 else None, throughput=None if seed % 3 else 0.9)
    if sum(task.count for task in data.tasks) > 6:
        data = data.model_copy(update={"tasks": data.tasks[:2]})
    found = maximise_true_saving(data)
    assert found.saving == pytest.approx(best_by_hand(data), abs=1e-6)
    assert found.bound >= found.saving - 1e-9
    assert not check(data, found.solution).violations
    assert true_saving(data, exact(data).solution) <= found.saving + 1e-6


def test_a_job_that_is_slowed_down_everywhere_is_charged_once():
    """A job of four tasks, each beside a small one: the paper charges 4 times 20%, the job runs at 0.8 and gains."""
    data = EvaPacking(
        resources=("x",),
        instance_types=(
            InstanceType(name="large", family="f", capacity={"x": 2.0}, usd_per_hour=1.0),
            InstanceType(name="small", family="f", capacity={"x": 1.0}, usd_per_hour=0.8),
        ),
        tasks=(
            Task(workload="a", count=4, demand={"default": {"x": 1.0}}, job="j", tasks_in_job=4),
            Task(workload="b", count=4, demand={"default": {"x": 1.0}}),
        ),
        throughput=Throughput(default=1.0, pairwise=(("a", "b", 0.8), ("a", "a", 0.5), ("b", "b", 0.5))),
        objective="net-saving",
    )
    found = maximise_true_saving(data)
    assert found.saving == pytest.approx(4 * 0.8 * 0.8 + 4 * 0.8 - 4)
    assert [group["type"] for group in found.solution["instances"]] == ["large"]
    assert Counter(group["type"] for group in exact(data).solution["instances"])["large"] == 0
    assert true_saving(data, exact(data).solution) == pytest.approx(0)


def test_jobs_of_which_tasks_are_missing_and_too_many_tasks_are_refused():
    with pytest.raises(InputError, match="the speed of a job needs all of its tasks"):
        maximise_true_saving(table_7(30, 0, rows="ten", objective="net-saving").data)
    with pytest.raises(InputError, match="too many for true speeds"):
        maximise_true_saving(jobs_at_once(40, 0))
