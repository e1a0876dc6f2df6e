"""Branching on aggregates of a packing: find the fractional ones, and select the one that moves the bound most.

The first candidates are:

- the number of instances of each type;
- the cost of the types of a family at or above some price: one size may replace another, so the number of instances of
  a single type decides less;
- the number of tasks of a class on a family.

If all of these are integral, further candidates follow: the number of tasks of a class on a type, or the number of
instances of a type that hold a minimum number of tasks of a class, of two classes, or a whole pattern. Strong branching
solves the children of the most promising candidates, until pseudo-costs are reliable (Achterberg, Koch and Martin,
2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np

from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.node_program import PAIRS, Aggregate, NodeProgram
from models.eva.parameters import BranchAndPriceParameters
from models.eva.pricer import BranchDecision, Kind

WHOLE = 1e-6  # an amount this close to an integer counts as the integer


@dataclass(frozen=True)
class Candidate:
    """An aggregate of fractional `amount` in units of its row, and the two decisions, downwards and upwards."""

    aggregate: Aggregate
    amount: float
    children: tuple[BranchDecision, BranchDecision]

    @property
    def parts(self) -> tuple[float, float]:
        """Return the distances to the next integers below and above."""
        return self.amount - floor(self.amount), ceil(self.amount) - self.amount


class UsedColumns:
    """The columns of a linear solution that are in use: `x` (m,), `kind` (m,), `on_it` (m, N)."""

    def __init__(self, program: NodeProgram, x: FloatArray) -> None:
        self.used: IntArray = np.flatnonzero(x > 1e-9)
        self.x = x[self.used]
        self.kind, self.on_it = program.kind[self.used], program.used(self.used)

    @property
    def whole(self) -> bool:
        """Return whether the solution is integral."""
        return bool((np.abs(self.x - np.round(self.x)) <= WHOLE).all())


def aggregates(arrays: PackingArrays, program: NodeProgram, columns: UsedColumns) -> list[Candidate]:
    """Return the fractional aggregates of the first three kinds."""
    found: list[Candidate] = []
    price, family = arrays.price, arrays.family
    instances = np.bincount(columns.kind, columns.x, len(price))
    found += [_range("instances", (k,), float(v), 1) for k, v in enumerate(instances) if _fractional(v)]
    spent = instances * price
    for (f, least), kinds, unit in program.spends:
        amount = float(spent[kinds].sum()) / unit
        if _fractional(amount):
            found.append(_range("spend", (f, least), amount, unit))
    return found if len(arrays.demand) == 1 else found + find_placement_candidates(arrays, columns, family)


def find_placement_candidates(arrays: PackingArrays, columns: UsedColumns, group: IntArray) -> list[Candidate]:
    """Return fractional numbers of tasks of a class on the types of a group; `group` (K,) is that of each type."""
    found = []
    of_group = [np.flatnonzero(group == g).tolist() for g in range(int(group.max()) + 1)]
    on = np.zeros((len(of_group), arrays.classes))
    np.add.at(on, group[columns.kind], columns.x[:, None] * columns.on_it)
    part = (np.abs(on - np.round(on)) > WHOLE) & (on < arrays.count)
    for g, c in zip(*(places.tolist() for places in np.nonzero(part)), strict=True):
        amount, n = float(on[g, c]), int(arrays.count[c])
        elsewhere = np.flatnonzero(group != g).tolist()
        few = BranchDecision("placed", (c, *elsewhere), "at least", n - floor(amount))
        many = BranchDecision("placed", (c, *of_group[g]), "at least", ceil(amount))
        found.append(Candidate((many.kind, many.of), amount, (few, many)))
    return found


def holdings(arrays: PackingArrays, columns: UsedColumns) -> list[Candidate]:
    """Return fractional numbers of instances of a type that hold tasks of a class, of two, or a whole pattern."""
    found: dict[tuple[int, ...], Candidate] = {}
    part = np.flatnonzero(np.abs(columns.x - np.round(columns.x)) > WHOLE)
    for k in np.unique(columns.kind[part]).tolist():
        own = columns.kind == k
        x, on_it = columns.x[own], columns.on_it[own]
        items = sorted({(int(c), int(row[c])) for row in columns.on_it[part] for c in np.flatnonzero(row)})
        singles = [((c, v), on_it[:, c] >= v) for c, v in items]
        for single, met in singles:
            _hold(found, k, single, float(x[met].sum()))
        if found:
            continue
        for i, (one, met) in enumerate(singles):
            for other, also in singles[:i]:
                if one[0] != other[0]:
                    _hold(found, k, (*other, *one), float(x[met & also].sum()))
        for row in on_it:
            if found:
                break
            condition: tuple[int, ...] = tuple(v for c in np.flatnonzero(row) for v in (int(c), int(row[c])))
            _hold(found, k, condition, float(x[(on_it >= row).all(axis=1)].sum()))
    return list(found.values())


def _hold(found: dict[tuple[int, ...], Candidate], k: int, condition: tuple[int, ...], amount: float) -> None:
    if _fractional(amount):
        found[k, *condition] = _range("holding", (k, *condition), amount, 1)


def pairs(arrays: PackingArrays, columns: UsedColumns) -> list[Candidate]:
    """Return pairs of tasks that share an instance fractionally (Ryan and Foster, 1981), for classes of one task."""
    single = np.flatnonzero(arrays.count == 1)
    shared = (columns.on_it[:, single] * columns.x[:, None]).T @ columns.on_it[:, single]
    found = []
    for i, j in zip(*np.nonzero(np.triu(np.abs(shared - np.round(shared)) > WHOLE, 1)), strict=True):
        one, other = int(single[i]), int(single[j])
        children = (BranchDecision("apart", (one, other)), BranchDecision("together", (one, other)))
        found.append(Candidate(("together", (one, other)), float(shared[i, j]), children))
    return found


def _range(kind: Kind, of: tuple[int, ...], amount: float, unit: int) -> Candidate:
    low = BranchDecision(kind, of, "at most", floor(amount) * unit)
    return Candidate((kind, of), amount, (low, BranchDecision(kind, of, "at least", ceil(amount) * unit)))


def _fractional(amount: float) -> bool:
    return abs(amount - round(amount)) > WHOLE


@dataclass
class PseudoCosts:
    """Gains of the bound per unit of each aggregate, downwards and upwards, from the children solved so far."""

    gains: dict[Aggregate, list[list[float]]] = field(default_factory=dict)

    def learn(self, candidate: Candidate, side: int, gain: float) -> None:
        """Add the gain of a solved child; `side` is 0 for the lower and 1 for the upper child."""
        part = max(candidate.parts[side], 1e-3)
        self.gains.setdefault(candidate.aggregate, [[], []])[side].append(gain / part)

    def count_known(self, candidate: Candidate) -> int:
        """Return the number of solved children of an aggregate, of the side with fewer."""
        return min(map(len, self.gains.get(candidate.aggregate, ([], []))))

    def guess(self, candidate: Candidate, side: int) -> float:
        """Return the estimated gain of a child, from the mean of its kind if the aggregate has no solved child."""
        seen = self.gains.get(candidate.aggregate, [[], []])[side]
        if not seen:
            kind = candidate.aggregate[0]
            seen = [g for (other, _), both in self.gains.items() if other == kind for g in both[side]] or [1.0]
        return sum(seen) / len(seen) * candidate.parts[side]


@dataclass(frozen=True)
class BranchChoice:
    """The candidate to branch on, and the values of its children's linear programs."""

    candidate: Candidate
    values: tuple[float, float]


