"""The discrete-event engine: a calendar (future event list). The state changes only at the times of its events.

A *world* (simulation model) defines the state, the policy's view of it and the effect of a decision. The engine handles
only time: it executes the events that the world has scheduled. It asks the policy after each event time, or at the
world's rounds. *Records* are the results of a run in every world. An *activity* is work at a rate, and a *fleet* is the
set of rentals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, fsum
from typing import Any, Generic, TypeVar

import pandas as pd

from instances.online import Decision, Policy, RuleBroken

HOUR = 3600.0  # seconds
TOLERANCE = 1e-6  # relative tolerance for sums of floats


class Records(ABC):
    """Records of a run, which a world keeps as events happen; a world adds its own measures."""

    @abstractmethod
    def jobs_table(self) -> pd.DataFrame:
        """Return one row per job, in the clock's unit, with `NaN` for events that have not happened.

        In every world: `job`, `submit`, `end`, `delay` (total waiting time of the job), and `jct` (time from submission
        to end).
        """

    @abstractmethod
    def timeline_table(self) -> pd.DataFrame:
        """Return one row per recorded time, with `time` and the state at that time."""

    def lives_table(self) -> pd.DataFrame:
        """Return one row per rented instance, if the world rents types of instances."""
        return pd.DataFrame()

    @abstractmethod
    def totals(self) -> dict[str, Any]:
        """Return the world's own measures by name, in addition to the measures of all worlds."""

    @abstractmethod
    def check(self) -> None:
        """Check the invariants of a run. Raises RuleBroken with the violated invariant and the time."""


class Integrals:
    """Time integrals of piecewise constant amounts."""

    def __init__(self, count: int) -> None:
        self.totals = [0.0] * count
        self.since = 0.0

    def add(self, now: float, amounts: Sequence[float]) -> None:
        """Add the `amounts` that were constant from the last call until `now`."""
        passed = now - self.since
        if passed > 0:
            self.since = now
            for k, amount in enumerate(amounts):
                self.totals[k] += passed * amount


def refuse_unequal(found: float, wanted: float, broken: str) -> None:
    """Raise RuleBroken with the message `broken` if two sums differ by more than rounding."""
    if not abs(found - wanted) <= TOLERANCE * max(1.0, abs(wanted)):
        raise RuleBroken(broken)


R = TypeVar("R", bound=Records)
Time = float
"""A time in the world's unit. Integers stay integers: with integer data every time is exact."""

TIE = 1e-9  # relative: times this close are equal, because float rates separate completions that should coincide
MOST_TIED = 1e3  # caps the absolute tolerance at this multiple of TIE, so that integer times stay distinct
DONE = 1e-12  # share of an activity's work that counts as 0, because rounding may leave it
WAKING = 1_000  # rank of a wake-up: after all other events


class Calendar:
    """Simulated time and the future event list. Simultaneous events happen in order of rank, then of scheduling."""

    def __init__(self) -> None:
        self.now: Time = 0
        self.heap: list[tuple[Time, int, int, Event]] = []
        self._count = 0
        self._cancelled = 0

    def at(self, time: Time, happen: Callable[[], None], *, rank: int = 0) -> Event:
        """Schedule `happen` for `time`. Raises RuleBroken if `time` is in the past."""
        if not time >= self.now:
            raise RuleBroken(f"an event at {time} is scheduled at {self.now}")
        event = Event(self, happen)
        heappush(self.heap, (time, rank, self._count, event))
        self._count += 1
        return event

    def __len__(self) -> int:
        """Return the number of scheduled events."""
        return len(self.heap) - self._cancelled

    @property
    def next_moment(self) -> Time | None:
        """Return the time of the next event, `None` if there is none."""
        heap = self.heap
        while heap and heap[0][3].cancelled:
            heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else None

    def advance(self) -> int:
        """Advance to the next event time, execute all events that are due, and return their number.

        At least one event must be scheduled.
        """
        moment = self.next_moment
        assert moment is not None
        self.now = moment
        last = self.now + TIE * min(abs(self.now), MOST_TIED)
        happened = 0
        while self.heap and self.heap[0][0] <= last:
            due = [heappop(self.heap)]
            while self.heap and self.heap[0][0] <= last:
                due.append(heappop(self.heap))
            if len(due) > 1:
                due.sort(key=_key_by_rank)
            for k, (_, _, _, event) in enumerate(due):
                if event.cancelled:
                    self._cancelled -= 1
                    continue
                event.calendar = None
                event.happen()
                happened += 1
                if self.heap and self.heap[0][0] <= last:  # the event has scheduled another one for this time
                    for entry in due[k + 1 :]:
                        heappush(self.heap, entry)
                    break
        return happened

    def _note_cancelled(self) -> None:
        """Count a cancelled event, and keep the heap at most about twice as large as the number of scheduled events."""
        self._cancelled += 1
        if self._cancelled > 64 and 2 * self._cancelled > len(self.heap):
            kept = [entry for entry in self.heap if not entry[3].cancelled]
            self._cancelled -= len(self.heap) - len(kept)  # events that are due now are not in the heap
            self.heap = kept
            heapify(self.heap)


