"""HiGHS: a model in arrays in, a solution and a bound out, within CPU seconds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from instances import Answer, Options, ProblemData, Report, Solution, Stopwatch, check
from instances.arrays import FloatArray
from instances.clock import call_within
from models.core.highs import TIGHT, LinearModel, solve_arrays
from models.core.safe_bounds import real_bound, whole_bound

Build = Callable[[Any], tuple[LinearModel, Callable[[FloatArray], Solution]]]
"""The model of some data, and what makes a solution of its values."""


def solve_highs(build: Build, data: ProblemData, options: Options, report: Report, unit: float = 1.0) -> Answer:
    """Build a model with `build(data)` and solve it. The time limit holds for both together.

    `unit`: of the model's objective, in that of the data. A solution by the tolerances of HiGHS alone is none.
    """
    with Stopwatch(options.time_limit) as building:
        made = None
        with suppress(TimeoutError):
            made = call_within(options.time_limit, lambda: build(data))
    if made is None or building.has_expired:
        return Answer(None, None, "time_limit", "time limit, while the model was built", building.cpu_s, 0.0)
    model, read = made
    whole = bool(np.all(np.asarray(model.cost) % 1 == 0)) and bool(np.all(model.integer))

    def proven(bound: float | None) -> float | None:
        if bound is None:
            return None
        return unit * (whole_bound(bound, model.sense) if whole else real_bound(bound, model.sense))

    def solution(x: FloatArray | None) -> Solution | None:
        found = None if x is None else read(x)
        return None if found is None or check(data, found).violations else found

    left = building.limit_left_s
    solved = solve_arrays(
        model,
        replace(options, time_limit=left, gap=options.gap if whole else options.gap / 2),  # the rest is for tolerances
        watch=lambda x, bound: report(solution(x), proven(bound)),
        extra=None if whole else TIGHT,
    )
    return Answer(
        solution=solution(solved.x),
        bound=proven(solved.bound),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        info=solved.info | {"solver": f"HiGHS {version('highspy')}"},
    )
