"""The event engine: a calendar of moments, and nothing happens between two of them.

A *world* says what there is, what a policy sees of it and how a decision takes effect. The engine knows only time: it
lets happen what the world has scheduled, and asks the policy after each moment, or at the world's rounds. *Records* are
what a run leaves behind in every world, an *activity* is work at a rate, a *fleet* is what is rented.
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
TOLERANCE = 1e-6  # relative, of sums of floats


class Records(ABC):
    """Records of a run, which a world keeps as things happen, and adds what it is about to."""

    @abstractmethod
    def jobs_table(self) -> pd.DataFrame:
        """One row a job, in the clock's unit, `NaN` for what has not happened.

        In every world: `job`, `submit`, `end`, `delay`, all the time that the job waited, and `jct`, from submission to
        end.
        """

    @abstractmethod
    def timeline_table(self) -> pd.DataFrame:
        """One row a moment of the world: `time`, and what there was then."""

    def lives_table(self) -> pd.DataFrame:
        """One row a rented instance, of a world where types of instances are rented."""
        return pd.DataFrame()

    @abstractmethod
    def totals(self) -> dict[str, Any]:
        """What the world is about, by name, beside what is measured of all worlds."""

    @abstractmethod
    def check(self) -> None:
        """Refuse a run that broke a law: RuleBroken says which one, and when."""


class Integrals:
    """Amounts that change from moment to moment, and the integrals of each over time."""

    def __init__(self, count: int) -> None:
        self.totals = [0.0] * count
        self.since = 0.0

    def add(self, now: float, amounts: Sequence[float]) -> None:
        """Add what there was from the last call until `now`."""
        passed = now - self.since
        if passed > 0:
            self.since = now
            for k, amount in enumerate(amounts):
                self.totals[k] += passed * amount


def refuse_unequal(found: float, wanted: float, broken: str) -> None:
    """Raise RuleBroken, which says what is `broken`, where two sums differ by more than rounding."""
    if not abs(found - wanted) <= TOLERANCE * max(1.0, abs(wanted)):
        raise RuleBroken(broken)


R = TypeVar("R", bound=Records)
Time = float
"""A moment, in the world's unit. Integers stay integers: with whole data every moment is exact."""

TIE = 1e-9  # relative: moments this close are one, for rates are floats and completions that are meant together differ
MOST_TIED = 1e3  # but never further apart than this many times TIE: whole moments stay apart
DONE = 1e-12  # share of the work of an activity that is none: what is left of it by rounding
WAKING = 1_000  # rank of a wake-up: after all that happens by itself


class Calendar:
    """Simulated time and the events to come. Events of one moment happen in order of rank, then as scheduled."""

    def __init__(self) -> None:
        self.now: Time = 0
        self._heap: list[tuple[Time, int, int, Event]] = []
        self._count = 0
        self._cancelled = 0

    def at(self, time: Time, happen: Callable[[], None], *, rank: int = 0) -> Event:
        """Schedule `happen` for `time`. Raises RuleBroken for a moment that is past."""
        if not time >= self.now:
            raise RuleBroken(f"an event at {time} is scheduled at {self.now}")
        event = Event(self, happen)
        heappush(self._heap, (time, rank, self._count, event))
        self._count += 1
        return event

    def __len__(self) -> int:
        """The number of events to come."""
        return len(self._heap) - self._cancelled

    @property
    def next_moment(self) -> Time | None:
        """The moment of the next event, `None` where there is none."""
        heap = self._heap
        while heap and heap[0][3].cancelled:
            heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else None

    def advance(self) -> int:
        """Go to the next moment, let all that is due happen, and return how many events that were. One must be due."""
        moment = self.next_moment
        assert moment is not None
        self.now = moment
        last = self.now + TIE * min(abs(self.now), MOST_TIED)
        happened = 0
        while self._heap and self._heap[0][0] <= last:
            due = [heappop(self._heap)]
            while self._heap and self._heap[0][0] <= last:
                due.append(heappop(self._heap))
            if len(due) > 1:
                due.sort(key=_in_rank)
            for k, (_, _, _, event) in enumerate(due):
                if event.cancelled:
                    self._cancelled -= 1
                    continue
                event.calendar = None
                event.happen()
                happened += 1
                if self._heap and self._heap[0][0] <= last:  # it has brought about something else at this moment
                    for entry in due[k + 1 :]:
                        heappush(self._heap, entry)
                    break
        return happened

    def _note_cancelled(self) -> None:
        """Keep the heap no larger than twice the events to come."""
        self._cancelled += 1
        if self._cancelled > 64 and 2 * self._cancelled > len(self._heap):
            kept = [entry for entry in self._heap if not entry[3].cancelled]
            self._cancelled -= len(self._heap) - len(kept)  # those that are due at this moment are not in the heap
            self._heap = kept
            heapify(self._heap)


