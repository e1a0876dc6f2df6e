"""The bound on what any policy pays in Eva's cloud, against enumeration in rational numbers and against policies."""

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
from instances.eva.online import Configuration, Hosting
from instances.eva.packing import demand_on
from models.eva.work_bound import WorkBoundParameters, work_bound
from tests.eva_cloud_cases import random_cloud

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


def work_done(data: EvaCloud) -> list[tuple[Fraction, list[Fraction]]]:
    """For each pattern the price of its type, and the hours of work of each class that it does in an hour."""
    pairs = {(a, b): Fraction(repr(value)) for a, b, value in data.throughput.pairwise}
    jobs = [sum(job.tasks.get(c.name, 0) for job in data.jobs) for c in data.classes]
    found = []
    for kind in data.instance_types:
        need = [demand_on(c.demand, kind.family) for c in data.classes]
        for pattern in product(*(range(n + 1) for n in jobs)):
            if any(
                sum(k * d[r] for k, d in zip(pattern, need, strict=True)) > kind.capacity[r] for r in data.resources
            ):
                continue
            done = []
            for i, c in enumerate(data.classes):
                rate = Fraction(1)
                for j, other in enumerate(data.classes):
                    rate *= pairs[c.workload, other.workload] ** max(0, pattern[j] - (i == j))
                done.append(pattern[i] * rate)
            found.append((Fraction(repr(kind.usd_per_hour)), done))
    return found


def hours_of(data: EvaCloud) -> list[float]:
    return [sum(job.tasks.get(c.name, 0) * job.duration_seconds / 3600 for job in data.jobs) for c in data.classes]


@settings(max_examples=40)
@given(tiny_clouds())
def test_the_bound_is_the_optimum_over_all_patterns(data: EvaCloud):
    patterns, hours = work_done(data), hours_of(data)
    least = linprog(
        [float(price) for price, _ in patterns],
        A_ub=-np.array([[float(d) for d in done] for _, done in patterns]).T,
        b_ub=-np.array(hours),
    ).fun
    found = work_bound(data, EXACT)
    assert found.usd <= least * (1 + 1e-9)
    assert found.usd == pytest.approx(least, rel=1e-5)


@settings(max_examples=40)
@given(tiny_clouds(), st.integers(1, 4))
def test_no_pattern_is_worth_more_than_it_costs_however_early_it_ends(data: EvaCloud, rounds: int):
    found = work_bound(data, WorkBoundParameters(rounds=rounds, nodes=3, most_nodes=3))
    prices = [Fraction(float(y)) for y in found.prices]
    for price, done in work_done(data):
        assert sum(y * d for y, d in zip(prices, done, strict=True)) <= price * (1 + Fraction(1, 10**12))
    worth = sum(float(y) * w for y, w in zip(prices, hours_of(data), strict=True))
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


class Together:
    """All tasks on one instance of the only type."""

    def decide(self, view) -> Configuration:
        there = next(iter(view.instances), None)
        return Configuration(instances=(Hosting("k", tuple(view.tasks), there),) if view.tasks else ())


def test_a_policy_comes_near_it_where_delays_are_short():
    """Two tasks that slow each other down to 0.8 fill the instance for the 1,000 hours that each has to do."""
    data = EvaCloud(
        resources=("x",),
        instance_types=(
            CloudType(
                name="k",
                family="f",
                capacity={"x": 2.0},
                usd_per_hour=1.0,
                acquisition_seconds=0.0,
                setup_seconds=0.0,
            ),
        ),
        classes=(TaskClass(name="a", workload="a", demand={"default": {"x": 1.0}}),),
        jobs=tuple(
            CloudJob(id=f"j{i}", arrival_seconds=0.0, duration_seconds=3_600_000.0, tasks={"a": 1}) for i in range(2)
        ),
        throughput=Throughput(default=0.8),
        period_seconds=300.0,
    )
    world = CloudWorld(data)
    simulate(world, Together())
    assert world.totals()["cost_usd"] == pytest.approx(1250, rel=1e-3)
    assert work_bound(data).usd == pytest.approx(1250, rel=1e-6)


def test_where_an_instance_holds_too_many_tasks_to_search_the_scarcest_resource_bounds():
    data = random_cloud(0)
    full, scarce = work_bound(data), work_bound(data, WorkBoundParameters(most_tasks=0))
    assert scarce.relaxed is None
    assert 0 < scarce.usd <= full.usd
