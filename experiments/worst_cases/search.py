"""Search for the worst case by enumeration of a size or by walks; then reduce the case to a smaller one."""

from __future__ import annotations

import itertools
import random
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pydantic import Field

from experiments.harness.entry import Entry
from experiments.harness.task import Digests, Reported, ReportFile, Whole, WholeTask
from experiments.worst_cases.case import ENOUGH_S, Case, Judge, Optima
from experiments.worst_cases.space import Chosen, Space, list_every
from experiments.worst_cases.walk import Walk
from instances import Options
from instances.fields import Frozen
from instances.result import Termination, versions

KEPT = 200  # cases that a part of a search returns, to separate bad cases from good ones
SAMPLED = 20  # cases of a part of an enumeration that are evaluated even if they cannot be the worst


class Part(Frozen):
    """A part of a search: the instances of `size` from the index `first` to before `last`, in order.

    With a `seed`, the part is a walk of `steps` steps instead.
    """

    size: int
    first: int = 0
    last: int | None = None
    seed: int | None = None
    steps: int = 0
    start: Chosen | None = None
    keep: float | None = None


class Found(Whole):
    """The result of a part of a search.

    - `cases`: the worst cases, the worst first; `others`: a uniform sample of all cases.
    - `calls`, `proofs`: numbers of calls of the heuristic and of the exact method.
    - `dominated`: number of instances that a bound on the unknown optimum shows to be no worse than the worst.
    - `bounds`: bounds on the optima of an enumeration, in its order.
    - `complete`: whether the part is done.
    """

    cases: list[Case] = Field(default_factory=list)
    others: list[Case] = Field(default_factory=list)
    calls: int = 0
    proofs: int = 0
    unproven: int = 0
    nothing: int = 0
    dominated: int = 0
    bounds: list[float | None] = Field(default_factory=list)
    complete: bool = False

    def line(self) -> str:
        """Return a line with the worst case of this part so far."""
        if self.status == "error" and not self.cases:
            return super().line()
        worst = self.cases[0] if self.cases else None
        said = "no case" if worst is None else worst.broken or f"{worst.gap:.2%} above the optimum"
        return f"{self.workload}: {said}; {self.calls:,} instances"


@dataclass(frozen=True)
class WorstCaseTask(WholeTask[Found]):
    """Evaluate a heuristic on instances of a space in a separate process, to find bad ones."""

    outcome_type = Found

    space: Space
    heuristic: Entry
    exact: Entry
    options: Options

    @property
    def time_limit(self) -> float | None:
        return self.options.time_limit

    @property
    def modules(self) -> tuple[str, ...]:
        return (*(entry.target.partition(":")[0] for entry in self._ours()), type(self).__module__)

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(sorted(f"{self.space.problem} {entry.name}" for entry in self._ours()))

    def _ours(self) -> list[Entry]:
        return [entry for entry in (self.exact, self.heuristic) if not entry.is_by_user]

    @property
    @abstractmethod
    def where(self) -> dict[str, Any]:
        """Return the inputs of the outcome in addition to space and heuristic."""

    def content(self, digests: Digests) -> dict[str, Any]:
        return {
            **self.where,
            "space": self.space.content(),
            "method": self.heuristic.target,
            "versions": versions(),
            "source": digests.source(self.heuristic.target, self.heuristic.code) if self.heuristic.is_by_user else None,
        }


@dataclass(frozen=True)
class Search(WorstCaseTask):
    """Run a part of a search for the worst case of a heuristic.

    `bounds`: bounds on the optima of smaller instances.
    """

    part: Part
    bounds: Mapping[Chosen, float | None] = field(default_factory=dict, repr=False)

    def label(self) -> tuple[str, str]:
        part, said = self.part, ""
        if part.start is not None:
            said = ", made smaller"
        elif part.seed is not None:
            said = f", seed {part.seed}"
        elif part.last is not None:
            said = f", instances {part.first + 1:,} to {part.last:,}"
        return f"size {part.size}{said}", self.heuristic.name

    def work(self, report: ReportFile) -> Found:
        worst: list[Case] = []

        def about(chosen: Chosen | None) -> None:
            report.begin((chosen, worst[:1], judge.clock.remaining_s))

        judge = Judge(self.space, self.heuristic, Optima(self.space, self.exact, self.options, self.bounds), about)
        seen, part, whole = Seen(worst, random.Random(0)), self.part, False
        if part.start is not None:
            done = smaller(judge, part.start, part.keep or 0.0, seen)
        elif part.seed is not None:
            done = search_part(judge, self.heuristic.name, part, seen)
        else:
            done, whole = enumerate_part(judge, part, seen), True
        return self.build_outcome(
            "finished",
            cases=seen.worst,
            others=seen.others,
            calls=judge.calls,
            proofs=judge.optima.proofs,
            unproven=judge.optima.unproven,
            nothing=judge.nothing,
            dominated=seen.dominated,
            bounds=[judge.optima.bound_below(chosen) for chosen in instances_of(self.space, part)] if whole else [],
            complete=done,
        )

    def conclude_early(self, reported: Reported, termination: Termination, reason: str) -> Found:
        """Report that the heuristic breaks on the current instance if it had enough time but did not answer."""
        if reported.about is None:
            return super().conclude_early(reported, termination, reason)
        chosen, known, left = reported.about
        if chosen is None or termination == "interrupted" or left < ENOUGH_S:
            return self.build_outcome("finished", cases=known, calls=len(known))
        said = f"did not answer within {left:.3g} CPU s" if termination == "killed" else reason
        return self.build_outcome("finished", cases=[Case(chosen=chosen, broken=said), *known], calls=1)

    @property
    def where(self) -> dict[str, Any]:
        return {"worst": self.part.model_dump(mode="json")}


