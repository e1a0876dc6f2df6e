"""A space of instances: each is made of so many of a list of things, in any order and with repetition."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from instances import InputError, Instance, Solution

Chosen = tuple[int, ...]
"""What an instance is made of: places in the list of a space, in rising order, a place once for each repetition."""


@dataclass(frozen=True)
class Entries:
    """Where the entries of a problem's data are that a space repeats: `field`, by `key`, and `count` of each, if any.

    `apart`: fields that must be empty, for they name entries. `grows`: whether a solution without some of the entries
    is one of what is left, at no more than before, where that is minimised. `held`: the field in which an entry says
    how many of others it holds, and that of these, whose numbers follow.
    """

    field: str
    key: str
    count: str | None = None
    apart: tuple[str, ...] = ()
    grows: bool = False
    held: str | None = None

    def names(self, data: Any) -> str | None:
        """The field that names entries, `None` where none does."""
        return next((path for path in self.apart if _filled(data, *path.split("."))), None)


def _filled(data: Any, field: str, of_each: str | None = None) -> bool:
    """Whether a field is not empty, or that of anything in it."""
    value = getattr(data, field)
    return bool(value) if of_each is None else any(getattr(one, of_each) for one in value)


NEAR = 3  # how far in the list a thing is from one that is much like it
ENTRIES = {
    "eva-packing": (Entries("tasks", "workload", "count", ("running", "spread"), grows=True),),
    "eva-reconfiguration": (Entries("tasks", "workload", "count", ("existing",)),),
    "boa-allocation": (Entries("classes", "name"),),
    "aryl-elastic": (Entries("jobs", "id"),),
    "aryl-reclaim": (Entries("jobs", "id", grows=True),),
    "aryl-placement": (Entries("jobs", "id"),),
    "sia-oracle": (Entries("jobs", "id"),),
    "node-placement": (Entries("pods", "name", "count", ("nodes.pods", "spread")),),
    "node-consolidation": (
        Entries("pods", "name", "count", ("nodes", "spread"), grows=True),
        Entries("nodes", "name", apart=("pods.allowed_nodes", "spread"), held="pods"),
    ),
}
"""What varies of a problem: the first of which nothing names entries."""


class Space(Protocol):
    """Instances of one problem that are made of things of a list, the simplest first."""

    @property
    def problem(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def things(self) -> int:
        """How many different things there are."""

    @property
    def grows(self) -> bool:
        """Whether the optimum of an instance is at least that of what is made of a part of the same things."""

    def instance(self, chosen: Chosen) -> Instance[Any] | None:
        """The instance that is made of these; `None` where they make none."""

    def reference(self, chosen: Chosen) -> float | None:
        """The optimum, where the way in which the instance is made gives it; or else `None`."""

    def nearly(self, solution: Solution) -> float:
        """How near a heuristic's solution is to a worse one, from 0 to 1: of equal gaps this tells where to go on."""

    def near(self, thing: int, rng: random.Random) -> int:
        """A thing that is much like one."""

    def leads(self, heuristic: str, size: int, seed: int) -> list[Chosen]:
        """Instances that a search of the space's own holds for bad ones of a heuristic: where to begin."""

    def told(self, chosen: Chosen) -> str:
        """What an instance is made of, in words."""

    def features(self, chosen: Chosen) -> dict[str, float]:
        """What may tell a bad instance from a good one, by name."""

    def content(self) -> list[Any]:
        """What the space is, for a digest."""


