"""Build small workloads of the renting world by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from experiments.simulator.boa import RentingWorld
from experiments.simulator.kernel import simulate
from instances.boa import BoaRenting, RentingClass, RentingEpoch, RentingJob, Speedup
from instances.boa.online import RentingView, Widths

HOUR = 3600.0
LINEAR = Speedup(power=1.0)


def job_class(name="a", sizes=(1.0,), speedup=LINEAR, **said: Any) -> RentingClass:
    epochs = tuple(RentingEpoch(size_hours=size, speedup=speedup) for size in sizes)
    return RentingClass(
        name=name, arrivals_per_hour=1.0, rescale_seconds=said.pop("pause", 60.0), epochs=epochs, **said
    )


def workload(arrivals: Mapping[str, float], *classes: RentingClass, **said: Any) -> BoaRenting:
    """Jobs named by their class and a number, `a1`, that arrive at some seconds."""
    jobs = [RentingJob(id=name, job_class=name[0], arrival_seconds=at) for name, at in arrivals.items()]
    given = {"budget_gpus": 100.0, "gpus_per_node": 4, "acquisition_seconds": 120.0, "max_width": 64} | said
    return BoaRenting(classes=classes or (job_class(),), jobs=jobs, **given)


class ByHand:
    """A policy that `widths(view)` makes, which answers the width of each job; nodes for them unless it says more."""

    def __init__(self, widths: Callable[[RentingView], Any]) -> None:
        self._widths = widths

    def decide(self, view: RentingView) -> Widths:
        said = self._widths(view)
        if isinstance(said, Widths):
            return said
        return Widths(widths=said, nodes=-(-sum(said.values()) // view.gpus_per_node))


def ran(data: BoaRenting, widths: Callable[[RentingView], Any] | Any) -> RentingWorld:
    """Run the world under a policy, or under a function that gives the widths."""
    world = RentingWorld(data)
    simulate(world, widths if hasattr(widths, "decide") else ByHand(widths))
    return world


def ends(world: RentingWorld) -> dict[str, float]:
    """When each job ended, seconds."""
    table = world.jobs_table()
    return dict(zip(table["job"], table["end"], strict=True))