class Seen:
    """Collect the cases of a search: the worst, sorted, and a uniform sample of all."""

    def __init__(self, worst: list[Case], rng: random.Random) -> None:
        self.worst, self._rng, self._number = worst, rng, 0
        self.dominated = 0
        self.others: list[Case] = []

    def add(self, case: Case | None) -> None:
        """Add a case; `None` is ignored."""
        if case is None:
            return
        self._number += 1
        if not self.worst or case.rank < self.worst[-1].rank or len(self.worst) < KEPT:
            self.worst.append(case)
            self.worst.sort(key=lambda case: case.rank)
            del self.worst[KEPT:]
        if len(self.others) < KEPT:
            self.others.append(case)
        elif (place := self._rng.randrange(self._number)) < KEPT:
            self.others[place] = case


def instances_of(space: Space, part: Part) -> Iterator[Chosen]:
    """Yield the instances of a part, in order."""
    return itertools.islice(list_every(space.things, part.size), part.first, part.last)


def enumerate_part(judge: Judge, part: Part, seen: Seen) -> bool:
    """Evaluate all instances of a part and return whether this ended before the time limit.

    A sample comes first, then the other instances by the upper bound on their gap, the largest first. The enumeration
    stops once no bound exceeds the worst proven gap.
    """
    left = []
    for chosen in instances_of(judge.space, part):
        if judge.clock.has_expired:
            return False
        case = judge.alone(chosen)
        if case is not None and case.broken is not None:
            seen.add(case)
        elif case is not None:
            left.append((judge.bound_gap(case), case))
    sampled = {case.chosen for _, case in random.Random(part.first).sample(left, min(SAMPLED, len(left)))}
    left.sort(key=lambda one: (one[1].chosen not in sampled, one[0] is not None, -(one[0] or 0), one[1].chosen))
    worst = Fraction(0)
    for place, (at_most, case) in enumerate(left):
        if case.chosen not in sampled and at_most is not None and at_most <= worst:
            seen.dominated += len(left) - place
            break
        if judge.clock.has_expired:
            return False
        if (found := judge.case(case.chosen)) is not None:
            seen.add(found)
            worst = max(worst, found.exactly)
    return True


def search_part(judge: Judge, heuristic: str, part: Part, seen: Seen) -> bool:
    """Search instances of a size and return whether this ended before the time limit.

    The search evaluates the leads of the space. If there are no leads, it walks.
    """
    leads = judge.space.leads(heuristic, part.size, part.seed or 0)
    if leads:
        for chosen in leads:
            seen.add(judge.case(chosen))
        return True
    walk = Walk(judge, part.size, part.steps, part.seed or 0)
    done = walk.run()
    for case in walk.cases.values():
        seen.add(case)
    return done


def smaller(judge: Judge, chosen: Chosen, keep: float, seen: Seen) -> bool:
    """Reduce an instance while its gap is at least `keep`, or while the heuristic breaks, and add the last case.

    Returns whether this ended before the time limit.
    """
    case = judge.case(chosen)
    if case is None:
        return True
    breaks = case.broken is not None
    candidates = simpler(chosen)
    while not judge.clock.has_expired and (candidate := next(candidates, None)) is not None:
        found = judge.case(candidate)
        if found is not None and (found.broken is not None if breaks else found.gap >= keep - 1e-9):
            case, candidates = found, simpler(candidate)
    seen.add(case)
    return not judge.clock.has_expired


def simpler(chosen: Chosen) -> Iterator[Chosen]:
    """Yield the instances with one element less, then those with an element replaced by an earlier one of the list."""
    if len(chosen) > 1:
        for i in range(len(chosen)):
            if i == 0 or chosen[i] != chosen[i - 1]:
                yield chosen[:i] + chosen[i + 1 :]
    for i in range(len(chosen)):
        for thing in range(chosen[i]):
            yield tuple(sorted((*chosen[:i], thing, *chosen[i + 1 :])))