def strong_branching(
    program: NodeProgram,
    decisions: Sequence[BranchDecision],
    candidates: Sequence[Candidate],
    costs: PseudoCosts,
    value: float,
    gap: float,
    parameters: BranchAndPriceParameters,
) -> BranchChoice:
    """Return the candidate with the largest product of gains, with the values of its children.

    The linear programs of the children have only the present columns, so their values are estimates.

    - `program`: the linear program at the node.
    - `decisions`: the decisions of the node.
    - `candidates`: the fractional aggregates.
    - `costs`: the pseudo-costs, which are updated.
    - `value`: value of the linear program at the node.
    - `gap`: the gain at which a child is closed.
    - `parameters`: the constants of branching.
    """
    least = parameters.least_gain * gap

    def product(gains: Sequence[float]) -> float:
        low, high = (max(least, min(g, gap)) for g in gains)
        return low * high

    def guess(candidate: Candidate) -> float:
        return product([costs.guess(candidate, side) for side in (0, 1)])

    by_kind: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda c: (-guess(c), -min(c.parts), c.aggregate)):
        by_kind.setdefault(candidate.aggregate[0], []).append(candidate)
    tried = [c for kind in by_kind.values() for c in kind[: parameters.candidates_each_kind]]
    for child in (child for candidate in tried for child in candidate.children):
        if child.kind not in PAIRS:
            program.row((child.kind, child.of))
    basis = program.basis()
    best: tuple[float, BranchChoice] | None = None
    for candidate in tried:
        # The children of pairs need new columns, so the present columns give poor estimates.
        if candidate.aggregate[0] in PAIRS or costs.count_known(candidate) >= parameters.reliable:
            values = [value + costs.guess(candidate, side) for side in (0, 1)]
        else:
            values = [value, value]
            for side in sorted((0, 1), key=lambda side: costs.guess(candidate, side)):
                program.set((*decisions, candidate.children[side]))
                program.restore(basis)
                values[side] = max(value, program.value())
                gain = min(values[side] - value, gap)
                costs.learn(candidate, side, gain)
                if best is not None and product((gain, gap)) <= best[0]:
                    break  # the other child cannot make this candidate better than an earlier one
        score = product([v - value for v in values])
        if best is None or score > best[0]:
            best = score, BranchChoice(candidate, (values[0], values[1]))
        if score >= gap * gap:
            break
    if best is None:
        raise RuntimeError("there is nothing to branch on")
    return best[1]
