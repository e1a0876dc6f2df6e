"""Order transactions on shared keys to minimise the makespan: a problem of a leaderboard.

The leaderboard (UCB-ADRS/ADRS-Leaderboard at f856497, problems/txn_scheduling) has three workloads of a hundred
transactions, `data/transactions.csv`. A transaction consists of steps; some steps read or write a key. Two transactions
are in conflict if they share a key and one of them writes it. Then each use of the key by the later transaction must
come after each use by the earlier one. In a given order, each transaction begins as early as possible. The score
interpolates between the makespan of the file's order (0) and that of the longest transactions alone. It reaches 100 at
nine tenths of this distance.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from experiments.judging.calls import Calls
from experiments.judging.judge import JudgedCase, JudgeTask
from instances import MalformedSolution
from instances.fields import refuse_seed
from instances.tables import packaged

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

    def apart(self, other: Transaction) -> int | None:
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
    def in_turn(self) -> int:
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


def published(number: int) -> tuple[TransactionWorkload, list[int]]:
    """Return one of the leaderboard's three workloads, and its best known order."""
    table = packaged("experiments.eva", "transactions")
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
    zero, end = sum(one.in_turn for one in workloads), sum(one.longest for one in workloads)
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


def disguised(workload: TransactionWorkload, seed: int) -> TransactionWorkload:
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


def judged(seed: int) -> JudgeTask:
    """Build the task of the workloads with a proven minimum makespan; a seed other than 0 disguises them."""
    cases = []
    for number in PROVEN:
        workload, order = published(number)
        optimum = workload.makespan(order)
        workload = disguised(workload, seed) if seed else workload
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
