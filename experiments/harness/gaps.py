"""Compute gaps from results: the gap to the proven optimum, the gap to the best bound, and a solver's own gap.

gap to optimum = |objective - optimum| / |optimum|, the excess over a proven optimum;
gap to bound = |objective - bound| / |objective|, if no optimum is proven: an upper estimate of the first kind;
own gap = the same between a method's objective and the bound it proved itself.

A relative gap to an optimum or an objective of 0 exists only if the other value is 0, too. Otherwise the reason is
reported instead of a gap.

The objective of a problem may be a part of a measure (SIA's delay is a part of the completion times). Then the first
two gaps are also computed in that measure.

The checker computes every objective, so it is a fact. A bound is a claim. If a checked solution beats a bound, the
bound is false, and its claimant is in error. The optimum is proven if the best objective meets the best bound, even if
different methods found them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from experiments.harness.run import Run
from instances import Reference, Result, agree, better, gap
from instances.fields import Measure, Sense
from instances.gaps import ahead, is_gap_meaningless

THE_REFERENCE = "the reference"
UNSOLVED = ("error", "no_solution", "infeasible")
"""Statuses of runs that ended without a solution."""

Key = tuple[str, str]
"""Instance set and name of an instance."""


@dataclass(frozen=True)
class Known:
    """The best objective and bound of one instance in a study, their methods, and the refuted claims.

    `refuted` maps a claimant, a method or the instance's reference, to the reason.
    """

    objective: float | None
    found_by: str
    bound: float | None
    bound_by: str
    refuted: dict[str, str]

    @property
    def proven(self) -> bool:
        """Return whether the objective is proven optimal."""
        return self.objective is not None and self.bound is not None and agree(self.objective, self.bound)


@dataclass(frozen=True)
class Scored:
    """One run with its gaps; a gap is `None` if there is no value to compare with.

    - `proven`: whether the run's solution is optimal, by the bound of `bound_by`, which may be another method.
    - `nothing`: the denominator of the gap, `optimum` or `objective`, if it is 0 and there is therefore no gap.
    - `measure_gap_to_optimum`, `measure_gap_to_bound`: the gaps in the problem's measure.
    - `part`, `best_part`: the part of the measure that is the objective, of this run and of the proven optimum.
    """

    run: Run
    result: Result
    gap_to_optimum: float | None = None
    gap_to_bound: float | None = None
    proven: bool = False
    bound_by: str = ""
    nothing: str = ""
    measure_gap_to_optimum: float | None = None
    measure_gap_to_bound: float | None = None
    part: float | None = None
    best_part: float | None = None

    @property
    def key(self) -> Key:
        """Return the instance's key among the instances of one problem."""
        return self.run.instance_set, self.run.instance.name

    @property
    def measure(self) -> Measure | None:
        """Return the measure of the run's problem."""
        return self.run.instance.data.measure

    @property
    def display_gap_to_optimum(self) -> float | None:
        """Return the reported gap to the optimum: in the measure, if the problem has one."""
        return self.gap_to_optimum if self.measure is None else self.measure_gap_to_optimum

    @property
    def display_gap_to_bound(self) -> float | None:
        """Return the reported gap to the best bound: in the measure, if the problem has one."""
        return self.gap_to_bound if self.measure is None else self.measure_gap_to_bound

    @property
    def has_gap(self) -> bool:
        """Return whether there is a reported gap; on one instance it is of the same kind for all methods."""
        return self.display_gap_to_optimum is not None or self.display_gap_to_bound is not None

    @property
    def optimum_known(self) -> bool:
        """Return whether the run is compared with a proven optimum."""
        return self.gap_to_optimum is not None or self.nothing == "optimum"

    @property
    def has_failed(self) -> bool:
        """Return whether the run ended in an error, or its bound is refuted."""
        return self.result.status == "error"

    @property
    def unsolved(self) -> bool:
        """Return whether the run ended without a solution."""
        return self.result.status in UNSOLVED


