"""Which loaned servers go back where jobs stay while enough workers remain, or where their losses differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from instances import Answer, Options, Report, Stopwatch
from instances.arrays import FloatArray
from instances.aryl import ArylReclaim
from models.aryl.loss_program import LossProgram
from models.bounds import WHOLE
from models.highs import Solved, solve_arrays
from models.incumbent import Incumbent


def solve_loss(
    data: ArylReclaim,
    options: Options,
    report: Report,
    start: Sequence[str] | None = None,
    at_most: int | None = None,
) -> Answer:
    """The servers whose return loses the least, proved, or the best ones and bound at the time limit.

    - `start`: servers to begin from; those of `easiest_first` without.
    - `at_most`: so many jobs are preempted at most; then there may be no solution.
    """
    with Stopwatch(options.time_limit) as building:
        program = LossProgram(data, at_most)

        def told(servers: list[str] | None, bound: float | None) -> None:
            report(None if servers is None else {"servers": servers}, bound)

        incumbent: Incumbent[list[str], float] = Incumbent("minimize", building, told, gap=options.gap, bound=0.0)

        def offer(servers: Sequence[str] | None) -> None:
            if servers is not None:
                lost, jobs = loss(data, servers)
                if at_most is None or jobs <= at_most:
                    incumbent.offer(float(lost), list(servers))

        offer(start)
        offer(easiest_first(data, program))
        if incumbent.solution is not None:
            program = LossProgram(data, at_most, loss(data, incumbent.solution)[0])

    def watch(x: FloatArray | None, bound: float | None) -> None:
        if x is not None:
            offer(program.servers(x))
        if bound is not None:
            incumbent.raise_bound(program.losses.proven(bound))

    with Stopwatch() as solving:
        solved = Solved("finished", bound=0.0)
        while program.need > 0 and incumbent.objective != 0:
            left = None if options.time_limit is None else max(building.remaining_s, 1e-3)
            known = incumbent.solution
            solved = solve_arrays(
                program.model(),
                replace(options, time_limit=left),
                start=None if known is None else program.point(known),
                watch=watch,
                extra={"mip_abs_gap": 1 - 2 * WHOLE} if program.losses.whole else None,
            )
            watch(solved.x, solved.bound)
            if solved.termination != "finished" or incumbent.closed or incumbent.solution in (None, known):
                break
            # A better choice leaves out more jobs, and so what is lost beside the others is told apart.
            program = LossProgram(data, at_most, loss(data, incumbent.solution)[0])
    found = incumbent.solution
    return Answer(
        solution=None if found is None else {"servers": found},
        bound=None if solved.termination == "infeasible" else incumbent.bound,
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        trace=incumbent.trace,
        info=solved.info,
    )


def loss(data: ArylReclaim, servers: Sequence[str]) -> tuple[Fraction, int]:
    """What is lost with these servers, exactly, and how many jobs are preempted."""
    gone, lost, jobs = set(servers), Fraction(0), 0
    for job, price in zip(data.jobs, data.losses(), strict=True):
        workers, spare = job.needs()
        if sum(n for server, n in workers.items() if server in gone) > spare:
            lost, jobs = lost + price, jobs + 1
    return lost, jobs


def easiest_first(data: ArylReclaim, program: LossProgram) -> list[str]:
    """A first choice: servers by what their workers are worth, each job shared out over the workers that may go."""
    price = dict.fromkeys(program.idle, 0.0)
    for profile, members in zip(program.profiles, program.members, strict=True):
        cost = sum(program.losses.cost[j] * w / (program.spare[j] + 1) for j, w in profile)
        price |= dict.fromkeys(members, float(cost))
    return sorted(data.servers, key=price.__getitem__)[: data.reclaim]
