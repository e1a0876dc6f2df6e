"""Policies of the renting world by name, the fallback policy, and planners for a modified problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Literal

from heuristics.boa.online_rigid import EqualSplit, Fifo, Requested
from instances import InputError
from instances.boa import BoaAllocation, BoaRenting
from instances.boa.online import RentingView, Widths, build_estimated_allocation
from instances.online import Policy

Online = Policy[RentingView, Widths]
HOUR = 3600.0  # seconds

Planner = Callable[[RentingView], Widths | None]
"""The plan of a method for an observation; `None` if it finds none."""
EFFICIENCIES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Target efficiencies of Pollux with autoscaling."""
OBJECTIVES: tuple[Literal["sum", "mean"], ...] = ("sum", "mean")
"""Objectives of Pollux: the sum of speedups, or their power mean."""
WINDOWS = (0, 2, 15)
"""Number of efficiencies that autoscaling averages: none, as in the authors' code, as in the simulator they cite."""
TWICE = 2.0
"""Maximum ratio of a job's width to the widest that it has run at, for the `profiled` variants."""


def pollux_name(
    objective: str, efficiency: float | None = None, window: int = 0, profiled: bool = False, genetic: bool = False
) -> str:
    """Return the name of a Pollux variant, such as `pollux-as-sum-0.7-window-15-profiled`."""
    name = f"pollux-{objective}" if efficiency is None else f"pollux-as-{objective}-{efficiency:g}"
    name += f"-window-{window}" if window else ""
    return name + ("-profiled" if profiled else "") + ("-genetic" if genetic else "")


def _pollux(data: BoaRenting, *, genetic: bool = False, **parameters: Any) -> Online:
    from heuristics.boa.online_pollux import Pollux, PolluxParameters  # imports compiled loops

    if not genetic:
        return Pollux(data, PolluxParameters(**parameters))
    try:
        from heuristics.boa.online_genetic import GeneticSplit
    except ImportError:
        raise InputError("policy: needs pymoo, which `pip install gapwise[genetic]` brings") from None
    return Pollux(data, PolluxParameters(**parameters), GeneticSplit())


def _polluxes() -> dict[str, Callable[[BoaRenting], Online]]:
    policies: dict[str, Callable[[BoaRenting], Online]] = {}
    for objective, c, profiled in product(OBJECTIVES, (None, *EFFICIENCIES), (False, True)):
        for window in WINDOWS if c is not None else (0,):
            parameters: dict[str, Any] = {"objective": objective, "efficiency": c, "window": window}
            create = partial(_pollux, **parameters, profiled=TWICE if profiled else None)
            policies[pollux_name(objective, c, window, profiled)] = create
    for objective, c in product(OBJECTIVES, (None, 0.7)):
        policies[pollux_name(objective, c, genetic=True)] = partial(
            _pollux, genetic=True, objective=objective, efficiency=c
        )
    return policies


ONLINE: Mapping[str, Callable[[BoaRenting], Online]] = {
    "equal-split": EqualSplit,
    "fifo": Fifo,
    "requested": Requested,
    **_polluxes(),
}
"""Policies with state, created for each workload."""


class OneGpuEach:
    """A policy without state: each job keeps its width, or gets one GPU."""

    def decide(self, view: RentingView) -> Widths:
        widths = {name: job.width or 1 for name, job in view.jobs.items()}
        return Widths(widths=widths, nodes=-(-sum(widths.values()) // view.gpus_per_node))


class PlannedOtherwise:
    """The widths that a method plans for a modified problem; if it finds none, those of `OneGpuEach`."""

    def __init__(self, data: BoaRenting, planner: Planner) -> None:
        self._data, self._planner, self._fallback = data, planner, OneGpuEach()
        self._believed: BoaAllocation | None = None
        self._other: BoaAllocation | None = None

    def decide(self, view: RentingView) -> Widths:
        if self._other is None or view.believed is not self._believed:
            self._believed, self._other = view.believed, self.other(view.believed)
        return self._planner(replace(view, believed=self._other)) or self._fallback.decide(view)

    def other(self, problem: BoaAllocation) -> BoaAllocation:
        """Return the modified problem."""
        raise NotImplementedError


class CountingAcquisition(PlannedOtherwise):
    """Add the time to get a node to every rescaling.

    A plan without this time exceeds its budget: a job that grows waits for its node, which is billed while the job
    waits.
    """

    def other(self, problem: BoaAllocation) -> BoaAllocation:
        more = self._data.acquisition_seconds / HOUR
        classes = tuple(c.model_copy(update={"rescale_hours": c.rescale_hours + more}) for c in problem.classes)
        return build_estimated_allocation(classes, problem.budget, problem.max_width)


class OnHull(PlannedOtherwise):
    """Read speedups on their concave hulls, as if a job could run between two measured widths."""

    def other(self, problem: BoaAllocation) -> BoaAllocation:
        return problem.model_copy(update={"speedup_reading": "hull"})