@dataclass(frozen=True)
class MethodSummary:
    """One line of the study's table: the runs of a method on an instance set, `scored`.

    - `instances`: number of instances of the set.
    - `everywhere`: the instances on which any method has a gap. An optimum of 0 excludes an instance.
    - `alike`: the instances on which every method with any gap has one.
    - `whole`: whether the method has a gap `everywhere`, so that its means are comparable.
    """

    problem: str
    instance_set: str
    method: str
    scored: tuple[Scored, ...]
    instances: int
    everywhere: frozenset[Key]
    alike: frozenset[Key]
    whole: bool

    def values(self, name: str, keys: Collection[Key] | None = None) -> tuple[float, ...]:
        """Return the known values of a field of the runs, or of those on the instances `keys`."""
        values = (getattr(s, name) for s in self.scored if keys is None or s.key in keys)
        return tuple(value for value in values if value is not None)

    def describe(self, values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
        """Return mean, median and maximum; `None` without values, or if other methods have gaps on more instances."""
        return (fmean(values), median(values), max(values)) if values and self.whole else (None, None, None)

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return len(self.scored)

    @property
    def proven(self) -> int:
        """Return the number of runs whose solution is proven optimal."""
        return sum(s.proven for s in self.scored)

    @property
    def measure(self) -> Measure | None:
        """Return the measure of the problem, if it has one."""
        return self.scored[0].measure

    @property
    def cpu_s(self) -> tuple[float, ...]:
        """Return the CPU seconds of the runs, if they are known."""
        return tuple(s.result.cpu_s for s in self.scored if s.result.cpu_s is not None)

    @property
    def gaps(self) -> tuple[float, ...]:
        """Return the gaps to the optimum, in the objective."""
        return self._to_optimum("gap_to_optimum")

    @property
    def display_gaps(self) -> tuple[float, ...]:
        """Return the reported gaps to the optimum: in the measure, if the problem has one."""
        return self._to_optimum("display_gap_to_optimum")

    @property
    def display_gaps_to_bound(self) -> tuple[float, ...]:
        """Return the reported gaps to the best bound: in the measure, if the problem has one."""
        return self.values("display_gap_to_bound")

    @property
    def common(self) -> tuple[float, ...]:
        """Return the reported gaps to the optimum on the instances on which every method with any gap has one."""
        return self.values("display_gap_to_optimum", self.alike)

    @property
    def common_to_bound(self) -> tuple[float, ...]:
        """Return the reported gaps to the best bound on the same instances."""
        return self.values("display_gap_to_bound", self.alike)

    def _to_optimum(self, name: str) -> tuple[float, ...]:
        own = self.everywhere.intersection(s.key for s in self.scored)
        return self.values(name, own or None)

    @property
    def partial(self) -> bool:
        """Return whether the method has gaps, but on fewer instances than other methods of its set."""
        return not self.whole and bool(self.gaps or self.values("gap_to_bound"))

    @property
    def notes(self) -> str:
        """Describe the runs that the figures leave out."""
        notes, to_bound, statuses = [], self.values("gap_to_bound"), [s.result.status for s in self.scored]
        if to_bound and len(to_bound) < self.runs:
            notes.append(f"to bound over {len(to_bound)} of {self.runs}")
        nothing = Counter(s.nothing for s in self.scored if s.nothing and s.measure is None)
        notes += [f"{times} without a gap: {what} 0" for what, times in nothing.items()]
        if violating := statuses.count("violates"):
            notes.append(f"{violating} break a constraint")
        if failed := sum(status in UNSOLVED for status in statuses):
            notes.append(f"{failed} without a solution")
        return ", ".join(notes)


def score(finished: Sequence[tuple[Run, Result]]) -> list[Scored]:
    """Compute the gaps of every run, from the best values of all runs and references of its instance.

    A result becomes an error if another solution refutes its bound.
    """
    known = {key: _find_known(group) for key, group in group_by_instance(finished).items()}
    return [_score(run, result, known[_key(run)]) for run, result in finished]


def false_references(finished: Sequence[tuple[Run, Result]]) -> list[str]:
    """Return a line for each instance whose reference the runs refute."""
    lines = []
    for (_, _, name), group in group_by_instance(finished).items():
        reason = _find_known(group).refuted.get(THE_REFERENCE)
        if reason is not None:
            lines.append(f"{name}: {reason}")
    return lines


def _key(run: Run) -> tuple[str, str, str]:
    return run.instance.problem, run.instance_set, run.instance.name


def group_by_instance(
    finished: Sequence[tuple[Run, Result]],
) -> dict[tuple[str, str, str], list[tuple[Run, Result]]]:
    """Group the runs by problem, instance set and name of the instance."""
    instances: dict[tuple[str, str, str], list[tuple[Run, Result]]] = {}
    for run, result in finished:
        instances.setdefault(_key(run), []).append((run, result))
    return instances


def _find_known(group: Sequence[tuple[Run, Result]]) -> Known:
    return find_known([result for _, result in group], group[0][0].instance.reference)


def find_known(results: Sequence[Result], reference: Reference | None = None) -> Known:
    """Return the best objective and bound of one instance, from its results and its reference, if any."""
    sense = results[0].sense
    best = min if sense == "minimize" else max
    solved = [(r.objective, r.method) for r in results if r.solved and r.objective is not None]
    objective, found_by = best(solved, default=(None, ""))
    bounds = [(r.bound, r.method) for r in results if r.bound is not None]
    if reference is not None and reference.bound is not None:
        bounds.append((reference.bound, THE_REFERENCE))
    refuted = {}
    for value, claimant in bounds:
        if objective is not None and better(objective, value, sense):
            refuted[claimant] = (
                f"objective {objective!r} of {found_by} is better than the bound {value!r} of {claimant}"
            )
    tightest = max if sense == "minimize" else min
    bound, bound_by = tightest(((b, by) for b, by in bounds if by not in refuted), default=(None, ""))
    if reference is not None and _adds(reference, objective, bound, bound_by, sense, refuted):
        objective, found_by = reference.objective, THE_REFERENCE
    return Known(objective, found_by, bound, bound_by, refuted)


def _adds(
    reference: Reference,
    objective: float | None,
    bound: float | None,
    bound_by: str,
    sense: Sense,
    refuted: dict[str, str],
) -> bool:
    """Return whether the reference's objective is better than the results' and proven by its own bound.

    If a bound of the results contradicts the reference, this adds the reason to `refuted`.
    """
    said = reference.objective
    if said is None or THE_REFERENCE in refuted:
        return False
    if bound is not None and better(said, bound, sense):
        refuted[THE_REFERENCE] = (
            f"objective {said!r} of {THE_REFERENCE} is better than the bound {bound!r} of {bound_by}"
        )
        return False
    proven = reference.bound is not None and agree(said, reference.bound)
    return proven and ahead(said, objective, sense)


def _score(run: Run, result: Result, known: Known) -> Scored:
    objective, sense = result.objective, result.sense
    if result.method in known.refuted and result.bound is not None:
        reason = known.refuted[result.method]
        return Scored(run, result.model_copy(update={"status": "error", "gap": None, "reason": reason}))
    if objective is None or not result.solved:
        return Scored(run, result)
    measure = run.instance.data.measure
    part = None if measure is None else measure.part_of(objective)
    if known.proven:
        best = known.objective
        assert best is not None
        assert known.bound is not None
        excess, nothing = _share(best, objective, _opposite(sense)), is_gap_meaningless(best, objective)
        proven, why = agree(objective, known.bound), "optimum" if nothing else ""
        found = Scored(run, result, excess, None, proven, known.bound_by, why, part=part)
        if measure is None:
            return found
        whole = _share(measure.of(best), measure.of(objective), _opposite(sense))
        return replace(found, measure_gap_to_optimum=whole, best_part=measure.part_of(best))
    bound = known.bound
    if bound is not None:  # within the tolerance of a contradiction the bound is met
        bound = min(bound, objective) if sense == "minimize" else max(bound, objective)
    why = "objective" if is_gap_meaningless(objective, bound) else ""
    found = Scored(run, result, None, _share(objective, bound, sense), False, known.bound_by, why, part=part)
    if measure is None or bound is None:
        return found
    return replace(found, measure_gap_to_bound=_share(measure.of(objective), measure.of(bound), sense))


def _share(base: float, other: float | None, sense: Sense) -> float | None:
    """Return the gap relative to `base`; `None` if it is undefined."""
    return None if is_gap_meaningless(base, other) else gap(base, other, sense)


def _opposite(sense: Sense) -> Sense:
    return "maximize" if sense == "minimize" else "minimize"


def summarise(scored: Iterable[Scored]) -> list[MethodSummary]:
    """Return one row for each problem, instance set and method, in the order of the runs."""
    sets: dict[tuple[str, str], dict[str, list[Scored]]] = {}
    for s in scored:
        sets.setdefault((s.result.problem, s.key[0]), {}).setdefault(s.result.method, []).append(s)
    return [row for (problem, name), methods in sets.items() for row in _rows(problem, name, methods)]


def _rows(problem: str, instance_set: str, methods: Mapping[str, Sequence[Scored]]) -> Iterator[MethodSummary]:
    every = [s for group in methods.values() for s in group]
    bare = {s.key for s in every if s.nothing == "optimum" and s.measure is None}
    known = {method: frozenset(s.key for s in group if s.has_gap) - bare for method, group in methods.items()}
    everywhere: frozenset[Key] = frozenset().union(*known.values())
    alike = everywhere.intersection(*(keys for keys in known.values() if keys))
    instances = len({s.key for s in every})
    for method, group in methods.items():
        whole = known[method] == everywhere
        yield MethodSummary(problem, instance_set, method, tuple(group), instances, everywhere, alike, whole)