def _key_by_rank(entry: tuple[Time, int, int, Event]) -> tuple[int, Time, int]:
    return entry[1], entry[0], entry[2]


class Event:
    """A scheduled event, which can be cancelled until it happens."""

    __slots__ = ("calendar", "cancelled", "happen")

    def __init__(self, calendar: Calendar, happen: Callable[[], None]) -> None:
        self.calendar: Calendar | None = calendar
        self.happen = happen
        self.cancelled = False

    def cancel(self) -> None:
        """Cancel the event; this has no effect after it has happened."""
        if self.calendar is not None and not self.cancelled:
            self.cancelled = True
            self.calendar._note_cancelled()


class Activity:
    """Work that is done at a variable rate; it calls `completed` when all work is done.

    A change of rate settles the work done so far, cancels the scheduled completion and schedules a new one. Progress is
    exact between the changes.

    Parameters:

    - `amount`: the work.
    - `rank`: rank of the completion among simultaneous events.
    - `rounding`: share of the amount that counts as 0 if it is left.
    - `whole`: whether the activity ends an integer number of time units after it was settled, the first by which all
      work is done.
    """

    __slots__ = ("_calendar", "_completed", "_completion", "_rank", "_rounding", "_whole", "amount", "left", "rate",
                 "since", "worked")  # fmt: skip

    def __init__(
        self,
        calendar: Calendar,
        amount: float,
        completed: Callable[[], None],
        *,
        rank: int = 0,
        rounding: float = DONE,
        whole: bool = False,
    ) -> None:
        self._calendar, self._completed, self._rank = calendar, completed, rank
        self._rounding, self._whole = rounding, whole
        self.amount = self.left = amount
        self.rate: float = 0
        self.since = calendar.now
        """When `left` was left, or when progress begins where that is still to come."""
        self.worked: float = 0
        """All that was ever done, also what was undone."""
        self._completion: Event | None = None

    @property
    def remaining(self) -> float:
        """Return the work left at the current time."""
        passed = self._calendar.now - self.since
        return self.left - self.rate * passed if passed > 0 else self.left

    @property
    def done(self) -> float:
        """Return the work done by the current time and not undone."""
        done, passed = self.amount - self.left, self._calendar.now - self.since
        return done + self.rate * passed if passed > 0 else done

    @property
    def complete(self) -> bool:
        """Return whether all work is done, up to rounding."""
        return self.remaining <= self._rounding * self.amount

    def settle(self) -> None:
        """Count the work done until now."""
        passed = self._calendar.now - self.since
        if passed > 0:
            done = self.rate * passed
            self.left -= done
            self.worked += done
            self.since = self._calendar.now

    def set_rate(self, rate: float, begin: Time | None = None) -> None:
        """Continue at `rate` per unit of time, from `begin` on if it is given.

        Raises RuleBroken for a negative rate.
        """
        if not rate >= 0:
            raise RuleBroken(f"an activity has the rate {rate} at {self._calendar.now}")
        if self._completion is None:
            self.settle()
        else:
            self.stop()
        self.rate = rate
        if begin is not None:
            self.since = begin
        nothing = self._rounding * self.amount
        if self.left <= nothing:  # complete at any rate
            needed: Time = 0
        elif not rate:
            return
        elif self._whole:
            needed = ceil((self.left - nothing) / rate)
        else:
            needed = self.left if rate == 1 else self.left / rate  # integer work stays an integer
        self._completion = self._calendar.at(self.since + needed, self._complete, rank=self._rank)

    def stop(self) -> None:
        """Pause, and do not complete, until a rate is set."""
        self.settle()
        self.rate = 0
        if self._completion is not None:
            self._completion.cancel()
            self._completion = None

    def renew(self, amount: float) -> None:
        """Begin new work after all work is done; the activity pauses until a rate is set."""
        self.amount = self.left = amount
        self.worked = 0

    def undo(self, amount: float) -> None:
        """Undo work that has to be done again."""
        self.left += amount

    def _complete(self) -> None:
        self._completion = None
        self.settle()
        self.left = self.rate = 0
        self._completed()


