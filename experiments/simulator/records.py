"""What a run leaves behind in every world: tables, figures of the whole run, and the laws that it must obey."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pandas as pd

from instances.online import RuleBroken

HOUR = 3600.0  # seconds
TOLERANCE = 1e-6  # relative, of sums of floats


class Records(ABC):
    """Records of a run, which a world keeps as things happen, and adds what it is about to."""

    @abstractmethod
    def jobs_table(self) -> pd.DataFrame:
        """One row a job, in the clock's unit, `NaN` for what has not happened.

        In every world: `job`, `submit`, `end`, `delay`, all the time that the job waited, and `jct`, from submission to
        end.
        """

    @abstractmethod
    def timeline_table(self) -> pd.DataFrame:
        """One row a moment of the world: `time`, and what there was then."""

    def lives_table(self) -> pd.DataFrame:
        """One row a rented instance, of a world where types of instances are rented."""
        return pd.DataFrame()

    @abstractmethod
    def totals(self) -> dict[str, Any]:
        """What the world is about, by name, beside what is measured of all worlds."""

    @abstractmethod
    def check(self) -> None:
        """Refuse a run that broke a law: RuleBroken says which one, and when."""


class Integrals:
    """Amounts that change from moment to moment, and the integrals of each over time."""

    def __init__(self, count: int) -> None:
        self.totals = [0.0] * count
        self.since = 0.0

    def add(self, now: float, amounts: Sequence[float]) -> None:
        """Add what there was from the last call until `now`."""
        passed = now - self.since
        if passed > 0:
            self.since = now
            for k, amount in enumerate(amounts):
                self.totals[k] += passed * amount


def refuse_unequal(found: float, wanted: float, broken: str) -> None:
    """Raise RuleBroken, which says what is `broken`, where two sums differ by more than rounding."""
    if not abs(found - wanted) <= TOLERANCE * max(1.0, abs(wanted)):
        raise RuleBroken(broken)
