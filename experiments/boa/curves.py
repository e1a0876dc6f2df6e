"""Curves of policies in the renting world, completion time against the bill, from runs over budgets or targets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness.experiment import Context
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from heuristics.boa.online import EFFICIENCIES, pollux_name
from instances import Instance
from instances.boa import BoaRenting, trace_renting

OVER_LOAD = (1.15, 1.3, 1.5, 1.75, 2.1, 2.6)
"""Budgets, as multiples of the load."""
QUICK_JOBS = 30
HOUR = 3600.0


@dataclass(frozen=True)
class Reading:
    """An interpretation of Pollux, in words and as parameters.

    - `fitted`: whether no policy knows the true speedups, so that all begin with a fitted model.
    - `learning`: the policies that update this model from their runs.
    """

    label: str
    window: int = 0
    profiled: bool = False
    fitted: bool = False
    learning: tuple[str, ...] = ()


MOMENT = Reading("the moment's efficiency")
AVERAGED = Reading("15 averaged", window=15)


@dataclass(frozen=True)
class Point:
    """A run as a point: rented GPUs, and mean and 95th percentile of completion times in hours."""

    rented: float
    mean: float
    p95: float
    run: Simulated

    @classmethod
    def of(cls, run: Simulated) -> Point:
        """Build the point of a run."""
        jct = run.jobs_table()["jct"] / HOUR
        return cls(run.totals["rented_gpus"], float(jct.mean()), float(jct.quantile(0.95)), run)


@dataclass(frozen=True)
class PolicyCurve:
    """The runs of a policy on a trace over budgets or targets: `tasks`, and the `points` of their outcomes."""

    label: str
    tasks: tuple[Simulation, ...]
    points: tuple[Point, ...] = ()

    def at(self, rented: float, what: str = "mean") -> float | None:
        """Return the completion time at `rented` GPUs, linear between two points; `None` outside of them."""
        return interpolate_at(rented, [(p.rented, getattr(p, what)) for p in self.points])

    def total_at(self, rented: float, name: str) -> float | None:
        """Return a total of the runs at `rented` GPUs, linear between two points; `None` outside of them."""
        return interpolate_at(rented, [(p.rented, p.run.totals[name]) for p in self.points])

    def interpolate_rented(self, mean: float) -> float | None:
        """Return the rented GPUs for a mean completion time, linear between two points; `None` outside of them."""
        return interpolate_at(mean, [(p.mean, p.rented) for p in self.points])


Curves = dict[tuple[Hashable, ...], PolicyCurve]
"""Curves by their keys, such as trace, seed and policy."""


def part(curves: Curves, *first: Hashable) -> Curves:
    """Return the curves whose keys begin with these parts, by the rest of their keys."""
    return {key[len(first) :]: curve for key, curve in curves.items() if key[: len(first)] == first}


def interpolate_at(x: float, points: Iterable[tuple[float, float]]) -> float | None:
    """Interpolate linearly at `x` between two points; return `None` outside of them."""
    found = sorted(points)
    if not found or not found[0][0] <= x <= found[-1][0]:
        return None
    return float(np.interp(x, [a for a, _ in found], [b for _, b in found]))


def build_budget_curve(
    context: Context, trace: Path, policy: str = "exact", over: Sequence[float] = OVER_LOAD, **said: Any
) -> PolicyCurve:
    """Build the curve of a policy with a budget, at several multiples of the load."""
    data = draw_workload(context, trace, **said).data
    assert isinstance(data, BoaRenting)
    load = data.budget_gpus / 1.25
    files = [draw_workload(context, trace, budget=m * load, **said) for m in few(context, over)]
    return PolicyCurve(policy, tuple(Simulation(file, policy, context.options) for file in files))


def build_autoscaling_curve(
    context: Context,
    trace: Path,
    objective: str,
    aims: Sequence[float] = EFFICIENCIES[1:-1],
    reading: Reading = MOMENT,
    **said: Any,
) -> PolicyCurve:
    """Build the curve of Pollux with autoscaling, at several targets."""
    file = draw_workload(context, trace, **said)
    policies = [pollux_name(objective, c, reading.window, reading.profiled) for c in few(context, aims)]
    tasks = tuple(Simulation(file, policy, context.options) for policy in policies)
    label = f"pollux-as-{objective}" + ("" if reading == MOMENT else f", {reading.label}")
    return PolicyCurve(label, tasks)


def tasks_of(curves: Iterable[PolicyCurve]) -> list[Simulation]:
    """Return the tasks of some curves, in order."""
    return [task for curve in curves for task in curve.tasks]


def add_points(curves: Iterable[PolicyCurve], outcomes: Sequence[Simulated]) -> list[PolicyCurve]:
    """Return the curves with the points of their outcomes, which are in the order of the tasks."""
    found, place = [], 0
    for curve in curves:
        mine = outcomes[place : place + len(curve.tasks)]
        place += len(curve.tasks)
        found.append(replace(curve, points=tuple(Point.of(run) for run in mine)))
    return found


def add_points_by_key(curves: Curves, outcomes: Sequence[Simulated]) -> Curves:
    """Return curves by key with the points of their outcomes."""
    return dict(zip(curves, add_points(curves.values(), outcomes), strict=True))


def factors(slow: PolicyCurve, fast: PolicyCurve, what: str = "mean") -> list[float]:
    """Return the ratio of completion times of `slow` over `fast`, at each bill of a run of either that both cover.

    Both curves are linear between two such bills, so the maximum ratio is among these.
    """
    bills = sorted({point.rented for curve in (slow, fast) for point in curve.points})
    found = [(slow.at(rented, what), fast.at(rented, what)) for rented in bills]
    return [over / under for over, under in found if over is not None and under is not None]


def budget_factors(slow: PolicyCurve, fast: PolicyCurve) -> list[float]:
    """Return the ratio of GPUs rented by `slow` over `fast`, at each mean completion time of either that both reach."""
    times = sorted({point.mean for curve in (slow, fast) for point in curve.points})
    found = [(slow.interpolate_rented(time), fast.interpolate_rented(time)) for time in times]
    return [over / under for over, under in found if over is not None and under is not None]


def burst_factors(curves: Curves) -> dict[str, dict[float, list[float]]]:
    """Return for each Pollux and each C² the ratios of its mean JCT over BOA's at equal bill, one per seed.

    Unknown ratios are NaN. Keys are C², seed, and policy; each BOA is followed by the Polluxes of its arrivals.
    """
    found: dict[str, dict[float, list[float]]] = {}
    for key, curve in curves.items():
        if key[-1] == "boa":
            boa = curve
            continue
        c2 = key[0]
        assert isinstance(c2, float)
        values = found.setdefault(curve.label, {}).setdefault(c2, [])
        values.append(max(factors(curve, boa), default=float("nan")))
    return found


def ratio(over: float | None, under: float | None) -> float | None:
    """Return a ratio; `None` if either value is unknown."""
    return None if over is None or under is None else over / under


def few(context: Context, values: Sequence[Any]) -> Sequence[Any]:
    """Return the values to run; for a quick run only the first and the last."""
    return values[:: max(1, len(values) - 1)] if context.quick else values


def draw_workload(context: Context, trace: Path, **said: Any) -> Instance:
    return _read(trace, QUICK_JOBS if context.quick else None, tuple(sorted(said.items())))


@lru_cache(maxsize=1024)
def _read(trace: Path, limit: int | None, said: tuple[tuple[str, Any], ...]) -> Instance:
    return trace_renting(trace, limit=limit, **dict(said))
