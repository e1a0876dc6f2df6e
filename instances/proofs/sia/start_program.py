"""Build the program of starts for a certificate, if fairness is in the objective or each job needs one server.

Restricting the starts to time steps of g slots loses no optimum. Here g divides all durations and, counted from the
first submission, all submissions, and with fairness the cut-offs as well. Without fairness, round every start down to a
multiple of g: a job that ended before another started still does. With fairness, let the jobs of each step be those
that run at slot o of the step, for an offset o < g. The mean over all offsets of the delay, and of the fairness cost,
is that of the schedule. So there is an offset for which the objective does not increase.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import gcd

from instances.options import Solution
from instances.proofs.certificate import NoCertificate
from instances.proofs.vipr import ONE, Program, ProgramBuilder, Rational
from instances.sia.local_oracle import SERVER_GPUS, LocalJob, SiaLocalOracle
from instances.sia.oracle import Job, SiaOracle

MOST = 20_000  # variables of a program that is written to a file
MOST_ENTRIES = 1_000_000  # an approximate limit on the nonzeros of its constraints
Terms = dict[int, Fraction]


class StartProgram:
    """The program of `data`, in steps of `slots`; jobs, pools and servers have their indices in the data.

    Minimise the delay in steps plus the fairness cost. The variables are:

    - `z_j_k`: 1 if job j starts at most k steps after its submission.
    - `z_j_s_k`: with locality, the same on server s. Job j has only servers 0 to j, because servers are interchangeable
      and can be numbered in the order of their first use.
    - `a_m`: the fairness charge from moment m to the next moment.

    The rows are:

    - `one_j`: job j starts exactly once.
    - `by_…`: a job that has started by step k has also started by step k + 1.
    - `gpus_m`, `gpus_s_m`: the GPUs in use do not exceed the capacity, or that of server s.
    - `share_i_m`: `a_m` is at least the charge for the share of pool i.

    Raises NoCertificate if there are too many starts.
    """

    def __init__(self, data: SiaOracle | SiaLocalOracle) -> None:
        self.data = data
        self.local = isinstance(data, SiaLocalOracle)
        self.weight = Fraction(0) if isinstance(data, SiaLocalOracle) else Fraction(repr(data.fairness_weight))
        self.free = int(isinstance(data, SiaOracle) and data.fair_share == "above-share")
        first = min(job.submit for job in data.jobs)
        cutoffs = [m - first for m in data.cutoffs] if self.weight else []
        self.slots = gcd(*(job.submit - first for job in data.jobs), *(job.duration for job in data.jobs), *cutoffs)
        self.submit = [(job.submit - first) // self.slots for job in data.jobs]
        self.duration = [job.duration // self.slots for job in data.jobs]
        self.gpus = [job.gpus for job in data.jobs]
        jobs: tuple[Job | LocalJob, ...] = data.jobs
        self.window = [(m - job.submit) // self.slots for m, job in zip(data.cutoffs, jobs, strict=True)]
        servers = data.servers if isinstance(data, SiaLocalOracle) else 1
        self.jobs, self.servers = range(len(data.jobs)), range(servers)
        self.machines = [range(min(j + 1, servers)) for j in self.jobs]
        self.room = SERVER_GPUS if self.local else data.capacity
        starts = sum((window + 1) * len(on) for window, on in zip(self.window, self.machines, strict=True))
        if starts > MOST:
            raise NoCertificate(f"the windows of the jobs hold {starts:,} starts, more than {MOST:,}")
        self.place: dict[tuple[int, int, int], int] = {}
        for j in self.jobs:
            for s in self.machines[j]:
                for k in range(self.window[j] + 1):
                    self.place[j, s, k] = len(self.place)
        self.moments = self._moments()
        entries = 2 * sum((self.window[j] + self.duration[j]) * len(self.machines[j]) for j in self.jobs)
        if entries > MOST_ENTRIES:
            raise NoCertificate(f"about {entries:,} entries of a program, more than {MOST_ENTRIES:,}")
        self.charges: dict[int, int] = {}

    def _moments(self) -> list[int]:
        """Return the steps at which a job may start or end."""
        found = set[int]()
        for j in self.jobs:
            starts = range(self.submit[j], self.submit[j] + self.window[j] + 1)
            found.update(starts, (t + self.duration[j] for t in starts))
            if len(found) > 2 * MOST:
                raise NoCertificate(f"more than {2 * MOST:,} moments at which something may change")
        return sorted(found)

    def program(self) -> Program:
        """Return the program in the form of a VIPR file."""
        program = ProgramBuilder()
        for j, s, k in self.place:
            name = f"{j}_{s}_{k}" if self.local else f"{j}_{k}"
            program.add_variable(f"z_{name}", 1, self.window[j] if k == self.window[j] else -1)
        names = list(program.place)
        for j in self.jobs:
            last = self.window[j]
            program.add_row(f"one_{j}", "E", 1, {self.place[j, s, last]: 1 for s in self.machines[j]})
            for s in self.machines[j]:
                for k in range(last):
                    i = self.place[j, s, k]
                    program.add_row(f"by_{names[i][2:]}", "L", 0, {i: 1, self.place[j, s, k + 1]: -1})
        for m, t in enumerate(self.moments[:-1]):
            for s in self.servers:
                row, most = self._running(self.jobs, s, t)
                if most > self.room:
                    program.add_row(f"gpus_{s}_{m}" if self.local else f"gpus_{m}", "L", self.room, row)
        if self.weight:
            self._charge(program)
        return program.build("min")

    def _running(self, jobs: Iterable[int], s: int, t: int) -> tuple[dict[int, Rational], int]:
        """Return the GPUs in use by `jobs` at step t on server s, as terms, and an upper bound on them."""
        row, most = dict[int, Rational](), 0
        for j in jobs:
            until, before = t - self.submit[j], t - self.submit[j] - self.duration[j]
            if s not in self.machines[j] or until < 0 or before >= self.window[j]:
                continue
            most += self.gpus[j]
            row[self.place[j, s, min(until, self.window[j])]] = self.gpus[j]
            if before >= 0:
                row[self.place[j, s, before]] = -self.gpus[j]
        return row, most

    def _charge(self, program: ProgramBuilder) -> None:
        """Add the fairness charges: the largest share of a pool at each moment."""
        for m, t in enumerate(self.moments[:-1]):
            place = len(program.place)
            most = Fraction(0)
            for i, pool in enumerate(self.data.pools):
                own = [j for j in self.jobs if self.data.jobs[j].pool == pool.name]
                row, use = self._running(own, 0, t)
                if use > self.free * pool.gpus:
                    program.add_row(f"share_{i}_{m}", "L", self.free * pool.gpus, row | {place: -pool.gpus})
                    most = max(most, Fraction(use, pool.gpus) - self.free)
            if most:
                cost = self.weight * (self.moments[m + 1] - t)
                self.charges[m] = program.add_variable(f"a_{m}", most, cost, whole=False)

    def point(self, solution: Solution) -> Terms | None:
        """Return a schedule as a point, `None` if a start is not at a step. Call `program` first."""
        first = min(job.submit for job in self.data.jobs)
        starts = [solution["starts"][job.id] - first for job in self.data.jobs]
        if any(start % self.slots for start in starts):
            return None
        steps = [start // self.slots for start in starts]
        on = [solution["servers"][job.id] if self.local else 0 for job in self.data.jobs]
        number = {server: s for s, server in enumerate(dict.fromkeys(on))}
        point = {}
        for j, t in enumerate(steps):
            for k in range(t - self.submit[j], self.window[j] + 1):
                point[self.place[j, number[on[j]], k]] = ONE
        for m, place in self.charges.items():
            t, shares = self.moments[m], [Fraction(0)]
            for pool in self.data.pools:
                running = (j for j in self.jobs if steps[j] <= t < steps[j] + self.duration[j])
                use = sum(self.gpus[j] for j in running if self.data.jobs[j].pool == pool.name)
                shares.append(Fraction(use, pool.gpus) - self.free)
            if max(shares):
                point[place] = max(shares)
        return point
