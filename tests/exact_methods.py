"""Exact methods of Eva's packing that take a start, and do as they please with it."""

from __future__ import annotations

import time

from instances import Answer, Options, Report, Result, Solution, conclude, ignore
from instances.eva import EvaPacking
from tests.user_heuristics import one_each


def worse(
    data: EvaPacking, options: Options = Options(), report: Report = ignore, start: Solution | None = None
) -> Result:
    """Reports and returns a dear solution, with a bound that holds, and says what it was given."""
    report(one_each(data), 1.0)
    info = {"given": start, "left_s": options.time_limit}
    return conclude(
        data, "exact", Answer(one_each(data), 1.0, info=info, trace=[(0.0, 48.0, 1.0)]), options, kind="exact"
    )


def hangs(
    data: EvaPacking, options: Options = Options(), report: Report = ignore, start: Solution | None = None
) -> Result:
    """Reports something worse than the start and never ends."""
    report(one_each(data), 1.0)
    time.sleep(600)
    raise AssertionError


def gives_up(
    data: EvaPacking, options: Options = Options(), report: Report = ignore, start: Solution | None = None
) -> Result:
    return conclude(data, "exact", Answer(None, 1.0, "time_limit", "time limit"), options, kind="exact")


def denies(
    data: EvaPacking, options: Options = Options(), report: Report = ignore, start: Solution | None = None
) -> Result:
    return conclude(data, "exact", Answer(None, None, "infeasible", "so it seems"), options, kind="exact")


def lies(
    data: EvaPacking, options: Options = Options(), report: Report = ignore, start: Solution | None = None
) -> Result:
    """A bound beyond the start."""
    return conclude(data, "exact", Answer(one_each(data), 48.0), options, kind="exact")
