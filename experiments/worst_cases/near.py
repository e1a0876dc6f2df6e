"""Instances drawn near a worst case or anywhere: what breaks a heuristic, and what tells bad ones from good ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.task import Digests, ReportFile, WholeTask
from experiments.worst_cases.case import Judge, Optima
from experiments.worst_cases.search import Found, Seen, drawn
from experiments.worst_cases.space import Chosen, Space
from instances import Options
from instances.result import versions

NUMBER = 160  # instances that are looked at
LEFT_OUT = 3  # things at most that one next to another has not, and that it has for them


@dataclass(frozen=True)
class Near(WholeTask[Found]):
    """What a heuristic does on instances of at most `size` things; where some are `chosen`, half are next to these.

    Where it breaks on any no optimum is looked for.
    """

    outcome_type = Found

    space: Space
    heuristic: Entry
    exact: Entry
    chosen: Chosen
    size: int
    options: Options

    @property
    def time_limit(self) -> float | None:
        return self.options.time_limit

    @property
    def modules(self) -> tuple[str, ...]:
        entries = [entry for entry in (self.exact, self.heuristic) if not entry.by_user]
        return (*(entry.target.partition(":")[0] for entry in entries), __name__)

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

    def content(self, digests: Digests) -> dict[str, Any]:
        return {
            "near": list(self.chosen),
            "size": self.size,
            "space": self.space.content(),
            "method": self.heuristic.target,
            "versions": versions(),
            "source": digests.source(self.heuristic.target, self.heuristic.code) if self.heuristic.by_user else None,
        }
