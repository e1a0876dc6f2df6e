"""Which loaned servers go back where jobs stay while enough workers remain, or where their losses differ.

The integer program. z_j: job j is preempted. x_g: how many servers of a group go back; those of a group hold as many
workers of each job. Of job j, c_j workers may go. A server with more of them than that is critical: it goes only if the
job is preempted, x_g <= n_g z_j. On the others, sum_g w_jg x_g <= c_j + (W_j - c_j) z_j, where W_j are all workers on
them. What is more than c_j counts as c_j + 1, and numbers are divided by what divides all of them: both cut the
relaxation down.
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
from models.bounds import WHOLE, real_bound, whole_bound
from models.highs import LinearModel, Solved, solve_arrays
from models.incumbent import Incumbent

LARGEST_WHOLE = 10**8
"""Losses are counted in whole units where those of all jobs together are no more; bounds are whole numbers then."""

LARGEST_REAL = 1000
"""The largest loss of a job, for the solver, where they are not counted in whole units."""


@dataclass(frozen=True)
class Losses:
    """What the preemption of each job costs: `cost` for the solver, in units of `unit`, whole numbers if `whole`.

    `kept`: jobs that no choice better than the one at hand preempts, for each costs more.
    """

    cost: FloatArray
    unit: Fraction
    whole: bool
    kept: BoolArray

    @staticmethod
    def of(data: ArylReclaim, most: Fraction | None = None) -> Losses:
        """The losses of the jobs of `data`, in the largest unit that divides them where that leaves small numbers.

        `most`: what the choice at hand loses.
        """
        kept = [most is not None and loss > most for loss in data.losses()]
        losses = [loss for loss, stays in zip(data.losses(), kept, strict=True) if loss and not stays]
        denominator = math.lcm(*(loss.denominator for loss in losses))
        unit = Fraction(math.gcd(*(int(loss * denominator) for loss in losses)) or 1, denominator)
        whole = sum(losses) <= LARGEST_WHOLE * unit
        if not whole:
            unit = max(losses) / LARGEST_REAL
        cost = [0.0 if stays else float(loss / unit) for loss, stays in zip(data.losses(), kept, strict=True)]
        return Losses(np.array(cost), unit, whole, np.array(kept, dtype=bool))

    def proven(self, bound: float) -> float:
        """The loss that a bound of the solver proves."""
        if self.whole:
            return max(0.0, float(whole_bound(bound) * self.unit))
        unit = float(self.unit)
        return max(0.0, real_bound(bound * unit, largest=LARGEST_REAL * unit))


class LossProgram:
    """The program as arrays, in the order z, x; `idle` servers have no worker that counts, and go first.

    `at_most`: so many jobs are preempted at most; `None` for any number. `most`: what the choice at hand loses; those
    that lose no more have no job of a larger loss.
    """

    def __init__(self, data: ArylReclaim, at_most: int | None = None, most: Fraction | None = None) -> None:
        self.data, self.at_most, self.losses = data, at_most, Losses.of(data, most)
        held: dict[str, dict[int, int]] = {server: {} for server in data.servers}
        self.spare: dict[int, int] = {}
        for j, job in enumerate(data.jobs):
            workers, spare = job.needs()
            if sum(workers.values()) > spare:
                unit = math.gcd(*(n for n in workers.values() if n <= spare))
                self.spare[j] = spare // unit if unit else 0
                for server, n in workers.items():
                    held[server][j] = n // unit if n <= spare else self.spare[j] + 1
        alike: dict[tuple[tuple[int, int], ...], list[str]] = {}
        for server, jobs in held.items():
            alike.setdefault(tuple(sorted(jobs.items())), []).append(server)
        self.idle = alike.pop((), [])
        self.profiles, self.members = list(alike), list(alike.values())
        self.need = max(0, data.reclaim - len(self.idle))
        self.counts = np.array([len(members) for members in self.members], dtype=float)

    @property
    def shape(self) -> tuple[int, int]:
        """Jobs and groups of servers."""
        return len(self.data.jobs), len(self.profiles)

    def model(self) -> LinearModel:
        """Minimise what is lost."""
        n, groups = self.shape
        entries: list[tuple[int, int, float]] = []
        right: list[float] = []
        loose = np.zeros(groups, dtype=bool)  # groups with workers that may go; whole numbers of servers go there
        together: dict[int, list[tuple[int, int]]] = {}
        for g, profile in enumerate(self.profiles):
            for j, w in profile:
                if w > self.spare[j]:
                    entries += [(len(right), n + g, 1.0), (len(right), j, -self.counts[g])]
                    right.append(0.0)
                else:
                    together.setdefault(j, []).append((g, w))
                    loose[g] = True
        for j, part in together.items():
            every = int(sum(w * self.counts[g] for g, w in part))
            if every > self.spare[j]:
                entries += [(len(right), n + g, float(w)) for g, w in part]
                entries.append((len(right), j, float(self.spare[j] - every)))
                right.append(float(self.spare[j]))
        if self.at_most is not None:
            entries += [(len(right), j, 1.0) for j in range(n)]
            right.append(float(self.at_most))
        entries += [(len(right), n + g, -1.0) for g in range(groups)]
        right.append(-float(self.need))
        rows, columns, values = zip(*entries, strict=True)
        return LinearModel(
            cost=np.concatenate([self.losses.cost, np.zeros(groups)]),
            matrix=sparse.coo_array((values, (rows, columns)), shape=(len(right), n + groups)),
            row_lower=-math.inf,
            row_upper=np.array(right),
            upper=np.concatenate([np.where(self.losses.kept, 0.0, 1.0), self.counts]),
            integer=np.concatenate([np.ones(n, dtype=bool), loose]),
        )

    def point(self, servers: Iterable[str]) -> FloatArray:
        """Servers that go back as a point of the program."""
        gone = set(servers)
        x = np.array([float(len(gone.intersection(members))) for members in self.members])
        z = np.zeros(self.shape[0])
        for j, share in self._gone(x).items():
            z[j] = float(share > self.spare[j])
        return np.concatenate([z, x])

    def servers(self, x: FloatArray) -> list[str] | None:
        """The servers of a solution, `None` where it is none: idle ones, all that preempt no further job, and more."""
        n, _ = self.shape
        lost = {j for j in range(n) if x[j] > 0.5}
        chosen = list(self.idle)
        for g, profile in enumerate(self.profiles):
            if all(j in lost for j, _ in profile):
                chosen += self.members[g]
            elif all(j in lost or w <= self.spare[j] for j, w in profile):
                chosen += self.members[g][: round(x[n + g])]
        return chosen[: self.data.reclaim] if len(chosen) >= self.data.reclaim else None

    def _gone(self, x: FloatArray) -> dict[int, float]:
        """Workers of each job, as the program counts them, on `x` servers of each group."""
        gone: dict[int, float] = {}
        for g, profile in enumerate(self.profiles):
            for j, w in profile:
                gone[j] = gone.get(j, 0.0) + w * x[g]
        return gone


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

        def reported(servers: list[str] | None, bound: float | None) -> None:
            report(None if servers is None else {"servers": servers}, bound)

        incumbent: Incumbent[list[str], float] = Incumbent("minimize", building, reported, gap=options.gap, bound=0.0)

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
            left = building.limit_left_s
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
            # A better choice leaves out more jobs, and so what is lost beside the others is seen.
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
    """A first choice: servers by the cost of their workers, each job shared out over the workers that may go."""
    price = dict.fromkeys(program.idle, 0.0)
    for profile, members in zip(program.profiles, program.members, strict=True):
        cost = sum(program.losses.cost[j] * w / (program.spare[j] + 1) for j, w in profile)
        price |= dict.fromkeys(members, float(cost))
    return sorted(data.servers, key=price.__getitem__)[: data.reclaim]
