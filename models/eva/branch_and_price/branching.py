"""Branching on aggregates of a packing: which are fractional, and which of them moves the bound most.

Candidates are the numbers of instances of each type, what is spent on the types of a family from some price up (of two
sizes one stands in for the other, whatever a decision says of one of them), and how many tasks of a class sit on a
family; where all of these are whole, how many sit on a single type, or how many instances of a type hold at least so
many tasks of a class, or of two, or the very pattern. The children of the most promising are solved (strong branching)
until enough is known of an aggregate for its pseudo-cost to be trusted (Achterberg, Koch and Martin, 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np

from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.branch_and_price.node_program import PAIRS, Aggregate, NodeProgram
from models.eva.branch_and_price.pricer import BranchAndPriceParameters, BranchDecision, Kind

WHOLE = 1e-6  # an amount this near to a whole number counts as one


@dataclass(frozen=True)
class Candidate:
    """An aggregate of fractional `amount` in units of its row, and the two decisions, downwards and upwards."""

    aggregate: Aggregate
    amount: float
    children: tuple[BranchDecision, BranchDecision]

    @property
    def parts(self) -> tuple[float, float]:
        """The distances to the whole numbers below and above."""
        return self.amount - floor(self.amount), ceil(self.amount) - self.amount


class UsedColumns:
    """The columns of a linear solution that are in use: `x` (m,), `kind` (m,), `on_it` (m, N)."""

    def __init__(self, program: NodeProgram, x: FloatArray) -> None:
        self.used: IntArray = np.flatnonzero(x > 1e-9)
        self.x = x[self.used]
        self.kind, self.on_it = program.kind[self.used], program.used(self.used)

    @property
    def whole(self) -> bool:
        """Whether the solution is whole."""
        return bool((np.abs(self.x - np.round(self.x)) <= WHOLE).all())


def aggregates(arrays: PackingArrays, program: NodeProgram, columns: UsedColumns) -> list[Candidate]:
    """The fractional aggregates of the first three kinds."""
    found: list[Candidate] = []
    price, family = arrays.price, arrays.family
    instances = np.bincount(columns.kind, columns.x, len(price))
    found += [_range("instances", (k,), float(v), 1) for k, v in enumerate(instances) if _fractional(v)]
    spent = instances * price
    for (f, least), kinds, unit in program.spends:
        amount = float(spent[kinds].sum()) / unit
        if _fractional(amount):
            found.append(_range("spend", (f, least), amount, unit))
    return found if len(arrays.demand) == 1 else found + placed(arrays, columns, family)


def placed(arrays: PackingArrays, columns: UsedColumns, group: IntArray) -> list[Candidate]:
    """Fractional numbers of tasks of a class on the types of a group; `group` (K,) names that of each type."""
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
    """Fractional numbers of instances of a type by what they hold: tasks of a class, of two, or a whole pattern."""
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
    """Pairs of tasks that share an instance in part (Ryan and Foster, 1981), where each is alone in its class."""
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
    """Gains of the bound for a unit of each aggregate, downwards and upwards, from the children solved so far."""

    gains: dict[Aggregate, list[list[float]]] = field(default_factory=dict)

    def learn(self, candidate: Candidate, side: int, gain: float) -> None:
        """Learn from a child that was solved."""
        part = max(candidate.parts[side], 1e-3)
        self.gains.setdefault(candidate.aggregate, [[], []])[side].append(gain / part)

    def known(self, candidate: Candidate) -> int:
        """How often the children of an aggregate were solved."""
        return min(map(len, self.gains.get(candidate.aggregate, ([], []))))

    def guess(self, candidate: Candidate, side: int) -> float:
        """The gain that a child may bring; by the mean of its kind where nothing is known of the aggregate."""
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
    """The candidate with the largest product of gains; `gap` is the gain at which a child is closed.

    The linear programs of children hold the columns at hand only, so their values are guesses.
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
        # The children of pairs have columns of their own, so that those at hand say little.
        if candidate.aggregate[0] in PAIRS or costs.known(candidate) >= parameters.reliable:
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
                    break  # Whatever the other child gains, a candidate before this one is as good.
        score = product([v - value for v in values])
        if best is None or score > best[0]:
            best = score, BranchChoice(candidate, (values[0], values[1]))
        if score >= gap * gap:
            break
    if best is None:
        raise RuntimeError("there is nothing to branch on")
    return best[1]
