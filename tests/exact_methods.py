"""Define exact methods of Eva's packing that take a start and misbehave."""

from __future__ import annotations

import time

from instances import Answer, Options, Report, Solution
from instances.eva import EvaPacking
from instances.method import method
from tests.user_heuristics import one_each


@method("exact")
def worse(data: EvaPacking, options: Options, report: Report, start: Solution | None) -> Answer:
    """Report and return an expensive solution with a valid bound, and the given start."""
    report(one_each(data), 1.0)
    info = {"given": start, "left_s": options.time_limit}
    return Answer(one_each(data), 1.0, info=info, trace=[(0.0, 48.0, 1.0)])


@method("exact")
def hangs(data: EvaPacking, report: Report, start: Solution | None) -> Answer:
    """Something worse than the start is reported, and there is no end."""
    report(one_each(data), 1.0)
    time.sleep(600)
    raise AssertionError


@method("exact")
def gives_up(data: EvaPacking, start: Solution | None) -> Answer:
    """No solution, and a bound."""
    return Answer(None, 1.0, "time_limit", "time limit")


@method("exact")
def denies(data: EvaPacking, start: Solution | None) -> Answer:
    """Return a false proof of infeasibility."""
    return Answer(None, None, "infeasible", "so it seems")


@method("exact")
def lies(data: EvaPacking, start: Solution | None) -> Answer:
    """Return a bound beyond the start."""
    return Answer(one_each(data), 48.0)
