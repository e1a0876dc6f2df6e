"""Curves of policies in the renting world, completion time against the bill: runs over budgets or aims on a trace."""

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
    """How Pollux is read, in words and as parameters.

    `fitted`: neither policy knows the true speedups, both begin with a fitted model; `learning`: who mends it by what
    was run.
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
class PolicyCurve:
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


Curves = dict[tuple[Hashable, ...], PolicyCurve]
"""Curves by what they are of."""


def at(x: float, points: Iterable[tuple[float, float]]) -> float | None:
    """The value at `x`, linear between two points; `None` outside of them."""
    found = sorted(points)
    if not found or not found[0][0] <= x <= found[-1][0]:
        return None
    return float(np.interp(x, [a for a, _ in found], [b for _, b in found]))


def budgeted(
    context: Context, trace: Path, policy: str = "exact", over: Sequence[float] = OVER_LOAD, **said: Any
) -> PolicyCurve:
    """A policy that is given a budget, at several multiples of the load."""
    data = drawn(context, trace, **said).data
    assert isinstance(data, BoaRenting)
    load = data.budget_gpus / 1.25
    files = [drawn(context, trace, budget=m * load, **said) for m in few(context, over)]
    return PolicyCurve(policy, tuple(Simulation(file, policy, context.options) for file in files))


def autoscaled(
    context: Context,
    trace: Path,
    objective: str,
    aims: Sequence[float] = EFFICIENCIES[1:-1],
    reading: Reading = MOMENT,
    **said: Any,
) -> PolicyCurve:
    """Pollux with autoscaling, at several aims."""
    file = drawn(context, trace, **said)
    policies = [pollux_name(objective, c, reading.window, reading.profiled) for c in few(context, aims)]
    tasks = tuple(Simulation(file, policy, context.options) for policy in policies)
    label = f"pollux-as-{objective}" + ("" if reading == MOMENT else f", {reading.label}")
    return PolicyCurve(label, tasks)


def tasks_of(curves: Iterable[PolicyCurve]) -> list[Simulation]:
    """The tasks of some curves, in order."""
    return [task for curve in curves for task in curve.tasks]


def with_points(curves: Iterable[PolicyCurve], outcomes: Sequence[Simulated]) -> list[PolicyCurve]:
    """The curves with the points of their outcomes, which are in the order of the tasks."""
    found, place = [], 0
    for curve in curves:
        mine = outcomes[place : place + len(curve.tasks)]
        place += len(curve.tasks)
        found.append(replace(curve, points=tuple(Point.of(run) for run in mine)))
    return found


def pointed(curves: Curves, outcomes: Sequence[Simulated]) -> Curves:
    """The same of curves by name."""
    return dict(zip(curves, with_points(curves.values(), outcomes), strict=True))


def factors(slow: PolicyCurve, fast: PolicyCurve, what: str = "mean") -> list[float]:
    """How many times as long jobs take under `slow`, at each bill of a run of either for which both have a time.

    Between two such bills both are linear, so that the greatest factor of all is among these.
    """
    bills = sorted({point.rented for curve in (slow, fast) for point in curve.points})
    found = [(slow.at(rented, what), fast.at(rented, what)) for rented in bills]
    return [over / under for over, under in found if over is not None and under is not None]


def budget_factors(slow: PolicyCurve, fast: PolicyCurve) -> list[float]:
    """How many times as many GPUs `slow` rents, at each mean completion time of either that both reach."""
    times = sorted({point.mean for curve in (slow, fast) for point in curve.points})
    found = [(slow.rented_at(time), fast.rented_at(time)) for time in times]
    return [over / under for over, under in found if over is not None and under is not None]


def burst_factors(curves: Curves) -> dict[str, dict[float, list[float]]]:
    """For each Pollux and each C² the factors of its mean JCT over BOA's at equal bill, one a seed, NaN for unknown.

    Keys are C², seed, and who; each BOA is followed by the Polluxes of its arrivals.
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
    """A ratio, where both are known."""
    return None if over is None or under is None else over / under


def few(context: Context, values: Sequence[Any]) -> Sequence[Any]:
    """The values of which runs are made: where few runs will do the first and the last."""
    return values[:: max(1, len(values) - 1)] if context.quick else values


def drawn(context: Context, trace: Path, **said: Any) -> Instance:
    return _read(trace, QUICK_JOBS if context.quick else None, tuple(sorted(said.items())))


@lru_cache(maxsize=1024)
def _read(trace: Path, limit: int | None, said: tuple[tuple[str, Any], ...]) -> Instance:
    return trace_renting(trace, limit=limit, **dict(said))
