"""What an instance of a type may hold and that may matter to a certificate, depth first, by whoever writes or reads it.

Throughputs only fall as tasks are added, so a task in the content, or one that is to come, is worth no more than now.
What comes is bounded by the room in each resource, filled with what is worth most for it, and by all that is saved
where tasks stay. All of it is in whole numbers, rounded up: throughputs in 2^-`RATE`, worths in a unit of the caller's.
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
"""Classes of which an instance holds tasks, and how many."""


@dataclass(frozen=True)
class SearchedType:
    """Classes of tasks in the order in which they are taken, on a type with `room` for what they `need`.

    A task of a class, of which there are `count`, is worth its `fixed` part and its throughput times `loss`; of `stay`
    each is worth one more, in falling order. `pair` is the throughput of one beside each other. What is worth no more
    than `least` does not matter.
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
    """The search: `look(steps)` is called for each content that is looked at, `see(held)` where it may matter.

    Steps are classes, times those that may come next. Raises NoCertificate for too many tasks on an instance.
    """

    def __init__(self, of: SearchedType, look: Callable[[int], None], see: Callable[[Held], None]) -> None:
        self.of, self.look, self.see = of, look, see
        self.held = [0] * len(of.classes)

    def grow(self) -> None:
        """Look at all contents with tasks that may matter."""
        free = [1 << RATE] * len(self.held)
        self._grow(0, self.of.room, 0, free, free)

    def _grow(self, first: int, room: Sequence[int], tasks: int, beside: Sequence[int], among: Sequence[int]) -> None:
        """Go on from the tasks `held`; throughputs of a task of each class `beside` them, of one `among` them."""
        of = self.of
        self.look(len(self.held) * (len(self.held) - first))
        if tasks and self._now(among) > of.least:
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
            if self._most(i, left, slowed, others) > of.least:
                self._grow(i, left, tasks + 1, slowed, others)
            self.held[i] -= 1

    def _now(self, among: Sequence[int]) -> int:
        """No less than what the content is worth."""
        stay = self.of.stay
        return sum(n * self._worth(i, among[i]) + sum(stay[i][:n]) for i, n in enumerate(self.held) if n)

    def _most(self, first: int, room: Sequence[int], beside: Sequence[int], among: Sequence[int]) -> int:
        """No less than what the content and more tasks of the classes from `first` on can be worth."""
        of, worth, coming = self.of, self._now(among), []
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
        """What a task of a class is worth at a throughput."""
        return self.of.fixed[i] - (-rate * self.of.loss[i] >> RATE)


def rates(book: Book, workloads: Sequence[str]) -> list[list[int]]:
    """The throughput of each workload beside each other, rounded up."""
    return [[rounded_up(book.pairwise.get((a, b), book.default), RATE) for b in workloads] for a in workloads]


def rounded_up(number: Fraction, bits: int) -> int:
    """A number in so many bits behind the point, rounded up."""
    return -((-number.numerator << bits) // number.denominator)
