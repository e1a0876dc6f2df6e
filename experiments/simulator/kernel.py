"""The event engine: a heap of moments, and nothing happens between two of them.

A *world* says what resources there are, what a policy sees of them and how its decisions take effect. The engine knows
only time: it wakes the world at the moments the world asked for, and the policy after each.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Protocol

Time = float
"""A moment on the clock, in the world's unit. Integers stay integers: with whole data every moment is exact."""


class SimulationError(RuntimeError):
    """A policy or a world broke a rule: the message names the job and the time."""


class Policy(Protocol):
    """Decides about a world at a moment; what it sees and what it answers are the world's."""

    def decide(self, view: Any) -> Any: ...


class World(Protocol):
    """What is simulated. `open` schedules what is known at the outset."""

    def open(self, clock: Clock) -> None: ...

    def view(self, clock: Clock) -> Any:
        """What the policy sees, now that all events of this moment have taken effect."""

    def apply(self, decision: Any, clock: Clock) -> None:
        """Let a decision take effect. Raises SimulationError where it breaks a rule."""

    def close(self, clock: Clock) -> None:
        """Check what must hold at the end. Raises SimulationError."""


class Clock:
    """Simulated time and the events to come. Events of one moment happen in order of `rank`, then as scheduled."""

    def __init__(self) -> None:
        self.now: Time = 0
        self._heap: list[tuple[Time, int, int, Event]] = []
        self._count = 0

    def at(self, time: Time, happen: Callable[[], None], *, rank: int = 0) -> Event:
        """Schedule `happen` for `time`. Raises SimulationError for a moment that is past."""
        if not time >= self.now:
            raise SimulationError(f"an event at {time} is scheduled at {self.now}")
        event = Event(happen)
        heappush(self._heap, (time, rank, self._count, event))
        self._count += 1
        return event

    def __bool__(self) -> bool:
        """Whether anything is still to come."""
        while self._heap and self._heap[0][3].cancelled:
            heappop(self._heap)
        return bool(self._heap)

    @property
    def next_moment(self) -> Time:
        """The moment of the next event. There must be one."""
        return self._heap[0][0]

    def advance(self) -> None:
        """Go to the next moment and let all that is due happen. There must be one."""
        self.now = self._heap[0][0]
        while self and self._heap[0][0] == self.now:
            heappop(self._heap)[3].happen()


class Event:
    """Something scheduled, which can be cancelled until it happens."""

    __slots__ = ("cancelled", "happen")

    def __init__(self, happen: Callable[[], None]) -> None:
        self.happen = happen
        self.cancelled = False

    def cancel(self) -> None:
        """Let it not happen."""
        self.cancelled = True


class Work:
    """Remaining work of a job that is done at a piecewise-constant rate: exact between the changes of the rate."""

    __slots__ = ("rate", "remaining", "since")

    def __init__(self, amount: float) -> None:
        self.remaining = amount
        self.rate: float = 0
        self.since: Time = 0

    def change_rate(self, rate: float, now: Time) -> None:
        """Account for the work done so far, and go on at `rate` per unit of time."""
        self.remaining -= self.rate * (now - self.since)
        self.rate, self.since = rate, now

    def done_at(self) -> Time | None:
        """When the work is done at this rate; `None` for never."""
        if self.rate <= 0:
            return None
        needed = self.remaining / self.rate if self.rate != 1 else self.remaining
        return self.since + needed


def simulate(world: World, policy: Policy, *, until: Time | None = None) -> None:
    """Run `world` under `policy` until nothing is left to happen, or to the last moment not after `until`.

    Raises SimulationError where a rule is broken.
    """
    clock = Clock()
    world.open(clock)
    while clock and (until is None or clock.next_moment <= until):
        clock.advance()
        world.apply(policy.decide(world.view(clock)), clock)
    world.close(clock)
