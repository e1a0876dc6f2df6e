"""Test BOA's views by hand, the allocation problem of a snapshot, and widths from solutions."""

from __future__ import annotations

import pytest

from instances import Options
from instances.boa import Epoch, JobClass, Speedup, compute_min_budget, poisson_renting
from instances.boa.online import (
    NodeState,
    RentingJobView,
    RentingView,
    Widths,
    build_estimated_allocation,
    decision,
    draw_uniform,
    snapshot,
)
from models.boa import exact, randomised

CLASSES = [
    JobClass(
        name=name,
        arrivals_per_hour=1.0,
        rescale_hours=0.05,
        epochs=[Epoch(size_hours=size, speedup=Speedup(amdahl=p)) for size, p in epochs],
    )
    for name, epochs in (("a", [(1.0, 0.5), (2.0, 0.95)]), ("b", [(0.5, 0.9)]))
]
PLAN = build_estimated_allocation(CLASSES, 9.0, 16)


def view(*jobs: RentingJobView, plan=PLAN) -> RentingView:
    nodes = {"n0": NodeState("n0", 0), "n1": NodeState("n1", 500)}
    return RentingView(now=400, gpus_per_node=4, jobs={job.id: job for job in jobs}, nodes=nodes, believed=plan)


WAITING = RentingJobView("w", "a", 0, 0, 1.0)
RUNNING = RentingJobView("r", "a", 60, 1, 0.7, width=3)
SHORT = RentingJobView("s", "b", 70, 0, 0.5)


def test_every_job_has_the_width_of_its_class_and_epoch_and_there_are_nodes_for_them():
    seen = view(WAITING, RUNNING, SHORT)
    assert snapshot(seen) is PLAN
    solution = exact(PLAN).solution
    found = decision(seen, solution)
    a, b = solution["widths"]["a"], solution["widths"]["b"]
    assert a[0] != a[1]
    assert dict(found.widths) == {"w": a[0], "r": a[1], "s": b[0]}
    assert list(found.widths) == ["r", "w", "s"]  # who holds GPUs comes first
    assert found.nodes == -(-(a[0] + a[1] + b[0]) // 4)


def test_without_a_job_there_is_nothing_to_decide():
    assert snapshot(view()) is None
    assert decision(view(), None) == Widths(widths={}, nodes=0)


def test_without_a_solution_every_job_keeps_its_width():
    found = decision(view(WAITING, RUNNING), None)
    assert dict(found.widths) == {"w": 0, "r": 3}
    assert found.nodes == 1


def test_a_job_follows_one_path_of_a_randomised_policy_and_all_together_the_shares():
    solution = {"paths": {"a": [{"probability": 0.25, "widths": [1, 2]}, {"probability": 0.75, "widths": [3, 4]}]}}
    jobs = [RentingJobView(f"j{k}", "a", 0, 0, 1.0) for k in range(400)]
    first = decision(view(*jobs), solution).widths
    later = decision(view(*(RentingJobView(j.id, "a", 0, 1, 1.0) for j in jobs)), solution).widths
    assert {(first[j.id], later[j.id]) for j in jobs} == {(1, 2), (3, 4)}
    assert 0.2 < sum(w == 1 for w in first.values()) / 400 < 0.3
    assert all(0 <= draw_uniform(job.id) < 1 for job in jobs)


def test_what_the_randomised_method_says_becomes_widths_too():
    seen = view(WAITING, RUNNING, SHORT)
    solution = randomised(PLAN, Options()).solution
    found = decision(seen, solution)
    for job in seen.jobs.values():
        assert found.widths[job.id] in {path["widths"][job.epoch] for path in solution["paths"][job.job_class]}


def test_estimates_that_cost_more_than_the_budget_raise_it_to_the_least():
    plan = build_estimated_allocation(CLASSES, 1.0)
    assert plan.budget == pytest.approx(compute_min_budget(plan), rel=1e-8)
    assert exact(build_estimated_allocation(CLASSES, 1.0, 8)).status == "optimal"


def test_a_workload_tells_what_is_believed_and_not_what_is_true():
    data = poisson_renting(2, 0).data
    flat = Speedup(amdahl=0.0)
    first = data.classes[0].model_copy(
        update={"epochs": [e.model_copy(update={"believed_speedup": flat}) for e in data.classes[0].epochs]}
    )
    told = data.model_copy(update={"classes": (first, *data.classes[1:])}).believed
    assert [e.speedup for e in told.classes[0].epochs] == [flat] * len(first.epochs)
    assert [e.speedup for e in told.classes[1].epochs] == [e.speedup for e in data.classes[1].epochs]
    assert told.classes[0].rescale_hours == pytest.approx(first.rescale_seconds / 3600)
    assert told.budget == data.budget_gpus
