"""Sample instances near a worst case or anywhere in a space, to learn which of them are bad for a heuristic."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from experiments.harness.task import ReportFile
from experiments.worst_cases.case import Judge, Optima
from experiments.worst_cases.search import Found, Seen, WorstCaseTask
from experiments.worst_cases.space import Chosen
from experiments.worst_cases.walk import drawn

NUMBER = 160  # sampled instances
LEFT_OUT = 3  # a neighbour drops at most this many elements, and adds at most this many random ones


@dataclass(frozen=True)
class Near(WorstCaseTask):
    """Evaluate a heuristic on random instances of at most `size` elements.

    If `chosen` is not empty, half of the instances are neighbours of it. If the heuristic breaks on any instance, no
    optimum is computed.
    """

    chosen: Chosen
    size: int

    def label(self) -> tuple[str, str]:
        return f"{NUMBER} instances{' near by' if self.chosen else ''}", self.heuristic.name

    def work(self, report: ReportFile) -> Found:
        judge = Judge(self.space, self.heuristic, Optima(self.space, self.exact, self.options))
        seen = Seen([], random.Random(0))
        chosen = sorted(set(self._drawn(random.Random(self.options.seed))))
        alone = [case for one in chosen if not judge.clock.expired and (case := judge.alone(one))]
        breaks = any(case.broken is not None for case in alone)
        for case in alone:
            if judge.clock.expired:
                break
            found = case if breaks else judge.case(case.chosen)
            if found is not None:
                seen.add(found)
        return self.made("finished", cases=seen.worst, others=seen.others, calls=judge.calls)

    def _drawn(self, rng: random.Random) -> Iterator[Chosen]:
        for i in range(NUMBER):
            if self.chosen and i % 2:
                kept = rng.sample(self.chosen, max(1, len(self.chosen) - rng.randint(0, LEFT_OUT)))
                yield tuple(sorted((*kept, *drawn(self.space, rng.randint(0, LEFT_OUT), rng))))
            else:
                yield drawn(self.space, rng.randint(1, self.size), rng)

    @property
    def where(self) -> dict[str, Any]:
        return {"near": list(self.chosen), "size": self.size}
