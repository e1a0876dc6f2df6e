"""CPU time, the measure of every figure in this project."""

from __future__ import annotations

import time
from types import TracebackType

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def cpu_seconds() -> float:
    """CPU seconds of this process and of its finished children; without those where the system does not count them."""
    if resource is None:
        return time.process_time()
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class Stopwatch:
    """Measures a block: `with Stopwatch() as watch: ...`, then `watch.cpu_s`; tells elapsed and remaining wall time.

    A wall-time limit is what a user waits for; CPU time is what a figure can be compared by.
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = limit_s
        self._cpu, self._wall = cpu_seconds(), time.monotonic()
        self._stopped: float | None = None

    def __enter__(self) -> Stopwatch:
        self._cpu, self._wall = cpu_seconds(), time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = cpu_seconds() - self._cpu

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the block so far, or of the whole block once it is left."""
        return self._stopped if self._stopped is not None else cpu_seconds() - self._cpu

    @property
    def wall_s(self) -> float:
        """Wall seconds since the start."""
        return time.monotonic() - self._wall

    @property
    def remaining_s(self) -> float:
        """Wall seconds left of the limit; infinite where there is none."""
        return float("inf") if self.limit_s is None else max(0.0, self.limit_s - self.wall_s)

    @property
    def expired(self) -> bool:
        """Whether the limit is reached."""
        return self.remaining_s <= 0