def _in_rank(entry: tuple[Time, int, int, Event]) -> tuple[int, Time, int]:
    return entry[1], entry[0], entry[2]


class Event:
    """Something scheduled, which can be cancelled until it happens."""

    __slots__ = ("calendar", "cancelled", "happen")

    def __init__(self, calendar: Calendar, happen: Callable[[], None]) -> None:
        self.calendar: Calendar | None = calendar
        self.happen = happen
        self.cancelled = False

    def cancel(self) -> None:
        """Let it not happen; without effect once it has."""
        if self.calendar is not None and not self.cancelled:
            self.cancelled = True
            self.calendar._note_cancelled()


class Activity:
    """Work that is done at a rate that may change; it calls `completed` when none is left.

    A change of rate settles what has been done so far, cancels the completion that was to come and schedules the new
    one: exact between the changes.

    Parameters:

    - `amount`: the work.
    - `rank`: of its completion among the events of one moment.
    - `rounding`: share of the amount that counts as nothing when it is left.
    - `whole`: it ends at a whole number of units of time after it was settled, the first by which all is done.
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
        """Work left at this moment."""
        passed = self._calendar.now - self.since
        return self.left - self.rate * passed if passed > 0 else self.left

    @property
    def done(self) -> float:
        """Work done by this moment, and not undone."""
        done, passed = self.amount - self.left, self._calendar.now - self.since
        return done + self.rate * passed if passed > 0 else done

    @property
    def complete(self) -> bool:
        """Whether nothing is left, but for rounding."""
        return self.remaining <= self._rounding * self.amount

    def settle(self) -> None:
        """Count what has been done until now."""
        passed = self._calendar.now - self.since
        if passed > 0:
            done = self.rate * passed
            self.left -= done
            self.worked += done
            self.since = self._calendar.now

    def set_rate(self, rate: float, begin: Time | None = None) -> None:
        """Go on at `rate` per unit of time, from `begin` on where that is to come.

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
        if self.left <= nothing:  # it is complete, whatever the rate is now
            needed: Time = 0
        elif not rate:
            return
        elif self._whole:
            needed = ceil((self.left - nothing) / rate)
        else:
            needed = self.left if rate == 1 else self.left / rate  # whole work stays whole
        self._completion = self._calendar.at(self.since + needed, self._complete, rank=self._rank)

    def stop(self) -> None:
        """Stand still, and do not complete, until it is given a rate."""
        self.settle()
        self.rate = 0
        if self._completion is not None:
            self._completion.cancel()
            self._completion = None

    def renew(self, amount: float) -> None:
        """Begin with other work, now that all is done; it stands still until it is given a rate."""
        self.amount = self.left = amount
        self.worked = 0

    def undo(self, amount: float) -> None:
        """Lose what was done, as it has to be done again."""
        self.left += amount

    def _complete(self) -> None:
        self._completion = None
        self.settle()
        self.left = self.rate = 0
        self._completed()


class World(ABC, Generic[R]):
    """What is simulated. It is made with its calendar, on which it schedules what is known at the outset.

    `records`: what a run leaves behind.
    """

    records: R

    def __init__(self) -> None:
        self.calendar = Calendar()

    def next_decision(self) -> Time | None:
        """When the policy is asked next: at the next event, unless the world has rounds; `None` where all is over."""
        return self.calendar.next_moment

    def settle(self) -> None:
        """End a moment at which no policy is asked: one before a round."""
        return None

    @abstractmethod
    def view(self) -> Any:
        """What the policy sees, now that all events of this moment have taken effect. It holds until the decision."""

    @abstractmethod
    def apply(self, decision: Any) -> None:
        """Let a decision take effect. Raises RuleBroken where it breaks a rule."""

    @abstractmethod
    def waiting(self) -> str | None:
        """The first of what waits for a decision, in words (`job x`); `None` where there is nothing to decide."""

    def close(self) -> None:
        """Check what must hold at the end. Raises RuleBroken."""
        self.records.check()

    def jobs_table(self) -> pd.DataFrame:
        """One row a job, see `jobs_table` of the records."""
        return self.records.jobs_table()

    def timeline_table(self) -> pd.DataFrame:
        """One row a moment, see `timeline_table` of the records."""
        return self.records.timeline_table()

    def totals(self) -> dict[str, Any]:
        """Figures of the whole run, see `totals` of the records."""
        return self.records.totals()


def simulate(world: World[Any], policy: Policy[Any, Decision], *, until: Time | None = None) -> None:
    """Run `world` under `policy` until nothing is left to happen, or to the last decision not after `until`.

    Raises RuleBroken where a rule is broken: also where a policy that was woken does nothing, and nothing is to come.
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
        quiet = happened == 1 and woken and not calendar  # the wake-up was all that was left
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
