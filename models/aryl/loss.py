"""The integer program of reclaiming if jobs can do without some workers, or if their losses differ.

z_j = 1 if job j is preempted. x_g is the number of returned servers of group g; the servers of a group hold the same
numbers of workers of each job. Job j can do without c_j workers. A server with more workers of the job is critical: it
is returned only if the job is preempted, x_g <= n_g z_j. For the other servers, sum_g w_jg x_g <= c_j + (W_j - c_j)
z_j. W_j is the number of all workers on them. A number of workers above c_j is replaced by c_j + 1, and numbers are
divided by their greatest common divisor; both tighten the relaxation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Stopwatch
from instances.arrays import BoolArray, FloatArray
from instances.aryl import ArylReclaim
from models.core.highs import LinearModel, Solved, solve_arrays
from models.core.incumbent import Incumbent
from models.core.safe_bounds import WHOLE, real_bound, whole_bound

MAX_INTEGER_LOSS = 10**8  # of all jobs, in units: up to this, losses are integers, and so are bounds
MAX_REAL_LOSS = 1000  # of a job, for HiGHS, if losses are not integers: the unit keeps coefficients in its range


@dataclass(frozen=True)
class Losses:
    """The loss of the preemption of each job.

    - `cost`: losses for HiGHS (jobs,), in units of `unit`.
    - `is_integral`: whether they are integers.
    - `kept`: jobs (jobs,) that no better choice preempts, because a single one loses more than the known choice.
    """

    cost: FloatArray
    unit: Fraction
    is_integral: bool
    kept: BoolArray

    @staticmethod
    def from_data(data: ArylReclaim, max_loss: Fraction | None = None) -> Losses:
        """Return the losses of `data`, in the largest unit that makes them integers if these are small.

        `max_loss`: the loss of the known choice.
        """
        kept = [max_loss is not None and loss > max_loss for loss in data.losses()]
        losses = [loss for loss, stays in zip(data.losses(), kept, strict=True) if loss and not stays]
        denominator = math.lcm(*(loss.denominator for loss in losses))
        unit = Fraction(math.gcd(*(int(loss * denominator) for loss in losses)) or 1, denominator)
        is_integral = sum(losses) <= MAX_INTEGER_LOSS * unit
        if not is_integral:
            unit = max(losses) / MAX_REAL_LOSS
        cost = [0.0 if stays else float(loss / unit) for loss, stays in zip(data.losses(), kept, strict=True)]
        return Losses(np.array(cost), unit, is_integral, np.array(kept, dtype=bool))

    def convert_bound(self, bound: float) -> float:
        """Return the loss that a bound of HiGHS proves."""
        if self.is_integral:
            return max(0.0, float(whole_bound(bound) * self.unit))
        unit = float(self.unit)
        return max(0.0, real_bound(bound * unit, largest=MAX_REAL_LOSS * unit))


class LossProgram:
    """The program, with the variables z, then x; `idle` servers host no worker that counts, and are returned first.

    - `max_jobs`: maximum number of preempted jobs, or `None`.
    - `max_loss`: the loss of a known choice; jobs with a larger loss are kept.
    """

    def __init__(self, data: ArylReclaim, max_jobs: int | None = None, max_loss: Fraction | None = None) -> None:
        self.data, self.max_jobs, self.losses = data, max_jobs, Losses.from_data(data, max_loss)
        held: dict[str, dict[int, int]] = {server: {} for server in data.servers}
        self.spare: dict[int, int] = {}
        for j, job in enumerate(data.jobs):
            workers, spare = job.needs()
            if sum(workers.values()) > spare:
                unit = math.gcd(*(n for n in workers.values() if n <= spare))
                self.spare[j] = spare // unit if unit else 0
                for server, n in workers.items():
                    held[server][j] = n // unit if n <= spare else self.spare[j] + 1
        groups: dict[tuple[tuple[int, int], ...], list[str]] = {}
        for server, jobs in held.items():
            groups.setdefault(tuple(sorted(jobs.items())), []).append(server)
        self.idle = groups.pop((), [])
        self.profiles, self.members = list(groups), list(groups.values())
        self.need = max(0, data.reclaim - len(self.idle))
        self.counts = np.array([len(members) for members in self.members], dtype=float)

    def build(self) -> LinearModel:
        """Build the model that minimises the loss."""
        n, groups = len(self.data.jobs), len(self.profiles)
        entries: list[tuple[int, int, float]] = []
        right: list[float] = []
        is_integer = np.zeros(groups, dtype=bool)  # x is integral anyway for groups whose servers are all critical
        shared: dict[int, list[tuple[int, int]]] = {}
        for g, profile in enumerate(self.profiles):
            for j, w in profile:
                if w > self.spare[j]:
                    entries += [(len(right), n + g, 1.0), (len(right), j, -self.counts[g])]
                    right.append(0.0)
                else:
                    shared.setdefault(j, []).append((g, w))
                    is_integer[g] = True
        for j, part in shared.items():
            total = int(sum(w * self.counts[g] for g, w in part))
            if total > self.spare[j]:
                entries += [(len(right), n + g, float(w)) for g, w in part]
                entries.append((len(right), j, float(self.spare[j] - total)))
                right.append(float(self.spare[j]))
        if self.max_jobs is not None:
            entries += [(len(right), j, 1.0) for j in range(n)]
            right.append(float(self.max_jobs))
        entries += [(len(right), n + g, -1.0) for g in range(groups)]
        right.append(-float(self.need))
        rows, columns, values = zip(*entries, strict=True)
        return LinearModel(
            cost=np.concatenate([self.losses.cost, np.zeros(groups)]),
            matrix=sparse.coo_array((values, (rows, columns)), shape=(len(right), n + groups)),
            row_lower=-math.inf,
            row_upper=np.array(right),
            upper=np.concatenate([np.where(self.losses.kept, 0.0, 1.0), self.counts]),
            integer=np.concatenate([np.ones(n, dtype=bool), is_integer]),
        )

    def encode(self, servers: Iterable[str]) -> FloatArray:
        """Return the point of the program for returned servers."""
        returned = set(servers)
        x = np.array([float(len(returned.intersection(members))) for members in self.members])
        lost: dict[int, float] = {}  # workers of each job, as the program counts them
        for g, profile in enumerate(self.profiles):
            for j, w in profile:
                lost[j] = lost.get(j, 0.0) + w * x[g]
        z = np.zeros(len(self.data.jobs))
        for j, number in lost.items():
            z[j] = float(number > self.spare[j])
        return np.concatenate([z, x])

    def decode(self, x: FloatArray) -> list[str] | None:
        """Return the servers of a point, or `None` if there are too few.

        Idle servers come first, with all servers of the groups that preempt no further job.
        """
        n = len(self.data.jobs)
        preempted = {j for j in range(n) if x[j] > 0.5}
        chosen = list(self.idle)
        for g, profile in enumerate(self.profiles):
            if all(j in preempted for j, _ in profile):
                chosen += self.members[g]
            elif all(j in preempted or w <= self.spare[j] for j, w in profile):
                chosen += self.members[g][: round(x[n + g])]
        return chosen[: self.data.reclaim] if len(chosen) >= self.data.reclaim else None


def solve_loss(
    data: ArylReclaim,
    options: Options,
    report: Report,
    start: Sequence[str] | None = None,
    max_jobs: int | None = None,
) -> Answer:
    """Minimise the loss of the returned servers; return the best servers and a lower bound.

    - `start`: servers to begin from, in addition to those of `choose_cheapest`.
    - `max_jobs`: maximum number of preempted jobs; there may be no solution then.
    """
    with Stopwatch(options.time_limit) as building:
        program = LossProgram(data, max_jobs)

        def report_incumbent(servers: list[str] | None, bound: float | None) -> None:
            report(None if servers is None else {"servers": servers}, bound)

        incumbent: Incumbent[list[str], float] = Incumbent(
            "minimize", building, report_incumbent, gap=options.gap, bound=0.0
        )

        def offer(servers: Sequence[str] | None) -> None:
            if servers is not None:
                loss, jobs = compute_loss(data, servers)
                if max_jobs is None or jobs <= max_jobs:
                    incumbent.offer(float(loss), list(servers))

        offer(start)
        offer(choose_cheapest(data, program))
        if incumbent.solution is not None:
            program = LossProgram(data, max_jobs, compute_loss(data, incumbent.solution)[0])

    def watch(x: FloatArray | None, bound: float | None) -> None:
        if x is not None:
            offer(program.decode(x))
        if bound is not None:
            incumbent.raise_bound(program.losses.convert_bound(bound))

    with Stopwatch() as solving:
        solved = Solved("finished", bound=0.0)
        while program.need > 0 and incumbent.objective != 0:
            limit = building.limit_left_s
            best = incumbent.solution
            solved = solve_arrays(
                program.build(),
                replace(options, time_limit=limit),
                start=None if best is None else program.encode(best),
                watch=watch,
                extra={"mip_abs_gap": 1 - 2 * WHOLE} if program.losses.is_integral else None,
            )
            watch(solved.x, solved.bound)
            if solved.termination != "finished" or incumbent.is_closed or incumbent.solution in (None, best):
                break
            # A better choice keeps more jobs. Without their large losses, HiGHS distinguishes the small ones.
            program = LossProgram(data, max_jobs, compute_loss(data, incumbent.solution)[0])
    servers = incumbent.solution
    return Answer(
        solution=None if servers is None else {"servers": servers},
        bound=None if solved.termination == "infeasible" else incumbent.bound,
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        trace=incumbent.trace,
        info=solved.info,
    )


def compute_loss(data: ArylReclaim, servers: Sequence[str]) -> tuple[Fraction, int]:
    """Compute the exact loss of returned servers, and the number of preempted jobs."""
    returned, total, jobs = set(servers), Fraction(0), 0
    for job, loss in zip(data.jobs, data.losses(), strict=True):
        workers, spare = job.needs()
        if sum(n for server, n in workers.items() if server in returned) > spare:
            total, jobs = total + loss, jobs + 1
    return total, jobs


def choose_cheapest(data: ArylReclaim, program: LossProgram) -> list[str]:
    """Choose the servers with the cheapest workers; a worker costs the loss of its job / (spare workers + 1)."""
    price = dict.fromkeys(program.idle, 0.0)
    for profile, members in zip(program.profiles, program.members, strict=True):
        cost = sum(program.losses.cost[j] * w / (program.spare[j] + 1) for j, w in profile)
        price |= dict.fromkeys(members, float(cost))
    return sorted(data.servers, key=price.__getitem__)[: data.reclaim]
