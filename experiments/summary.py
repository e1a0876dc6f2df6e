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

AGREE = 1e-6  # relative: how far an objective may be beyond another method's bound by the solvers' tolerances


@dataclass(frozen=True)
class Known:
    """What a study knows of one instance: the best objective, whether it is proven, the best bound and whose it is."""

    objective: float | None
    proven: bool
    bound: float | None
    bound_of: str


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

    A result that is better than the bound of another, or of the reference, becomes an error: one of the two is wrong.
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
    bounds = {r.method: r.bound for r in results if r.bound is not None}
    objectives = [r.objective for r in results if r.solved and r.objective is not None]
    proven = any(r.status == "optimal" for r in results)
    if reference is not None and reference.bound is not None:
        bounds["the reference"] = reference.bound
        if reference.objective is not None and abs(reference.objective - reference.bound) <= _slack(reference.bound):
            objectives.append(reference.objective)
            proven = True
    bound_of = tightest(bounds, key=bounds.__getitem__, default="")
    return Known(best(objectives, default=None), proven, bounds.get(bound_of), bound_of)


def _score(run: Run, result: Result, known: Known) -> Scored:
    objective, sense = result.objective, result.sense
    if objective is None or not result.solved:
        return Scored(run, result, None, None)
    if known.bound is not None:
        ahead = known.bound - objective if sense == "minimize" else objective - known.bound
        if ahead > _slack(known.bound):
            reason = f"objective {objective!r} is better than the bound {known.bound!r} of {known.bound_of}"
            return Scored(run, result.model_copy(update={"status": "error", "reason": reason}), None, None)
    if known.proven:
        return Scored(run, result, gap(known.objective, objective, _opposite(sense)), None)
    bound = known.bound
    if bound is not None:  # within the tolerance of a contradiction the bound is met
        bound = min(bound, objective) if sense == "minimize" else max(bound, objective)
    return Scored(run, result, None, gap(objective, bound, sense))


def _slack(value: float) -> float:
    return AGREE * max(1.0, abs(value))


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
