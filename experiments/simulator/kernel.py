"""The event engine: a calendar of moments, and nothing happens between two of them.

A *world* says what there is, what a policy sees of it and how a decision takes effect. The engine knows only time: it
wakes the world at the moments that the world asked for, and the policy after each of them, or when the policy asked.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

from instances.online import Decision, Policy, RuleBroken

Time = float
"""A moment, in the world's unit. Integers stay integers: with whole data every moment is exact."""

TIE = 1e-9  # relative: moments this close are one, for rates are floats and completions that are meant together differ
MOST_TIED = 1e3  # but never further apart than this many times TIE: whole moments stay apart
DONE = 1e-12  # share of the work of an activity that is none: what is left of it by rounding
WAKING = 1_000  # rank of a wake-up: after all that happens by itself


class World(Protocol):
    """What is simulated. `open` schedules what is known at the outset."""

    def open(self, calendar: Calendar) -> None: ...

    def view(self) -> Any:
        """What the policy sees, now that all events of this moment have taken effect."""

    def apply(self, decision: Any) -> None:
        """Let a decision take effect. Raises RuleBroken where it breaks a rule."""

    def waiting(self) -> str | None:
        """The first of what waits for a decision, in words (`job x`); `None` where there is nothing to decide."""

    def close(self) -> None:
        """Check what must hold at the end. Raises RuleBroken."""


class Calendar:
    """Simulated time and the events to come. Events of one moment happen in order of rank, then as scheduled."""

    def __init__(self, tie: float = TIE) -> None:
        self.now: Time = 0
        self._tie = tie
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
    def next_moment(self) -> Time:
        """The moment of the next event. There must be one."""
        self._drop_cancelled()
        return self._heap[0][0]

    def advance(self) -> int:
        """Go to the next moment, let all that is due happen, and tell how many events that were. One must be due."""
        self.now = self.next_moment
        last = self.now + self._tie * min(abs(self.now), MOST_TIED)
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

    def go_to(self, time: Time) -> None:
        """Go to a moment before which nothing is to happen, and let happen what is due then, if anything is."""
        if len(self) and self.next_moment <= time:
            self.advance()
        self.now = time

    def _drop_cancelled(self) -> None:
        while self._heap and self._heap[0][3].cancelled:
            heappop(self._heap)
            self._cancelled -= 1

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
    """Work that is done at a rate which may change; it calls `done` when none is left.

    A change of rate settles what has been done so far, cancels the completion that was to come and schedules the new
    one: exact between the changes.
    """

    __slots__ = ("_amount", "_calendar", "_completion", "_done", "_rank", "_remaining", "_since", "rate")

    def __init__(self, calendar: Calendar, amount: float, done: Callable[[], None], *, rank: int = 0) -> None:
        self._calendar, self._amount, self._done, self._rank = calendar, amount, done, rank
        self._remaining = amount
        self.rate: float = 0
        self._since = calendar.now
        self._completion: Event | None = None

    @property
    def remaining(self) -> float:
        """Work left at this moment."""
        return self._remaining - self.rate * (self._calendar.now - self._since)

    def set_rate(self, rate: float) -> None:
        """Go on at `rate` per unit of time. Raises RuleBroken for a negative one."""
        if not rate >= 0:
            raise RuleBroken(f"an activity has the rate {rate} at {self._calendar.now}")
        self._remaining, self._since, self.rate = self.remaining, self._calendar.now, rate
        if self._completion is not None:
            self._completion.cancel()
            self._completion = None
        done = self._remaining <= DONE * self._amount  # at this very moment: it completes, whatever the rate is now
        if done or rate > 0:
            needed = 0 if done else self._remaining if rate == 1 else self._remaining / rate
            self._completion = self._calendar.at(self._since + needed, self._complete, rank=self._rank)

    def _complete(self) -> None:
        self._completion = None
        self._remaining, self._since, self.rate = 0, self._calendar.now, 0
        self._done()


def simulate(world: World, policy: Policy[Any, Decision], *, until: Time | None = None, tie: float = TIE) -> None:
    """Run `world` under `policy` until nothing is left to happen, or to the last moment not after `until`.

    Raises RuleBroken where a rule is broken: also where a policy that was woken does nothing, and nothing is to come.
    """
    calendar = Calendar(tie)
    world.open(calendar)
    wake: Event | None = None
    woken = False

    def waken() -> None:
        nonlocal wake, woken
        wake, woken = None, True

    while calendar and (until is None or calendar.next_moment <= until):
        woken = False
        quiet = calendar.advance() == 1 and woken and not calendar  # the wake-up was all that was left
        decision = policy.decide(world.view())
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
    if not calendar and (left := world.waiting()) is not None:
        raise RuleBroken(f"{left} is left waiting at {calendar.now} with nothing to come")
    world.close()
