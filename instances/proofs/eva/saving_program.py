"""Build the program of the net saving over all patterns that save, from the data alone.

A pattern is the set of tasks on an instance. Its net saving is the sum of the normalised reservation prices of its
tasks, less the price of the cheapest type that holds it. The net saving of a single task is at most 0, and so is that
of all omitted patterns.

If types have limits or instances run already, a task may not get an instance of its own. A pattern without a positive
net saving may then be needed, so that program omits none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from instances.eva.checker import Book, exact
from instances.eva.constraints import joint_limits, offers, own_resources
from instances.eva.packing import EvaPacking, InstanceType
from instances.fields import STEPS, steps
from instances.options import Solution
from instances.proofs.certificate import NoCertificate
from instances.proofs.eva.content_search import ContentSearch, Held, SearchedType, rates
from instances.proofs.vipr import Program, Row, box

MOST = 20_000  # patterns that are written to a file
LOOKS = 400_000  # patterns that the search examines
WORTH = 32  # fractional bits of a price in steps

Pattern = tuple[int, ...]
"""The entry index of each task on the instance, with repetitions."""


def saving_program(data: EvaPacking) -> SavingProgram | LimitedSavingProgram:
    """Return the program of the net saving of `data`. Raises NoCertificate if there are too many patterns."""
    return LimitedSavingProgram(data) if data.limited else SavingProgram(data)


class SavingProgram:
    """The program of `data` without limits and running instances (see `LimitedSavingProgram`).

    The integer `p_i` is the number of instances that hold pattern i. Maximise the sum of the net savings. The row
    `tasks_t` limits the tasks of entry t to their number; the remaining tasks get an instance each. Variables and rows
    use the indices of entries and patterns. Raises NoCertificate if there are too many patterns.
    """

    def __init__(self, data: EvaPacking) -> None:
        self.data, self.book = data, Book(data)
        self.keys = [t.key for t in data.tasks]
        self.nets: dict[Pattern, Fraction] = {}
        self._seen = 0
        for k in sorted(range(len(data.instance_types)), key=lambda k: exact(data.instance_types[k].usd_per_hour)):
            self._search(k)

    def program(self) -> Program:
        """Build the program."""
        held = [Counter(pattern) for pattern in self.nets]
        count = [t.count for t in self.data.tasks]
        names = tuple(f"p_{i}" for i in range(len(held)))
        bounds = box(names, [Fraction(min(count[t] // n for t, n in on_it.items())) for on_it in held])
        rows = []
        for t, n in enumerate(count):
            row = {i: Fraction(on_it[t]) for i, on_it in enumerate(held) if t in on_it}
            if row:
                rows.append(Row(f"tasks_{t}", "L", Fraction(n), row))
        objective = dict(enumerate(self.nets.values()))
        return Program(names, frozenset(objective), "max", objective, (*bounds, *rows), len(bounds))

    def point(self, solution: Solution) -> dict[int, Fraction]:
        """Return a packing as a point of the program, without the patterns that do not save."""
        place = {pattern: i for i, pattern in enumerate(self.nets)}
        point = Counter[int]()
        for group in solution["instances"]:
            pattern = tuple(t for t, key in enumerate(self.keys) for _ in range(group["tasks"].get(key, 0)))
            if pattern in place:
                point[place[pattern]] += group["count"]
        return {i: Fraction(n) for i, n in point.items()}

    def _search(self, place: int) -> None:
        """Search the patterns of a type and keep those that save."""
        data, book = self.data, self.book
        own, kind = own_resources(data), data.instance_types[place]
        fitting = [t for t, task in enumerate(data.tasks) if data.fits(task, kind)]
        alone = {t: _whole_steps(book.price(self.keys[t])) for t in fitting}
        loss = {t: _whole_steps(book.job_price(self.keys[t])) for t in fitting}
        order = sorted(fitting, key=lambda t: (-alone[t], t))
        searched = SearchedType(
            classes=order,
            fixed=[(alone[t] - loss[t]) << WORTH for t in order],
            loss=[loss[t] << WORTH for t in order],
            stay=[()] * len(order),
            count=[data.tasks[t].count for t in order],
            need=[
                [*(steps(data.tasks[t].demand_on(kind.family)[r]) for r in data.resources), *(o.demand[t] for o in own)]
                for t in order
            ],
            room=[*(steps(kind.capacity[r]) for r in data.resources), *(o.capacity[place] for o in own)],
            pair=rates(book, [data.tasks[t].workload for t in order]),
            least=steps(kind.usd_per_hour) << WORTH,
        )
        ContentSearch(searched, self._looked, lambda held: self._keep(held, kind)).grow()

    def _looked(self, steps: int) -> None:
        """Count a pattern that the search examines."""
        self._seen += 1
        if self._seen > LOOKS:
            raise NoCertificate(f"more than {LOOKS:,} patterns to look at")

    def _keep(self, held: Held, kind: InstanceType) -> None:
        """Keep a pattern of several tasks that saves on its cheapest type, the first in the order of search."""
        pattern = tuple(sorted(t for t, n in held for _ in range(n)))
        if len(pattern) < 2 or pattern in self.nets:
            return
        on_it = {self.keys[t]: n for t, n in sorted(held)}
        worth = sum((n * self.book.normalised_price(key, on_it) for key, n in on_it.items()), Fraction(0))
        net = worth - exact(kind.usd_per_hour)
        if net > 0:
            self.nets[pattern] = net
            if len(self.nets) > MOST:
                raise NoCertificate(f"more than {MOST:,} patterns that save")


class LimitedSavingProgram:
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
        self.data = data
        self.keys = [t.key for t in data.tasks]
        self.patterns: dict[tuple[int, Pattern], Fraction] = {}
        book = Book(data)
        for k in range(len(data.instance_types)):
            for pattern in self._patterns(k):
                on_it = {self.keys[t]: n for t, n in Counter(pattern).items()}
                worth = sum((n * book.normalised_price(key, on_it) for key, n in on_it.items()), Fraction(0))
                self.patterns[k, pattern] = worth
                if len(self.patterns) > MOST:
                    raise NoCertificate(f"more than {MOST:,} patterns, all of which count where types have limits")
        types = {k for k, _ in self.patterns}
        self.offers = [offer for offer in offers(data) if offer.type in types]
        self.numbers = frozenset(range(len(self.patterns), len(self.patterns) + len(self.offers)))

    def program(self) -> Program:
        """Build the program."""
        held = [(k, Counter(pattern)) for k, pattern in self.patterns]
        count, first = [t.count for t in self.data.tasks], len(held)
        places: Counter[int] = Counter()
        names = []
        for k, _ in held:
            names.append(f"p_{k}_{places[k]}")
            places[k] += 1
        names += [f"offer_{o}" for o in range(len(self.offers))]
        upper = [min(count[t] // n for t, n in on_it.items()) for _, on_it in held]
        upper += [sum(count) if offer.most is None else min(offer.most, sum(count)) for offer in self.offers]
        bounds = box(names, [Fraction(n) for n in upper])
        rows = [
            Row(f"tasks_{t}", "E", Fraction(n), {i: Fraction(on[t]) for i, (_, on) in enumerate(held) if t in on})
            for t, n in enumerate(count)
        ]
        for k in sorted(places):
            had = {first + o: Fraction(-1) for o, offer in enumerate(self.offers) if offer.type == k}
            used = {i: Fraction(1) for i, (of, _) in enumerate(held) if of == k}
            rows.append(Row(f"type_{k}", "E", Fraction(0), used | had))
        for i, limit in enumerate(joint_limits(self.data, self.offers)):
            if limit.types:  # VIPR has no row of zeros
                rows.append(Row(f"limit_{i}", "L", Fraction(limit.most), {first + o: Fraction(1) for o in limit.types}))
        prices = [Fraction(-offer.price, STEPS) for offer in self.offers]
        objective = {i: c for i, c in enumerate([*self.patterns.values(), *prices]) if c}
        integers = frozenset(range(len(names)))
        return Program(tuple(names), integers, "max", objective, (*bounds, *rows), len(bounds))

    def point(self, solution: Solution) -> dict[int, Fraction]:
        """Return a packing as a point of the program."""
        kinds = {kind.name: k for k, kind in enumerate(self.data.instance_types)}
        place = {pattern: i for i, pattern in enumerate(self.patterns)}
        point, used = Counter[int](), Counter[int]()
        for group in solution["instances"]:
            pattern = tuple(t for t, key in enumerate(self.keys) for _ in range(group["tasks"].get(key, 0)))
            if pattern:
                point[place[kinds[group["type"]], pattern]] += group["count"]
                used[kinds[group["type"]]] += group["count"]
        for o, offer in enumerate(self.offers, start=len(place)):
            taken = used[offer.type] if offer.most is None else min(offer.most, used[offer.type])
            used[offer.type] -= taken
            point[o] = taken
        return {i: Fraction(n) for i, n in point.items() if n}

    def _patterns(self, k: int) -> Iterator[Pattern]:
        """Yield all patterns of a type, depth first."""
        data, kind = self.data, self.data.instance_types[k]
        own = own_resources(data)
        capacity = [*(steps(kind.capacity[r]) for r in data.resources), *(o.capacity[k] for o in own)]
        needs = [
            [*(steps(task.demand_on(kind.family)[r]) for r in data.resources), *(o.demand[t] for o in own)]
            for t, task in enumerate(data.tasks)
        ]
        left = [((), capacity)]  # type: list[tuple[Pattern, list[int]]]
        while left:
            pattern, room = left.pop()
            if pattern:
                yield pattern
            for t in range(pattern[-1] if pattern else 0, len(needs)):
                after = [a - b for a, b in zip(room, needs[t], strict=True)]
                if min(after, default=0) >= 0 and pattern.count(t) < data.tasks[t].count:
                    left.append(((*pattern, t), after))


def _whole_steps(price: Fraction) -> int:
    """Convert a sum of prices to grid steps; the result is exact, because prices are multiples of a step."""
    return int(price * STEPS)
