"""Build the event-interval program of the mean JCT in exact numbers, from the data alone.

Interval m ends at the m-th completion; each of the n intervals has a length, possibly 0. The program is valid for every
schedule that the checker accepts and whose mean JCT is at most `reach`. So the minimum of `reach` and of the bound on
the program is a bound on the mean JCT.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from instances.aryl.arrays import ElasticArrays
from instances.aryl.elastic import ArylElastic
from instances.options import Solution
from instances.proofs.certificate import NoCertificate
from instances.proofs.vipr import ONE, Direction, Program, ProgramBuilder

MOST = 20_000  # variables of a program that is written to a file
Name = tuple[str, int] | tuple[str, int, int] | tuple[str, int, int, int]


class EventProgram(ProgramBuilder):
    """The program of `data` for schedules whose mean JCT is at most `reach` seconds.

    Minimise the mean JCT in seconds. Jobs have their index in the file; times are in units of the longest minimum
    running time. The variables are:

    - `x_j_m`: 1 if job j is the m-th to complete.
    - `q_j_m`: 1 if job j holds workers in interval m.
    - `z_j_m_k`: 1 if job j holds k workers in interval m.
    - `L_m`: the length of interval m.
    - `t_j_m_k`: the time in interval m for which job j works on k workers.

    The program omits variables that are 0 in every such schedule. Raises NoCertificate if there are too many variables.
    """

    def __init__(self, data: ArylElastic, reach: Fraction) -> None:
        super().__init__()
        jobs = self.jobs = ElasticArrays.of(data)
        n = self.n = len(jobs.work)
        if (count := 2 * n * (n + jobs.choices)) > MOST:
            raise NoCertificate(f"{count:,} variables of the event-interval program, more than {MOST:,}")
        alone = [jobs.shortest(j) for j in range(n)]
        self.scale, self.reach = max(alone), n * reach / max(alone)
        self.jobs_by_id = {job.id: j for j, job in enumerate(data.jobs)}
        self.shortest = [seconds / self.scale for seconds in alone]
        self.speed = [dict(rates.items()) for rates in jobs.speed]
        self.work = [work / self.scale for work in jobs.work]
        self.area = [
            work * gpus * least / rates[least] / jobs.usable
            for work, gpus, least, rates in zip(self.work, jobs.gpus, jobs.least, self.speed, strict=True)
        ]
        self._variables()
        for j in range(n):
            self._job(j)
        for m in range(n):
            self._interval(m)

    def program(self) -> Program:
        """Return the program in the form of a VIPR file."""
        return self.build("min")

    def point(self, solution: Solution) -> dict[int, Fraction]:
        """Return a schedule as a point of the program.

        Jobs that complete together get consecutive intervals, of length 0 after the first. A length in the solution may
        be rounded up, so a job works in its last interval only until its work is done.
        """
        point: dict[int, Fraction] = {}
        left, m = dict(enumerate(self.work)), 0
        for interval in solution["intervals"]:
            length = Fraction(interval["length"]) / self.scale
            workers = {self.jobs_by_id[name]: k for name, k in interval["workers"].items() if k}
            point[self.place["L", m]] = point.get(self.place["L", m], Fraction(0)) + length
            for j, k in workers.items():
                spent = min(length, left[j] / self.speed[j][k])
                left[j] -= spent * self.speed[j][k]
                point[self.place["t", j, m, k]] = point.get(self.place["t", j, m, k], Fraction(0)) + spent
            done = sorted(j for j in workers if left[j] <= 0)
            for i, j in enumerate(done):
                point[self.place["x", j, m + i]] = ONE
            for i in range(max(1, len(done))):
                for j, k in workers.items():
                    if j not in done[:i]:
                        point[self.place["q", j, m + i]] = point[self.place["z", j, m + i, k]] = ONE
            m += len(done)
        return point

    def _earliest(self, m: int, without: int | None = None, first: int | None = None) -> Fraction:
        """Return a lower bound on the m-th completion if job `without` completes later, or job `first` not later."""
        others = [j for j in range(self.n) if j not in (without, first)]
        area = sorted(self.area[j] for j in others)
        shortest = sorted(self.shortest[j] for j in others)
        k, zero = m + (first is None), Fraction(0)
        own = (zero, zero) if first is None else (self.area[first], self.shortest[first])
        return max(own[0] + sum(area[:k], zero), own[1], shortest[k - 1] if k else zero)

    def _possible(self, j: int, m: int) -> bool:
        """Return whether job j can be the m-th to complete in a schedule within `reach`."""
        ends = (self._earliest(i, without=j) if i < m else self._earliest(i, first=j) for i in range(self.n))
        return sum(ends, Fraction(0)) <= self.reach

    def _variables(self) -> None:
        longest = [self.reach / (self.n - m) for m in range(self.n)]  # Interval m delays n - m jobs.
        for m in range(self.n):
            self.add_variable(("L", m), longest[m], self.scale * (self.n - m) / self.n, whole=False)
        for j in range(self.n):
            possible = [m for m in range(self.n) if self._possible(j, m)]
            for m in possible:
                self.add_variable(("x", j, m))
            for m in range(max(possible, default=-1) + 1):
                self.add_variable(("q", j, m))
                for k, rate in self.speed[j].items():
                    self.add_variable(("z", j, m, k))
                    self.add_variable(("t", j, m, k), min(self.work[j] / rate, longest[m]), whole=False)

    def _add(self, name: str, direction: Direction, right: Fraction | int, row: Mapping[Name, Fraction | int]) -> None:
        """Add a constraint by the names of variables, of which the program may omit some."""
        self.add_row(name, direction, right, {self.place[v]: a for v, a in row.items() if v in self.place})

    def _job(self, j: int) -> None:
        speed, work, n = self.speed[j], self.work[j], self.n
        self._add(f"completes_{j}", "E", 1, {("x", j, m): 1 for m in range(n)})
        self._add(f"work_{j}", "E", work, {("t", j, m, k): r for m in range(n) for k, r in speed.items()})
        for m in range(n):
            if ("q", j, m) not in self.place:
                continue
            before: dict[Name, Fraction | int] = {("x", j, i): 1 for i in range(m)}
            self._add(f"one_{j}_{m}", "E", 0, {("q", j, m): -1, **{("z", j, m, k): 1 for k in speed}})
            self._add(f"after_{j}_{m}", "L", 1, {("q", j, m): 1, **before})
            self._add(f"running_{j}_{m}", "G", 0, {("q", j, m): 1, ("x", j, m): -1})
            if m > 0:
                self._add(f"keeps_{j}_{m}", "G", 0, {("q", j, m): 1, ("q", j, m - 1): -1, ("x", j, m - 1): 1})
            self._add(f"length_{j}_{m}", "L", 0, {("L", m): -1, **{("t", j, m, k): 1 for k in speed}})
            for k in speed:
                most = self.upper[self.place["t", j, m, k]]
                self._add(f"time_{j}_{m}_{k}", "L", 0, {("t", j, m, k): 1, ("z", j, m, k): -most})
            self._add(f"done_{j}_{m}", "L", 0, {("q", j, m): -work, **{("t", j, m, k): r for k, r in speed.items()}})
            later: dict[Name, Fraction | int] = {
                ("t", j, i, k): r for i in range(m + 1, n) for k, r in speed.items() if ("t", j, i, k) in self.place
            }
            if later:
                self._add(f"later_{j}_{m}", "L", work, {**later, ("x", j, m): work, **dict.fromkeys(before, work)})

    def _interval(self, m: int) -> None:
        jobs, n = self.jobs, self.n
        gpus = {(j, k): jobs.gpus[j] // jobs.unit * k for j in range(n) for k in self.speed[j]}
        capacity = jobs.usable // jobs.unit
        until: dict[Name, Fraction | int] = {("L", i): 1 for i in range(m + 1)}
        self._add(f"completion_{m}", "E", 1, {("x", j, m): 1 for j in range(n)})
        self._add(f"gpus_{m}", "L", capacity, {("z", j, m, k): g for (j, k), g in gpus.items()})
        self._add(f"area_{m}", "L", 0, {("L", m): -capacity, **{("t", j, m, k): g for (j, k), g in gpus.items()}})
        self._add(f"earliest_{m}", "G", self._earliest(m), until)
        alone: dict[Name, Fraction | int] = {("x", j, m): -self.shortest[j] for j in range(n)}
        self._add(f"alone_{m}", "G", 0, {**until, **alone})
