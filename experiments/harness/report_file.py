"""What a running method has reported so far, in a file that outlives its process."""

from __future__ import annotations

import os
import pickle
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from instances import Solution
from instances.result import TracePoint

BOUND_EVERY_S = 0.5  # a bound alone is written down no more often than this


@dataclass
class Reported:
    """The first and the last incumbent and the bound, either `None` before there is one; `about`: what is running."""

    first: Solution | None = None
    solution: Solution | None = None
    bound: float | None = None
    trace: list[TracePoint] = field(default_factory=list)
    about: Any = None

    @staticmethod
    def read(path: Path) -> Reported:
        """What was written to `path`, and nothing where there is no such file."""
        return pickle.loads(path.read_bytes()) if path.exists() else Reported()


class ReportFile:
    """The report of a running method: it writes down each incumbent at once, in a file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reported = Reported()
        self._started = self._written = time.monotonic()

    def begin(self, about: Any) -> None:
        """Note what is running, before it has reported anything."""
        self.reported.about = about
        self._write()

    def __call__(self, solution: Solution | None, bound: float | None) -> None:
        """Note an incumbent, a bound, or both."""
        reported = self.reported
        reported.first = solution if reported.first is None else reported.first
        reported.solution = solution if solution is not None else reported.solution
        reported.bound = bound if bound is not None else reported.bound
        now = time.monotonic()
        if solution is None and now - self._written < BOUND_EVERY_S:
            return
        self._written = now
        reported.trace.append((now - self._started, None, reported.bound))
        self._write()

    def _write(self) -> None:
        beside = self.path.with_suffix(".new")
        with suppress(OSError):  # a full disk costs what would be left of an ended process, not the run
            beside.write_bytes(pickle.dumps(self.reported))
            os.replace(beside, self.path)
