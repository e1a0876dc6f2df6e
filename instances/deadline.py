"""Work that is broken off at a wall-time limit from within, where the work itself does not look at the clock."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

AGAIN_S = 0.25  # the signal comes again at this interval: an exception in a finaliser is swallowed


class _Expired(BaseException):
    """Raised by the signal; no `except Exception` on the way holds it up."""


def within(limit_s: float | None, work: Callable[[], T]) -> T:
    """`work()`, broken off after `limit_s` wall seconds (`None`: never).

    Raises TimeoutError where it was broken off. Outside the main thread, where no signal arrives, work is never
    broken off; neither is a call into compiled code before it returns.
    """
    if limit_s is None or limit_s > threading.TIMEOUT_MAX or threading.current_thread() is not threading.main_thread():
        return work()

    expired = False

    def expire(signum: int, frame: FrameType | None) -> None:
        nonlocal expired
        expired = True
        raise _Expired

    before = signal.signal(signal.SIGALRM, expire)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(limit_s, 1e-6), AGAIN_S)
            return work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (_Expired, Exception) as error:
        if not expired:
            raise
        signal.setitimer(signal.ITIMER_REAL, 0)  # where the signal came again in the line above
        raise TimeoutError(f"broken off after {limit_s:g} s") from error  # some libraries make another exception of it
    finally:
        signal.signal(signal.SIGALRM, before)
