"""The runs behind the figures of section 6: policies over budgets and aims on a trace, and what is read from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness.experiment import Context
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from heuristics.boa.online import EFFICIENCIES
from instances import Instance
from instances.boa import BoaRenting, TwoRates, trace_renting

NEW = "boa/newtrace.csv"
OVER_LOAD = (1.15, 1.3, 1.5, 1.75, 2.1, 2.6)
"""Budgets, as multiples of the load."""
FIXED = (1.3, 1.75)
"""Sizes of the clusters of Pollux without autoscaling, as multiples of the load."""
OBJECTIVES = ("sum", "mean")
"""Of Pollux."""
BURSTS = (1.0, 2.65, 10.0, 20.0)
"""C² of the times between arrivals."""
SEEDS = range(20)
AIMS_AT_120 = {"sum": (0.7,), "mean": (0.8,)}
"""With these aims Pollux with autoscaling rents about 120 GPUs on newTrace."""
QUICK_JOBS = 60
HOUR = 3600.0


@dataclass(frozen=True)
class Point:
    """A run as a point: rented GPUs, mean and 95th percentile of completion times, hours."""

    rented: float
    mean: float
    p95: float
    run: Simulated

    @classmethod
    def of(cls, run: Simulated) -> Point:
        """The point of a run."""
        jct = run.jobs_table()["jct"] / HOUR
        return cls(run.totals["rented_gpus"], float(jct.mean()), float(jct.quantile(0.95)), run)


@dataclass(frozen=True)
class Curve:
    """The runs of a policy on a trace over budgets, or over what it aims at: tasks, whose outcomes make it a curve."""

    label: str
    tasks: tuple[Simulation, ...]
    points: tuple[Point, ...] = ()

    def at(self, rented: float, what: str = "mean") -> float | None:
        """The completion time at so many rented GPUs, linear between two points; `None` outside of them."""
        return at(rented, [(p.rented, getattr(p, what)) for p in self.points])

    def total_at(self, rented: float, name: str) -> float | None:
        """A total of the runs at so many rented GPUs, linear between two points; `None` outside of them."""
        return at(rented, [(p.rented, p.run.totals[name]) for p in self.points])

    def rented_at(self, mean: float) -> float | None:
        """The rented GPUs that a mean completion time takes, linear between two points; `None` outside of them."""
        return at(mean, [(p.mean, p.rented) for p in self.points])


def at(x: float, points: Iterable[tuple[float, float]]) -> float | None:
    """The value at `x`, linear between two points; `None` outside of them."""
    found = sorted(points)
    if not found or not found[0][0] <= x <= found[-1][0]:
        return None
    return float(np.interp(x, [a for a, _ in found], [b for _, b in found]))


def fixed_widths(
    context: Context, trace: Path, policy: str = "exact", over: Sequence[float] = OVER_LOAD, **said: Any
) -> Curve:
    """A policy that is given a budget, at several."""
    data = _workload(context, trace, **said).data
    assert isinstance(data, BoaRenting)
    load = data.budget_gpus / 1.25
    files = [_workload(context, trace, budget=m * load, **said) for m in few(context, over)]
    return Curve(policy, tuple(Simulation(file, policy, context.options) for file in files))


def autoscaled(
    context: Context, trace: Path, objective: str, aims: Sequence[float] = EFFICIENCIES[1:-1], **said: Any
) -> Curve:
    """Pollux with autoscaling, at several aims."""
    file = _workload(context, trace, **said)
    policies = [f"pollux-as-{objective}-{c:g}" for c in few(context, aims)]
    return Curve(f"pollux-as-{objective}", tuple(Simulation(file, policy, context.options) for policy in policies))


def tasks_of(curves: Iterable[Curve]) -> list[Simulation]:
    """The tasks of some curves, in order."""
    return [task for curve in curves for task in curve.tasks]


def with_points(curves: Iterable[Curve], outcomes: Sequence[Simulated]) -> list[Curve]:
    """The curves with the points of their outcomes, which are in the order of the tasks."""
    found, place = [], 0
    for curve in curves:
        mine = outcomes[place : place + len(curve.tasks)]
        place += len(curve.tasks)
        found.append(Curve(curve.label, curve.tasks, tuple(Point.of(run) for run in mine)))
    return found


def factors(slow: Curve, fast: Curve, what: str = "mean") -> list[float]:
    """How many times as long jobs take under `slow`, at each of its points that `fast` has a time for."""
    found = []
    for point in slow.points:
        time = fast.at(point.rented, what)
        if time is not None:
            found.append(getattr(point, what) / time)
    return found


def budget_factors(dear: Curve, cheap: Curve) -> list[float]:
    """How many times as many GPUs `dear` rents, at each of its completion times that `cheap` reaches."""
    pairs = [(point.rented, cheap.rented_at(point.mean)) for point in dear.points]
    return [rented / other for rented, other in pairs if other is not None]


def ratio(over: float | None, under: float | None) -> float | None:
    """A ratio, where both are known."""
    return None if over is None or under is None else over / under


def bursts_of(context: Context) -> list[tuple[float, int]]:
    """The C² and seeds of the bursts that are run: those that newTrace's rate of jobs can have."""
    data = _workload(context, context.trace(NEW)).data
    assert isinstance(data, BoaRenting)
    greatest = TwoRates.greatest_c2(sum(c.arrivals_per_hour for c in data.classes))
    reached = [c2 for c2 in BURSTS if c2 <= greatest]
    return [(c2, seed) for c2 in few(context, reached) for seed in (SEEDS[:1] if context.quick else SEEDS)]


def burst_factors(context: Context, curves: Sequence[Curve]) -> dict[str, dict[float, list[float]]]:
    """For each objective and C² the factors of Pollux's mean JCT over BOA's at equal bill, one a seed."""
    found: dict[str, dict[float, list[float]]] = {objective: {} for objective in OBJECTIVES}
    for place, (c2, _) in enumerate(bursts_of(context)):
        boa, *pollux = curves[3 * place : 3 * place + 3]
        for objective, curve in zip(OBJECTIVES, pollux, strict=True):
            found[objective].setdefault(c2, []).extend(factors(curve, boa))
    return found


def _workload(context: Context, trace: Path, **said: Any) -> Instance:
    return _drawn(trace, QUICK_JOBS if context.quick else None, tuple(sorted(said.items())))


@lru_cache(maxsize=1024)
def _drawn(trace: Path, limit: int | None, said: tuple[tuple[str, Any], ...]) -> Instance:
    return trace_renting(trace, limit=limit, **dict(said))


def few(context: Context, values: Sequence[Any]) -> Sequence[Any]:
    """The values of which runs are made: where few runs will do the first and the last."""
    return values[:: max(1, len(values) - 1)] if context.quick else values
