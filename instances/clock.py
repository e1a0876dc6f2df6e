"""Measure the CPU seconds of a run, and end it at its limit."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TypeVar

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

LATE = 1.5  # a wall-clock limit on an idle machine, as a multiple of the CPU limit
ANNOUNCE = (
    "GAPWISE_ANNOUNCE_COMPILATION"  # this environment variable makes a run say on standard error that it compiles
)
SHORTEST_S = 1e-3  # the shortest time limit and timer: a timer of 0 never expires
_uncounted_s = 0.0  # CPU seconds so far that no clock counts


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and, if the system counts them, of its finished children."""
    if resource is None:
        return time.process_time()
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def patience_s(limit_s: float) -> float:
    """Return a wall-clock limit in seconds for a solver without a CPU limit; it grows with the load of the machine."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return LATE * max(1.0, load) * limit_s


@contextmanager
def pause_clocks() -> Iterator[None]:
    """Exclude a block, such as compilation or a late import, from all measurements and limits."""
    global _uncounted_s
    before = cpu_seconds()
    suspend_end()
    try:
        yield
    finally:
        spent_s = cpu_seconds() - before
        _uncounted_s += spent_s
        resume_end(spent_s)


class Stopwatch:
    """Measure a block and the rest of its time limit: `with Stopwatch() as watch: ...`, then `watch.cpu_s`.

    Times and limits are CPU seconds of all threads of the process, without compilation. So other processes on the
    machine do not affect them.
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = limit_s
        self._begin()

    def _begin(self) -> None:
        self._cpu, self._wall = cpu_seconds() - _uncounted_s, time.monotonic()
        self._stopped: float | None = None

    def __enter__(self) -> Stopwatch:
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = self.cpu_spent_s

    @property
    def cpu_s(self) -> float:
        """Return the CPU seconds of the block so far, or of the whole block once it is left."""
        return self._stopped if self._stopped is not None else self.cpu_spent_s

    @property
    def cpu_spent_s(self) -> float:
        """Return the CPU seconds since the start, also after the block; they count against the limit."""
        return cpu_seconds() - _uncounted_s - self._cpu

    @property
    def wall_s(self) -> float:
        """Return the wall-clock seconds since the start, for a trace of the progress."""
        return time.monotonic() - self._wall

    @property
    def remaining_s(self) -> float:
        """Return the CPU seconds left of the limit, infinite if there is no limit."""
        return float("inf") if self.limit_s is None else max(0.0, self.limit_s - self.cpu_spent_s)

    @property
    def limit_left_s(self) -> float | None:
        """Return the time limit of a further step in CPU seconds, at least a millisecond; `None` if there is none.

        A solver rejects a limit of 0; with a millisecond it stops at once.
        """
        return None if self.limit_s is None else max(self.remaining_s, SHORTEST_S)

    @property
    def has_expired(self) -> bool:
        """Return whether the limit is reached."""
        return self.remaining_s <= 0


T = TypeVar("T")

LOOK_S = 0.02  # wall-clock seconds between two checks of the clock
AGAIN_S = 0.25  # CPU seconds until the next interrupt, because a finaliser may swallow the exception


class BrokenOff(TimeoutError):
    """The work was interrupted at its time limit."""


class _Expired(BaseException):
    """The exception that the signal raises; `except Exception` does not catch it."""


def call_within(limit_s: float | None, work: Callable[[], T]) -> T:
    """Return `work()`, or interrupt it after `limit_s` CPU seconds (`None`: never).

    A wall-clock timer checks the CPU time. The CPU timer of the kernel counts ticks, so on a busy virtual machine it
    may see a tenth of the CPU time. A call into compiled code is interrupted only when it returns. Outside the main
    thread, and on systems without SIGALRM, no signal arrives and the work is never interrupted.

    Raises BrokenOff if the limit ended the work.
    """
    main = threading.current_thread() is threading.main_thread()
    if limit_s is None or limit_s > threading.TIMEOUT_MAX or not main or not hasattr(signal, "SIGALRM"):
        return work()

    expired, end_s, clock = False, limit_s, Stopwatch()

    def look(signum: int, frame: FrameType | None) -> None:
        nonlocal expired, end_s
        if clock.cpu_spent_s >= end_s:
            expired, end_s = True, clock.cpu_spent_s + AGAIN_S
            raise _Expired

    before, alarm_s, interval_s = signal.signal(signal.SIGALRM, look), 0.0, 0.0
    try:
        try:
            first_s = min(max(limit_s, SHORTEST_S), LOOK_S)
            alarm_s, interval_s = signal.setitimer(signal.ITIMER_REAL, first_s, LOOK_S)
            return work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (_Expired, Exception) as error:
        if not expired:
            raise
        signal.setitimer(signal.ITIMER_REAL, 0)  # in case the signal came again in the line above
        raise BrokenOff(f"broken off after {limit_s:g} s") from error  # some libraries convert the exception
    finally:
        signal.signal(signal.SIGALRM, before)
        if alarm_s:  # restore the alarm of the caller
            signal.setitimer(signal.ITIMER_REAL, max(alarm_s - clock.wall_s, SHORTEST_S), interval_s)


OVERRUN = -int(getattr(signal, "SIGXCPU", 0)) or None  # exit code of a process ended at its CPU limit
_end_s = math.inf  # the CPU time of this process at which the system ends it


@contextmanager
def end_process_after(limit_s: float | None) -> Iterator[None]:
    """Let the system end this process (SIGXCPU) if a block takes more than `limit_s` CPU seconds."""
    global _end_s
    if limit_s is None or resource is None:
        yield
        return
    before = _end_s
    _end_s = time.process_time() + limit_s
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # no core dump
    _apply_end(_end_s)
    try:
        yield
    finally:
        _end_s = before
        _apply_end(before)


def suspend_end() -> None:
    """Suspend the CPU limit of this process."""
    if _end_s < math.inf:
        _apply_end(math.inf)


def resume_end(later_s: float) -> None:
    """Restore the CPU limit of this process, `later_s` CPU seconds later than before."""
    global _end_s
    if _end_s < math.inf:
        _end_s += later_s
        _apply_end(_end_s)


def _apply_end(end_s: float) -> None:
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(end_s) if end_s < 2**31 else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_CPU, (soft if most == resource.RLIM_INFINITY else min(soft, most), most))
