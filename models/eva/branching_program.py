"""The linear program over patterns under decisions on what is counted over types, solved by HiGHS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from instances import Options
from instances.proofs.eva.certificate import Branch, Decision, Kind, Packing
from models.core.linear_program import LinearProgram
from models.highs import LinearModel

FloatArray = NDArray[np.float64]
BITS = 24  # what is spent is counted where a price has so few bits, for floats to tell two amounts apart
DEAREST = 2.0**62  # what is left out is not made dearer than this
WHOLE = 1e-6  # an amount this near to a whole number counts as one
Aggregate = tuple[Kind, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Relaxed:
    """A solution: its `value`, amounts `x` of the patterns, duals of the entries' `tasks` and of the `decisions`.

    Values and duals are in price units. `short`: whether tasks or decisions are left out at a price.
    """

    value: float
    x: FloatArray
    tasks: list[float]
    decisions: list[float]
    short: bool


class BranchingProgram:
    """Cover every entry's tasks by patterns; a row for each aggregate that decisions are on. Entries alike share a row.

    Each row can be met at a price instead, so that there always is a solution. A type whose price is out of all
    proportion to `target`, what is to be proved, is cheaper here, for floats to tell the prices of the others apart.
    """

    def __init__(self, packing: Packing, options: Options, target: int) -> None:
        self.packing = packing
        self.price = [min(price, max(1, target) << BITS - 4) for price in packing.price]
        alike: dict[tuple[tuple[int, ...], ...], list[int]] = {}
        for t in range(len(packing.count)):
            alike.setdefault(tuple(tuple(needs[t]) for needs in packing.demand), []).append(t)
        self.classes = list(alike.values())
        self.count = [sum(packing.count[t] for t in entries) for entries in self.classes]
        self.columns: list[tuple[int, tuple[int, ...]]] = []
        self._known: set[tuple[int, tuple[int, ...]]] = set()
        self._rows: dict[Aggregate, int] = {}
        self._unit_of_cost = 2.0 ** max(0, max(self.price).bit_length() - BITS)
        self._dear = 4.0 * max(1, *self.price) / self._unit_of_cost  # dearer than any task, where all is free too
        self.decisions: tuple[Decision, ...] = ()
        classes = len(self.count)
        model = LinearModel(np.full(classes, self._dear), np.eye(classes), row_lower=self.count, row_upper=math.inf)
        self._lp = LinearProgram(model, options, short=classes)
        for k in range(len(packing.price)):
            for c in range(len(self.classes)):
                self._alone(k, c)

    def _alone(self, k: int, c: int) -> None:
        """Add the pattern of one class alone on a type, as many tasks as fit."""
        needs = self.packing.demand[self.packing.family[k]][self.classes[c][0]]
        fits = [q // d for d, q in zip(needs, self.packing.capacity[k], strict=True) if d]
        most = min([*fits, self.count[c]])
        if most:
            self.insert(k, tuple(most if c == i else 0 for i in range(len(self.classes))))

    def add(self, k: int, pattern: Sequence[int]) -> bool:
        """Add a pattern by entry; whether it is new."""
        return self.insert(k, tuple(sum(pattern[t] for t in entries) for entries in self.classes))

    def insert(self, k: int, held: tuple[int, ...]) -> bool:
        """Add a pattern by class; whether it is new."""
        if (k, held) in self._known:
            return False
        self._known.add((k, held))
        rows = {c: float(n) for c, n in enumerate(held) if n}
        for aggregate, row in self._rows.items():
            if entry := self._entry(aggregate, k, held):
                rows[row] = entry
        self._lp.add(self.price[k] / self._unit_of_cost, [0], [*rows], [*rows.values()])
        self.columns.append((k, held))
        return True

    def _entry(self, aggregate: Aggregate, k: int, held: Sequence[int]) -> float:
        kind, of, classes = aggregate
        if k not in of:
            return 0.0
        if kind == "placed":
            return float(sum(held[c] for c in classes))
        return 1.0 if kind == "instances" else self.packing.price[k] / self._unit(of)

    def _unit(self, of: Sequence[int]) -> int:
        return gcd(*(self.packing.price[k] for k in of)) or 1

    def raise_shortage(self, factor: float) -> bool:
        """Make what is left out dearer; whether floats still tell its price from others."""
        if self._dear >= DEAREST:
            return False
        self._dear *= factor
        self._lp.price_short(self._dear)
        return True

    def _aggregate(self, decision: Decision) -> Aggregate:
        classes = tuple(c for c, entries in enumerate(self.classes) if entries[0] in decision.tasks)
        return decision.kind, decision.of, classes

    def _row(self, aggregate: Aggregate) -> int:
        """The row of an aggregate, made where there is none yet."""
        if aggregate not in self._rows:
            entries = {
                p: entry for p, (k, held) in enumerate(self.columns) if (entry := self._entry(aggregate, k, held))
            }
            self._rows[aggregate] = self._lp.add_row(
                [*entries], [*entries.values()], {1.0: self._dear, -1.0: self._dear}
            )
        return self._rows[aggregate]

    def set(self, decisions: Sequence[Decision]) -> None:
        """Put the decisions of a node in the place of those before."""
        self.decisions = tuple(decisions)
        wanted: dict[int, tuple[float, float]] = {}
        for decision in decisions:
            aggregate = self._aggregate(decision)
            row = self._row(aggregate)
            low, high = wanted.get(row, (-math.inf, math.inf))
            amount = decision.amount / (self._unit(decision.of) if decision.kind == "spent" else 1)
            wanted[row] = (max(low, amount), high) if decision.least else (low, min(high, amount))
        for row in self._rows.values():
            self._lp.bound_row(row, *wanted.get(row, (-math.inf, math.inf)))

    def solve(self, seconds: float = math.inf) -> Relaxed:
        """Solve the linear program under the decisions. Raises SolveFailed where HiGHS cannot in so many `seconds`."""
        found, unit = self._lp.solve(seconds), self._unit_of_cost
        duals = found.duals * unit
        tasks = [0.0] * len(self.packing.count)
        for c, entries in enumerate(self.classes):
            for t in entries:
                tasks[t] = max(0.0, float(duals[c]))
        decided = []
        for d in self.decisions:
            y = float(duals[self._rows[self._aggregate(d)]]) / (self._unit(d.of) if d.kind == "spent" else 1)
            decided.append(max(0.0, y if d.least else -y))
        self._share(decided)
        return Relaxed(found.value * unit, found.x, tasks, decided, bool(found.short.max(initial=0.0) > WHOLE))

    def _share(self, decided: list[float]) -> None:
        """Leave the dual of a row to the tightest of the decisions on it."""
        last: dict[tuple[Aggregate, bool], int] = {}
        for i, d in enumerate(self.decisions):
            key = self._aggregate(d), d.least
            if key in last:
                other = self.decisions[last[key]]
                tighter = d.amount > other.amount if d.least else d.amount < other.amount
                decided[last[key] if tighter else i] = 0.0
                if not tighter:
                    continue
            last[key] = i

    def candidates(self, relaxed: Relaxed, most: int) -> list[Branch]:
        """Branches on fractional amounts, the most fractional of each kind.

        What is spent on the types of a family from some price up moves the bound where the numbers of single types do
        not: two instances stand in for one of twice the size, whatever a decision says of either.
        """
        packing = self.packing
        types = range(len(packing.price))
        by_family = [tuple(k for k in types if packing.family[k] == f) for f in sorted(set(packing.family))]
        from_price_up = [
            tuple(k for k in family if packing.price[k] >= least)
            for family in by_family
            for least in sorted({packing.price[k] for k in family})
        ]
        from_price_up = [of for of in from_price_up if max(packing.price[k] for k in of) >> BITS < self._unit(of)]
        singles = [(k,) for k in types]
        classes = range(len(self.classes))
        found = self._fractional(relaxed, "spent", from_price_up, [None])[:most]
        if len(by_family) > 1:
            found += self._fractional(relaxed, "placed", by_family, classes)[:most]
        found += self._fractional(relaxed, "instances", singles, [None])[:most]
        return found or self._fractional(relaxed, "placed", singles, classes)[:most]

    def _fractional(
        self, relaxed: Relaxed, kind: Kind, sets: Sequence[tuple[int, ...]], classes: Sequence[int | None]
    ) -> list[Branch]:
        """Branches on the amounts of a kind that are fractional, the most fractional first."""
        found: list[tuple[float, Branch]] = []
        used = np.flatnonzero(relaxed.x > 1e-9)
        for of in sets:
            for c in classes:
                aggregate: Aggregate = (kind, of, () if c is None else (c,))
                amount = sum(float(relaxed.x[p]) * self._entry(aggregate, *self.columns[p]) for p in used)
                if (part := abs(amount - round(amount))) <= WHOLE:
                    continue
                unit = self._unit(of) if kind == "spent" else 1
                tasks = () if c is None else tuple(self.classes[c])
                found.append((-part, Branch(kind=kind, of=of, tasks=tasks, amount=math.floor(amount) * unit)))
        return [branch for _, branch in sorted(found, key=lambda pair: pair[0])]
