"""Test the bound on every policy's cost in Eva's cloud against rational enumeration and policies."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from experiments.simulator import simulate
from experiments.simulator.eva import CloudWorld
from heuristics.eva.online import ONLINE
from instances.eva import CloudJob, EvaCloud, TaskClass, Throughput
from instances.eva.cloud import CloudType
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.online import CloudView, Configuration, Hosting
from instances.eva.packing import demand_on
from models.eva.work_bound import Lots, WorkBoundParameters, lots_of, work_bound
from tests.eva_cloud_cases import random_cloud
from tests.sampling import few, sample

EXACT = WorkBoundParameters(gap=1e-7)


@st.composite
def tiny_clouds(draw) -> EvaCloud:
    """Two families of types with demands of their own, few classes, jobs of several tasks, throughputs down to 0."""
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    small, price = st.integers(1, 3), st.sampled_from([0.5, 1.0, 2.0, 3.5])
    types = tuple(
        CloudType(
            name=f"k{i}", family=f"f{i % 2}", capacity={"x": 3.0 + i, "y": float(draw(st.integers(3, 6)))},
            usd_per_hour=draw(price), acquisition_seconds=1.0, setup_seconds=1.0,
        )
        for i in range(draw(st.integers(2, 3)))
    )  # fmt: skip
    classes = tuple(
        TaskClass(
            name=name,
            workload=name,
            demand={
                "default": {"x": float(draw(small)), "y": float(draw(small))},
                "f1": {"x": float(draw(small)), "y": float(draw(small))},
            },
        )
        for name in names
    )
    rates = st.sampled_from([0.0, 0.3, 0.7, 0.9, 0.95, 1.0])
    return EvaCloud(
        resources=("x", "y"),
        instance_types=types,
        classes=classes,
        jobs=tuple(
            CloudJob(
                id=f"j{i}",
                arrival_seconds=0.0,
                duration_seconds=float(draw(st.integers(1, 20_000))),
                tasks={name: draw(st.integers(1, 2)) for name in draw(st.sets(st.sampled_from(names), min_size=1))},
            )
            for i in range(draw(st.integers(1, 4)))
        ),
        throughput=Throughput(default=0.95, pairwise=tuple((a, b, draw(rates)) for a in names for b in names)),
        period_seconds=300.0,
    )


def work_done(data: EvaCloud, lots: Lots) -> list[tuple[Fraction, list[Fraction]]]:
    """For each pattern the price of its type, and the hours of work of each lot that it does in an hour."""
    pairs = {(a, b): Fraction(repr(value)) for a, b, value in data.throughput.pairwise}
    classes = [data.classes[c] for c in lots.kin.tolist()]
    found = []
    for kind in data.instance_types:
        need = [demand_on(c.demand, kind.family) for c in classes]
        for pattern in product(*(range(n + 1) for n in lots.tasks.tolist())):
            if any(
                sum(k * d[r] for k, d in zip(pattern, need, strict=True)) > kind.capacity[r] for r in data.resources
            ):
                continue
            done = []
            for i, c in enumerate(classes):
                rate = Fraction(1)
                for j, other in enumerate(classes):
                    rate *= pairs[c.workload, other.workload] ** max(0, pattern[j] - (i == j))
                done.append(pattern[i] * rate)
            found.append((Fraction(repr(kind.usd_per_hour)), done))
    return found


def least(data: EvaCloud, lots: Lots) -> float:
    """Return the optimum over all patterns."""
    patterns = work_done(data, lots)
    found = linprog(
        [float(price) for price, _ in patterns],
        A_ub=-np.array([[float(d) for d in done] for _, done in patterns]).T,
        b_ub=-lots.hours,
    )
    return float(found.fun)


@settings(max_examples=sample(10, 25))
@given(tiny_clouds())
def test_the_bound_is_the_optimum_over_all_patterns(data: EvaCloud):
    found, optimum = work_bound(data, EXACT), least(data, work_bound(data, EXACT).lots)
    assert found.usd <= optimum * (1 + 1e-9)
    assert found.usd == pytest.approx(optimum, rel=1e-5)
    assert found.relaxed is not None
    price = [kind.usd_per_hour for kind in data.instance_types]
    paid = sum(price[stretch.kind] * stretch.hours for stretch in found.plan)
    assert paid == pytest.approx(found.relaxed, rel=1e-6)


@settings(max_examples=sample(10, 25))
@given(tiny_clouds())
def test_lots_of_jobs_prove_no_less_than_a_lot_for_each_class(data: EvaCloud):
    """Lots of jobs that are about as long or equally long divide the lots of the classes, but not one another."""
    classes, *divided = (work_bound(data, WorkBoundParameters(gap=1e-7, alike=share)) for share in (0.0, 0.5, 1.0))
    for lots in divided:
        assert len(classes.prices) <= len(lots.prices)
        assert classes.usd <= lots.usd * (1 + 1e-6)


@settings(max_examples=sample(10, 25))
@given(tiny_clouds(), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_every_task_is_in_one_lot(data: EvaCloud, alike: float):
    lots = lots_of(data, cloud_arrays(data), alike)
    for i, c in enumerate(data.classes):
        own = [job for job in data.jobs if c.name in job.tasks]
        mine = np.flatnonzero(lots.kin == i)
        assert sorted(name for lot in mine for name in lots.jobs[lot]) == sorted(job.id for job in own)
        assert lots.tasks[mine].sum() == sum(job.tasks[c.name] for job in own)
        work = sum(job.tasks[c.name] * job.duration_seconds for job in own)
        assert lots.hours[mine].sum() == pytest.approx(work / 3600)


def test_a_long_job_is_one_task_and_no_two_at_once():
    """An instance holds two tasks. One job has to do ten hours, the other one: the instance is up for ten, not 5.5."""
    data = two_on_one(36_000.0, 3_600.0)
    assert work_bound(data, EXACT).usd == pytest.approx(10, rel=1e-6)
    assert work_bound(data, WorkBoundParameters(alike=0.0)).usd == pytest.approx(5.5, rel=1e-6)


@settings(max_examples=sample(13, 40))
@given(tiny_clouds(), st.integers(1, 4))
def test_no_pattern_is_worth_more_than_it_costs_however_early_it_ends(data: EvaCloud, rounds: int):
    found = work_bound(data, WorkBoundParameters(rounds=rounds, nodes=3, most_nodes=3))
    prices = [Fraction(float(y)) for y in found.prices]
    for price, done in work_done(data, found.lots):
        assert sum(y * d for y, d in zip(prices, done, strict=True)) <= price * (1 + Fraction(1, 10**12))
    worth = sum(float(y) * w for y, w in zip(prices, found.lots.hours, strict=True))
    assert found.usd <= worth <= found.usd * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_no_policy_pays_less(seed: int):
    data = random_cloud(seed, jobs=6)
    bound = work_bound(data).usd
    assert bound > 0
    for policy in ONLINE.values():
        world = CloudWorld(data)
        simulate(world, policy(data))
        assert world.totals()["cost_usd"] >= bound


class Whim:
    """A policy by chance: now and then all is placed anew, somewhere that it fits, or left waiting for a while."""

    def __init__(self, data: EvaCloud, seed: int) -> None:
        self.data, self.rng = data, np.random.default_rng(seed)
        self.arrays = cloud_arrays(data)
        self.kin = {c.name: i for i, c in enumerate(data.classes)}
        self.begin = float(self.rng.random()) * max(job.arrival_seconds for job in data.jobs)
        self.change = float(self.rng.choice([0.02, 0.1, 0.3]))

    def decide(self, view: CloudView) -> Configuration:
        waiting = any(task.instance is None for task in view.tasks.values())
        if view.now < self.begin or any(task.pinned for task in view.tasks.values()) or not view.tasks:
            return Configuration()
        if not waiting and not view.finished and self.rng.random() > self.change:
            return Configuration()
        types, capacity = self.arrays.types, self.arrays.capacity
        bins: list[tuple[int, str | None, list[str], np.ndarray]] = []
        for i in view.instances.values():
            kind = types.index(i.instance_type)
            bins.append((kind, i.id, [], capacity[kind]))
        names = list(view.tasks)
        self.rng.shuffle(names)
        for name in names:
            c = self.kin[view.tasks[name].task_class]
            new = [(k, None, [], free) for k, free in enumerate(capacity)]
            fitting = [b for b in (*bins, *new) if (self.arrays.demand[b[0], c] <= b[3]).all()]
            chosen = [b for b in fitting if b[2] or b[1] is not None] or fitting
            kind, instance, there, free = chosen[int(self.rng.integers(len(chosen)))]
            bins = [b for b in bins if b[2] is not there]
            bins.append((kind, instance, [*there, name], free - self.arrays.demand[kind, c]))
        return Configuration(instances=tuple(Hosting(types[k], tuple(there), i) for k, i, there, _ in bins if there))


@pytest.mark.parametrize("seed", few(range(12), 3))
def test_nor_does_any_of_many_policies_by_chance(seed: int):
    """On clouds of a few jobs of very different lengths, with and without the interference of larger sets."""
    data = random_cloud(seed, jobs=4, delay_factor=0.1, dealt=seed % 3 == 2)
    bound = work_bound(data, EXACT).usd
    for chance in range(12):
        world = CloudWorld(data)
        simulate(world, Whim(data, chance))
        assert world.totals()["cost_usd"] >= bound


class Together:
    """All tasks on one instance of the only type."""

    def decide(self, view) -> Configuration:
        there = next(iter(view.instances), None)
        return Configuration(instances=(Hosting("k", tuple(view.tasks), there),) if view.tasks else ())


def two_on_one(*seconds: float, beside: float = 1.0) -> EvaCloud:
    """Jobs of one task, on a type that takes no time, costs 1 USD an hour and holds two."""
    kind = CloudType(
        name="k", family="f", capacity={"x": 2.0}, usd_per_hour=1.0, acquisition_seconds=0.0, setup_seconds=0.0
    )
    return EvaCloud(
        resources=("x",),
        instance_types=(kind,),
        classes=(TaskClass(name="a", workload="a", demand={"default": {"x": 1.0}}),),
        jobs=tuple(
            CloudJob(id=f"j{i}", arrival_seconds=0.0, duration_seconds=long, tasks={"a": 1})
            for i, long in enumerate(seconds)
        ),
        throughput=Throughput(default=beside),
        period_seconds=300.0,
    )


def test_a_policy_comes_near_it_where_delays_are_short():
    """Two tasks that slow each other down to 0.8 fill the instance for the 1,000 hours that each has to do."""
    data = two_on_one(3_600_000.0, 3_600_000.0, beside=0.8)
    world = CloudWorld(data)
    simulate(world, Together())
    assert world.totals()["cost_usd"] == pytest.approx(1250, rel=1e-3)
    assert work_bound(data).usd == pytest.approx(1250, rel=1e-6)


def test_where_an_instance_holds_too_many_tasks_to_search_the_scarcest_resource_bounds():
    data = random_cloud(0)
    full, scarce = work_bound(data), work_bound(data, WorkBoundParameters(most_tasks=0))
    assert scarce.relaxed is None
    assert 0 < scarce.usd <= full.usd