class World(ABC, Generic[R]):
    """A simulation model. It owns its calendar, on which it schedules the events that are known at the start.

    `records`: the records of a run.
    """

    records: R

    def __init__(self) -> None:
        self.calendar = Calendar()

    def next_decision(self) -> Time | None:
        """Return the time of the next decision: the next event, unless the world has rounds; `None` at the end."""
        return self.calendar.next_moment

    def settle(self) -> None:
        """End an event time before a round, at which the policy is not asked."""
        return None

    @abstractmethod
    def view(self) -> Any:
        """Return the policy's view after all events of this time. It is valid until the decision."""

    @abstractmethod
    def apply(self, decision: Any) -> None:
        """Apply a decision. Raises RuleBroken if it breaks a rule."""

    @abstractmethod
    def waiting(self) -> str | None:
        """Name the first item that waits for a decision (`job x`); return `None` if no item waits."""

    def close(self) -> None:
        """Check the invariants at the end of a run. Raises RuleBroken."""
        self.records.check()

    def jobs_table(self) -> pd.DataFrame:
        """Return one row per job, see `jobs_table` of the records."""
        return self.records.jobs_table()

    def timeline_table(self) -> pd.DataFrame:
        """Return one row per recorded time, see `timeline_table` of the records."""
        return self.records.timeline_table()

    def totals(self) -> dict[str, Any]:
        """Return figures of the entire run, see `totals` of the records."""
        return self.records.totals()


def simulate(world: World[Any], policy: Policy[Any, Decision], *, until: Time | None = None) -> None:
    """Run `world` under `policy` until no event is left, or to the last decision at or before `until`.

    Raises RuleBroken if a rule is broken, also if jobs still wait and no event is scheduled.
    """
    calendar = world.calendar
    wake: Event | None = None
    woken = False

    def waken() -> None:
        nonlocal wake, woken
        wake, woken = None, True

    while (moment := world.next_decision()) is not None and (until is None or moment <= until):
        event = calendar.next_moment
        while event is not None and event < moment:
            calendar.advance()
            world.settle()
            event = calendar.next_moment
        woken = False
        happened = calendar.advance() if event is not None and event <= moment else 0
        calendar.now = moment
        quiet = happened == 1 and woken and not calendar  # the wake-up was the last event
        decision = policy.decide(world.view())
        if not isinstance(decision, Decision):
            wanted = type(world).apply.__annotations__["decision"]
            raise RuleBroken(f"decide(view) must return {wanted}, got {type(decision).__name__} at {calendar.now}")
        world.apply(decision)
        if wake is not None:
            wake.cancel()
            wake = None
        if quiet and not calendar and (left := world.waiting()) is not None:
            raise RuleBroken(f"{left} is left waiting at {calendar.now} with nothing to come")
        if decision.wake_at is not None and world.waiting() is not None:
            if not decision.wake_at > calendar.now:
                raise RuleBroken(f"the policy asks at {calendar.now} to be woken at {decision.wake_at}")
            wake = calendar.at(decision.wake_at, waken, rank=WAKING)
    if moment is None and (left := world.waiting()) is not None:
        raise RuleBroken(f"{left} is left waiting at {calendar.now} with nothing to come")
    world.close()


@dataclass(frozen=True, slots=True)
class Rental:
    """A rental: its `id`, its `kind`, the `price` per unit of time, and the time `since` which it is rented.

    `until` is the end of the rental, `None` while it lasts.
    """

    id: str
    kind: str
    price: float
    since: Time
    until: Time | None = None

    def cost(self, now: Time) -> float:
        """Return the cost until `now`."""
        return self.price * ((now if self.until is None else self.until) - self.since)


class Fleet:
    """The rentals of a simulation, both current and ended ones."""

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._rentals: dict[str, Rental] = {}

    def rent(self, id: str, kind: str, price: float) -> Rental:
        """Begin a rental now. Raises RuleBroken for an id that was rented before, or a negative price."""
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
        """Iterate over the current rentals in the order of their beginning."""
        return (rental for rental in self._rentals.values() if rental.until is None)

    def __getitem__(self, id: str) -> Rental:
        """Return the rental of an id, also if it has ended."""
        return self._rentals[id]

    @property
    def bill(self) -> float:
        """Return the total cost of all rentals until now."""
        return fsum(rental.cost(self._calendar.now) for rental in self._rentals.values())

    def table(self) -> pd.DataFrame:
        """Return one row per rental, in the order of their beginning, with the cost until now."""
        rows = [(r.id, r.kind, r.price, r.since, r.until, r.cost(self._calendar.now)) for r in self._rentals.values()]
        return pd.DataFrame(rows, columns=["id", "kind", "price", "since", "until", "cost"])
