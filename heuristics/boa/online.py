"""Policies for the renting world by name, the fallback for a policy that fails, and methods that plan otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from heuristics.boa.online_rigid import EqualSplit, Fifo, Requested
from instances import InputError
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import RentingView, Widths, believed
from instances.online import Policy

Online = Policy[RentingView, Widths]
HOUR = 3600.0  # seconds

Planner = Callable[[RentingView], Widths | None]
"""What a method says of a moment; `None` where it finds nothing."""
EFFICIENCIES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""What Pollux with autoscaling aims at."""


def _pollux(data: BoaRenting, objective: Literal["sum", "mean"], efficiency: float | None = None) -> Online:
    from heuristics.boa.online_pollux import Pollux, PolluxParameters  # with compiled loops, only where it is asked for

    return Pollux(data, PolluxParameters(objective=objective, efficiency=efficiency))


def _genetic(data: BoaRenting, objective: Literal["sum", "mean"], efficiency: float | None) -> Online:
    try:
        from heuristics.boa.online_genetic import GeneticSplit
    except ImportError:
        raise InputError("policy: needs pymoo, which `pip install gapwise[genetic]` brings") from None
    from heuristics.boa.online_pollux import Pollux, PolluxParameters

    return Pollux(data, PolluxParameters(objective=objective, efficiency=efficiency), GeneticSplit())


def _autoscaled() -> dict[str, Callable[[BoaRenting], Online]]:
    found: dict[str, Callable[[BoaRenting], Online]] = {}
    for c in EFFICIENCIES:
        found[f"pollux-as-sum-{c:g}"] = partial(_pollux, objective="sum", efficiency=c)
        found[f"pollux-as-mean-{c:g}"] = partial(_pollux, objective="mean", efficiency=c)
    return found


ONLINE: Mapping[str, Callable[[BoaRenting], Online]] = {
    "equal-split": EqualSplit,
    "fifo": Fifo,
    "requested": Requested,
    "pollux-sum": partial(_pollux, objective="sum"),
    "pollux-mean": partial(_pollux, objective="mean"),
    **_autoscaled(),
    "pollux-sum-genetic": partial(_genetic, objective="sum", efficiency=None),
    "pollux-mean-genetic": partial(_genetic, objective="mean", efficiency=None),
    "pollux-as-sum-0.7-genetic": partial(_genetic, objective="sum", efficiency=0.7),
    "pollux-as-mean-0.7-genetic": partial(_genetic, objective="mean", efficiency=0.7),
}
"""Policies with a memory, made afresh for a workload."""


class OneGpuEach:
    """Each job runs on one GPU, or on what it has: a policy without a memory."""

    def decide(self, view: RentingView) -> Widths:
        widths = {name: job.width or 1 for name, job in view.jobs.items()}
        return Widths(widths=widths, nodes=-(-sum(widths.values()) // view.gpus_per_node))


class PlannedOtherwise:
    """Widths that a method plans for another problem than what is believed; one GPU each where it finds nothing."""

    def __init__(self, data: BoaRenting, planner: Planner) -> None:
        self._data, self._planner, self._fallback = data, planner, OneGpuEach()
        self._told: BoaAllocation | None = None
        self._other: BoaAllocation | None = None

    def decide(self, view: RentingView) -> Widths:
        if self._other is None or view.believed is not self._told:
            self._told, self._other = view.believed, self.other(view.believed)
        return self._planner(replace(view, believed=self._other)) or self._fallback.decide(view)

    def other(self, told: BoaAllocation) -> BoaAllocation:
        """The problem to plan for."""
        raise NotImplementedError


class CountingAcquisition(PlannedOtherwise):
    """Rescalings are taken to last as long as getting a node, too.

    The budget of a plan without it is overrun: a job that grows waits for its node, which is billed meanwhile.
    """

    def other(self, told: BoaAllocation) -> BoaAllocation:
        more = self._data.acquisition_seconds / HOUR
        classes = tuple(c.model_copy(update={"rescale_hours": c.rescale_hours + more}) for c in told.classes)
        return believed(classes, told.budget, told.max_width)


class OnHull(PlannedOtherwise):
    """Speedups are read on their concave hulls, as if a job could run between two measured widths."""

    def other(self, told: BoaAllocation) -> BoaAllocation:
        return told.model_copy(update={"speedup_reading": "hull"})
