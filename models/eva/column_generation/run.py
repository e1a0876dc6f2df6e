"""Eva's packing by column generation: a configuration, an exact bound, and the proof where they meet."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.eva.column_generation.filling import fill
from models.eva.column_generation.integer import solve_integer
from models.eva.column_generation.master import Relaxed
from models.eva.column_generation.packing import Column, Configuration, Packing
from models.eva.column_generation.pricing import TABLE_LIMIT, Pricer
from models.eva.column_generation.progress import Progress, Report
from models.eva.column_generation.relaxation import Generator
from models.eva.column_generation.spending import Cut, Purses, SpendingBound
from models.eva.column_generation.trimming import cheapest

ROUNDS = 4
NODE_LIMIT = 2000
INTEGER_SECONDS = 30.0
COMPLETE_COLUMNS = 5_000
ENRICHMENTS = 20
BIASES = (0.01, 0.003)
MANY_CLASSES = 1_000
FEW_COLUMNS = 500
CLOSE = 0.02
"""Reduced cost, as a share of the price, up to which a column is in an integer program, unless the columns are few."""


@dataclass(frozen=True)
class Outcome:
    """``configuration``, its ``cost`` and the exact ``bound``, both in price units; ``trace`` of (seconds, cost,
    bound).

    ``complete``: the bound that an integer program (HiGHS) over every column of a cheaper configuration proves, where
    there was one, even where ``bound``, which rests on integers alone, is lower.
    ``info``: columns, iterations, lp_value (price units), spending_rounds, integer_programs.
    """

    configuration: Configuration
    cost: int
    bound: int
    trace: tuple[tuple[float, int | None, int], ...]
    complete: int | None
    info: dict[str, Any]


def column_generation(
    packing: Packing,
    *,
    time_limit: float | None = None,
    gap: float = 1e-6,
    seed: int = 0,
    warm_start: Configuration | None = None,
    report: Report | None = None,
    table_limit: int = TABLE_LIMIT,
) -> Outcome:
    """Minimise the price of instances that hold all tasks (Eva, section 4.1), by patterns (Gilmore and Gomory).

    Stops when (cost - bound) / cost <= ``gap`` or after ``time_limit`` wall seconds.
    """
    run = _Run(packing, Progress(packing, time_limit, gap, report), seed, table_limit)
    if warm_start is not None:
        run.offer(warm_start)
    run.solve()
    return run.outcome()


@dataclass
class _Run:
    packing: Packing
    progress: Progress
    seed: int
    table_limit: int

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.generator = Generator(
            self.packing, Purses.by_family(self.packing), Pricer(self.packing, self.table_limit), []
        )
        self.lp_value: float | None = None
        self.spending_rounds = self.integer_programs = 0
        self.complete: int | None = None
        self.longest_fill = 0.0

    def offer(self, cover: Configuration) -> None:
        """Offer a cover as incumbent; its columns join the master."""
        self.generator.master.add(self.progress.offer(cover))

    def solve(self) -> None:
        """Resource bound and filling; column generation; rounding; then spending cuts and integer programs in turn."""
        duals = self.generator.start()
        self._single_cuts()
        for bias in BIASES:
            self._fill({}, duals, bias)
            if self.progress.over(0.8):
                break
        if len(self.packing.counts) > MANY_CLASSES:
            self._improve_rest()
        if self.progress.over():
            return
        relaxed = self._relax(duals)
        for share in (1.0, 0.9):
            self._fill(self._part(relaxed, share), relaxed.duals, BIASES[0])
        guide = self._relax_given(self._spend(Purses.by_family(self.packing)), relaxed)
        for round_ in range(ROUNDS):
            self._integer(guide, self._part(guide, 0.9))
            self._integer(guide, {})
            if round_ == 0:
                self._spend(Purses.by_type(self.packing))
            if self._complete(relaxed):
                return
            self._enrich(guide)
            if self.progress.configuration is not None:
                self._integer(guide, {column: 7 * count // 10 for column, count in self.progress.configuration.items()})

    def _single_cuts(self) -> None:
        spending = SpendingBound(self.packing, self.generator.purses)
        self.progress.raise_bound(max(spending.single(cut) for cut in self.generator.cuts))

    def _relax(self, center: NDArray[np.float64]) -> Relaxed:
        """Column generation without a grant, for at most 60% of the time."""
        spending = SpendingBound(self.packing, self.generator.purses)

        def enough(relaxed: Relaxed, cut: Cut) -> bool:
            self.progress.raise_bound(spending.single(cut))
            return self.progress.over(0.4) or relaxed.value - self.progress.bound < 1e-9 * relaxed.value

        relaxed = self.generator.run(center, enough)
        self.lp_value = relaxed.value
        return relaxed

    def _improve_rest(self) -> None:
        """Keep the instances of the family that costs most, and pack the tasks of the others anew, by themselves."""
        if self.progress.configuration is None or self.progress.over():
            return
        families = range(self.packing.families)
        split = [
            {c: n for c, n in self.progress.configuration.items() if self.packing.family[c.type] == f} for f in families
        ]
        kept = max(split, key=self.packing.cost)
        left = np.maximum(self.packing.missing(kept), 0)
        classes = np.flatnonzero(left)
        if len(classes) in (0, len(left)):
            return
        rest = replace(self.packing, counts=left[classes], demand=self.packing.demand[:, classes])
        outcome = column_generation(
            rest,
            time_limit=None if self.progress.time_limit is None else 0.6 * self.progress.left(),
            gap=self.progress.gap,
            seed=self.seed,
            table_limit=self.table_limit,
        )
        cover = Counter(kept)
        for column, count in (outcome.configuration or {}).items():
            cover[Column.of(column.type, ((int(classes[c]), q) for c, q in column.pattern))] += count
        self.offer(dict(cover))

    def _relax_given(self, units: tuple[int, ...] | None, relaxed: Relaxed) -> Relaxed:
        """The linear master when the purse of the largest unit is to spend a whole number of them, as in ``units``."""
        if units is None or self.progress.over():
            return relaxed
        top = max(range(len(units)), key=lambda f: (self.generator.purses.units[f], -f))
        self.generator.master.grant([z if f == top else 0 for f, z in enumerate(units)])
        given = self.generator.run(relaxed.duals, lambda _, cut: self.progress.over())
        self.generator.master.grant([0] * len(units))
        return given

    def _part(self, relaxed: Relaxed, share: float) -> Configuration:
        """A share of the linear solution, rounded down."""
        amounts = zip(self.generator.master.columns, relaxed.amounts, strict=False)
        return {column: floor(share * x + 1e-6) for column, x in amounts if share * x >= 1 - 1e-6}

    def _fill(self, start: Configuration, duals: NDArray[np.float64], bias: float) -> None:
        """Complete a configuration by filling; the bias favours large tasks. Only the first is done whatever the
        time."""
        if self.progress.cost is not None and (self.progress.over() or self.progress.left() < self.longest_fill):
            return
        start_time = time.monotonic()
        left = np.maximum(self.packing.missing(start), 0)
        added = fill(self.packing, self.generator.pricer, duals * (1 + bias * self.packing.shares), left)
        self.longest_fill = max(self.longest_fill, time.monotonic() - start_time)
        self.offer({column: start.get(column, 0) + added.get(column, 0) for column in [*start, *added]})

    def _spend(self, purses: Purses) -> tuple[int, ...] | None:
        """Raise the bound to the cheapest whole-number spending for which the linear master is feasible."""
        if self.progress.over():
            return None
        generator = Generator(self.packing, purses, self.generator.pricer, self.generator.cuts)
        generator.master.add(self.generator.master.columns)
        spending = SpendingBound(self.packing, purses)
        known = 0
        while not self.progress.over():
            for cut in generator.cuts[known:]:
                spending.add(cut)
            known = len(generator.cuts)
            wanted = spending.propose(self.progress.ceiling, min(self.progress.left(), 10.0))
            if wanted is None or spending.cost(wanted) >= self.progress.ceiling:
                break
            self.spending_rounds += 1

            def enough(cut: Cut, wanted: tuple[int, ...] = wanted) -> bool:
                return self.progress.over() or spending.violates(wanted, cut)

            generator.run_granted(wanted, enough)
            if not any(spending.violates(wanted, cut) for cut in generator.cuts[known:]):
                break
        self.generator.master.add(generator.master.columns)
        proven = spending.solve(self.progress.ceiling, NODE_LIMIT, max(0.0, min(self.progress.left(), 10.0)))
        self.progress.raise_bound(proven.cost)
        return proven.units

    def _integer(self, relaxed: Relaxed, least: Configuration) -> None:
        """The integer master over the columns of small reduced cost, with at least the instances of ``least``."""
        if self.progress.over():
            return
        columns = self.generator.master.columns
        if len(columns) > FEW_COLUMNS:
            price, reduced_cost = self.packing.prices, self.generator.reduced_cost
            columns = [
                c
                for c in columns
                if c in least or reduced_cost(c, relaxed.duals, relaxed.prices) <= CLOSE * price[c.type]
            ]
        self.integer_programs += 1
        answer = solve_integer(
            self.packing,
            self.generator.purses,
            columns,
            [least.get(c, 0) for c in columns],
            self.progress.bound,
            self.progress.ceiling,
            INTEGER_SECONDS
            if self.progress.time_limit is None
            else min(self.progress.left(), 0.25 * self.progress.time_limit),
            self.seed,
        )
        if answer.cover is not None:
            self.offer(answer.cover)

    def _complete(self, relaxed: Relaxed) -> bool:
        """Where few enough columns can be part of a cheaper configuration, an integer program over all of them."""
        if self.progress.over():
            return True
        columns = self.generator.pricer.enumerate(relaxed.duals, self.progress.ceiling, COMPLETE_COLUMNS)
        if columns is None:
            return False
        columns = [c for c in columns if cheapest(self.packing, c) == c]
        answer = solve_integer(
            self.packing,
            self.generator.purses,
            columns,
            [0] * len(columns),
            self.progress.bound,
            self.progress.ceiling,
            self.progress.left(),
            self.seed,
        )
        if answer.cover is not None:
            self.offer(answer.cover)
        if answer.finished:
            self.complete = answer.bound
        return answer.finished

    def _enrich(self, relaxed: Relaxed) -> None:
        """More columns near the optimum: the best patterns at duals disturbed at random."""
        for _ in range(ENRICHMENTS):
            if self.progress.over():
                return
            duals = relaxed.duals * (1 + self.random.normal(0.0, 0.01, len(relaxed.duals)))
            self.generator.master.add(self.generator.pricer.price(duals, list(relaxed.prices), ENRICHMENTS).columns)

    def outcome(self) -> Outcome:
        """What was reached."""
        if self.progress.configuration is None or self.progress.cost is None:
            raise RuntimeError("filling gave no configuration")
        info = {
            "columns": len(self.generator.master.columns),
            "iterations": self.generator.iterations,
            "lp_value": self.lp_value,
            "spending_rounds": self.spending_rounds,
            "integer_programs": self.integer_programs,
        }
        return Outcome(
            self.progress.configuration,
            self.progress.cost,
            self.progress.bound,
            tuple(self.progress.trace),
            self.complete,
            info,
        )
