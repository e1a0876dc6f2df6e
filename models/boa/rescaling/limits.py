"""The limits of an enumeration of paths: time, and the labels that fit into memory."""

from __future__ import annotations

from dataclasses import dataclass

from instances import Stopwatch


class OutOfTime(Exception):
    """The time limit is reached."""


class OutOfMemory(Exception):
    """The partial paths of a class are more than memory holds."""


@dataclass(frozen=True)
class Limits:
    """The clock with the time limit, and the most labels of a class."""

    clock: Stopwatch
    most_labels: int

    def check(self, labels: int) -> None:
        """Raise OutOfTime or OutOfMemory where a class has so many labels by now."""
        if self.clock.expired:
            raise OutOfTime
        if labels > self.most_labels:
            raise OutOfMemory
