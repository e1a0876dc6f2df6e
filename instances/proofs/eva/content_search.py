"""Enumerate the patterns of an instance type that a certificate needs, for its writer and for its verifier.

The search is depth first. Throughputs only fall as tasks are added, so the value of a present or later task never
rises. To bound the value of later tasks, the free capacity of each resource is filled with the most valuable tasks per
unit. Migration cost that is saved is added in full. All numbers are integers, rounded up: throughputs in units of
2^-`RATE`, values in a unit of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from instances.eva.checker import Book
from instances.proofs.certificate import NoCertificate

RATE = 96  # bits behind the point of a throughput
MOST_TASKS = 500  # of an instance

Held = Sequence[tuple[int, int]]
"""Pairs of a class and the number of its tasks on an instance."""


@dataclass(frozen=True)
class ValuedTask:
    """A class of `count` tasks on the searched type: `index`, `workload` and `need` per resource.

    - `alone`: the value of a task that is alone on the instance.
    - `loss`: what the value falls by if the throughput falls to 0.
    - `stay`: additional values of the tasks that stay, one per task.
    """

    index: int
    workload: str
    count: int
    need: Sequence[int]
    alone: Fraction
    loss: Fraction
    stay: Sequence[Fraction] = ()


class ContentSearch:
    """The search: it calls `look(steps)` for each pattern examined and `see(held)` for each pattern to report.

    The classes that are most valuable alone come first. The steps of a pattern are the number of classes times the
    number of classes that may come next. Raises NoCertificate if an instance holds more than `MOST_TASKS` tasks.

    - `tasks`, `room`: the classes that fit on the type, and its capacity per resource.
    - `least`: a pattern is reported only if its value exceeds this, in units of 2^-`bits`.
    - `book`: the throughputs of pairs.
    """

    def __init__(
        self,
        tasks: Iterable[ValuedTask],
        room: Sequence[int],
        least: int,
        bits: int,
        book: Book,
        look: Callable[[int], None],
        see: Callable[[Held], None],
    ) -> None:
        order = sorted(tasks, key=lambda task: (-task.alone - max(task.stay, default=Fraction(0)), task.index))
        self.classes, self.count = [task.index for task in order], [task.count for task in order]
        self.need, self.room, self.least = [task.need for task in order], room, least
        self.fixed = [round_up(task.alone - task.loss, bits) for task in order]
        self.loss = [round_up(task.loss, bits) for task in order]
        self.stay = [[round_up(usd, bits) for usd in sorted(task.stay, reverse=True)] for task in order]
        self.pair = rates(book, [task.workload for task in order])
        self.look, self.see = look, see
        self.held = [0] * len(order)

    def grow(self) -> None:
        """Examine all non-empty patterns whose value may exceed `least`."""
        free = [1 << RATE] * len(self.held)
        self._grow(0, self.room, 0, free, free)

    def _grow(self, first: int, room: Sequence[int], tasks: int, beside: Sequence[int], among: Sequence[int]) -> None:
        """Extend the pattern `held` by classes from `first` on.

        `beside` is the throughput of an additional task of each class, `among` that of a task in the pattern.
        """
        self.look(len(self.held) * (len(self.held) - first))
        if tasks and self._bound_now(among) > self.least:
            self.see([(c, n) for c, n in zip(self.classes, self.held, strict=True) if n])
        if tasks == MOST_TASKS:
            raise NoCertificate(f"instances of more than {MOST_TASKS} tasks")
        for i in range(first, len(self.held)):
            left = [a - b for a, b in zip(room, self.need[i], strict=True)]
            if self.held[i] == self.count[i] or min(left, default=0) < 0:
                continue
            slowed = [-(-rate * pair[i] >> RATE) for rate, pair in zip(beside, self.pair, strict=True)]
            others = [-(-rate * pair[i] >> RATE) for rate, pair in zip(among, self.pair, strict=True)]
            others[i] = beside[i]
            self.held[i] += 1
            if self._bound_value(i, left, slowed, others) > self.least:
                self._grow(i, left, tasks + 1, slowed, others)
            self.held[i] -= 1

    def _bound_now(self, among: Sequence[int]) -> int:
        """Return an upper bound on the value of the pattern."""
        return sum(n * self._worth(i, among[i]) + sum(self.stay[i][:n]) for i, n in enumerate(self.held) if n)

    def _bound_value(self, first: int, room: Sequence[int], beside: Sequence[int], among: Sequence[int]) -> int:
        """Return an upper bound on the value of the pattern with further tasks of the classes from `first` on."""
        worth, coming = self._bound_now(among), []
        for i in range(first, len(self.held)):
            value = self._worth(i, beside[i])
            worth += sum(max(0, usd + min(0, value)) for usd in self.stay[i][self.held[i] :])
            if value > 0:
                coming.append((i, value))
        gains = [sum(w * (self.count[i] - self.held[i]) for i, w in coming)]
        for r, amount in enumerate(room):
            if all(self.need[i][r] for i, _ in coming):
                gains.append(max((-(-amount * w // self.need[i][r]) for i, w in coming), default=0))
        return worth + min(gains)

    def _worth(self, i: int, rate: int) -> int:
        """Return the value of a task of a class at throughput `rate`."""
        return self.fixed[i] - (-rate * self.loss[i] >> RATE)


def rates(book: Book, workloads: Sequence[str]) -> list[list[int]]:
    """Return the throughput of each workload when co-located with each other one, rounded up, in units of 2^-`RATE`."""
    return [[round_up(book.pairwise.get((a, b), book.default), RATE) for b in workloads] for a in workloads]


def round_up(number: Fraction, bits: int) -> int:
    """Return a number in units of 2^-`bits`, rounded up."""
    return -((-number.numerator << bits) // number.denominator)
