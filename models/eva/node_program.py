"""The linear program of a node over the present columns, and the exact bound that its duals prove."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd, inf
from operator import mul

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import BoolArray
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.core.column_generation import Relaxed
from models.core.highs import LinearModel, SolveFailed
from models.core.linear_program import Basis, LinearProgram
from models.eva.configuration import Column, Configuration
from models.eva.pattern_pool import pattern_rows
from models.eva.pricer import BranchDecision, Duals, Holding, Kind, PatternPrices, Priced, Pricer

BITS = 30  # The unit of costs is so large that the ceiling has at most 30 bits,
FEW_BITS = 16  # and 16 bits if no price is below the unit: HiGHS may cycle if its duals have more digits.
LONG, SHORT = 30, 28  # longer prices in a row of spending are scaled to SHORT bits, because HiGHS fails at them
ROOM = 20  # prices are capped at the ceiling times 2**ROOM
SHARE = 10**6  # an aim is exceeded by one part in SHARE, for a later rounding of the duals
WHOLE = 1e-6  # an amount this far past a decision still meets it
DEAR = 10.0  # first cost of an artificial column, as a multiple of the ceiling
DEARER = 1e2  # factor on this cost if a linear program still uses artificial columns
PAIRS = ("together", "apart")
Aggregate = tuple[Kind, tuple[int, ...]]
"""The subject of a decision: its `kind` and its `of`."""


class NodeProgram:
    """The linear program of all nodes, kept in one HiGHS object; an aggregate's row is added at its first use.

    Minimise `sum_p C_p x_p` subject to `sum_p a_cp x_p >= n_c`, and for each aggregate `low <= sum_p g_p x_p <= high`.
    The entry `g_p` is 1 for "instances" and "holding", and `a_cp` for "placed". For "spend" it is the price in units of
    the greatest common divisor of the prices. Each row with a demand has an artificial column of high cost, so the
    program is always feasible.

    - `arrays`: the instance.
    - `options`: threads.
    - `ceiling`: cost of the best packing, which sets the unit of costs.
    - `clock`: if it stops a solve, the solve raises OutOfTime.
    - `sure`: whether the first solve ignores the clock.
    """

    def __init__(
        self, arrays: PackingArrays, options: Options, ceiling: int, clock: Stopwatch, sure: bool = True
    ) -> None:
        self.arrays, self.clock = arrays, clock
        self.columns: list[Column] = []
        self.known: dict[Column, int] = {}  # indices in `columns`
        self.rows: dict[Aggregate, int] = {}
        self._units: dict[tuple[int, ...], int] = {}
        self.kind = np.zeros(0, dtype=np.int64)  # of `columns`
        self._on_it, self._new = np.zeros((0, arrays.classes)), list[Column]()
        self._forbidden = np.zeros(0, dtype=bool)  # columns excluded until they are added again
        self._broken = np.zeros(0, dtype=bool)  # columns excluded by the present decisions
        bits, cheapest = ceiling.bit_length(), float(arrays.price[arrays.price > 0].min(initial=2**62))
        self._unit = max(1.0, 2.0 ** (bits - BITS), min(2.0 ** (bits - FEW_BITS), cheapest))  # of costs
        dearest = min(max(1, ceiling) << ROOM, 2**62)  # floats would not distinguish the other prices
        self._cost = np.minimum(arrays.price, dearest) / self._unit
        self._dear, self._raised = DEAR * max(1, ceiling) / self._unit, False
        self._sure = sure  # the first program is small: it has only columns of single classes
        self._bounds: dict[Aggregate, tuple[float, float]] = {}
        self._left = arrays.count
        # HiGHS chooses primal simplex if the last basis is primal feasible, as after new columns.
        extra = {"simplex_strategy": 0, "simplex_scale_strategy": 0}
        n = arrays.classes
        model = LinearModel(np.full(n, self._dear), sparse.eye_array(n), row_lower=arrays.count, row_upper=inf)
        self._lp = LinearProgram(model, Options(threads=options.threads), extra, short=n)

    def add(self, columns: Iterable[Column]) -> int:
        """Add the new columns, allow the forbidden ones again, and return the number of both."""
        columns = list(dict.fromkeys(columns))
        old = [self.known[c] for c in columns if c in self.known]
        allowed = [i for i in old if self._forbidden[i]]
        self._forbidden[allowed] = False
        self._lp.bound(allowed, 0.0, inf)
        fresh = [c for c in columns if c not in self.known]
        if not fresh:
            return len(allowed)
        kind = np.array([c.type for c in fresh], dtype=np.int64)
        on_it = pattern_rows(fresh, self.arrays.classes).toarray()
        places = np.concatenate([np.arange(self.arrays.classes), list(self.rows.values())])
        rows = [self._fine(a) * self.entries(a, kind, on_it)[:, None] for a in self.rows]
        matrix = np.hstack([on_it, *rows])
        filled, index = np.nonzero(matrix)
        start = np.searchsorted(filled, np.arange(len(fresh)))
        self._lp.add(self._cost[kind], start, places[index], matrix[filled, index])
        self.kind = np.append(self.kind, kind)
        self._new += fresh
        self.known.update((c, len(self.columns) + i) for i, c in enumerate(fresh))
        self.columns += fresh
        usable = np.zeros(len(fresh), dtype=bool)
        self._forbidden, self._broken = np.append(self._forbidden, usable), np.append(self._broken, usable)
        return len(fresh) + len(allowed)

    @property
    def on_it(self) -> FloatArray:
        """Return the number of tasks (m, N) of each class in each of `columns`; the matrix is built at first use."""
        if self._new:
            self._on_it = np.vstack([self._on_it, pattern_rows(self._new, self.arrays.classes).toarray()])
            self._new = []
        return self._on_it

    def used(self, chosen: IntArray) -> FloatArray:
        """Return the number of tasks (len(chosen), N) of each class in some of `columns`, given by their indices."""
        return pattern_rows([self.columns[i] for i in chosen.tolist()], self.arrays.classes).toarray()

    def entries(self, aggregate: Aggregate, kind: IntArray, on_it: FloatArray) -> FloatArray:
        """Return the entries (m,) in an aggregate's row, for columns of types `kind` (m,) with tasks `on_it` (m, N)."""
        what, of = aggregate
        if what == "instances":
            return np.isin(kind, of).astype(float)
        if what == "spend":
            return np.where(find_spend_types(self.arrays, of), self.arrays.price / self.per_unit(aggregate), 0.0)[kind]
        if what == "placed":
            on = np.zeros(len(self.arrays.price), dtype=bool)
            on[list(of[1:])] = True
            return np.where(on[kind], on_it[:, of[0]], 0.0)
        return np.asarray((kind == of[0]) & (on_it[:, list(of[1::2])] >= of[2::2]).all(axis=1), dtype=float)

    def forbid(self, stays: Callable[[Column], bool]) -> None:
        """Forbid from now on all columns for which `stays` is false."""
        self._forbidden |= [not stays(column) for column in self.columns]
        self._lp.bound(np.flatnonzero(self._forbidden), 0.0, 0.0)

    @cached_property
    def spends(self) -> list[tuple[tuple[int, int], IntArray, int]]:
        """Return the aggregates of spending on several types: family and lowest price, types, and unit of the row."""
        price, found = self.arrays.price, []
        for f in range(len(self.arrays.demand)):
            for least in np.unique(price[self.arrays.family == f]).tolist():
                kinds = np.flatnonzero(find_spend_types(self.arrays, (f, least)))
                if len(kinds) > 1:  # for one type, the number of instances is equivalent
                    found.append(((f, least), kinds, self.per_unit(("spend", (f, least)))))
        return found

    def per_unit(self, aggregate: Aggregate) -> int:
        """Return the amount of a decision per unit of the aggregate's row: price units for spending, otherwise 1."""
        if aggregate[0] != "spend":
            return 1
        of = aggregate[1]
        if of not in self._units:
            self._units[of] = gcd(*self.arrays.price[find_spend_types(self.arrays, of)].tolist()) or 1
        return self._units[of]

    def _fine(self, aggregate: Aggregate) -> float:
        """Return the factor on the numbers in an aggregate's row: HiGHS errs at large numbers."""
        if aggregate[0] != "spend":
            return 1.0
        most = self.arrays.price[find_spend_types(self.arrays, aggregate[1])].max() // self.per_unit(aggregate)
        bits = int(most).bit_length()
        return 1.0 if bits <= LONG else 2.0 ** (SHORT - bits)

    def set(
        self, decisions: Sequence[BranchDecision], left: IntArray | None = None, barred: BoolArray | None = None
    ) -> None:
        """Replace the decisions: set the bounds of the rows and the columns that may be used.

        - `left` (N,): number of tasks of each class to cover; by default all.
        - `barred` (m,): columns that are excluded as well.
        """
        left = self.arrays.count if left is None else left
        for c in np.flatnonzero(left != self._left).tolist():
            self._lp.bound_row(c, float(left[c]), inf)
        self._left = left
        self._bar(decisions, barred)
        wanted: dict[Aggregate, tuple[float, float]] = {}
        for d in decisions:
            if d.kind in PAIRS:
                continue
            aggregate: Aggregate = (d.kind, d.of)
            low, high = wanted.get(aggregate, (-inf, inf))
            amount = d.amount / self.per_unit(aggregate)
            wanted[aggregate] = (max(low, amount), high) if d.sense == "at least" else (low, min(high, amount))
        for aggregate in [a for a in self._bounds if a not in wanted]:
            self._lp.bound_row(self.rows[aggregate], -inf, inf)
            del self._bounds[aggregate]
        for aggregate, bounds in wanted.items():
            low, high = bounds
            fine = self._fine(aggregate)
            self._lp.bound_row(self.row(aggregate), low * fine, high * fine)
            self._bounds[aggregate] = bounds

    def meets(self, aggregate: Aggregate, amount: float) -> bool:
        """Return whether an amount meets the present decisions. Artificial columns may let a solution violate them."""
        low, high = self._bounds.get(aggregate, (-inf, inf))
        return low - WHOLE <= amount <= high + WHOLE

    def _bar(self, decisions: Sequence[BranchDecision], barred: BoolArray | None) -> None:
        """Exclude a column that is barred, holds one class of a pair kept together, or both of a pair kept apart."""
        broken = np.zeros(len(self.columns), dtype=bool) if barred is None else barred.copy()
        for d in (d for d in decisions if d.kind in PAIRS):
            one, other = (self.on_it[:, c] > 0 for c in d.of)
            broken |= one != other if d.kind == "together" else one & other
        changed = np.flatnonzero(broken != self._broken)
        self._lp.bound(changed, 0.0, np.where((broken | self._forbidden)[changed], 0.0, inf))
        self._broken = broken

    def row(self, aggregate: Aggregate) -> int:
        """Return the row of an aggregate, which is added at its first use."""
        if aggregate not in self.rows:
            on_it = self.on_it if aggregate[0] in ("placed", "holding") else self._on_it
            entries = self._fine(aggregate) * self.entries(aggregate, self.kind, on_it)
            filled = np.flatnonzero(entries)
            self.rows[aggregate] = self._lp.add_row(filled, entries[filled], {1.0: self._dear})
        return self.rows[aggregate]

    def basis(self) -> Basis:
        """Return the present basis."""
        return self._lp.basis()

    def restore(self, basis: Basis) -> None:
        """Restore a basis."""
        self._lp.restore(basis)

    def value(self) -> float:
        """Solve the linear program from the last basis and return its value alone."""
        return self._unit * self._lp.value(self.clock.remaining_s)

    def solve(self) -> Relaxed:
        """Solve the linear program from the last basis.

        Raises OutOfTime if the clock stops it, and SolveFailed if HiGHS cannot solve it.
        """
        found = self._lp.solve(inf if self._sure else self.clock.remaining_s)
        self._sure = False
        duals = self._unit * found.duals
        return Relaxed(
            self._unit * found.value,
            np.where(self._left > 0, np.maximum(duals[: self.arrays.classes], 0.0), 0.0),
            found.x,
            {a: float(duals[self.rows[a]]) * self._fine(a) for a in self._bounds},
            float(found.short.sum()),
        )

    def prices(self, relaxed: Relaxed) -> FloatArray:
        """Return the price of an instance of each type (K,) less the duals of the rows on instances and spending."""
        prices = self.arrays.price.astype(float)
        for (kind, of), y in relaxed.duals.items():
            if kind == "instances":
                prices[list(of)] -= y
            elif kind == "spend":
                spent = find_spend_types(self.arrays, of)
                prices[spent] -= y * self.arrays.price[spent] / self.per_unit((kind, of))
        return prices

    def dearer(self) -> bool:
        """Raise the cost of the artificial columns, only once; return whether it was raised."""
        if self._raised:
            return False
        self._raised, self._dear = True, DEARER * self._dear
        self._lp.price_short(self._dear)
        return True


