"""Order transactions on shared keys to minimise the makespan: a problem of a leaderboard.

The leaderboard (UCB-ADRS/ADRS-Leaderboard at f856497, problems/txn_scheduling) has three workloads of a hundred
transactions, `data/transactions.csv`. A transaction consists of steps; some steps read or write a key. Two transactions
are in conflict if they share a key and one of them writes it. Then each use of the key by the later transaction must
come after each use by the earlier one. In a given order, each transaction begins as early as possible. The score
interpolates between the makespan of the file's order (0) and that of the longest transactions alone. It reaches 100 at
nine tenths of this distance.

Lower bounds on the makespan of any order come from paths through transactions that are pairwise in conflict, and from
an integer program over starts, which applies if all transactions read a key first and write another one last.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from experiments.harness.experiment import Quick, Study, TextTable
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.judging.calls import Calls
from experiments.judging.judge import JudgedCase, JudgeTask
from instances import MalformedSolution, Options
from instances.fields import refuse_seed
from instances.tables import read_packaged

USE = re.compile(r"(\d+)([rw])(\d+)")
WORKLOADS = (1, 2, 3)
CUT_OFF = 0.1  # share of the distance that the leaderboard does not require
SEQUENCES = 10  # number of orders that a program of the leaderboard should try
PROVEN = (2,)  # workloads with a known minimum makespan


@dataclass(frozen=True)
class Use:
    """A step of a transaction, counted from 1, that reads or `writes` a key."""

    step: int
    writes: bool
    key: int


@dataclass(frozen=True)
class Transaction:
    """Uses of keys, in the order of their steps, within `length` steps."""

    length: int
    uses: tuple[Use, ...]

    def count_min_steps(self, other: Transaction) -> int | None:
        """Return the minimum steps from this start to that of a later `other`; `None` without a conflict."""
        return max(
            (a.step - b.step + 1 for a in self.uses for b in other.uses if a.key == b.key and (a.writes or b.writes)),
            default=None,
        )


@dataclass(frozen=True)
class TransactionWorkload:
    """Transactions, identified by index."""

    transactions: tuple[Transaction, ...]

    def makespan(self, order: Sequence[int]) -> int:
        """Return the makespan of an order of all or some of the transactions, in steps."""
        written: dict[int, int] = {}
        used: dict[int, int] = {}
        last = 0
        for transaction in map(self.transactions.__getitem__, order):
            free = [(used if use.writes else written).get(use.key, 0) - use.step + 1 for use in transaction.uses]
            before = max([0, *free])
            for use in transaction.uses:
                if use.writes:
                    written[use.key] = max(written.get(use.key, 0), before + use.step)
                used[use.key] = max(used.get(use.key, 0), before + use.step)
            last = max(last, before + transaction.length)
        return last

    @property
    def file_order_makespan(self) -> int:
        """Return the makespan of the order of the file, the leaderboard's zero."""
        return self.makespan(range(len(self.transactions)))

    @property
    def longest(self) -> int:
        """Return the steps of the longest transaction, the other end of the leaderboard's scale."""
        return max(transaction.length for transaction in self.transactions)

    @property
    def content(self) -> list[tuple[int, list[tuple[str, str, int]]]]:
        """Return the workload in JSON's types; each use is `r` or `w`, the key and the step, as in the leaderboard."""
        return [
            (one.length, [("w" if use.writes else "r", str(use.key), use.step) for use in one.uses])
            for one in self.transactions
        ]


def read_published(number: int) -> tuple[TransactionWorkload, list[int]]:
    """Return one of the leaderboard's three workloads, and its best known order."""
    table = read_packaged("experiments.eva", "transactions")
    rows = table[table.workload == number]
    made = tuple(
        Transaction(int(length), _uses(str(uses))) for length, uses in zip(rows.length, rows.uses, strict=True)
    )
    places = [int(place) for place in rows.place]
    return TransactionWorkload(made), sorted(range(len(places)), key=places.__getitem__)


