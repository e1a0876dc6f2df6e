"""Build schedules of elastic jobs whose workers change only at completions (Aryl, section 5.1)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

J = TypeVar("J", bound=Hashable)

AllocationRule = Callable[[Mapping[J, Any], dict[J, int]], dict[J, int]]
"""`rule(left, held)`: workers of each job until the next completion, from the work left and the workers held so far."""


@dataclass(frozen=True)
class Schedule(Generic[J]):
    """Intervals (length in seconds, workers by job), and the sum of the completion times in seconds."""

    intervals: list[tuple[Any, dict[J, int]]]
    total: Any


class WorkLeft(Mapping[J, Any]):
    """The remaining work of each unfinished job at time `now`, computed only when a rule reads it."""

    def __init__(self, work: Mapping[J, Any]) -> None:
        self.now: Any = 0
        self._work = dict(work)  # At the last change of the job's workers.
        self._running: dict[J, tuple[Any, Any]] = {}  # Time of the last change, and the throughput.

    def __getitem__(self, job: J) -> Any:
        work = self._work[job]
        if job not in self._running:
            return work
        since, rate = self._running[job]
        return work - (self.now - since) * rate

    def __iter__(self) -> Iterator[J]:
        return iter(self._work)

    def __len__(self) -> int:
        return len(self._work)

    def __contains__(self, job: object) -> bool:
        return job in self._work

    def change(self, job: J, rate: Any) -> Any:
        """Run `job` at `rate` from now on, and return its completion time without a further change."""
        self._work[job] = work = self[job]
        self._running[job] = self.now, rate
        return self.now + work / rate

    def stop(self, job: J) -> None:
        """Take all workers from `job`."""
        self._work[job] = self[job]
        del self._running[job]

    def complete(self, job: J) -> None:
        """Remove `job`, which has no work left."""
        del self._work[job]
        self._running.pop(job, None)


def replay(work: Mapping[J, Any], speed: Callable[[J, int], Any], rule: AllocationRule[J]) -> Schedule[J]:
    """Build the schedule of jobs under `rule`, in the number type of `work` and `speed`.

    Exact lengths are rounded up to floating-point numbers, because a solution states these. Jobs that complete within
    the rounding complete together, and the numbers stay short for any number of completions. If the workers of a job do
    not change, its completion time is not computed again.
    """
    left, held = WorkLeft(work), dict[J, int]()
    intervals: list[tuple[Any, dict[J, int]]] = []
    total: Any = 0
    queue: list[tuple[Any, int, J]] = []  # (completion, serial number of the entry, job)
    serial: dict[J, int] = {}  # Earlier entries of the job in the queue are out of date.
    entries = 0
    while left:
        workers = rule(left, held)
        for job in held.keys() - workers.keys():
            left.stop(job)
            del serial[job]
        for job, count in workers.items():
            if held.get(job) != count:
                entries += 1
                serial[job] = entries
                heapq.heappush(queue, (left.change(job, speed(job, count)), entries, job))
        while serial.get(queue[0][2]) != queue[0][1]:
            heapq.heappop(queue)
        length = round_up(queue[0][0] - left.now)
        left.now += length
        total += length * len(left)
        intervals.append((length, workers))
        held = dict(workers)
        while queue and queue[0][0] <= left.now:
            _, entry, job = heapq.heappop(queue)
            if serial.get(job) == entry:
                left.complete(job)
                del serial[job], held[job]
    return Schedule(intervals, total)


def round_up(seconds: Any) -> Any:
    """Return the smallest floating-point number that is at least `seconds`, in the same number type."""
    if isinstance(seconds, float):
        return seconds
    nearest = float(seconds)
    return Fraction(nearest if nearest >= seconds else math.nextafter(nearest, math.inf))
