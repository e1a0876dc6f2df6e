"""Enumerate the patterns of an instance type that a certificate needs, for its writer and for its verifier.

The search is depth first. Throughputs only fall as tasks are added, so the value of a present or later task never
rises. To bound the value of later tasks, the free capacity of each resource is filled with the most valuable tasks per
unit. Migration cost that is saved is added in full. All numbers are integers, rounded up: throughputs in units of
2^-`RATE`, values in a unit of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from instances.eva.checker import Book
from instances.proofs.certificate import NoCertificate

RATE = 96  # bits behind the point of a throughput
MOST_TASKS = 500  # of an instance

Held = Sequence[tuple[int, int]]
"""Pairs of a class and the number of its tasks on an instance."""


@dataclass(frozen=True)
class SearchedType:
    """An instance type with its classes of tasks, in the order in which the search takes them.

    - `classes`: the index of each class.
    - `fixed`, `loss`: the value of a task is `fixed` plus its throughput times `loss`.
    - `stay`: additional values of the tasks of each class that stay, one per task, in decreasing order.
    - `count`: the number of tasks of each class.
    - `need`, `room`: the demand of a task of each class, and the capacity, per resource.
    - `pair`: the throughput of a task of each class when it is co-located with a task of each other class.
    - `least`: a pattern is reported only if its value exceeds this.
    """

    classes: Sequence[int]
    fixed: Sequence[int]
    loss: Sequence[int]
    stay: Sequence[Sequence[int]]
    count: Sequence[int]
    need: Sequence[Sequence[int]]
    room: Sequence[int]
    pair: Sequence[Sequence[int]]
    least: int


class ContentSearch:
    """The search: it calls `look(steps)` for each pattern examined and `see(held)` for each pattern to report.

    The steps of a pattern are the number of classes times the number of classes that may come next. Raises
    NoCertificate if an instance holds more than `MOST_TASKS` tasks.
    """

    def __init__(self, of: SearchedType, look: Callable[[int], None], see: Callable[[Held], None]) -> None:
        self.of, self.look, self.see = of, look, see
        self.held = [0] * len(of.classes)

    def grow(self) -> None:
        """Examine all non-empty patterns whose value may exceed `least`."""
        free = [1 << RATE] * len(self.held)
        self._grow(0, self.of.room, 0, free, free)

    def _grow(self, first: int, room: Sequence[int], tasks: int, beside: Sequence[int], among: Sequence[int]) -> None:
        """Extend the pattern `held` by classes from `first` on.

        `beside` is the throughput of an additional task of each class, `among` that of a task in the pattern.
        """
        of = self.of
        self.look(len(self.held) * (len(self.held) - first))
        if tasks and self._bound_now(among) > of.least:
            self.see([(c, n) for c, n in zip(of.classes, self.held, strict=True) if n])
        if tasks == MOST_TASKS:
            raise NoCertificate(f"instances of more than {MOST_TASKS} tasks")
        for i in range(first, len(self.held)):
            left = [a - b for a, b in zip(room, of.need[i], strict=True)]
            if self.held[i] == of.count[i] or min(left, default=0) < 0:
                continue
            slowed = [-(-rate * pair[i] >> RATE) for rate, pair in zip(beside, of.pair, strict=True)]
            others = [-(-rate * pair[i] >> RATE) for rate, pair in zip(among, of.pair, strict=True)]
            others[i] = beside[i]
            self.held[i] += 1
            if self._bound_value(i, left, slowed, others) > of.least:
                self._grow(i, left, tasks + 1, slowed, others)
            self.held[i] -= 1

    def _bound_now(self, among: Sequence[int]) -> int:
        """Return an upper bound on the value of the pattern."""
        stay = self.of.stay
        return sum(n * self._worth(i, among[i]) + sum(stay[i][:n]) for i, n in enumerate(self.held) if n)

    def _bound_value(self, first: int, room: Sequence[int], beside: Sequence[int], among: Sequence[int]) -> int:
        """Return an upper bound on the value of the pattern with further tasks of the classes from `first` on."""
        of, worth, coming = self.of, self._bound_now(among), []
        for i in range(first, len(self.held)):
            value = self._worth(i, beside[i])
            worth += sum(max(0, usd + min(0, value)) for usd in of.stay[i][self.held[i] :])
            if value > 0:
                coming.append((i, value))
        gains = [sum(w * (of.count[i] - self.held[i]) for i, w in coming)]
        for r, amount in enumerate(room):
            if all(of.need[i][r] for i, _ in coming):
                gains.append(max((-(-amount * w // of.need[i][r]) for i, w in coming), default=0))
        return worth + min(gains)

    def _worth(self, i: int, rate: int) -> int:
        """Return the value of a task of a class at throughput `rate`."""
        return self.of.fixed[i] - (-rate * self.of.loss[i] >> RATE)


def rates(book: Book, workloads: Sequence[str]) -> list[list[int]]:
    """Return the throughput of each workload when co-located with each other one, rounded up, in units of 2^-`RATE`."""
    return [[rounded_up(book.pairwise.get((a, b), book.default), RATE) for b in workloads] for a in workloads]


def rounded_up(number: Fraction, bits: int) -> int:
    """Return a number in units of 2^-`bits`, rounded up."""
    return -((-number.numerator << bits) // number.denominator)
