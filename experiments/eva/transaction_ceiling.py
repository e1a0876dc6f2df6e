"""Prove lower bounds on the makespan of any order of transactions, in two ways.

The first is a path through transactions that are pairwise in conflict. The second is an integer program over their
starts, which applies if all transactions read a key first and write another one last.
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
from models.core.highs import LinearModel, solve_arrays


def path_bound(workload: TransactionWorkload) -> int:
    """Return a lower bound on the makespan from shortest paths through transactions that are pairwise in conflict.

    The transactions that write a common key are in conflict, and possibly all transactions.
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
    """Return a lower bound on the time between the first and the last start of transactions in sequence.

    The bound is the minimum cost of assigning a successor to all but one of them: an assignment problem with one free
    position.
    """
    size = len(apart)
    cost = np.zeros((size + 1, size + 1), dtype=np.int64)
    cost[:size, :size] = apart
    np.fill_diagonal(cost, 1 + 2 * size * int(np.abs(cost).max() + 1))
    return int(cost[linear_sum_assignment(cost)].sum())


Kind = tuple[int, int]
"""The key that a transaction reads first, and the one that it writes last."""


class Exchanges:
    """An integer program that is feasible if an order of some transactions ends by `makespan`.

    All transactions read a key first, write another one last and take the same time; identical ones form one kind. Each
    column states whether a transaction of a kind begins at a start, and so writes its key at the end. At one step, at
    most one transaction writes a key, and no other reads it. Two transactions that exchange the same keys each read the
    key that the other writes, so one begins after the other has ended.

    Raises ValueError for other transactions.
    """

    def __init__(self, workload: TransactionWorkload, makespan: int) -> None:
        kinds = Counter(_kind(transaction) for transaction in workload.transactions)
        if len({transaction.length for transaction in workload.transactions}) > 1:
            raise ValueError("not all transactions take the same time")
        self.last = workload.longest - 1  # steps from the start to the write
        self.starts = makespan - self.last
        self.columns = 0
        self.rows: list[tuple[dict[int, int], int, int]] = []  # coefficients by column, minimum and maximum
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
        """Add rows: of two kinds, only one begins within as many starts as a transaction has steps."""
        for first in range(max(1, self.starts - self.last)):
            (column,) = self._more(1)
            for start in range(first, min(first + self.last + 1, self.starts)):
                self.rows += [({one[start]: 1, column: -1}, -1, 0), ({other[start]: 1, column: 1}, 0, 1)]

    def refuted(self, options: Options) -> bool:
        """Return whether the program is infeasible, by HiGHS."""
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
    """Return a lower bound on the makespan of any order, at most `makespan`, from the paths or the integer program.

    The program is solved for one step less than `makespan`. If it does not prove infeasibility, the next lower value is
    tried.
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
    """Return the makespan of the best known order of a workload, and a lower bound for any order."""
    workload, order = published(number)
    known = workload.makespan(order)
    return {"in_turn": workload.in_turn, "best_known": known, "bound": proven_above(workload, known, options)}