def find_spend_types(arrays: PackingArrays, of: Sequence[int]) -> BoolArray:
    """Return the types (K,) that a decision on spending counts: of family `of[0]`, with a price of at least `of[1]`."""
    return np.asarray((arrays.family == of[0]) & (arrays.price >= of[1]))


def holding(of: Sequence[int]) -> Holding:
    """Return the holding of a decision."""
    return Holding(of[0], tuple(zip(of[1::2], of[2::2], strict=True)))


def shift_decisions(
    program: NodeProgram, decisions: Sequence[BranchDecision], taken: Configuration
) -> tuple[BranchDecision, ...]:
    """Return the decisions on the remaining instances, if the instances `taken` are fixed."""
    kind = np.array([column.type for column in taken], dtype=np.int64)
    on_it, copies = pattern_rows(list(taken), program.arrays.classes).toarray(), list(taken.values())
    found = []
    for d in decisions:
        if d.kind not in PAIRS:
            entries = program.entries((d.kind, d.of), kind, on_it).astype(np.int64).tolist()
            given = sum(map(mul, entries, copies)) * program.per_unit((d.kind, d.of))
            d = replace(d, amount=d.amount - given)
        found.append(d)
    return tuple(found)


FINE = 2**20  # raising a scale up to this by one may prove far less, so lowered duals are tried as well


