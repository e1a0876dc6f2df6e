"""Spaces of instances: each instance is a multiset of elements from a list."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from instances import InputError, Instance, Solution

Chosen = tuple[int, ...]
"""The elements of an instance: indices into the list of a space, in ascending order, repeated by multiplicity."""


@dataclass(frozen=True)
class Entries:
    """The entries of a problem's data that a space repeats.

    - `field`: the field of the data that lists them.
    - `key`: the field of an entry that names it.
    - `count`: the field of an entry with its multiplicity, if any.
    - `apart`: fields that must be empty, because they refer to entries by name.
    - `grows`: whether removing entries from a solution keeps it feasible and, for minimisation, never raises its cost.
    - `held`: the field with the number of other entries that an entry holds, and the field of these other entries.
      Their counts follow from it.
    """

    field: str
    key: str
    count: str | None = None
    apart: tuple[str, ...] = ()
    grows: bool = False
    held: str | None = None

    def names(self, data: Any) -> str | None:
        """Return the first non-empty field that refers to entries by name, else `None`."""
        return next((path for path in self.apart if _is_filled(data, *path.split("."))), None)


def _is_filled(data: Any, field: str, of_each: str | None = None) -> bool:
    """Return whether `field` is not empty, or with `of_each`, whether that field of any element is not empty."""
    value = getattr(data, field)
    return bool(value) if of_each is None else any(getattr(one, of_each) for one in value)


NEAR = 3  # maximum distance in the list between similar elements
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
"""The entries that may vary, by problem: a space uses the first whose `apart` fields are empty."""


class Space(Protocol):
    """The instances of one problem that consist of elements of a list, sorted from simple to complex."""

    @property
    def problem(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def things(self) -> int:
        """Return the number of distinct elements."""

    @property
    def grows(self) -> bool:
        """Return whether the optimum of an instance is at least the optimum of each of its sub-multisets."""

    def instance(self, chosen: Chosen) -> Instance[Any] | None:
        """Return the instance with these elements; `None` if there is no such instance."""

    def reference(self, chosen: Chosen) -> float | None:
        """Return the optimum if it is known by construction, else `None`."""

    def nearly(self, solution: Solution) -> float:
        """Return how near a heuristic's solution is to a worse one, from 0 to 1. The search uses it to break ties."""

    def near(self, thing: int, rng: random.Random) -> int:
        """Return an element that is similar to `thing`."""

    def leads(self, heuristic: str, size: int, seed: int) -> list[Chosen]:
        """Return instances that the space's own search expects to be bad for a heuristic, as starting points."""

    def describe(self, chosen: Chosen) -> str:
        """Describe the elements of an instance in words."""

    def features(self, chosen: Chosen) -> dict[str, float]:
        """Return the features that may separate bad instances from good ones, by name."""

    def content(self) -> list[Any]:
        """Return the definition of the space, as input of a digest."""


@dataclass(frozen=True)
class RepeatedEntries:
    """The instances that have the entries of `base` in any multiplicities, and all other fields of `base`.

    - `entries`: other entries to repeat instead of those of `base`.
    - `per_entry`: fields that are proportional to the number of entries, such as a budget, with the amount per entry.
    """

    base: Instance[Any]
    entries: tuple[Any, ...] = ()
    per_entry: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        _ = self._entry_fields

    @cached_property
    def _entry_fields(self) -> Entries:
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
        return self._entry_fields.grows and self.base.data.sense == "minimize" and not self.per_entry

    @property
    def _entries_of_base(self) -> tuple[Any, ...]:
        found: tuple[Any, ...] = getattr(self.base.data, self._entry_fields.field)
        return found

    @property
    def _entries(self) -> tuple[Any, ...]:
        return self.entries or self._entries_of_base

    @cached_property
    def _dots(self) -> str:
        """Return a separator between a name and its repetition number. No name contains it, so new names are unique."""
        names = [getattr(entry, self._entry_fields.key) for entry in self._entries]
        dots = "."
        while any(dots in name for name in names):
            dots += "."
        return dots

    @property
    def things(self) -> int:
        return len(self._entries)

    def instance(self, chosen: Chosen) -> Instance[Any] | None:
        of, entries, made = self._entry_fields, self._entries, []
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
            data = self.base.data.with_(**{of.field: tuple(made)}, **self._update_held(made), **grown)
        except InputError:
            return None
        named = "-".join(f"{n}x{place}" for place, n in Counter(chosen).items())
        return Instance.of(data, f"{self.base.name}-{named}"[:150], f"{self.base.source}: {self.describe(chosen)}")

    def _update_held(self, made: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
        """Return the held entries with counts that match `made`; entries that no entry of the base holds remain."""
        held = self._entry_fields.held
        if held is None:
            return {}
        before, now = (
            sum((Counter(getattr(entry, held)) for entry in some), Counter[str]())
            for some in (self._entries_of_base, made)
        )
        counts = ((one, one.count - before[one.name] + now[one.name]) for one in getattr(self.base.data, held))
        return {held: tuple(one.model_copy(update={"count": n}) for one, n in counts if n)}

    def reference(self, chosen: Chosen) -> float | None:
        return None

    def nearly(self, solution: Solution) -> float:
        return 0.0

    def near(self, thing: int, rng: random.Random) -> int:
        return min(self.things - 1, max(0, thing + rng.choice((-1, 1)) * rng.randint(1, NEAR)))

    def leads(self, heuristic: str, size: int, seed: int) -> list[Chosen]:
        return []

    def describe(self, chosen: Chosen) -> str:
        named = Counter(getattr(self._entries[place], self._entry_fields.key) for place in chosen)
        return ", ".join(f"{n} {name}" for name, n in named.items())

    def features(self, chosen: Chosen) -> dict[str, float]:
        counts = Counter(chosen)
        found = {
            f"number of {getattr(e, self._entry_fields.key)}": float(counts[i]) for i, e in enumerate(self._entries)
        }
        for name, values in self._numbers().items():
            found[f"total {name}"] = math.fsum(values[place] for place in chosen)
            found[f"largest {name}"] = max((values[place] for place in chosen), default=0.0)
        return found

    def _numbers(self) -> Mapping[str, list[float]]:
        """Return the numeric values that all entries have, by their path."""
        rows = [
            dict(_numbers(entry.model_dump(exclude={self._entry_fields.key, self._entry_fields.count or ""})))
            for entry in self._entries
        ]
        return {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}

    def content(self) -> list[Any]:
        entries = [entry.model_dump(mode="json") for entry in self._entries]
        return [self.base.model_dump(mode="json"), entries, list(map(list, self.per_entry))]


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield path or "value", float(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(inner, f"{path} {name}".strip())


def number(things: int, size: int) -> int:
    """Return the number of instances of `size` in a space with the given number of elements."""
    return math.comb(things + size - 1, size) if things else 0


def list_every(things: int, size: int) -> Iterator[Chosen]:
    """Yield all instances of `size`, each once, because the order of the elements does not matter."""
    return itertools.combinations_with_replacement(range(things), size)
