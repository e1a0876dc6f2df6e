"""Policies for the renting world by name, the fallback for a policy that fails, and methods that plan otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from heuristics.boa.online_rigid import EqualSplit, Fifo, Requested
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import View, Widths, believed
from instances.online import Policy

Online = Policy[View, Widths]
HOUR = 3600.0  # seconds

Planner = Callable[[View], Widths | None]
"""What a method says of a moment; `None` where it finds nothing."""
EFFICIENCIES = (0.5, 0.6, 0.7, 0.8)
"""What Pollux with autoscaling aims at."""


def _pollux(data: BoaRenting, objective: Literal["sum", "mean"], efficiency: float | None = None) -> Online:
    from heuristics.boa.online_pollux import Pollux, PolluxParameters  # with compiled loops, only where it is asked for

    return Pollux(data, PolluxParameters(objective=objective, efficiency=efficiency))


ONLINE: Mapping[str, Callable[[BoaRenting], Online]] = {
    "equal-split": EqualSplit,
    "fifo": Fifo,
    "requested": Requested,
    "pollux-sum": partial(_pollux, objective="sum"),
    "pollux-mean": partial(_pollux, objective="mean"),
} | {
    f"pollux-as-{objective}-{c:g}": partial(_pollux, objective=objective, efficiency=c)
    for objective in ("sum", "mean")
    for c in EFFICIENCIES
}
"""Policies with a memory, made afresh for a workload."""


class OneGpuEach:
    """Each job runs on one GPU, or on what it has: a policy without a memory."""

    def decide(self, view: View) -> Widths:
        widths = {name: job.width or 1 for name, job in view.jobs.items()}
        return Widths(widths=widths, nodes=-(-sum(widths.values()) // view.gpus_per_node))


class CountingAcquisition:
    """Widths that a method plans for rescalings which last as long as getting a node too.

    The budget of a plan without it is overrun: a job that grows waits for its node, which is billed meanwhile.
    """

    def __init__(self, data: BoaRenting, planner: Planner) -> None:
        self._data, self._planner, self._fallback = data, planner, OneGpuEach()
        self._told: BoaAllocation | None = None
        self._longer: BoaAllocation | None = None

    def decide(self, view: View) -> Widths:
        if view.believed is not self._told:
            self._told = view.believed
            self._longer = self._with_acquisition(view.believed)
        assert self._longer is not None
        return self._planner(replace(view, believed=self._longer)) or self._fallback.decide(view)

    def _with_acquisition(self, told: BoaAllocation) -> BoaAllocation:
        more = self._data.acquisition_seconds / HOUR
        classes = tuple(c.model_copy(update={"rescale_hours": c.rescale_hours + more}) for c in told.classes)
        return believed(classes, told.budget, told.max_width)