@dataclass(frozen=True)
class ProvenDuals:
    """The integer duals of a node, and the result of pricing at them.

    - `duals`: their scale is `unit`, raised if the value of a pattern exceeds its target.
    - `prices`: the prices of the patterns, on the scale `unit`.
    - `priced`: the result of pricing.
    - `lifted`: whether pricing omitted patterns that keep the bound above the aim.
    """

    duals: Duals
    prices: PatternPrices
    unit: int
    priced: Priced
    lifted: bool = False

    @property
    def bound(self) -> int:
        """Return the smallest integer cost that the duals allow, which need not be a sum of prices."""
        return max(0, -(-self.duals.value // self.duals.scale))


def prove(
    arrays: PackingArrays,
    program: NodeProgram,
    pricer: Pricer,
    decisions: Sequence[BranchDecision],
    relaxed: Relaxed,
    columns_each: int,
    exact: bool = True,
    aim: float = 0.0,
    left: IntArray | None = None,
) -> ProvenDuals:
    """Round the duals of a linear program to integers, price patterns at them, and return the proof of a bound.

    - `arrays`, `program`, `pricer`: the instance, its linear program, and its pricing.
    - `decisions`: the decisions of the node.
    - `relaxed`: the duals.
    - `columns_each`: most columns of each type.
    - `exact`: whether pricing must be exact.
    - `aim`: a bound above it suffices: an exact search omits patterns that keep the bound above it.
    - `left` (N,): number of tasks of each class to cover; by default all.

    Raises SolveFailed for duals beyond 64 bits.
    """
    types = len(arrays.price)
    floats = _duals(program, relaxed, decisions)
    rough_value, rough_price = np.zeros((types, arrays.classes)), arrays.price.astype(float)
    rough_value += relaxed.cover
    for d, y in zip(decisions, floats, strict=True):
        if d.kind == "placed":
            rough_value[list(d.of[1:]), d.of[0]] += y
        else:
            rough_price += y  # a generous estimate of the size of the target
            rough_price += y * arrays.price.max() if d.kind == "spend" else 0.0
    finite = np.isfinite(rough_value).all() and np.isfinite(rough_price).all()
    factor = pricer.scale(rough_value, rough_price) if finite else np.inf
    if not float(relaxed.cover.max(initial=0.0)) * factor < 2.0**62:  # billions of tasks, or no number
        raise SolveFailed("the duals are too large for whole numbers")
    unit = max(1, int(factor))
    cover = np.floor(relaxed.cover * factor).astype(np.int64)
    duals = [int(y * factor) for y in floats]
    value: IntArray = np.repeat(cover[None], types, axis=0)
    prices = arrays.price.tolist()
    mu = [0] * types
    bonuses: list[tuple[Holding, int]] = []
    whole = cover.tolist()
    count = (arrays.count if left is None else left).tolist()
    proven = sum(map(mul, whole, count))
    for d, y in zip(decisions, duals, strict=True):
        if not y:
            continue
        sign = 1 if d.sense == "at least" else -1
        proven += sign * y * d.amount
        if d.kind == "instances":
            for k in d.of:
                mu[k] += sign * y
        elif d.kind == "spend":
            for k in np.flatnonzero(find_spend_types(arrays, d.of)).tolist():
                mu[k] += sign * y * prices[k]
        elif d.kind == "placed":
            value[list(d.of[1:]), d.of[0]] += y
        else:
            bonuses.append((holding(d.of), sign * y))
    suffices = unit
    if exact and aim * SHARE >= 1:  # the margin covers a later rounding of the duals
        suffices = max(unit, (proven * SHARE - 1) // (int(aim * SHARE) + ceil(aim)))
    asked = PatternPrices(
        value,
        tuple(suffices * c - m for c, m in zip(prices, mu, strict=True)),
        tuple((d.of[0], d.of[1]) for d in decisions if d.kind == "together"),
        tuple((d.of[0], d.of[1]) for d in decisions if d.kind == "apart"),
        bonuses=tuple(bonuses),
    )
    priced = pricer.price(asked, columns_each, exact)
    start = Duals(unit, proven, tuple(whole), tuple(duals))
    ways = (_feasible(arrays, count, decisions, start, priced.bound, mu, paying) for paying in (False, True))
    return ProvenDuals(max(ways, key=_proves), asked, unit, priced, suffices > unit)


def _feasible(
    arrays: PackingArrays,
    count: Sequence[int],
    decisions: Sequence[BranchDecision],
    duals: Duals,
    worth: Sequence[int],
    mu: Sequence[int],
    paying: bool,
) -> Duals:
    """Return duals at which no pattern has a value above its cost: raise the scale, or let a limit of the type pay.

    - `count` (N,): number of tasks of each class to cover.
    - `worth` (K,): bound on the value of a pattern of each type.
    - `mu` (K,): change of the price of each type by the decisions.
    - `paying`: whether limits pay wherever this costs less than raising the scale for the type alone.
    """
    unit, scale, proven, decided = duals.scale, duals.scale, duals.value, list(duals.decisions)
    few_of = [(i, d.of) for i, d in enumerate(decisions) if d.kind == "instances" and d.sense == "at most"]
    limit = {of[0]: i for i, of in few_of if len(of) == 1}  # each limited type has a limit of its own
    for k, (price, most, m) in enumerate(zip(arrays.price.tolist(), worth, mu, strict=True)):
        over = most - (unit * price - m)
        if over <= 0:
            continue
        few = decisions[limit[k]].amount if k in limit else None
        if few is not None and (not price or (paying and few * unit * price <= proven)):
            # At most `few` instances have a pattern with too large a value.
            decided[limit[k]] += over
            proven -= over * few
        else:
            scale = max(scale, -(-(most + m) // price))
    found = Duals(scale, proven, duals.cover, tuple(decided))
    if unit < scale and unit <= FINE:
        lowered = _lower_duals(arrays, count, decisions, replace(found, scale=unit), worth, mu)
        return max(found, lowered, key=_proves)
    return found


def _proves(duals: Duals) -> Fraction:
    """Return the bound that the duals prove."""
    return Fraction(duals.value, duals.scale)


def _lower_duals(
    arrays: PackingArrays,
    count: Sequence[int],
    decisions: Sequence[BranchDecision],
    duals: Duals,
    worth: Sequence[int],
    mu: Sequence[int],
) -> Duals:
    """Return lower duals that are feasible at their own scale: raising a coarse scale by one may prove far less."""
    paid = zip(worth, mu, arrays.price.tolist(), strict=True)
    share = max(Fraction(w + m, duals.scale * p) for w, m, p in paid if p)
    cover = tuple(floor(y / share) for y in duals.cover)
    weighed = zip(decisions, duals.decisions, strict=True)
    lowered = tuple(floor(y / share) if d.sense == "at least" else ceil(y / share) for d, y in weighed)
    value = sum(map(mul, cover, count))
    value += sum((y if d.sense == "at least" else -y) * d.amount for d, y in zip(decisions, lowered, strict=True))
    return Duals(duals.scale, value, cover, lowered)


def _duals(program: NodeProgram, relaxed: Relaxed, decisions: Sequence[BranchDecision]) -> list[float]:
    """Return the duals of the decisions, per unit of amount; 0 if another decision or side of the row binds."""
    tightest: dict[tuple[object, ...], BranchDecision] = {}
    for d in decisions:
        key = (d.kind, d.of, d.sense)
        sign = 1 if d.sense == "at least" else -1
        if key not in tightest or sign * d.amount > sign * tightest[key].amount:
            tightest[key] = d
    found = []
    for d in decisions:
        y = 0.0
        if d.kind not in PAIRS and tightest[d.kind, d.of, d.sense] is d:
            y = relaxed.duals.get((d.kind, d.of), 0.0) / program.per_unit((d.kind, d.of))
        found.append(max(0.0, y if d.sense == "at least" else -y))
    return found