def _uses(text: str) -> tuple[Use, ...]:
    found = (USE.fullmatch(word) for word in text.split())
    return tuple(Use(int(use[1]), use[2] == "w", int(use[3])) for use in found if use)


def score(makespans: int, workloads: Sequence[TransactionWorkload]) -> float:
    """Return the leaderboard's score of `makespans`, the sum of the makespans in steps."""
    zero, end = sum(one.file_order_makespan for one in workloads), sum(one.longest for one in workloads)
    return 100 * min(max((zero - makespans) / ((1 - CUT_OFF) * (zero - end)), 0.0), 1.0)


class Told:
    """The view of a workload that a program receives, with the leaderboard's names."""

    def __init__(self, content: Sequence[tuple[int, Sequence[tuple[str, str, int]]]]) -> None:
        self.num_txns = len(content)
        self.txns = [[(kind, key, step, length) for kind, key, step in uses] for length, uses in content]

    def get_opt_seq_cost(self, txn_seq: Sequence[int]) -> int:
        """Return the makespan of an order of all or some of the transactions."""
        uses = [tuple(Use(step, kind == "w", int(key)) for kind, key, step, _ in one) for one in self.txns]
        made = [Transaction(one[0][3], own) for one, own in zip(self.txns, uses, strict=True)]
        return TransactionWorkload(tuple(made)).makespan(txn_seq)


def calls() -> Calls:
    """Return the call `get_best_schedule(workload, num_seqs)`, which returns a makespan and an order, as there."""
    return Calls("get_best_schedule", lambda content: (Told(content), SEQUENCES), lambda _, returned: list(returned[1]))


def disguise(workload: TransactionWorkload, seed: int) -> TransactionWorkload:
    """Return an equivalent workload with shuffled transactions and renamed keys, which has the same minimum makespan.

    Raises InputError for an invalid seed.
    """
    refuse_seed(seed)
    draw = random.Random(seed)
    keys = sorted({use.key for one in workload.transactions for use in one.uses})
    renamed = dict(zip(keys, draw.sample(range(1, 10 * len(keys)), len(keys)), strict=True))
    made = [
        replace(one, uses=tuple(replace(use, key=renamed[use.key]) for use in one.uses))
        for one in workload.transactions
    ]
    draw.shuffle(made)
    return TransactionWorkload(tuple(made))


def build_task(seed: int) -> JudgeTask:
    """Build the task of the workloads with a proven minimum makespan; a seed other than 0 disguises them."""
    cases = []
    for number in PROVEN:
        workload, order = read_published(number)
        optimum = workload.makespan(order)
        workload = disguise(workload, seed) if seed else workload
        value = partial(_value, workload)
        cases.append(JudgedCase(f"workload {number}", workload.content, float(optimum), value))
    return JudgeTask("transactions", "transactions in the order that ends soonest", f"{__name__}:calls", cases)


def _value(workload: TransactionWorkload, answer: Any) -> tuple[float | None, Sequence[str]]:
    places = range(len(workload.transactions))
    if not isinstance(answer, list) or not all(type(i) is int and i in places for i in answer):
        raise MalformedSolution(f"must return the places of {len(places)} transactions")
    if sorted(answer) != list(places):
        return None, ["not every transaction is in the order once"]
    return float(workload.makespan(answer)), ()


