"""Test that BOA's renting world obeys its rules and laws, and Lemma 4.8 without delays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from experiments.simulator.boa import RentingRecords
from experiments.simulator.simulation import Simulation
from heuristics.boa.online import ONLINE
from instances import Instance, Options
from instances.boa import Points, RentingJob, Speedup, check_allocation, poisson_renting, random_allocation
from instances.boa.online import Widths
from instances.boa.renting import BoaRenting, RentingClass, RentingEpoch
from instances.online import RuleBroken
from models.boa import exact, policy_bound
from tests.boa_renting_cases import HOUR, LINEAR, ByHand, ends, job_class, ran, workload
from tests.sampling import few


def each(width: int):
    return lambda view: dict.fromkeys(view.jobs, width)


def test_a_job_waits_for_its_node_is_set_up_and_runs():
    world = ran(workload({"a1": 10.0}), each(4))
    assert ends(world) == {"a1": pytest.approx(10 + 120 + 60 + HOUR / 4)}
    found = world.totals()
    assert found["billed_gpu_h"] == pytest.approx(4 * (120 + 60 + HOUR / 4) / HOUR)
    assert found["rescalings"] == found["nodes_rented"] == 1
    assert world.jobs_table().loc[0, "delay"] == pytest.approx(120)
    assert found["efficiency"] == pytest.approx(1 / found["billed_gpu_h"])


def test_one_job_runs_on_what_is_left_and_the_others_queue():
    data = workload({"a1": 0.0, "a2": 0.0, "a3": 0.0})
    world = ran(data, lambda view: Widths(widths=dict.fromkeys(view.jobs, 3), nodes=1))
    first = 120 + 60 + HOUR / 3
    rest = 1 - (HOUR / 3) / HOUR  # a2 has run on one GPU for as long as a1 ran; then it is paused and is three wide
    second = first + 60 + rest * HOUR / 3
    assert ends(world)["a1"] == pytest.approx(first)
    assert ends(world)["a2"] == pytest.approx(second)
    data = workload({"a1": 0.0, "a2": 0.0}, partial_jobs=False)
    waiting = ran(data, lambda view: Widths(widths=dict.fromkeys(view.jobs, 3), nodes=1))
    assert ends(waiting)["a2"] == pytest.approx(first + 60 + HOUR / 3)


def test_a_job_keeps_its_old_width_until_there_are_nodes_for_the_next_epoch():
    data = workload({"a1": 0.0}, job_class(sizes=(1.0, 1.0)))
    world = ran(data, lambda view: {name: (4, 8)[job.epoch] for name, job in view.jobs.items()})
    switch = 120 + 60 + HOUR / 4
    done = 120 * 4 / HOUR  # of the second epoch, by the time that the second node is there
    assert ends(world)["a1"] == pytest.approx(switch + 120 + 60 + (1 - done) * HOUR / 8)
    assert world.totals()["rescalings"] == 2


def test_an_epoch_whose_table_is_shorter_is_no_faster_on_more_gpus():
    long, short = (Speedup(table=Points(gpus=gpus, speedup=gpus)) for gpus in ((1, 2, 4), (1, 2)))
    made = job_class(sizes=(1.0, 1.0), speedup=long)
    made = made.model_copy(update={"epochs": (made.epochs[0], made.epochs[1].model_copy(update={"speedup": short}))})
    world = ran(workload({"a1": 0.0}, made, max_width=None), each(4))
    assert ends(world)["a1"] == pytest.approx(120 + 60 + HOUR / 4 + HOUR / 2)


def test_a_job_that_shrinks_is_paused_too_and_its_node_is_given_up():
    data = workload({"a1": 0.0}, job_class(sizes=(1.0, 1.0)))
    world = ran(data, lambda view: {name: (8, 4)[job.epoch] for name, job in view.jobs.items()})
    switch = 120 + 60 + HOUR / 8
    assert ends(world)["a1"] == pytest.approx(switch + 60 + HOUR / 4)
    assert world.totals()["billed_gpu_h"] == pytest.approx(4 * (switch + ends(world)["a1"]) / HOUR)


@pytest.mark.parametrize(
    ("said", "billed"), [({}, 1380), ({"reclamation_seconds": 100.0}, 1480), ({"minimum_rental_seconds": 2000.0}, 2000)]
)
def test_a_node_is_billed_from_its_order_to_its_mark_or_for_longer_where_the_cloud_says_so(said, billed: float):
    world = ran(workload({"a1": 0.0}, **said), each(3))
    assert world.totals()["billed_gpu_h"] == pytest.approx(4 * billed / HOUR)


def test_a_node_that_is_not_there_yet_is_cancelled_first():
    def widths(view):
        return Widths(
            widths=dict.fromkeys(view.jobs, 1), nodes=3 if view.now < 60 else 1, wake_at=60.0 if view.now < 60 else None
        )

    world = ran(workload({"a1": 0.0}), widths)
    assert world.totals()["nodes_rented"] == 3
    assert world.totals()["billed_gpu_h"] == pytest.approx(4 * (60 + 60 + 120 + 60 + HOUR) / HOUR)
    assert ends(world)["a1"] == pytest.approx(180 + HOUR)


def test_widths_change_at_multiples_of_the_period_alone():
    world = ran(workload({"a1": 10.0, "a2": 100.0}, acquisition_seconds=0.0, period_seconds=60.0), each(4))
    table = world.jobs_table()
    assert list(table["start"]) == [60, 120]
    assert list(table["end"]) == [pytest.approx(60 + 60 + HOUR / 4), pytest.approx(120 + 60 + HOUR / 4)]


def test_a_class_is_set_up_longer_on_a_node_that_has_not_hosted_it():
    data = workload({"a1": 0.0, "a2": 0.0}, job_class(cold_rescale_seconds=100.0, pause=10.0))
    world = ran(data, lambda view: Widths(widths=dict.fromkeys(view.jobs, 2), nodes=1))
    assert ends(world) == {"a1": pytest.approx(120 + 100 + HOUR / 2), "a2": pytest.approx(120 + 10 + HOUR / 2)}


def test_a_job_has_sizes_of_its_own_and_policies_expect_those_of_its_class():
    data = workload({"a1": 0.0}, job_class(sizes=(1.0, 1.0)))
    data = BoaRenting.model_validate(
        dict(data) | {"jobs": [RentingJob(id="a1", job_class="a", arrival_seconds=0, size_hours=(2.0, 0.5))]}
    )
    seen = []

    def widths(view):
        seen.extend((view.now, job.remaining_at(view.now)) for job in view.jobs.values())
        return Widths(
            widths=dict.fromkeys(view.jobs, 1), nodes=1, wake_at=180 + HOUR if view.now < 180 + HOUR else None
        )

    world = ran(data, widths)
    assert ends(world)["a1"] == pytest.approx(180 + 2.5 * HOUR)
    assert dict(seen)[180 + HOUR] == pytest.approx(1.5)
    assert dict(seen)[180 + 2 * HOUR] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        (lambda view: {"x": 1}, "job x is given 1 GPUs at 0.0, but is not there"),
        (lambda view: dict.fromkeys(view.jobs, 65), "a job of a runs on 1 to 64 GPUs, got 65"),
        (lambda view: Widths(widths=dict.fromkeys(view.jobs, 1.5), nodes=1), "job a1 is given 1.5 GPUs at 0.0"),
        (lambda view: Widths(widths={}, nodes=1.5), "1.5 nodes are asked for at 0.0"),
        (lambda view: Widths(widths={}, nodes=-1), "-1 nodes are asked for at 0.0"),
        (lambda view: dict.fromkeys(view.jobs, -1), "job a1 is given -1 GPUs at 0.0"),
        (lambda view: dict.fromkeys(view.jobs, 0), "job a1 is left waiting"),
        (lambda view: Widths(widths={}, nodes=10**6), "1000000 nodes are asked for at 0.0"),
        (lambda view: Widths(widths={}, nodes=0, wake_at=view.now + 60), "job a1 is left waiting at 60.0"),
        (
            lambda view: Widths(widths={"a1": 1 + int(view.now // 60 % 2)}, nodes=1, wake_at=view.now + 60),
            "job a1 is not done at .*, and nothing has happened at 2001 moments",
        ),
    ],
)  # fmt: skip
def test_a_policy_that_breaks_a_rule_is_stopped(widths, message: str):
    with pytest.raises(RuleBroken, match=message):
        ran(workload({"a1": 0.0}), widths)


@pytest.mark.parametrize(
    "policy", few([*(name for name in ONLINE if not name.endswith(("genetic", "0.5", "0.8"))), "exact"], 7)
)
def test_every_policy_obeys_the_laws_and_every_run_is_the_same(policy: str):
    drawn = poisson_renting(1.5, 3, c2=3.0)
    jobs = [job.model_copy(update={"requested_gpus": 1 + i % 6}) for i, job in enumerate(drawn.data.jobs)]
    instance = Instance.of(drawn.data.model_copy(update={"jobs": tuple(jobs)}), "small")
    first, second = (Simulation(instance, policy, Options()).work(None) for _ in range(2))
    assert first.status == "finished"  # the world has checked every law of laws.py
    assert first.fallbacks == 0
    assert (first.jobs, first.timeline, first.totals) == (second.jobs, second.timeline, second.totals)
    found, timeline = first.totals, first.timeline_table()
    assert (timeline["held"] <= timeline["ready"]).all()
    assert (timeline["ready"] <= timeline["rented"]).all()
    work = sum(
        sum(e.size_hours for e in c.epochs) for job in jobs for c in drawn.data.classes if c.name == job.job_class
    )
    assert found["efficiency"] == pytest.approx(work / found["billed_gpu_h"])
    assert found["efficiency"] <= found["seen_efficiency"]
    little = np.sum(timeline["jobs"].to_numpy()[:-1] * np.diff(timeline["time"]))  # Little's law
    assert little == pytest.approx(np.sum(first.jobs_table()["jct"]))


@pytest.mark.parametrize("law", ["work", "capacity", "order", "bill", "pause"])
def test_a_run_that_breaks_a_law_is_found_out(law: str):
    world = ran(workload({"a1": 0.0, "a2": 0.0}), each(3))
    records: RentingRecords = world.records
    first = list(records.stretches[0])
    if law == "work":
        first[6] *= 1.01
    elif law == "capacity":
        first[5] = 9
    elif law == "order":
        first[2] = -5.0
    elif law == "pause":
        first[3] -= 1.0
        first[4] -= 1.0
    else:
        records.nodes[0].marked_at += 10
    records.stretches[0] = tuple(first)
    with pytest.raises(RuleBroken):
        world.close()


def ideal(seed: int) -> tuple[BoaRenting, dict]:
    """Build a workload without delays whose arrivals have the stated rates, and its best plan."""
    plan = random_allocation(3, (2, 5), 12, rescale=0.2, budget_over_least=1.7, seed=seed).data
    counts, hours = [5, 11, 7], 9.0
    classes = tuple(
        RentingClass(
            name=c.name,
            arrivals_per_hour=count / hours,
            rescale_seconds=round(c.rescale_hours * HOUR, 6),
            epochs=tuple(RentingEpoch(size_hours=e.size_hours, speedup=e.speedup) for e in c.epochs),
        )
        for c, count in zip(plan.classes, counts, strict=True)
    )
    rng = np.random.default_rng(seed)
    times = np.append(rng.uniform(0, hours, sum(counts) - 1), hours) * HOUR
    names = rng.permutation(np.repeat([c.name for c in classes], counts)).tolist()
    jobs = [
        RentingJob(id=f"j{k}", job_class=name, arrival_seconds=at)
        for k, (name, at) in enumerate(zip(names, times, strict=True))
    ]
    budget = 1.6 * sum(c.believed.load + c.arrivals_per_hour * c.rescale_seconds / HOUR for c in classes)
    data = BoaRenting(budget_gpus=budget, gpus_per_node=1, acquisition_seconds=0.0, classes=classes, jobs=jobs)
    return data, exact(data.believed, options=Options()).solution


@pytest.mark.parametrize("seed", range(3))
def test_in_a_cloud_of_single_gpus_without_delay_a_plan_takes_and_costs_what_lemma_4_8_says(seed: int):
    """The rates of the lemma are those of the jobs that came, over the time until the last; the order plays no part."""
    data, solution = ideal(seed)
    world = ran(data, lambda view: {n: solution["widths"][j.job_class][j.epoch] for n, j in view.jobs.items()})
    verdict = check_allocation(data.believed, solution)
    assert not verdict.violations
    assert world.jobs_table()["jct"].mean() / HOUR == pytest.approx(verdict.objective, rel=1e-6)
    gpus = 0.0
    for c in data.classes:
        before = 0
        for epoch, width in zip(c.epochs, solution["widths"][c.name], strict=True):
            hours = epoch.size_hours / epoch.speedup.table.raw()[width - 1]
            gpus += c.arrivals_per_hour * width * (hours + (width != before) * c.rescale_seconds / HOUR)
            before = width
    assert world.totals()["rented_gpus"] == pytest.approx(gpus, rel=1e-6)
    assert gpus <= data.budget_gpus * (1 + 1e-9)


def test_the_same_holds_of_measured_speedups_that_are_neither_concave_nor_monotone():
    drawn = poisson_renting(4, 1, gpus_per_node=1, acquisition_seconds=0.0).data
    hours = max(job.arrival_seconds for job in drawn.jobs) / HOUR
    counts = Counter(job.job_class for job in drawn.jobs)
    classes = tuple(
        c.model_copy(update={"arrivals_per_hour": counts[c.name] / hours}) for c in drawn.classes if counts[c.name]
    )
    data = BoaRenting(**dict(drawn) | {"classes": classes, "budget_gpus": 200.0})
    solution = exact(data.believed, options=Options()).solution
    world = ran(data, lambda view: {n: solution["widths"][j.job_class][j.epoch] for n, j in view.jobs.items()})
    verdict = check_allocation(data.believed, solution)
    assert world.jobs_table()["jct"].mean() / HOUR == pytest.approx(verdict.objective, rel=1e-6)
    assert 0.95 * 200 < world.totals()["rented_gpus"] <= 200 * (1 + 1e-6)


def test_speedups_and_arrivals_are_estimated_from_what_has_run():
    truth = Speedup(table=Points(gpus=(1, 2, 4), speedup=(1.0, 1.5, 2.5)))
    told = Speedup(table=Points(gpus=(1, 2, 4), speedup=(1.0, 2.0, 3.0)))
    made = job_class(sizes=(1.0,), speedup=truth)
    epochs = (made.epochs[0].model_copy(update={"believed_speedup": told}),)
    data = workload({"a1": 0.0, "a2": 9000.0}, made.model_copy(update={"epochs": epochs}), estimate_seconds=900.0)
    seen = []

    def widths(view):
        seen.append((view.now, view.believed))
        return dict.fromkeys(view.jobs, 2)

    ran(data, widths)
    first, last = seen[0][1].classes[0], seen[-1][1].classes[0]
    assert first.epochs[0].speedup == told
    assert first.arrivals_per_hour == 1
    # on 2 GPUs it ran 1.5 times as fast; on 3 and 4 what was told is taken for as much too fast as on 2
    assert last.epochs[0].speedup.table.speedup == pytest.approx((1.0, 1.5, 2.5 * 0.75, 3.0 * 0.75))
    assert last.arrivals_per_hour == pytest.approx((24 + 2) / (24 + seen[-1][0] / HOUR))
    assert ByHand(widths)  # the same object between two estimates
    assert len({id(b) for _, b in seen}) < len(seen)


CURVED = Speedup(amdahl=0.999)


@pytest.mark.parametrize(
    ("first", "believed", "max_width"),
    [(LINEAR, None, 8), (CURVED, None, None), (CURVED, None, 5000), (None, CURVED, None)],
    ids=["to a limit", "without one", "to one that is far", "as they believe"],
)
def test_a_job_that_keeps_gpus_that_an_epoch_cannot_use_is_spared_a_pause_and_not_below_the_bound(
    first: Speedup | None, believed: Speedup | None, max_width: int | None
):
    """The table of its second epoch ends at 2 GPUs; the bound had it rescaled there."""
    long, short = (
        Speedup.model_validate({"table": {"gpus": [1, n], "speedup": [1.0, float(n)]}})
        for n in (4 + 4 * (not first), 2)
    )
    epochs = (
        RentingEpoch(size_hours=4.0, speedup=first or long),
        RentingEpoch(size_hours=0.1, speedup=short, believed_speedup=believed),
    )
    wide = RentingClass(name="a", arrivals_per_hour=1.0, rescale_seconds=600.0, epochs=epochs)
    data = workload({"a1": 0.0}, wide, gpus_per_node=1, acquisition_seconds=0.0, max_width=max_width)
    world = ran(data, lambda view: dict.fromkeys(view.jobs, 8))
    assert policy_bound(data, world.totals()["billed_gpu_h"]) <= ends(world)["a1"] / 3600
