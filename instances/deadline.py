"""Work that is broken off at a limit of CPU time, from within or by the system, where it does not look at the clock."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from instances.clock import Stopwatch

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

T = TypeVar("T")

AGAIN_S = 0.25  # the signal comes again at this interval: an exception in a finaliser is swallowed


class _Expired(BaseException):
    """Raised by the signal; no `except Exception` on the way holds it up."""


def within(limit_s: float | None, work: Callable[[], T]) -> T:
    """`work()`, broken off after `limit_s` CPU seconds (`None`: never).

    Raises TimeoutError where it was broken off. Outside the main thread, where no signal arrives, work is never
    broken off; neither is a call into compiled code before it returns.
    """
    if limit_s is None or limit_s > threading.TIMEOUT_MAX or threading.current_thread() is not threading.main_thread():
        return work()

    expired, clock = False, Stopwatch(limit_s)

    def expire(signum: int, frame: FrameType | None) -> None:
        nonlocal expired
        if clock.expired:  # the signal counts compilation, too
            expired = True
            raise _Expired

    before = signal.signal(signal.SIGPROF, expire)
    try:
        try:
            signal.setitimer(signal.ITIMER_PROF, max(limit_s, 1e-6), AGAIN_S)
            return work()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except (_Expired, Exception) as error:
        if not expired:
            raise
        signal.setitimer(signal.ITIMER_PROF, 0)  # where the signal came again in the line above
        raise TimeoutError(f"broken off after {limit_s:g} s") from error  # some libraries make another exception of it
    finally:
        signal.signal(signal.SIGPROF, before)


OVERRUN = -int(getattr(signal, "SIGXCPU", 0)) or None  # the exit code of a process that is ended so
_end_s = math.inf  # the CPU seconds of this process at which the system ends it


@contextmanager
def ended_after(limit_s: float | None) -> Iterator[None]:
    """A block in which the system ends this process (SIGXCPU) after `limit_s` more CPU seconds, whatever it does."""
    global _end_s
    if limit_s is None or resource is None:
        yield
        return
    before = _end_s
    _end_s = time.process_time() + limit_s
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # no trace of it
    _apply_end(_end_s)
    try:
        yield
    finally:
        _end_s = before
        _apply_end(before)


def suspend_end() -> None:
    """Let the system not end this process for now."""
    if _end_s < math.inf:
        _apply_end(math.inf)


def resume_end(later_s: float) -> None:
    """End it again, so many CPU seconds later than was said before."""
    global _end_s
    if _end_s < math.inf:
        _end_s += later_s
        _apply_end(_end_s)


def _apply_end(end_s: float) -> None:
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(end_s) if end_s < 2**31 else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_CPU, (soft if most == resource.RLIM_INFINITY else min(soft, most), most))
