"""Policies for the renting world by name, the fallback for a policy that fails, and methods that plan otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Literal

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
OBJECTIVES: tuple[Literal["sum", "mean"], ...] = ("sum", "mean")
"""Of Pollux."""
WINDOWS = (0, 2, 15)
"""Efficiencies that autoscaling averages over: none, as in the BOA authors' code, as in the simulator they cite."""
TWICE = 2.0
"""How many times as wide as it has run a job may get, where that is limited."""


def pollux_name(
    objective: str, efficiency: float | None = None, window: int = 0, profiled: bool = False, genetic: bool = False
) -> str:
    """The name of a Pollux among the policies, such as `pollux-as-sum-0.7-window-15-profiled`."""
    name = f"pollux-{objective}" if efficiency is None else f"pollux-as-{objective}-{efficiency:g}"
    name += f"-window-{window}" if window else ""
    return name + ("-profiled" if profiled else "") + ("-genetic" if genetic else "")


def _pollux(data: BoaRenting, **parameters: Any) -> Online:
    from heuristics.boa.online_pollux import Pollux, PolluxParameters  # with compiled loops, only where it is asked for

    return Pollux(data, PolluxParameters(**parameters))


def _genetic(data: BoaRenting, **parameters: Any) -> Online:
    try:
        from heuristics.boa.online_genetic import GeneticSplit
    except ImportError:
        raise InputError("policy: needs pymoo, which `pip install gapwise[genetic]` brings") from None
    from heuristics.boa.online_pollux import Pollux, PolluxParameters

    return Pollux(data, PolluxParameters(**parameters), GeneticSplit())


def _polluxes() -> dict[str, Callable[[BoaRenting], Online]]:
    found: dict[str, Callable[[BoaRenting], Online]] = {}
    for objective, c, profiled in product(OBJECTIVES, (None, *EFFICIENCIES), (False, True)):
        for window in WINDOWS if c is not None else (0,):
            said: dict[str, Any] = {"objective": objective, "efficiency": c, "window": window}
            made = partial(_pollux, **said, profiled=TWICE if profiled else None)
            found[pollux_name(objective, c, window, profiled)] = made
    for objective, c in product(OBJECTIVES, (None, 0.7)):
        found[pollux_name(objective, c, genetic=True)] = partial(_genetic, objective=objective, efficiency=c)
    return found


ONLINE: Mapping[str, Callable[[BoaRenting], Online]] = {
    "equal-split": EqualSplit,
    "fifo": Fifo,
    "requested": Requested,
    **_polluxes(),
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
        self._believed: BoaAllocation | None = None
        self._other: BoaAllocation | None = None

    def decide(self, view: RentingView) -> Widths:
        if self._other is None or view.believed is not self._believed:
            self._believed, self._other = view.believed, self.other(view.believed)
        return self._planner(replace(view, believed=self._other)) or self._fallback.decide(view)

    def other(self, problem: BoaAllocation) -> BoaAllocation:
        """The problem to plan for."""
        raise NotImplementedError


class CountingAcquisition(PlannedOtherwise):
    """Rescalings are taken to last as long as getting a node, too.

    The budget of a plan without it is overrun: a job that grows waits for its node, which is billed meanwhile.
    """

    def other(self, problem: BoaAllocation) -> BoaAllocation:
        more = self._data.acquisition_seconds / HOUR
        classes = tuple(c.model_copy(update={"rescale_hours": c.rescale_hours + more}) for c in problem.classes)
        return believed(classes, problem.budget, problem.max_width)


class OnHull(PlannedOtherwise):
    """Speedups are read on their concave hulls, as if a job could run between two measured widths."""

    def other(self, problem: BoaAllocation) -> BoaAllocation:
        return problem.model_copy(update={"speedup_reading": "hull"})
