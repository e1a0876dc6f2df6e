"""How soon no order of transactions can end: two proofs that know no order.

A path through transactions of which every two are in conflict; and, where all read a key first and write another one
last, an integer program over their starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from experiments.eva.transactions import WORKLOADS, Transaction, TransactionWorkload, published, score
from experiments.harness.experiment import Quick, Study, TextTable
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from instances import Options
from models.highs import LinearModel, solve_arrays


def path_bound(workload: TransactionWorkload) -> int:
    """What the shortest paths through transactions in conflict say: no order ends sooner.

    The transactions that write a key are such, and all of them where every two are in conflict.
    """
    apart = [[one.apart(other) for other in workload.transactions] for one in workload.transactions]
    everybody = range(len(apart))
    writers: dict[int, list[int]] = {}
    for i in everybody:
        for key in {use.key for use in workload.transactions[i].uses if use.writes}:
            writers.setdefault(key, []).append(i)
    in_conflict = all(apart[i][j] is not None for i, j in combinations(everybody, 2))
    sets = [some for some in (*writers.values(), *([list(everybody)] if in_conflict else [])) if len(some) > 1]
    shortest = (
        _path([[apart[i][j] or 0 for j in some] for i in some]) + min(workload.transactions[i].length for i in some)
        for some in sets
    )
    return max([workload.longest, *shortest])


def _path(apart: Sequence[Sequence[int]]) -> int:
    """No more than what lies between the first and the last start of transactions that begin one after another.

    It is the cheapest way to give all but one of them a next one: an assignment, in which one place, next to nobody, is
    free.
    """
    size = len(apart)
    cost = np.zeros((size + 1, size + 1), dtype=np.int64)
    cost[:size, :size] = apart
    np.fill_diagonal(cost, 1 + 2 * size * int(np.abs(cost).max() + 1))
    return int(cost[linear_sum_assignment(cost)].sum())


Kind = tuple[int, int]
"""The key that a transaction reads first, and the one that it writes last."""


class Exchanges:
    """An integer program that has a point where an order of some transactions ends by `makespan`.

    They all read a key first, write another one last and take the same time; those alike are one kind. Columns say
    whether one of a kind begins at a start, and whether a key is written at the end of one that does. No two write a
    key at one step, and nobody reads it there. Of two that exchange the same keys, each reads what the other writes:
    the one begins when the other has ended.

    Raises ValueError for other transactions.
    """

    def __init__(self, workload: TransactionWorkload, makespan: int) -> None:
        kinds = Counter(_kind(transaction) for transaction in workload.transactions)
        if len({transaction.length for transaction in workload.transactions}) > 1:
            raise ValueError("not all transactions take the same time")
        self.last = workload.longest - 1  # from the start to what is written
        self.starts = makespan - self.last
        self.columns = 0
        self.rows: list[tuple[dict[int, int], int, int]] = []  # of columns their coefficients, the least and the most
        self.begins = {kind: self._more(self.starts) for kind in kinds}
        self.rows += [(dict.fromkeys(self.begins[kind], 1), count, count) for kind, count in kinds.items()]
        for key in sorted({written for _, written in kinds}):
            self._see_writers(key)
        for kind in kinds:
            if kind[0] < kind[1] and kind[::-1] in kinds:
                self._see_exchange(self.begins[kind], self.begins[kind[::-1]])

    def _more(self, count: int) -> range:
        self.columns += count
        return range(self.columns - count, self.columns)

    def _see_writers(self, key: int) -> None:
        for start, written in enumerate(self._more(self.starts)):
            writers = {begins[start]: 1 for kind, begins in self.begins.items() if kind[1] == key}
            self.rows.append((writers | {written: -1}, 0, 0))
            if (later := start + self.last) < self.starts:
                readers = [begins[later] for kind, begins in self.begins.items() if kind[0] == key]
                self.rows += [({written: 1, reader: 1}, 0, 1) for reader in readers]

    def _see_exchange(self, one: range, other: range) -> None:
        """Of two kinds one alone begins in as many starts as a transaction takes steps."""
        for first in range(max(1, self.starts - self.last)):
            (column,) = self._more(1)
            for start in range(first, min(first + self.last + 1, self.starts)):
                self.rows += [({one[start]: 1, column: -1}, -1, 0), ({other[start]: 1, column: 1}, 0, 1)]

    def refuted(self, options: Options) -> bool:
        """Whether it has no point, by HiGHS."""
        entries = [(r, column, value) for r, (terms, *_) in enumerate(self.rows) for column, value in terms.items()]
        at_row, at_column, values = zip(*entries, strict=True)
        matrix = sparse.csr_array((values, (at_row, at_column)), shape=(len(self.rows), self.columns))
        _, least, most = zip(*self.rows, strict=True)
        model = LinearModel(np.zeros(self.columns), matrix, least, most, 0.0, 1.0, integer=True)
        return solve_arrays(model, options, extra={"mip_heuristic_effort": 0.0}).termination == "infeasible"


def _kind(transaction: Transaction) -> Kind:
    if [(use.step, use.writes) for use in transaction.uses] != [(1, False), (transaction.length, True)]:
        raise ValueError("not every transaction reads a key first and writes one last")
    read, written = (use.key for use in transaction.uses)
    if read == written:
        raise ValueError("a transaction reads the key that it writes")
    return read, written


def proven_above(workload: TransactionWorkload, makespan: int, options: Options) -> int:
    """What no order of the workload ends below, at most `makespan`: by the paths, or more by the program of exchanges.

    It is asked whether an order can end a step before `makespan`, and where it does not know, a step before that.
    """
    bound = path_bound(workload)
    with suppress(ValueError):
        for asked in range(makespan - 1, bound - 1, -1):
            if Exchanges(workload, asked).refuted(options):
                return asked + 1
    return min(bound, makespan)


def ceiling(
    options: Options,
    quick: Quick = False,
) -> Study:
    """Prove a bound on the score of any order of the leaderboard's transactions."""
    numbers = (2,) if quick else WORKLOADS
    tasks = [Measurement.of(proven, options, None, number=number) for number in numbers]

    def tables(outcomes: Sequence[Measured]) -> Iterator[TextTable | str]:
        rows = []
        for number, outcome in zip(numbers, outcomes, strict=True):
            in_turn, bound, known = (outcome.figures[name] for name in ("in_turn", "bound", "best_known"))
            status = "optimal" if bound == known else "open"
            rows.append([str(number), str(in_turn), str(bound), str(known), status, f"{outcome.cpu_s or 0.0:.2f}"])
        yield TextTable(["workload", "in turn", "bound", "best known", "status", "CPU s"], rows)
        highest, reached = (scored(outcomes, name) for name in ("bound", "best_known"))
        yield f"no orders score more than {highest:.4f}, the best known {reached:.4f}"

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        each: dict[str, Sample | float | str] = {
            f"workload {number}: {what}": float(outcome.figures[name])
            for number, outcome in zip(numbers, outcomes, strict=True)
            for what, name in (("in turn", "in_turn"), ("bound", "bound"), ("best known", "best_known"))
        }
        return each | {"highest score": scored(outcomes, "bound"), "best known score": scored(outcomes, "best_known")}

    def scored(outcomes: Sequence[Measured], name: str) -> float:
        return score(sum(outcome.figures[name] for outcome in outcomes), [published(number)[0] for number in numbers])

    return Study(tasks, lambda outcomes: list(tables(outcomes)), values=values)


def proven(number: int, options: Options) -> dict[str, Any]:
    """The makespan of the best order known of a workload, and what no order is below."""
    workload, order = published(number)
    known = workload.makespan(order)
    return {"in_turn": workload.in_turn, "best_known": known, "bound": proven_above(workload, known, options)}
