"""From results to gaps. Three gaps are told apart: to the proven optimum, to the best bound, and a solver's own.

gap to optimum = |objective - optimum| / |optimum|, the excess over a proven optimum;
gap to bound = |objective - bound| / |objective|, where no optimum is proven: an upper estimate of the first kind;
own gap = the same between a method's objective and the bound it proved itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from experiments.runner import Run
from instances import Reference, Result, gap
from instances.fields import Sense

AGREE = 1e-6  # relative: proven optima of two methods may differ by their tolerances


@dataclass(frozen=True)
class Known:
    """What a study knows of one instance: a proven optimum, or else the best bound, or neither."""

    optimum: float | None
    bound: float | None


@dataclass(frozen=True)
class Scored:
    """One run with its gaps; `None` where there is nothing to compare with."""

    run: Run
    result: Result
    gap_to_optimum: float | None
    gap_to_bound: float | None


@dataclass(frozen=True)
class Row:
    """One line of the study's table: an instance set and a method."""

    problem: str
    instance_set: str
    method: str
    runs: int
    gaps: tuple[float, ...]
    gaps_to_bound: tuple[float, ...]
    own_gaps: tuple[float, ...]
    proven: int
    violating: int
    failed: int
    cpu_s: tuple[float, ...]

    def describe(self, values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
        """Mean, median and maximum, `None` of no values."""
        return (fmean(values), median(values), max(values)) if values else (None, None, None)


def score(finished: Sequence[tuple[Run, Result]]) -> list[Scored]:
    """Gaps of every run, from what all the runs together, and the instances' references, know of its instance.

    A result that contradicts a proof (two proven optima apart, a heuristic better than an optimum) becomes an error.
    """
    instances: dict[tuple[str, str], list[tuple[Run, Result]]] = {}
    for run, result in finished:
        instances.setdefault((run.instance_set, run.instance.name), []).append((run, result))
    known = {key: _known([r for _, r in group], group[0][0].instance.reference) for key, group in instances.items()}
    return [_score(run, result, known[run.instance_set, run.instance.name]) for run, result in finished]


def _known(results: Sequence[Result], reference: Reference | None) -> Known:
    sense = results[0].sense
    best = min if sense == "minimize" else max
    tightest = max if sense == "minimize" else min
    optima = [r.objective for r in results if r.status == "optimal" and r.objective is not None]
    bounds = [r.bound for r in results if r.bound is not None]
    if reference is not None and reference.bound is not None:
        bounds.append(reference.bound)
        if reference.objective is not None and _close(reference.objective, reference.bound):
            optima.append(reference.objective)
    return Known(best(optima) if optima else None, tightest(bounds) if bounds else None)


def _score(run: Run, result: Result, known: Known) -> Scored:
    objective, sense = result.objective, result.sense
    if objective is None or not result.solved:
        return Scored(run, result, None, None)
    if known.optimum is not None:
        short = objective - known.optimum if sense == "minimize" else known.optimum - objective
        contradicts = short < -AGREE * max(1.0, abs(known.optimum))
        contradicts |= result.status == "optimal" and not _close(objective, known.optimum, result)
        if contradicts:
            return _contradiction(run, result, known.optimum)
        return Scored(run, result, 0.0 if short <= 0 else gap(known.optimum, objective, _opposite(sense)), None)
    return Scored(run, result, None, gap(objective, known.bound, sense))


def _contradiction(run: Run, result: Result, optimum: float) -> Scored:
    reason = f"objective {result.objective!r} contradicts the proven optimum {optimum!r}"
    return Scored(run, result.model_copy(update={"status": "error", "reason": reason}), None, None)


def _close(a: float, b: float, result: Result | None = None) -> bool:
    asked = float(result.options.get("gap", AGREE)) if result is not None else AGREE
    return abs(a - b) <= max(AGREE, 2 * asked) * max(1.0, abs(a), abs(b))


def _opposite(sense: Sense) -> Sense:
    return "maximize" if sense == "minimize" else "minimize"


def summarise(scored: Iterable[Scored]) -> list[Row]:
    """One row for each problem, instance set and method, in the order of the runs."""
    groups: dict[tuple[str, str, str], list[Scored]] = {}
    for s in scored:
        groups.setdefault((s.result.problem, s.run.instance_set, s.result.method), []).append(s)
    return [
        Row(
            problem,
            instance_set,
            method,
            runs=len(group),
            gaps=tuple(s.gap_to_optimum for s in group if s.gap_to_optimum is not None),
            gaps_to_bound=tuple(s.gap_to_bound for s in group if s.gap_to_bound is not None),
            own_gaps=tuple(s.result.gap for s in group if s.result.gap is not None),
            proven=sum(s.result.status == "optimal" for s in group),
            violating=sum(s.result.status == "violates" for s in group),
            failed=sum(s.result.status in ("error", "no_solution", "infeasible") for s in group),
            cpu_s=tuple((s.result.build_s or 0.0) + s.result.solve_s for s in group if s.result.solve_s is not None),
        )
        for (problem, instance_set, method), group in groups.items()
    ]