def path_bound(workload: TransactionWorkload) -> int:
    """Return a lower bound on the makespan from shortest paths through transactions that are pairwise in conflict.

    The transactions that write a common key are in conflict, and possibly all transactions.
    """
    apart = [[one.count_min_steps(other) for other in workload.transactions] for one in workload.transactions]
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
    from scipy.optimize import linear_sum_assignment  # loaded only for bounds, not for the judge

    size = len(apart)
    cost = np.zeros((size + 1, size + 1), dtype=np.int64)
    cost[:size, :size] = apart
    np.fill_diagonal(cost, 1 + 2 * size * int(np.abs(cost).max() + 1))
    return int(cost[linear_sum_assignment(cost)].sum())


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
        self.begins = {kind: self._list_new_columns(self.starts) for kind in kinds}
        self.rows += [(dict.fromkeys(self.begins[kind], 1), count, count) for kind, count in kinds.items()]
        for key in sorted({written for _, written in kinds}):
            self._see_writers(key)
        for kind in kinds:
            if kind[0] < kind[1] and kind[::-1] in kinds:
                self._see_exchange(self.begins[kind], self.begins[kind[::-1]])

    def _list_new_columns(self, count: int) -> range:
        self.columns += count
        return range(self.columns - count, self.columns)

    def _see_writers(self, key: int) -> None:
        for start, written in enumerate(self._list_new_columns(self.starts)):
            writers = {begins[start]: 1 for kind, begins in self.begins.items() if kind[1] == key}
            self.rows.append((writers | {written: -1}, 0, 0))
            if (later := start + self.last) < self.starts:
                readers = [begins[later] for kind, begins in self.begins.items() if kind[0] == key]
                self.rows += [({written: 1, reader: 1}, 0, 1) for reader in readers]

    def _see_exchange(self, one: range, other: range) -> None:
        """Add rows: of two kinds, only one begins within as many starts as a transaction has steps."""
        for first in range(max(1, self.starts - self.last)):
            (column,) = self._list_new_columns(1)
            for start in range(first, min(first + self.last + 1, self.starts)):
                self.rows += [({one[start]: 1, column: -1}, -1, 0), ({other[start]: 1, column: 1}, 0, 1)]

    def is_infeasible(self, options: Options) -> bool:
        """Return whether the program is infeasible, by HiGHS."""
        from scipy import sparse

        from models.core.highs import LinearModel, solve_arrays

        entries = [(r, column, value) for r, (terms, *_) in enumerate(self.rows) for column, value in terms.items()]
        at_row, at_column, values = zip(*entries, strict=True)
        matrix = sparse.csr_array((values, (at_row, at_column)), shape=(len(self.rows), self.columns))
        _, least, most = zip(*self.rows, strict=True)
        model = LinearModel(np.zeros(self.columns), matrix, least, most, 0.0, 1.0, integer=True)
        return solve_arrays(model, options, extra={"mip_heuristic_effort": 0.0}).termination == "infeasible"


def _kind(transaction: Transaction) -> tuple[int, int]:
    """Return the key that a transaction reads first, and the one that it writes last. Raises ValueError."""
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
            if Exchanges(workload, asked).is_infeasible(options):
                return asked + 1
    return min(bound, makespan)


def ceiling(options: Options, quick: Quick = False) -> Study:
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
        highest, reached = (compute_score(outcomes, name) for name in ("bound", "best_known"))
        yield f"no orders score more than {highest:.4f}, the best known {reached:.4f}"

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        each: dict[str, Sample | float | str] = {
            f"workload {number}: {name.replace('_', ' ')}": float(outcome.figures[name])
            for number, outcome in zip(numbers, outcomes, strict=True)
            for name in ("in_turn", "bound", "best_known")
        }
        return each | {
            "highest score": compute_score(outcomes, "bound"),
            "best known score": compute_score(outcomes, "best_known"),
        }

    def compute_score(outcomes: Sequence[Measured], name: str) -> float:
        return score(
            sum(outcome.figures[name] for outcome in outcomes), [read_published(number)[0] for number in numbers]
        )

    return Study(tasks, lambda outcomes: list(tables(outcomes)), values=values)


def proven(number: int, options: Options) -> dict[str, Any]:
    """Return the makespan of the best known order of a workload, and a lower bound for any order."""
    workload, order = read_published(number)
    known = workload.makespan(order)
    return {
        "in_turn": workload.file_order_makespan,
        "best_known": known,
        "bound": proven_above(workload, known, options),
    }