@dataclass(frozen=True)
class RepeatedEntries:
    """The instances that have the entries of `base`, each any number of times, and everything else as it has.

    `entries`: those of another list instead. `per_entry`: fields that grow with the number of entries, as a budget
    does, and by how much with each.
    """

    base: Instance[Any]
    entries: tuple[Any, ...] = ()
    per_entry: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        _ = self._of

    @cached_property
    def _of(self) -> Entries:
        if self.base.problem not in ENTRIES:
            raise InputError(f"{self.base.name}: worst cases are of {', '.join(ENTRIES)}, not of {self.base.problem}")
        known = ENTRIES[self.base.problem]
        for of in known:
            if of.names(self.base.data) is None:
                return of
        raise InputError(f"{self.base.name}: {of.names(self.base.data)}: must be empty where {of.field} vary")

    @property
    def problem(self) -> str:
        return self.base.problem

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def grows(self) -> bool:
        return self._of.grows and self.base.data.sense == "minimize" and not self.per_entry

    @property
    def _entries_of_base(self) -> tuple[Any, ...]:
        found: tuple[Any, ...] = getattr(self.base.data, self._of.field)
        return found

    @property
    def _entries(self) -> tuple[Any, ...]:
        return self.entries or self._entries_of_base

    @cached_property
    def _dots(self) -> str:
        """What is between a name and the number of its repetition, and in no name: no two entries get one name."""
        names = [getattr(entry, self._of.key) for entry in self._entries]
        dots = "."
        while any(dots in name for name in names):
            dots += "."
        return dots

    @property
    def things(self) -> int:
        return len(self._entries)

    def instance(self, chosen: Chosen) -> Instance[Any] | None:
        of, entries, made = self._of, self._entries, []
        for place, n in Counter(chosen).items():
            entry = entries[place]
            if of.count is not None:
                made.append(entry.model_copy(update={of.count: n}))
                continue
            names = [getattr(entry, of.key), *(f"{getattr(entry, of.key)}{self._dots}{i}" for i in range(2, n + 1))]
            made += [entry.model_copy(update={of.key: name}) for name in names]
        if not made:
            return None
        try:
            grown = {name: share * len(chosen) for name, share in self.per_entry}
            data = self.base.data.with_(**{of.field: tuple(made)}, **self._followed(of, made), **grown)
        except InputError:
            return None
        named = "-".join(f"{n}x{place}" for place, n in Counter(chosen).items())
        return Instance.of(data, f"{self.base.name}-{named}"[:150], f"{self.base.source}: {self.told(chosen)}")

    def _followed(self, of: Entries, made: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
        """What the entries hold, in their numbers; what waits in the base waits."""
        if of.held is None:
            return {}
        before, now = (_total(getattr(entry, of.held) for entry in some) for some in (self._entries_of_base, made))
        found = []
        for one in getattr(self.base.data, of.held):
            number = one.count - before[one.name] + now[one.name]
            if number:
                found.append(one.model_copy(update={"count": number}))
        return {of.held: tuple(found)}

    def reference(self, chosen: Chosen) -> float | None:
        return None

    def nearly(self, solution: Solution) -> float:
        return 0.0

    def near(self, thing: int, rng: random.Random) -> int:
        return min(self.things - 1, max(0, thing + rng.choice((-1, 1)) * rng.randint(1, NEAR)))

    def leads(self, heuristic: str, size: int, seed: int) -> list[Chosen]:
        return []

    def told(self, chosen: Chosen) -> str:
        named = Counter(getattr(self._entries[place], self._of.key) for place in chosen)
        return ", ".join(f"{n} {name}" for name, n in named.items())

    def features(self, chosen: Chosen) -> dict[str, float]:
        counts = Counter(chosen)
        found = {f"number of {getattr(e, self._of.key)}": float(counts[i]) for i, e in enumerate(self._entries)}
        for name, values in self._numbers().items():
            found[f"total {name}"] = math.fsum(values[place] for place in chosen)
            found[f"largest {name}"] = max((values[place] for place in chosen), default=0.0)
        return found

    def _numbers(self) -> Mapping[str, list[float]]:
        """The numbers that all entries have, by where they are."""
        rows = [
            dict(_numbers(entry.model_dump(exclude={self._of.key, self._of.count or ""}))) for entry in self._entries
        ]
        return {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}

    def content(self) -> list[Any]:
        entries = [entry.model_dump(mode="json") for entry in self._entries]
        return [self.base.model_dump(mode="json"), entries, list(map(list, self.per_entry))]


def _total(held: Iterable[Mapping[str, int]]) -> Counter[str]:
    """How many there are of each, over all."""
    found = Counter[str]()
    for one in held:
        found.update(one)
    return found


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path or "value", float(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(inner, f"{path} {name}".strip())


def number(things: int, size: int) -> int:
    """How many instances of a size a space of so many things has."""
    return math.comb(things + size - 1, size) if things else 0


def every(things: int, size: int) -> Iterator[Chosen]:
    """The instances of a size, each once: the order of what they are made of makes no other instance."""
    return itertools.combinations_with_replacement(range(things), size)
