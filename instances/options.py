"""The options of a solve, and the callback by which a method reports its progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

from instances.errors import InputError

Solution = Mapping[str, Any]
Report = Callable[[Solution | None, float | None], None]
"""`report(solution, bound)`: called with each new incumbent and each better bound; an unchanged one is `None`.

If a process is killed, its last report is kept.
"""


def ignore(solution: Solution | None, bound: float | None) -> None:
    """Ignore a report: a no-op callback."""


UNLIMITED = ("time_limit", "effort")  # `None` means no limit


@dataclass(frozen=True)
class Options:
    """Options of a solve.

    - `time_limit`: CPU seconds of all threads of the process, without compilation; `None` for no limit.
    - `gap`: relative gap at which a solve counts as optimal.
    - `threads`: number of solver threads.
    - `seed`: random seed.
    - `effort`: limit on the branch-and-bound nodes of each integer program and on the iterations of each search of this
      project; `None` for no limit. In contrast to a time limit, it gives the same answer on every machine.

    Raises InputError if a value is out of range.
    """

    time_limit: float | None = None
    gap: float = 1e-6
    threads: int = 1
    seed: int = 0
    effort: int | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            kind = Real if name in ("time_limit", "gap") else Integral
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            if not is_number and not (value is None and name in UNLIMITED):
                raise InputError(f"{name.replace('_', ' ')}: must be a number, got {value!r}")
        if self.time_limit is not None and not (math.isfinite(self.time_limit) and self.time_limit > 0):
            raise InputError(f"time limit: must be > 0 seconds, got {self.time_limit}")
        if not (math.isfinite(self.gap) and 0 <= self.gap < 1):
            raise InputError(f"gap: must be in [0, 1), got {self.gap}")
        if self.threads < 1:
            raise InputError(f"threads: must be >= 1, got {self.threads}")
        if not 0 <= self.seed < 2**31:
            raise InputError(f"seed: must be in [0, 2^31), got {self.seed}")
        if self.effort is not None and self.effort < 1:
            raise InputError(f"effort: must be >= 1, got {self.effort}")

    @classmethod
    def of(cls, options: Options, keywords: dict[str, Any]) -> Options:
        """Return `options` with the values that keywords of the same names give, and take these from `keywords`.

        Raises TypeError if `options` is something else, and InputError if a value is out of range.
        """
        if not isinstance(options, Options):
            given = type(options).__name__
            raise TypeError(f"options must be Options, got {given}: give time_limit=10, gap=1e-4 and so on by name")
        return replace(options, **{name: keywords.pop(name) for name in OPTION_NAMES.intersection(keywords)})

    def select(self, names: frozenset[str]) -> dict[str, Any]:
        """Return the options with these names as a dictionary: those in effect for a method that supports them."""
        return {name: value for name, value in asdict(self).items() if name in names}


OPTION_NAMES = frozenset(field.name for field in fields(Options))
