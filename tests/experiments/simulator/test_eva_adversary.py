"""Test that a policy without foresight pays a third more than a clairvoyant one in Eva's cloud.

An instance for one task costs 2 USD an hour, one for two tasks 3. A job arrives, and whenever it has ended another one
like it. All policies that do not know of the second one are tried out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import pytest

from experiments.simulator import simulate
from experiments.simulator.eva import CloudWorld
from instances.eva import CloudJob, EvaCloud, TaskClass
from instances.eva.cloud import CloudType
from instances.eva.online import CloudView, Configuration, Hosting
from instances.online import Policy, RuleBroken
from models.eva.work_bound import work_bound

PERIOD, WORK = 300.0, 599.0  # s; a job that ends at a round is still there in it
HOUR = 3600.0
PLACES = {None: 0, "one": 1, "two": 2}
"""Where a job may be in a round, and how many tasks there is room for."""
ROUNDS = 5  # by then a job has ended that never waits for two rounds, and who does is left waiting for good


def arriving(*seconds: float) -> EvaCloud:
    """Jobs of two rounds; nothing takes time but their work."""
    return EvaCloud(
        resources=("x",),
        instance_types=tuple(
            CloudType(
                name=name,
                family="f",
                capacity={"x": float(room)},
                usd_per_hour=1.0 + room,
                acquisition_seconds=0.0,
                setup_seconds=0.0,
            )
            for name, room in PLACES.items()
            if name is not None
        ),
        classes=(TaskClass(name="a", workload="a", demand={"default": {"x": 1.0}}),),
        jobs=tuple(
            CloudJob(id=f"j{i}", arrival_seconds=at, duration_seconds=WORK, tasks={"a": 1})
            for i, at in enumerate(seconds)
        ),
        period_seconds=PERIOD,
    )


class Placing:
    """All tasks on one instance: in each round where it is said, and from then on on the cheapest that holds them."""

    def __init__(self, places: Sequence[str | None]) -> None:
        self.places = list(places)

    def decide(self, view: CloudView) -> Configuration:
        place = self.places.pop(0) if self.places else ("one" if len(view.tasks) < 2 else "two")
        if place is None or not view.tasks:
            return Configuration(instances=())
        there = next((i.id for i in view.instances.values() if i.instance_type == place), None)
        return Configuration(instances=(Hosting(place, tuple(view.tasks), there),))


def run(data: EvaCloud, policy: Policy) -> tuple[float, float]:
    """Return the bill and the completion time of the first job."""
    world = CloudWorld(data)
    simulate(world, policy)
    return float(world.totals()["cost_usd"]), float(world.jobs_table().end[0])


def test_who_does_not_know_what_is_to_come_pays_a_third_more():
    worst = []
    for places in product(PLACES, repeat=ROUNDS):
        try:
            _, end = run(arriving(0.0), Placing(places))
        except RuleBroken:
            continue  # its only job is left waiting for good
        data = arriving(0.0, end)
        known = math.ceil(end / PERIOD)  # rounds in which it cannot know of the second job
        bill = min(run(data, Placing([*places[:known], place]))[0] for place in ("one", "two"))
        worst.append(bill / work_bound(data).usd)
    assert len(worst) > 50
    assert min(worst) == pytest.approx(4 / 3, rel=2e-3)


@pytest.mark.parametrize("later", [600.0, 900.0, 1200.0])
def test_who_knows_it_pays_the_bound(later: float):
    """It waits for the second job, and has both on one instance."""
    data = arriving(0.0, later)
    bill, _ = run(data, Placing([None] * int(later // PERIOD)))
    assert bill == pytest.approx(work_bound(data).usd, rel=2e-3)
    assert work_bound(data).usd == pytest.approx(3 * WORK / HOUR)
    with pytest.raises(RuleBroken, match="left waiting"):
        run(arriving(0.0), Placing([None] * int(later // PERIOD)))
