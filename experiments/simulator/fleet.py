"""A fleet: things that are rented for a time at a price, by their ids, and the bill for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum

import pandas as pd

from experiments.simulator.kernel import Calendar, Time
from instances.online import RuleBroken


@dataclass(frozen=True, slots=True)
class Rental:
    """A rented thing: its `id`, what `kind` it is, the `price` of a unit of time, and when it was rented.

    `until` is when it was given up, `None` while it is rented.
    """

    id: str
    kind: str
    price: float
    since: Time
    until: Time | None = None

    def cost(self, now: Time) -> float:
        """What it has cost by `now`."""
        return self.price * ((now if self.until is None else self.until) - self.since)


class Fleet:
    """The rentals of a simulation: those that are rented, and all there ever were."""

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._rentals: dict[str, Rental] = {}

    def rent(self, id: str, kind: str, price: float) -> Rental:
        """Rent a thing from now on. Raises RuleBroken for an id that was rented before, or a negative price."""
        now = self._calendar.now
        if id in self._rentals:
            raise RuleBroken(f"{kind} {id} is rented at {now} and was at {self._rentals[id].since} before")
        if not price >= 0:
            raise RuleBroken(f"{kind} {id} is rented at {now} at a price of {price}")
        self._rentals[id] = Rental(id, kind, price, now)
        return self._rentals[id]

    def give_up(self, id: str) -> Rental:
        """End a rental now. Raises RuleBroken for an id that is not rented."""
        now, rental = self._calendar.now, self._rentals.get(id)
        if rental is None or rental.until is not None:
            raise RuleBroken(f"{id} is given up at {now}, but is not rented")
        self._rentals[id] = Rental(id, rental.kind, rental.price, rental.since, now)
        return self._rentals[id]

    def __iter__(self) -> Iterator[Rental]:
        """The things that are rented now, in the order in which they were."""
        return (rental for rental in self._rentals.values() if rental.until is None)

    def __getitem__(self, id: str) -> Rental:
        """The rental of an id, also of one that has ended."""
        return self._rentals[id]

    @property
    def bill(self) -> float:
        """What everything has cost by now."""
        return fsum(rental.cost(self._calendar.now) for rental in self._rentals.values())

    def table(self) -> pd.DataFrame:
        """One row a rental, in the order in which they began, with its cost by now."""
        rows = [(r.id, r.kind, r.price, r.since, r.until, r.cost(self._calendar.now)) for r in self._rentals.values()]
        return pd.DataFrame(rows, columns=["id", "kind", "price", "since", "until", "cost"])
