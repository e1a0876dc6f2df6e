"""Column generation: a linear and an integer master over the columns at hand, and pricing in turn with the former."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray
from instances.eva.arrays import PackingArrays
from models.core.column_generation import EXACT, ColumnGeneration, Relaxed, Try
from models.core.linear_program import LinearProgram
from models.eva.aggregate_bound import MOST_UNITS, PriceGroups, TypeCut
from models.eva.column_generation.greedy import ResourcePrices, resource_prices
from models.eva.column_generation.parameters import LARGEST_COEFFICIENT
from models.eva.column_generation.pricing import PricedCut, TablePricer
from models.eva.configuration import Column, Configuration, missing, single_class_columns
from models.highs import LinearModel, solve_arrays

POOLED_AT_ONCE = 1_000  # most columns of the pool that enter before the linear program is solved again
PAYS = 1e-6  # a column of the pool enters if it saves this share of its price


class ColumnPool:
    """The columns of all packings that a search has passed through. The restricted master uses few of them.

    - `classes`: N, the number of classes.
    """

    def __init__(self, classes: int) -> None:
        self.columns: dict[Column, None] = {}
        self._classes, self._built = classes, 0
        self._kind = np.zeros(0, dtype=np.int64)
        self._on_it = sparse.csr_array((0, classes))

    def add(self, columns: Iterable[Column]) -> None:
        """Add columns."""
        self.columns.update(dict.fromkeys(columns))

    def paying(self, duals: FloatArray, prices: Sequence[float], limit: int) -> list[Column]:
        """Return the columns of negative reduced cost at class duals (N,) and type prices (K,), the least first."""
        columns = list(self.columns)
        if self._built < len(columns):
            new = columns[self._built :]
            begin = np.cumsum([0] + [len(column.pattern) for column in new])
            places, copies = zip(*(entry for column in new for entry in column.pattern), strict=True)
            rows = sparse.csr_array((np.array(copies, dtype=float), places, begin), shape=(len(new), self._classes))
            self._on_it, self._built = sparse.vstack([self._on_it, rows], format="csr"), len(columns)
            self._kind = np.append(self._kind, [column.type for column in new])
        price = np.asarray(prices, dtype=float)[self._kind]
        share = np.divide(self._on_it @ duals, price, out=np.full(len(price), np.inf), where=price > 0)
        order = np.argsort(-share, kind="stable")[: min(limit, int((share > 1 + PAYS).sum()))]
        return [columns[i] for i in order.tolist()]


class RestrictedMaster:
    """The restricted master as a linear program in HiGHS that grows by columns.

    Variables: `z_g` and `s_g`, the spend on price group g within a free budget and beyond it, and `x_p` of a column.

    minimise `sum_g u_g s_g` subject to `sum_p a_cp x_p >= n_c` and `z_g + s_g >= sum_{p in g} (C_p / u_g) x_p`,
    `0 <= z_g <= budget_g`. Without a free budget the objective is the price of the configuration; with one it is
    the price of what the budget does not pay for. The dual of the second row is the price of a unit of the group: u_g
    without a budget, less where the budget does not bind.
    Where prices are very many units the row is scaled down, for HiGHS refuses large coefficients.
    """

    def __init__(self, arrays: PackingArrays, groups: PriceGroups, options: Options = Options()) -> None:
        self.groups = groups
        self.columns: list[Column] = []
        self._known: set[Column] = set()
        self._classes = arrays.classes
        self._price = arrays.price.tolist()
        self._scale = row_scales(self._price, groups)
        self._budget = [0.0] * len(groups.unit)
        # Primal simplex where the last basis is still primal feasible, as it is when columns were added.
        extra = {"simplex_strategy": 0}
        self._lp = LinearProgram(covering_rows(arrays, groups), Options(threads=options.threads), extra)

    def add(self, columns: Iterable[Column]) -> int:
        """Add the columns that are new, and give the number of new columns."""
        fresh = [c for c in dict.fromkeys(columns) if c not in self._known]
        if fresh:
            matrix = covering_columns(self._classes, self._price, self.groups, fresh)
            self._lp.add(0.0, matrix.indptr[:-1], matrix.indices, matrix.data)
        self.columns.extend(fresh)
        self._known.update(fresh)
        return len(fresh)

    def set_free_budget(self, spend: Sequence[float]) -> None:
        """Set how many units of each group cost nothing."""
        self._budget = [float(z) for z in spend]
        self._lp.bound(range(len(spend)), 0.0, self._budget)

    def cut_bound(self, cut: TypeCut) -> float:
        """The bound of a cut alone on the price beyond the free budget, in price units (after Farley, 1990)."""
        unit = self.groups.unit
        scale = [
            max((cut.value[k] * u / self._price[k] for k in self.groups.of_group(g)), default=0.0)
            for g, u in enumerate(unit)
        ]
        left = cut.rhs - sum(w * most for w, most in zip(scale, self._budget, strict=True))
        return min((left * u / w for w, u in zip(scale, unit, strict=True) if w), default=0.0)

    def solve(self, seconds: float = math.inf) -> Relaxed:
        """Solve the linear program from the last basis. Raises SolveFailed where HiGHS cannot in so many `seconds`."""
        found = self._lp.solve(seconds)
        duals = np.maximum(found.duals, 0.0)
        scaled = zip(duals[self._classes :], self._scale, self.groups.unit, strict=True)
        unit_price = {g: float(y) * scale / u for g, (y, scale, u) in enumerate(scaled)}
        return Relaxed(found.value, duals[: self._classes], found.x[2 * len(self.groups.unit) :], unit_price)

    def prices(self, relaxed: Relaxed) -> list[float]:
        """What an instance of each type costs at the duals of the groups."""
        groups = zip(self.groups.group_of, self._price, strict=True)
        return [relaxed.duals[g] * p if g >= 0 else 0.0 for g, p in groups]


def covering_rows(arrays: PackingArrays, groups: PriceGroups) -> LinearModel:
    """The restricted master without columns: a row for each class and each group, and the spends z and s."""
    n = len(groups.unit)
    spend = sparse.diags_array(row_scales(arrays.price.tolist(), groups))
    spends = sparse.hstack([spend, spend])
    return LinearModel(
        cost=np.concatenate([np.zeros(n), np.array(groups.unit, dtype=float)]),
        matrix=sparse.vstack([sparse.coo_array((arrays.classes, 2 * n)), spends]),
        row_lower=np.concatenate([arrays.count, np.zeros(n)]),
        row_upper=np.inf,
        upper=np.repeat([0.0, np.inf], n),
    )


def row_scales(price: Sequence[int], groups: PriceGroups) -> list[float]:
    """The factor by which the row of each group is multiplied, to keep coefficients within the limit of HiGHS."""
    dearest = [max((price[k] for k in groups.of_group(g)), default=0) for g in range(len(groups.unit))]
    return [min(1.0, LARGEST_COEFFICIENT * u / max(1, most)) for u, most in zip(groups.unit, dearest, strict=True)]


def covering_columns(
    classes: int, price: Sequence[int], groups: PriceGroups, columns: Sequence[Column]
) -> sparse.csc_array:
    """The entries of columns in the rows of the classes and of the groups."""
    begin, rows, entries = [0], [], []
    scales = row_scales(price, groups)
    for column in columns:
        group = groups.group_of[column.type]
        rows += [*(c for c, _ in column.pattern), classes + group]
        entries += [*(float(q) for _, q in column.pattern), -price[column.type] / groups.unit[group] * scales[group]]
        begin.append(len(rows))
    return sparse.csc_array((entries, rows, begin), shape=(classes + len(groups.unit), len(columns)))


FREE = 1e-6  # a spend beyond a free budget that counts as none


def solve_integer_master(
    arrays: PackingArrays,
    groups: PriceGroups,
    columns: Sequence[Column],
    options: Options,
    *,
    kept: Configuration,
    bound: int,
    ceiling: int,
) -> Configuration | None:
    """The cheapest cover by whole numbers of the columns, with all of `kept`, `None` where none is found.

    Each group has a variable for its spend. If the units are few, it is an integer and HiGHS can branch on it.

    - `arrays`: the instance.
    - `groups`: price groups, whose spend is counted in units.
    - `columns`: the columns at hand.
    - `options`: limits, threads and seed; the gap is 0.
    - `kept`: instances that are in the cover whatever happens.
    - `bound`: a proven bound, in price units, at which the search ends.
    - `ceiling`: a cost, in price units; only cheaper covers are sought.
    """
    n, coarse, price = len(groups.unit), groups.coarsen(ceiling), arrays.price.tolist()
    unit = np.array(coarse.unit, dtype=float)
    entries = sparse.hstack(
        [
            sparse.vstack([sparse.coo_array((arrays.classes, n)), sparse.diags_array(row_scales(price, coarse))]),
            covering_columns(arrays.classes, price, coarse, columns),
        ]
    )
    scale = min(1.0, MOST_UNITS / max(1, ceiling))
    cost = np.concatenate([scale * unit, np.zeros(len(columns))])
    most = [np.inf if upper is None else float(upper) for upper in coarse.upper]
    whole = [u == v for u, v in zip(coarse.unit, groups.unit, strict=True)]
    solved = solve_arrays(
        LinearModel(
            cost=cost,
            matrix=sparse.vstack([entries, sparse.coo_array(cost[None, :])]),
            row_lower=np.concatenate([arrays.count, np.zeros(n), [scale * bound]]),
            row_upper=np.concatenate([np.full(arrays.classes + n, np.inf), [scale * (ceiling - 1)]]),
            lower=np.concatenate([np.zeros(n), [kept.get(column, 0) for column in columns]]),
            upper=np.concatenate([most, np.full(len(columns), np.inf)]),
            integer=np.array(whole + [True] * len(columns)),
        ),
        replace(options, gap=0.0),
        extra={"mip_abs_gap": 0.5 * scale},
    )
    if solved.x is None:
        return None
    copies = np.round(solved.x[n:]).astype(np.int64).tolist()
    cover = {column: x for column, x in zip(columns, copies, strict=True) if x > 0}
    return None if (missing(arrays, cover) > 0).any() else cover


class ColumnGenerator:
    """Restricted master and pricing in turn.

    `cuts` are all cuts that pricing has proved, `iterations` the calls of pricing.

    - `arrays`: the instance.
    - `groups`: price groups of the restricted master.
    - `pricer`: exact pricing.
    - `cuts`: a list that each new cut is added to.
    - `options`: threads, and the effort, which limits the calls of pricing in one `run` or `can_spend`.
    - `clock`: the time of the whole search; a linear program that would go beyond it raises OutOfTime.
    - `pool`: columns that enter the restricted master when they pay, without pricing.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        groups: PriceGroups,
        pricer: TablePricer,
        cuts: list[TypeCut],
        options: Options,
        clock: Stopwatch,
        pool: ColumnPool,
    ) -> None:
        self.pool = pool
        self.arrays, self.groups, self.pricer, self.cuts, self.options = arrays, groups, pricer, cuts, options
        self.clock = clock
        self.master = RestrictedMaster(arrays, groups, options)
        self.iterations = 0
        self._ended: Callable[[Relaxed, TypeCut | None], bool]
        self._last = np.inf

    def start(self) -> ResourcePrices:
        """Add columns of a single class; give the prices of resources."""
        self.master.add(single_class_columns(self.arrays))
        return resource_prices(self.arrays, self.options)

    def price_start(self, duals: FloatArray) -> None:
        """Add columns priced at the start duals."""
        self._price(duals, [0.999 * price for price in self.arrays.price.tolist()])

    def can_spend(self, spend: Sequence[int], enough: Callable[[TypeCut], bool]) -> bool:
        """Whether the linear master is feasible at a spend on the groups; `enough(cut)` may end the search early."""
        self.master.set_free_budget(spend)

        def ended(relaxed: Relaxed, cut: TypeCut | None) -> bool:
            return relaxed.value <= FREE if cut is None else enough(cut)

        return self._generate(ended).value <= FREE

    def run(self, center: FloatArray, enough: Callable[[Relaxed, TypeCut], bool]) -> Relaxed:
        """Generate columns until none has a negative reduced cost, or until `enough(relaxed, cut)`.

        `center`: the duals of the best cut so far.
        """

        def ended(relaxed: Relaxed, cut: TypeCut | None) -> bool:
            return cut is not None and enough(relaxed, cut)

        # The pool leaves few columns to find, which exact tables find at the duals of the linear program.
        near = self.pool.columns and self.pricer.exact
        tries = EXACT if near else ((self.pricer.parameters.smoothing, True), *EXACT)
        return self._generate(ended, tries, center)

    def _generate(
        self,
        ended: Callable[[Relaxed, TypeCut | None], bool],
        tries: Sequence[Try] = EXACT,
        center: FloatArray | None = None,
    ) -> Relaxed:
        self._ended, self._last = (
            ended,
            np.inf if self.options.effort is None else self.iterations + self.options.effort,
        )
        loop = ColumnGeneration(self, tries, center)
        loop.run()
        assert loop.relaxed is not None
        return loop.relaxed

    def solve(self) -> Relaxed:
        """See `Master`; over the columns at hand and those of the pool."""
        while True:
            relaxed = self.master.solve(self.clock.remaining_s)
            paying = self.pool.paying(relaxed.cover, self.master.prices(relaxed), POOLED_AT_ONCE)
            if not self.master.add(paying):
                return relaxed

    def enough(self, relaxed: Relaxed, priced: bool) -> bool:
        """See `Master`."""
        return self._ended(relaxed, self.cuts[-1] if priced else None) or (priced and self.iterations >= self._last)

    def price(self, relaxed: Relaxed, duals: FloatArray, exact: bool) -> tuple[float, int]:
        """See `Master`; exact in any case."""
        self.iterations += 1
        priced, new = self._price(duals, self.master.prices(relaxed), relaxed.cover)
        return self.master.cut_bound(priced.cut), new

    def reduced_cost(self, column: Column, duals: FloatArray, prices: Sequence[float] | FloatArray) -> float:
        """Reduced cost of a column of type k at class duals (N,) and type prices (K,)."""
        return float(prices[column.type]) - sum(q * float(duals[c]) for c, q in column.pattern)

    def _price(
        self, duals: FloatArray, prices: Sequence[float] | FloatArray, judge: FloatArray | None = None
    ) -> tuple[PricedCut, int]:
        """Price, keep the cut, add the columns with negative reduced cost at the duals `judge`."""
        parameters = self.pricer.parameters
        priced = self.pricer.price(duals, list(prices), parameters.columns_each_type)
        self.cuts.append(priced.cut)
        columns = priced.columns
        if judge is not None:
            columns = [c for c in columns if self.reduced_cost(c, judge, prices) < -1e-6]
        return priced, self.master.add(columns[: parameters.columns_each_round])
