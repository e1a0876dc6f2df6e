"""Searches for the worst case: over every instance of a size, or by annealing on instances; then a smaller one."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from experiments.harness.entry import Entry
from experiments.harness.task import Digests, Reported, ReportFile, Whole, WholeTask
from experiments.worst_cases.case import Case, Judge
from experiments.worst_cases.space import Chosen, Space, every
from instances import Options
from instances.fields import Frozen
from instances.result import Termination, versions

KEPT = 200  # cases of a part of a search that are handed back, for what tells bad ones from good ones
ENOUGH_S = 0.5  # CPU seconds within which an answer may be asked for
HEAT = 0.02  # what a step may lose at first, as a share of the worst gap so far


class Part(Frozen):
    """A part of a search: the instances of `size` from the place `first` to before `last`, in order; or where there is
    a `seed`, `steps` of annealing from a random instance."""

    size: int
    first: int = 0
    last: int | None = None
    seed: int | None = None
    steps: int = 0
    start: Chosen | None = None
    keep: float | None = None


class Found(Whole):
    """What a part has found: the worst cases first, how often the heuristic was called and optima were looked for, and
    whether the part is done.

    `others`: cases that are no worst ones, drawn evenly.
    """

    cases: list[Case] = Field(default_factory=list)
    others: list[Case] = Field(default_factory=list)
    calls: int = 0
    proofs: int = 0
    unproven: int = 0
    nothing: int = 0
    complete: bool = False

    def line(self) -> str:
        """The worst so far of this part."""
        if self.status == "error" and not self.cases:
            return super().line()
        worst = self.cases[0] if self.cases else None
        said = "no case" if worst is None else worst.broken or f"{worst.gap:.2%} above the optimum"
        return f"{self.workload}: {said}; {self.calls:,} instances"


@dataclass(frozen=True)
class Search(WholeTask[Found]):
    """A part of a search for the worst case of a heuristic in a space, in a process of its own."""

    outcome_type = Found

    space: Space
    heuristic: Entry
    exact: Entry
    part: Part
    options: Options

    @property
    def time_limit(self) -> float | None:
        return self.options.time_limit

    @property
    def modules(self) -> tuple[str, ...]:
        entries = [entry for entry in (self.exact, self.heuristic) if not entry.by_user]
        return (*(entry.target.partition(":")[0] for entry in entries), __name__)

    @property
    def kernels(self) -> tuple[str, ...]:
        entries = [entry for entry in (self.exact, self.heuristic) if not entry.by_user]
        return tuple(sorted(f"{self.space.problem} {entry.name}" for entry in entries))

    def label(self) -> tuple[str, str]:
        part = self.part
        said = f"size {part.size}"
        if part.start is not None:
            said += ", made smaller"
        elif part.seed is not None:
            said += f", seed {part.seed}"
        elif part.last is not None:
            said += f", instances {part.first + 1:,} to {part.last:,}"
        return said, self.heuristic.name

    def work(self, report: ReportFile) -> Found:
        worst: list[Case] = []

        def about(chosen: Chosen | None) -> None:
            report.begin((chosen, worst[:1], judge.clock.remaining_s))

        judge = Judge(self.space, self.heuristic, self.exact, self.options, about)
        seen = Seen(worst, random.Random(0))
        part = self.part
        if part.start is not None:
            done = smaller(judge, part.start, part.keep or 0.0, seen)
        elif part.seed is not None:
            done = annealed(judge, part.size, part.steps, random.Random(part.seed), seen)
        else:
            done = enumerated(judge, part, seen)
        return self.made(
            "finished",
            cases=seen.worst,
            others=seen.others,
            calls=judge.calls,
            proofs=judge.proofs,
            unproven=judge.unproven,
            nothing=judge.nothing,
            complete=done,
        )

    def ended(self, reported: Reported, termination: Termination, reason: str) -> Found:
        """A heuristic that does not answer breaks on the instance that it is called with, if it had time for it."""
        if reported.about is None:
            return super().ended(reported, termination, reason)
        chosen, known, left = reported.about
        if chosen is None or termination == "interrupted" or left < ENOUGH_S:
            return self.made("finished", cases=known, calls=len(known))
        said = f"did not answer within {left:.3g} CPU s" if termination == "killed" else reason
        return self.made("finished", cases=[Case(chosen=chosen, broken=said), *known], calls=1)

    def content(self, digests: Digests) -> dict[str, Any]:
        return {
            "worst": self.part.model_dump(mode="json"),
            "space": self.space.content(),
            "method": self.heuristic.target,
            "versions": versions(),
            "source": digests.source(self.heuristic.target, self.heuristic.code) if self.heuristic.by_user else None,
        }


class Seen:
    """The cases of a search: the worst first, and an even sample of the others."""

    def __init__(self, worst: list[Case], rng: random.Random) -> None:
        self.worst, self._rng, self._number = worst, rng, 0
        self.others: list[Case] = []

    def add(self, case: Case) -> None:
        self._number += 1
        if not self.worst or case.rank < self.worst[-1].rank or len(self.worst) < KEPT:
            self.worst.append(case)
            self.worst.sort(key=lambda case: case.rank)
            del self.worst[KEPT:]
        if len(self.others) < KEPT:
            self.others.append(case)
        elif (place := self._rng.randrange(self._number)) < KEPT:
            self.others[place] = case


def enumerated(judge: Judge, part: Part, seen: Seen) -> bool:
    """Look at the instances of a part in order; whether that was done before the time was over."""
    for chosen in itertools.islice(every(judge.space.things, part.size), part.first, part.last):
        if judge.clock.expired:
            return False
        case = judge.case(chosen)
        if case is not None:
            seen.add(case)
    return True


def annealed(judge: Judge, size: int, steps: int, rng: random.Random, seen: Seen) -> bool:
    """Anneal on instances of a size, from a random one; whether all steps were taken."""
    space = judge.space
    now, best = None, None
    for step in range(steps):
        if judge.clock.expired:
            return False
        chosen = moved(now.chosen, space, rng) if now is not None else drawn(space, size, rng)
        case = judge.case(chosen)
        if case is None:
            continue
        if case.broken is not None:
            seen.add(case)
            return True
        heat = HEAT * (1 - step / steps) * max(best.gap if best else 0.0, 0.01)
        if now is None or rng.random() < math.exp(min(0.0, (height(case) - height(now)) / heat)):
            now = case
        seen.add(case)
        if best is None or case.rank < best.rank:
            best = case
    return True


def drawn(space: Space, size: int, rng: random.Random) -> Chosen:
    """A random instance of a size."""
    return tuple(sorted(rng.randrange(space.things) for _ in range(size)))


def height(case: Case) -> float:
    """What annealing climbs: the gap, and a tenth of it at most for what is near to a worse one."""
    return case.gap + case.nearly / 10


def moved(chosen: Chosen, space: Space, rng: random.Random) -> Chosen:
    """An instance next to one: in the place of a thing, sometimes of two, one much like it or any other."""
    found = list(chosen)
    for _ in range(1 if rng.random() < 0.7 else 2):
        place = rng.randrange(len(found))
        if rng.random() < 0.5:
            found[place] = space.near(found[place], rng)
        else:
            found[place] = rng.randrange(space.things)
    return tuple(sorted(found))


def smaller(judge: Judge, chosen: Chosen, keep: float, seen: Seen) -> bool:
    """Make an instance smaller and simpler while its gap stays at `keep` at least, or while the heuristic breaks."""
    case = judge.case(chosen)
    if case is None:
        return True
    breaks = case.broken is not None
    while True:
        if judge.clock.expired:
            break
        for candidate in simpler(chosen):
            if judge.clock.expired:
                break
            found = judge.case(candidate)
            if found is not None and (found.broken is not None if breaks else found.gap >= keep - 1e-9):
                chosen, case = candidate, found
                break
        else:
            break
    seen.add(case)
    return not judge.clock.expired


def simpler(chosen: Chosen) -> Iterator[Chosen]:
    """The instances that have a thing less, then those that have one that is earlier in the list in its place."""
    if len(chosen) > 1:
        for i in range(len(chosen)):
            if i == 0 or chosen[i] != chosen[i - 1]:
                yield chosen[:i] + chosen[i + 1 :]
    for i in range(len(chosen)):
        for thing in range(chosen[i]):
            yield tuple(sorted((*chosen[:i], thing, *chosen[i + 1 :])))
