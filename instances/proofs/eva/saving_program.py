"""Build the program of the net saving over all patterns that save, from the data alone.

The net saving of a pattern is the sum of the normalised reservation prices of its tasks, less the price of the cheapest
type that holds it. The net saving of a single task is at most 0, and so is that of all omitted patterns.

If types have limits or instances run already, a task may not get an instance of its own. A pattern without a positive
net saving may then be needed, so that program omits none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from instances.eva.checker import Book, exact
from instances.eva.constraints import joint_limits, offers, own_resources
from instances.eva.packing import EvaPacking
from instances.fields import STEPS, steps
from instances.options import Solution
from instances.proofs.certificate import NoCertificate
from instances.proofs.eva.content_search import ContentSearch, Held, ValuedTask
from instances.proofs.eva.packing_program import PackingAmounts, PatternProgram
from instances.proofs.vipr import Program

MOST = 20_000  # patterns that are written to a file
LOOKS = 400_000  # patterns that the search examines
WORTH = 32  # fractional bits of a price in steps

Pattern = tuple[int, ...]
"""The entry index of each task on the instance, with repetitions."""


def saving_program(data: EvaPacking) -> SavingProgram | LimitedSavingProgram:
    """Return the program of the net saving of `data`. Raises NoCertificate if there are too many patterns."""
    return LimitedSavingProgram(data) if data.has_limits else SavingProgram(data)


class _Packed:
    """The tasks of `data` by entry, with their normalised prices and amounts."""

    def __init__(self, data: EvaPacking) -> None:
        self.data, self.book = data, Book(data)
        self.keys, self.count = [t.key for t in data.tasks], [t.count for t in data.tasks]
        self.amounts = PackingAmounts(data, own_resources(data))

    def worth(self, on_it: Mapping[int, int]) -> Fraction:
        """Return the sum of the normalised reservation prices of tasks, by entry, on one instance."""
        return self.book.worth({self.keys[t]: n for t, n in on_it.items()})

    def pattern_of(self, group: Mapping[str, Any]) -> Pattern:
        """Return the pattern of an instance of a solution."""
        return tuple(t for t, key in enumerate(self.keys) for _ in range(group["tasks"].get(key, 0)))


class SavingProgram(_Packed):
    """The program of `data` without limits and running instances (see `LimitedSavingProgram`).

    The integer `p_i` is the number of instances that hold pattern i. Maximise the sum of the net savings. The row
    `tasks_t` limits the tasks of entry t to their number; the remaining tasks get an instance each. Variables and rows
    use the indices of entries and patterns. Raises NoCertificate if there are too many patterns.
    """

    def __init__(self, data: EvaPacking) -> None:
        super().__init__(data)
        self.nets: dict[Pattern, Fraction] = {}
        self._seen = 0
        for k in sorted(range(len(data.instance_types)), key=lambda k: exact(data.instance_types[k].usd_per_hour)):
            self._search(k)

    def program(self) -> Program:
        """Build the program."""
        program = PatternProgram(self.count)
        for pattern, net in self.nets.items():
            program.add_pattern("p", Counter(pattern), net)
        program.add_task_rows("L")
        return program.build("max")

    def point(self, solution: Solution) -> dict[int, Fraction]:
        """Return a packing as a point of the program, without the patterns that do not save."""
        place = {pattern: i for i, pattern in enumerate(self.nets)}
        point = Counter[int]()
        for group in solution["instances"]:
            if (pattern := self.pattern_of(group)) in place:
                point[place[pattern]] += group["count"]
        return {i: Fraction(n) for i, n in point.items()}

    def _search(self, k: int) -> None:
        """Search the patterns of a type and keep those that save."""
        kind, book, need = self.data.instance_types[k], self.book, self.amounts.need(k)
        tasks = (
            ValuedTask(t, task.workload, task.count, need[t], STEPS * book.price(key), STEPS * book.job_price(key))
            for t, (task, key) in enumerate(zip(self.data.tasks, self.keys, strict=True))
            if self.data.fits(task, kind)
        )
        least, price = steps(kind.usd_per_hour) << WORTH, exact(kind.usd_per_hour)
        search = ContentSearch(
            tasks, self.amounts.capacity[k], least, WORTH, book, self._count_step, lambda held: self._keep(held, price)
        )
        search.grow()

    def _count_step(self, steps: int) -> None:
        """Count a pattern that the search examines."""
        self._seen += 1
        if self._seen > LOOKS:
            raise NoCertificate(f"more than {LOOKS:,} patterns to look at")

    def _keep(self, held: Held, price: Fraction) -> None:
        """Keep a pattern of several tasks that saves on its cheapest type, the first in the order of search."""
        pattern = tuple(sorted(t for t, n in held for _ in range(n)))
        if len(pattern) < 2 or pattern in self.nets:
            return
        net = self.worth(dict(sorted(held))) - price
        if net > 0:
            self.nets[pattern] = net
            if len(self.nets) > MOST:
                raise NoCertificate(f"more than {MOST:,} patterns that save")


class LimitedSavingProgram(_Packed):
    """The program of `data` with limits or running instances.

    Maximise the normalised reservation prices of all tasks less the prices of the instances. Variables and rows use the
    indices of types, entries, offers and patterns:

    - `p_k_i`: the number of instances of type k that hold its pattern i, an integer.
    - `offer_o`: the number of instances at the price of offer o, an integer. A type has an offer for its running
      instances, the cheapest first, and one for new instances.
    - `tasks_t`: all tasks of entry t are on instances.
    - `type_k`: the patterns of type k use as many instances as its offers provide.
    - `limit_i`: limit i on several types together.

    `numbers` are the indices of the offer variables. Raises NoCertificate if there are too many patterns.
    """

    def __init__(self, data: EvaPacking) -> None:
        super().__init__(data)
        self.patterns: dict[tuple[int, Pattern], Fraction] = {}
        for k in range(len(data.instance_types)):
            for pattern in self._patterns(k):
                self.patterns[k, pattern] = self.worth(Counter(pattern))
                if len(self.patterns) > MOST:
                    raise NoCertificate(f"more than {MOST:,} patterns, all of which count where types have limits")
        types = {k for k, _ in self.patterns}
        self.offers = [offer for offer in offers(data) if offer.type in types]
        self.numbers = frozenset(range(len(self.patterns), len(self.patterns) + len(self.offers)))

    def program(self) -> Program:
        """Build the program."""
        program, everything = PatternProgram(self.count), sum(self.count)
        of_type: dict[int, list[int]] = {}
        for (k, pattern), worth in self.patterns.items():
            of_type.setdefault(k, []).append(program.add_pattern(f"p_{k}", Counter(pattern), worth))
        for o, offer in enumerate(self.offers):
            most = everything if offer.most is None else min(offer.most, everything)
            program.add_variable(f"offer_{o}", most, Fraction(-offer.price, STEPS))
        program.add_task_rows("E")
        offered = list(zip(self.offers, sorted(self.numbers), strict=True))
        for k in sorted(of_type):
            program.add_type_row(k, of_type[k], (i for offer, i in offered if offer.type == k))
        for i, limit in enumerate(joint_limits(self.data, self.offers)):
            if limit.types:  # VIPR has no row of zeros
                program.add_row(f"limit_{i}", "L", limit.most, {offered[o][1]: 1 for o in limit.types})
        return program.build("max")

    def point(self, solution: Solution) -> dict[int, Fraction]:
        """Return a packing as a point of the program."""
        kinds = {kind.name: k for k, kind in enumerate(self.data.instance_types)}
        place = {pattern: i for i, pattern in enumerate(self.patterns)}
        point, used = Counter[int](), Counter[int]()
        for group in solution["instances"]:
            if pattern := self.pattern_of(group):
                point[place[kinds[group["type"]], pattern]] += group["count"]
                used[kinds[group["type"]]] += group["count"]
        for o, offer in enumerate(self.offers, start=len(place)):
            taken = used[offer.type] if offer.most is None else min(offer.most, used[offer.type])
            used[offer.type] -= taken
            point[o] = taken
        return {i: Fraction(n) for i, n in point.items() if n}

    def _patterns(self, k: int) -> Iterator[Pattern]:
        """Yield all patterns of a type, depth first."""
        need = self.amounts.need(k)
        left = [((), self.amounts.capacity[k])]  # type: list[tuple[Pattern, list[int]]]
        while left:
            pattern, room = left.pop()
            if pattern:
                yield pattern
            for t in range(pattern[-1] if pattern else 0, len(need)):
                after = [a - b for a, b in zip(room, need[t], strict=True)]
                if min(after, default=0) >= 0 and pattern.count(t) < self.count[t]:
                    left.append(((*pattern, t), after))
