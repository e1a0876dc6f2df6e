"""Spaces of packings: the workloads of Table 7 in any numbers, and full bins cut in pieces, whose packing is known."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments.worst_cases.space import Chosen, RepeatedEntries, Space
from instances import Instance, Solution
from instances.eva import EvaPacking, InstanceType, Task, table_7
from instances.eva.packing import DEFAULT

WORKLOADS_SEED = 0  # of a draw that is large enough to have all nine workloads


def nine_workloads() -> RepeatedEntries:
    """The nine workloads of Table 7 on the 21 instance types of Eva, the one with the least demands first."""
    base = table_7(1000, WORKLOADS_SEED)
    tasks = sorted(base.data.tasks, key=lambda task: [task.demand[DEFAULT][r] for r in base.data.resources])
    return RepeatedEntries(Instance.of(base.data.with_(tasks=tuple(tasks)), "eva-nine", "Eva (EuroSys'25), Table 7"))


@dataclass(frozen=True)
class CutBins:
    """Instances of `eva-packing` on one type of price 1 that fill so many instances to the last unit.

    A thing is a way to cut an instance with `units` of each of `resources` resources into `pieces`, each a task of
    its own: so many instances hold all pieces, and no fewer do, for they are full.
    """

    resources: int
    units: int
    pieces: int

    problem = "eva-packing"

    @property
    def name(self) -> str:
        return f"cut-bins-{self.resources}d-{self.units}-units-{self.pieces}-pieces"

    @cached_property
    def cuts(self) -> list[tuple[tuple[int, ...], ...]]:
        """The ways to cut, the pieces of each in rising order."""
        found = set()
        lines = list(_compositions(self.units, self.pieces))
        for shares in itertools.product(lines, repeat=self.resources):
            pieces = tuple(sorted(zip(*shares, strict=True)))
            if all(any(piece) for piece in pieces):
                found.add(pieces)
        return sorted(found)

    @property
    def things(self) -> int:
        return len(self.cuts)

    def instance(self, chosen: Chosen) -> Instance[Any]:
        names = tuple(f"r{i + 1}" for i in range(self.resources))
        pieces = sorted((piece for place in chosen for piece in self.cuts[place]), reverse=True)
        tasks = tuple(
            Task(
                workload="-".join(map(str, piece)),
                count=pieces.count(piece),
                demand={DEFAULT: dict(zip(names, map(float, piece), strict=True))},
            )
            for piece in dict.fromkeys(pieces)
        )
        kind = InstanceType(
            name="bin", family="bin", capacity=dict.fromkeys(names, float(self.units)), usd_per_hour=1.0
        )
        data = EvaPacking(resources=names, instance_types=(kind,), tasks=tasks, objective="cost")
        name = f"{self.name}-" + "-".join(map(str, chosen))
        return Instance.of(data, name[:150], f"{len(chosen)} full instances, each cut into {self.pieces} tasks")

    def reference(self, chosen: Chosen) -> float:
        return float(len(chosen))

    def nearly(self, solution: Solution) -> float:
        """The load of the instance with the least of it: once it is full it takes one more."""
        loads = (
            sum(n * sum(map(int, name.split("-"))) for name, n in group["tasks"].items())
            for group in solution["instances"]
        )
        return min(loads) / (self.resources * self.units)

    def near(self, thing: int, rng: random.Random) -> int:
        """One unit of a resource goes from a piece to another; of several resources one after the other."""
        pieces = [list(piece) for piece in self.cuts[thing]]
        for _ in range(rng.randint(1, 2)):
            r, (giver, taker) = rng.randrange(self.resources), rng.sample(range(self.pieces), 2)
            if pieces[giver][r]:
                pieces[giver][r] -= 1
                pieces[taker][r] += 1
        return self._place.get(tuple(sorted(map(tuple, pieces))), thing)

    @cached_property
    def _place(self) -> dict[tuple[tuple[int, ...], ...], int]:
        return {cut: place for place, cut in enumerate(self.cuts)}

    def told(self, chosen: Chosen) -> str:
        return "; ".join(" + ".join(str(list(piece)) for piece in self.cuts[place]) for place in chosen)

    def features(self, chosen: Chosen) -> dict[str, float]:
        pieces = [piece for place in chosen for piece in self.cuts[place]]
        found = {}
        for r in range(self.resources):
            found[f"largest r{r + 1}"] = max(piece[r] / self.units for piece in pieces)
            found[f"tasks with over half of r{r + 1}"] = float(sum(2 * piece[r] > self.units for piece in pieces))
        return found

    def content(self) -> list[Any]:
        return [self.name]


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """The ways to write a number as a sum of so many, in order, none of them below 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield first, *rest


SPACES: dict[str, dict[str, Callable[[], Space]]] = {
    "eva-packing": {
        "nine-workloads": nine_workloads,
        "cut-bins-2d": lambda: CutBins(2, 12, 3),
        "cut-bins-3d": lambda: CutBins(3, 6, 3),
        "cut-bins-4d": lambda: CutBins(4, 4, 3),
    },
}
