"""A round of Eva's scheduler as one problem: the fast exact method over columns, and the compact model."""

from __future__ import annotations

from dataclasses import replace

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.eva import EvaReconfiguration
from instances.eva.reconfiguration_arrays import Placed, reconfiguration_arrays
from instances.method import method
from models.core.derivation import SMALL_TASKS, settle_small
from models.eva.parameters import ROUND, SHORT, SavingParameters
from models.eva.round_literal import (
    build_literal_reconfiguration,
    literal_names_reconfiguration,
    literal_reconfiguration,
    read_literal_reconfiguration,
)

__all__ = [
    "build_literal_reconfiguration",
    "exact_reconfiguration",
    "literal_names_reconfiguration",
    "literal_reconfiguration",
    "read_literal_reconfiguration",
    "short_list",
]


@method("exact", name="short-list")
def short_list(data: EvaReconfiguration, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve an `eva-reconfiguration` instance; under a limit of effort, over the few columns that matter most.

    That is for a round of a simulation: a good solution and a bound in a fraction of a second, not always a proof.
    """
    return _solve(data, options, report, start, ROUND if options.effort is None else SHORT)


@method("exact", name="exact")
def exact_reconfiguration(
    data: EvaReconfiguration,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: SavingParameters = ROUND,
) -> Answer:
    """Solve an `eva-reconfiguration` instance by column generation, as far as the limits allow.

    - `data`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: a valid solution to begin from; the result is never worse.
    - `parameters`: the constants of the method.
    """
    return _solve(data, options, report, start, parameters)


def _solve(
    data: EvaReconfiguration, options: Options, report: Report, start: Solution | None, parameters: SavingParameters
) -> Answer:
    from models.eva.round_search import RoundSearch  # slow to load, for numba
    from models.eva.saving_columns import SavingMaster

    with Stopwatch(options.time_limit) as clock:
        with Stopwatch() as building:
            arrays = reconfiguration_arrays(data)

        def report_incumbent(placed: list[Placed] | None, bound: float | None) -> None:
            report(
                None if placed is None else arrays.solution(placed), None if bound is None else bound * arrays.unit_usd
            )

        first = [] if start is None else arrays.read_placed(start)
        search = RoundSearch(SavingMaster(arrays), first, options, clock, report_incumbent, parameters)
        search.run()
        answer = Answer(
            solution=arrays.solution(search.incumbent_instances),
            bound=search.bound * arrays.unit_usd,
            termination=search.termination,
            reason=search.reason,
            info={"rounds": search.rounds, "columns": search.listed, "lp_bound": search.lp_bound * arrays.unit_usd},
        )
        if arrays.tasks <= SMALL_TASKS and not clock.has_expired:
            from models.eva.round_certificate import certificate  # imports this package

            limit = None if options.time_limit is None else clock.remaining_s
            answer = settle_small(data, answer, replace(options, time_limit=limit), report, certificate)
    return replace(answer, build_s=building.cpu_s, solve_s=clock.cpu_s - building.cpu_s)
