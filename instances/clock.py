"""CPU time, the measure of every figure and of every limit in this project."""

from __future__ import annotations

import os
import time
from types import TracebackType

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

LATE = 1.5  # where a limit of wall seconds stands on an idle machine, as a multiple of the one in CPU seconds
_uncounted_s = 0.0  # what has been spent so far and no clock counts


def cpu_seconds() -> float:
    """CPU seconds of this process and of its finished children; without those where the system does not count them."""
    if resource is None:
        return time.process_time()
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def patience_s(limit_s: float) -> float:
    """Wall seconds for a solver that counts nothing else: some more than its CPU seconds, on a busy machine many."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return LATE * max(1.0, load) * limit_s


def charge_to_nobody(seconds: float) -> None:
    """Take so many CPU seconds that were spent just now, as on compilation, from all figures and limits."""
    global _uncounted_s
    _uncounted_s += seconds


class Stopwatch:
    """Measures a block: `with Stopwatch() as watch: ...`, then `watch.cpu_s`; tells what is left of a limit.

    Limit and figure are CPU seconds of the process, of all its threads together and without compilation: what else
    runs on the machine touches neither.
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
        self._stopped = self.spent_s

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the block so far, or of the whole block once it is left."""
        return self._stopped if self._stopped is not None else self.spent_s

    @property
    def spent_s(self) -> float:
        """CPU seconds since the start, also after the block: what counts against a limit."""
        return cpu_seconds() - _uncounted_s - self._cpu

    @property
    def wall_s(self) -> float:
        """Wall seconds since the start, for a trace that somebody looks at."""
        return time.monotonic() - self._wall

    @property
    def remaining_s(self) -> float:
        """CPU seconds left of the limit; infinite where there is none."""
        return float("inf") if self.limit_s is None else max(0.0, self.limit_s - self.spent_s)

    @property
    def expired(self) -> bool:
        """Whether the limit is reached."""
        return self.remaining_s <= 0
