"""Heuristics before an exact method: it starts from their best feasible solution, and never falls behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from instances import Answer, Options, ProblemData, Report, Result, Solution, Stopwatch
from instances.deadline import within
from instances.fields import Sense
from instances.gaps import ahead
from instances.method import Method
from instances.result import TracePoint

SHARE = 0.5  # of the time limit is the most that the heuristics may take
LEAST_S = 1e-3  # of the time limit is left to the exact method in any case

Heuristic = tuple[str, Callable[[], Result]]


@dataclass(frozen=True)
class Start:
    """A solution that the checker has passed, its objective, and the heuristic it is from."""

    method: str
    solution: Solution
    objective: float


def best_start(
    heuristics: Iterable[Heuristic], sense: Sense, limit_s: float | None, given: Start | None = None
) -> Start | None:
    """The best of a start that is given and of the solutions of the heuristics, each a name and a call.

    One that fails or is too slow is passed over.
    """
    clock, best = Stopwatch(limit_s), given
    for name, run in heuristics:
        if clock.expired:
            break
        with suppress(Exception):
            result = within(None if limit_s is None else clock.remaining_s, run)
            if result.solved and result.objective is not None and result.solution is not None:
                found = Start(name, result.solution, result.objective)
                best = found if best is None or ahead(found.objective, best.objective, sense) else best
    return best


def from_start(
    method: Method[Any],
    data: ProblemData,
    heuristics: Iterable[Heuristic],
    options: Options,
    report: Report | None,
    given: Start | None = None,
) -> Answer:
    """What an exact method finds from the best start, which it is given and never falls behind.

    The heuristics are part of the time limit, and their CPU seconds of `build_s`.
    """
    limit = options.time_limit
    clock = Stopwatch(limit)
    if given is not None and report is not None:
        report(given.solution, None)
    start = best_start(heuristics, data.sense, None if limit is None else SHARE * limit, given)
    started_s, wall_s = clock.cpu_s, clock.wall_s
    left = options if limit is None else replace(options, time_limit=max(clock.remaining_s, LEAST_S))
    answer = method.answer(data, left, report, None if start is None else start.solution)
    trace: list[TracePoint] = [(when + wall_s, found, bound) for when, found, bound in answer.trace]
    info = dict(answer.info)
    if start is not None:
        trace = [(wall_s, start.objective, None), *trace]
        info["start"] = {"method": start.method, "objective": start.objective}
    return replace(answer, build_s=started_s + (answer.build_s or 0.0), trace=trace, info=info)
