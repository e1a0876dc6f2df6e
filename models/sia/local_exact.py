"""The exact method with locality: the oracle's bound without it, servers for its schedule, and what is left in HiGHS.

1. Without locality the oracle's optimum is a bound, and its schedule has the least delay there can be. If servers are
   found for its jobs (`pack`), it is optimal.
2. Or else schedules are sought by backfilling on servers, in the order of that schedule and of others near it.
3. Starts that no better schedule contains are excluded by reduced costs (`relaxation`), and the model with servers
   (`placement_model`) of the others is solved as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.method import method
from instances.result import Termination
from instances.sia import SiaLocalOracle
from instances.sia.arrays import OracleArrays, oracle_arrays
from instances.sia.local_oracle import SERVER_GPUS
from instances.sia.reservations import Placed, ServerJobs, backfill_servers
from models.bounds import whole_bound
from models.highs import LinearModel, solve_arrays
from models.incumbent import Incumbent
from models.sia.exact import exact
from models.sia.parameters import DEFAULTS
from models.sia.relaxation import StartRelaxation
from models.sia.rows import StartColumns

Busy = tuple[tuple[int, int], ...]
"""(end, GPUs) of each job on a server, in order."""


def pack(jobs: ServerJobs, starts: IntArray, most_steps: int) -> IntArray | None:
    """A server for each job (J,), so that no server is overfull; `None` where none is found in `most_steps` placings.

    Jobs are placed in order of start, the widest first, on the server with the fewest idle GPUs first; of servers with
    the same jobs only one is tried. `None` proves nothing.
    """
    order = np.lexsort((-jobs.gpus, starts)).tolist()
    begin, width, end = starts.tolist(), jobs.gpus.tolist(), (starts + jobs.duration).tolist()
    steps = [_Step(tuple(() for _ in range(jobs.servers)), iter(()))]
    steps[0].open(begin[order[0]], width[order[0]], jobs.capacity)
    for _ in range(most_steps):
        step = steps[-1]
        i = order[len(steps) - 1]
        server = next(step.choices, None)
        if server is None:
            steps.pop()
            if not steps:
                return None
            continue
        step.chosen = server
        if len(steps) == len(order):
            found = np.empty(len(order), dtype=np.int64)
            found[order] = [placed.chosen for placed in steps]
            return found
        busy = list(step.busy)
        busy[server] = tuple(sorted((*busy[server], (end[i], width[i]))))
        following = order[len(steps)]
        steps.append(_Step(tuple(busy), iter(())))
        steps[-1].open(begin[following], width[following], jobs.capacity)
    return None


@dataclass
class _Step:
    """The servers when a job is to be placed, the choices that are left, and the one that was made last."""

    busy: tuple[Busy, ...]
    choices: Iterator[int]
    chosen: int = -1

    def open(self, now: int, width: int, capacity: int) -> None:
        """Drop what has ended by now, and find the servers with room for a width."""
        self.busy = tuple(tuple(job for job in server if job[0] > now) for server in self.busy)
        idle = [capacity - sum(gpus for _, gpus in server) for server in self.busy]
        first: dict[Busy, int] = {}
        for k, server in enumerate(self.busy):
            if idle[k] >= width:
                first.setdefault(server, k)
        self.choices = iter(sorted(first.values(), key=lambda k: idle[k]))


@dataclass(frozen=True)
class PlacementModel:
    """The linear model, and the job, the start and the server of each of its variables, (N,)."""

    linear: LinearModel
    job: IntArray
    start: IntArray
    server: IntArray

    def read(self, x: FloatArray) -> Placed | None:
        """The schedule of a solution; `None` where it is not whole."""
        chosen = np.flatnonzero(x > 0.5)
        count = int(self.job.max()) + 1
        if len(chosen) != count or len(np.unique(self.job[chosen])) != count:
            return None
        order = chosen[np.argsort(self.job[chosen])]
        return Placed(self.start[order], self.server[order])


@dataclass(frozen=True)
class Candidates:
    """The columns that count (C,), moments at which a server may be overfull (M,), and the moments of each column.

    A column covers moments `first` to `behind` - 1, (C,) both; `servers` (C,) is on how many servers it may be.
    """

    column: IntArray
    moments: IntArray
    first: IntArray
    behind: IntArray
    servers: IntArray

    @property
    def entries(self) -> int:
        """The number of entries of the model's matrix, about."""
        return int((self.servers * (self.behind - self.first + 2)).sum())


def candidates(columns: StartColumns, servers: int) -> Candidates:
    """The open columns without those that are never better: of a job's starts that cover the same moments the first.

    Only the starts before an end of some job can be overfull without the next start being so too. With fewer columns
    there are fewer moments, and so on. Servers are alike, so that the first job in order of submission is on server 0,
    the second on 0 or 1, and so on: each solution can be numbered so.
    """
    chosen = np.flatnonzero(columns.open)
    while True:
        moments = _moments(columns, chosen)
        first = np.searchsorted(moments, columns.start[chosen])
        behind = np.searchsorted(moments, columns.end[chosen])
        job = columns.job[chosen]  # in order of job, then start
        new = (np.diff(job, prepend=-1) != 0) | (np.diff(first, prepend=-1) != 0) | (np.diff(behind, prepend=-1) != 0)
        if new.all():
            return Candidates(chosen, moments, first, behind, np.minimum(_turns(columns)[job] + 1, servers))
        chosen = chosen[new]


def placement_model(columns: StartColumns, chosen: Candidates, jobs: ServerJobs, least: int) -> PlacementModel:
    """X = 1 where a job begins at a start on a server: once a job, and no server is overfull at any moment.

    `least` is a proven bound on the delay.
    """
    column = np.repeat(chosen.column, chosen.servers)
    server = np.arange(len(column)) - np.repeat(np.cumsum(chosen.servers) - chosen.servers, chosen.servers)
    job, start = columns.job[column], columns.start[column]
    first = np.repeat(chosen.first, chosen.servers)
    spans = np.repeat(chosen.behind - chosen.first, chosen.servers)
    variable = np.repeat(np.arange(len(column)), spans)
    moment = np.arange(len(variable)) - np.repeat(np.cumsum(spans) - spans, spans) + first[variable]
    count, full = len(jobs.submit), len(chosen.moments) * jobs.servers
    every = np.arange(len(column))
    rows = np.concatenate([job, count + moment * jobs.servers + server[variable], np.full(len(column), count + full)])
    cols = np.concatenate([every, variable, every])
    values = np.concatenate([np.ones(len(column)), jobs.gpus[job[variable]], columns.delay[column]]).astype(float)
    linear = LinearModel(
        cost=columns.delay[column].astype(float),
        matrix=sparse.csc_array((values, (rows, cols)), shape=(count + full + 1, len(column))),
        row_lower=np.concatenate([np.ones(count), np.full(full, -np.inf), [float(least)]]),
        row_upper=np.concatenate([np.ones(count), np.full(full, float(jobs.capacity)), [np.inf]]),
        upper=1.0,
        integer=True,
    )
    return PlacementModel(linear, job, start, server)


def _turns(columns: StartColumns) -> IntArray:
    """The place of each job in order of submission, (J,)."""
    submit = columns.arrays.submit
    turns = np.empty(len(submit), dtype=np.int64)
    turns[np.argsort(submit, kind="stable")] = np.arange(len(submit))
    return turns


def _moments(columns: StartColumns, chosen: IntArray) -> IntArray:
    """Starts of columns behind which a column ends before or at the next start, and the last start."""
    starts = np.unique(columns.start[chosen])
    ends = np.unique(columns.end[chosen])
    until = np.append(starts[1:], np.iinfo(np.int64).max)
    found: IntArray = starts[np.searchsorted(ends, starts, side="right") < np.searchsorted(ends, until, side="right")]
    return found


@dataclass(frozen=True)
class LocalParameters:
    """The constants of the exact method with locality; none changes what is proven, only how fast.

    - `relaxed_share`: share of the time for the oracle without locality.
    - `placing_share`: share of the time left for the model with servers, whose limit HiGHS may overrun.
    - `most_placings`: jobs placed by one search for servers.
    - `most_tries`, `failures`: orders of backfilling that are tried in all, and in a row without a better schedule.
    - `spread`, `spreads`: the starts that make an order are off by up to this share of the job's window, halved up to
      so many times less one.
    - `most_rounds`: most rounds of cuts before starts are excluded.
    - `most_cells`: slots of all servers together beyond which no schedule is looked at slot by slot.
    - `most_starts`: starts in all windows beyond which none are excluded and no model is built.
    - `most_entries`: entries of its matrix beyond which the model with servers is not built.
    """

    relaxed_share: float = 0.5
    placing_share: float = 0.6
    most_placings: int = 20_000
    most_tries: int = 3_000
    failures: int = 200
    spread: float = 0.4
    spreads: int = 6
    most_rounds: int = 10
    most_cells: int = 50_000_000
    most_starts: int = 2_000_000
    most_entries: int = 1_000_000


LOCAL_DEFAULTS = LocalParameters()
WHOLE_GAP = 0.99  # the absolute gap in steps that closes a problem of whole numbers


@method("exact", name="exact")
def local_exact(
    data: SiaLocalOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: LocalParameters = LOCAL_DEFAULTS,
) -> Answer:
    """The schedule of least delay with every job on one server, or the best one found, with a valid bound.

    Without a limit of time or effort the method ends with a proof, unless the model with servers is too large to be
    built, which the reason then says.

    Parameters:

    - `data`: the problem.
    - `options`: limits, gap, threads and seed.
    - `report`: given each better solution and bound.
    - `start`: a feasible solution to improve on.
    - `parameters`: constants of the method.
    """
    return _LocalProof(data, options, report, parameters).run(start)


class _LocalProof:
    """A proof: the incumbent, in steps, and the jobs as arrays."""

    def __init__(self, data: SiaLocalOracle, options: Options, report: Report, parameters: LocalParameters) -> None:
        self.data, self.options, self.parameters = data, options, parameters
        self.clock = Stopwatch(options.time_limit)
        self.arrays: OracleArrays = oracle_arrays(data.without_locality)
        arrays = self.arrays
        self.jobs = ServerJobs(arrays.submit, arrays.duration, arrays.gpus, data.servers, SERVER_GPUS // arrays.unit)
        self.alone = Placed(arrays.cutoff, np.array([server for _, server in data.alone], dtype=np.int64))
        self.info: dict[str, float] = {}

        def reported(placed: Placed | None, bound: int | None) -> None:
            report(None if placed is None else self._solution(placed), float((bound or 0) * arrays.slot))

        self.incumbent: Incumbent[Placed, int] = Incumbent("minimize", self.clock, reported, gap=options.gap, bound=0)

    def run(self, start: Solution | None) -> Answer:
        """The answer, no worse than `start` nor than no sharing."""
        arrays, incumbent = self.arrays, self.incumbent
        self._offer(self.alone)
        if start is not None:
            servers = np.array([start["servers"][job.id] for job in self.data.jobs], dtype=np.int64)
            self._offer(Placed(arrays.starts_of(self.data.without_locality, start), servers))
        build_s = self.clock.cpu_s
        cells = arrays.horizon * self.jobs.servers
        if cells > self.parameters.most_cells:
            termination: Termination = "finished"
            reason: str | None = f"its servers have {cells:,} slots, too many to be looked at one by one"
        else:
            for order in (arrays.gpus * arrays.duration, arrays.cutoff):
                self._offer(backfill_servers(self.jobs, self.alone, order.tolist(), self.clock))
            termination, reason = self._prove()
        assert incumbent.solution is not None
        slot = arrays.slot
        return Answer(
            solution=self._solution(incumbent.solution),
            bound=float((incumbent.bound or 0) * slot),
            termination=termination,
            reason=reason,
            build_s=build_s,
            solve_s=self.clock.cpu_s - build_s,
            trace=[(t, float((v or 0) * slot), float((b or 0) * slot)) for t, v, b in incumbent.trace],
            info=self.info,
        )

    def _prove(self) -> tuple[Termination, str | None]:
        """How the proof ended, and why if not with the gap closed."""
        if self.incumbent.closed:
            return "finished", None
        ended = self._without_locality()
        if self.incumbent.closed:
            return "finished", None
        if ended not in ("finished", "time_limit"):
            return ended, None
        if self.clock.expired:
            return "time_limit", None
        if self.arrays.starts > self.parameters.most_starts:
            return "finished", f"its windows hold {self.arrays.starts:,} starts, too many to be looked at one by one"
        columns = self._open_columns()
        if self.incumbent.closed:
            return "finished", None
        if columns is None:
            return "time_limit", None
        return self._placed(columns)

    def _without_locality(self) -> Termination:
        """Solve the oracle without locality, and look for servers for its schedule and for schedules near it."""
        p, options, arrays = self.parameters, self.options, self.arrays
        left = self.clock.remaining_s
        limit = None if left == float("inf") else max(p.relaxed_share * left, 1e-3)
        relaxed = exact(self.data.without_locality, replace(options, time_limit=limit, gap=0.0))
        if relaxed.bound is not None:
            self.incumbent.raise_bound(int(relaxed.bound) // arrays.slot)
        self.info |= {"without_locality": relaxed.bound or 0.0}
        if relaxed.solution is not None and not self.incumbent.closed:
            self._near(arrays.starts_of(self.data.without_locality, relaxed.solution).astype(float))
        return relaxed.termination

    def _near(self, starts: FloatArray) -> None:
        """Offer the schedule with these starts, if servers are found, and schedules in orders near it or the best one.

        Each is backfilled again, ahead of itself.
        """
        p, rng = self.parameters, np.random.default_rng(self.options.seed)
        exactly = starts.astype(np.int64)
        servers = pack(self.jobs, exactly, p.most_placings)
        if servers is not None:
            self._offer(Placed(exactly, servers))
        window = self.arrays.cutoff - self.arrays.submit
        failed = 0
        for k in range(p.most_tries):
            if self.incumbent.closed or self.clock.expired or failed == p.failures:
                return
            best, before = self._best()
            near = best.starts if k % 2 else starts
            reach = p.spread * 0.5 ** rng.integers(p.spreads)
            order = near + (reach * window * rng.uniform(-1, 1, len(starts)) if k else 0.0)
            found = backfill_servers(self.jobs, self.alone, order.tolist(), self.clock)
            self._offer(backfill_servers(self.jobs, found, found.starts.tolist(), self.clock))
            failed = failed + 1 if self._best()[1] == before else 0

    def _open_columns(self) -> StartColumns | None:
        """The starts that a better schedule may contain; `None` where the time was over before."""
        best, delay = self._best()
        columns = StartColumns(self.arrays)
        relaxation = StartRelaxation(columns, best.starts, DEFAULTS)
        for _ in range(self.parameters.most_rounds):
            if not relaxation.converge(delay, self.clock):
                return None
            self.incumbent.raise_bound(relaxation.bound)
            if not relaxation.exclude(delay):
                self.incumbent.raise_bound(delay)  # a job has no start left: no schedule is better
            if self.incumbent.closed or not relaxation.cut():
                break
        self.info |= {"open_starts": int(columns.open.sum())}
        return columns

    def _placed(self, columns: StartColumns) -> tuple[Termination, str | None]:
        """Solve the model with servers of the open columns."""
        chosen = candidates(columns, self.jobs.servers)
        if chosen.entries > self.parameters.most_entries:
            return "finished", f"the model of the starts that are not excluded has {chosen.entries:,} entries, too many"
        _, delay = self._best()
        model = placement_model(columns, chosen, self.jobs, self.incumbent.bound or 0)
        left = self.parameters.placing_share * self.clock.remaining_s
        options = replace(self.options, gap=0.0, time_limit=None if left == float("inf") else max(left, 1e-3))

        def watch(x: FloatArray | None, bound: float | None) -> None:
            placed = None if x is None else model.read(x)
            if placed is not None and self.jobs.fits(placed):
                self._offer(placed)
            if bound is not None:
                self.incumbent.raise_bound(whole_bound(bound))

        extra = {"mip_abs_gap": WHOLE_GAP, "objective_bound": delay - 0.5}
        solved = solve_arrays(model.linear, options, watch=watch, extra=extra)
        if solved.termination == "infeasible":
            self.incumbent.raise_bound(delay)  # no schedule is better than the one at hand
            return "finished", None
        watch(solved.x, solved.bound)
        return solved.termination, solved.reason

    def _best(self) -> tuple[Placed, int]:
        """The best schedule, and its delay in steps."""
        placed, delay = self.incumbent.solution, self.incumbent.objective
        assert placed is not None
        assert delay is not None
        return placed, delay

    def _offer(self, placed: Placed) -> None:
        self.incumbent.offer(self.arrays.delay(placed.starts), placed)

    def _solution(self, placed: Placed) -> dict[str, dict[str, int]]:
        names, starts = [job.id for job in self.data.jobs], self.arrays.in_slots(placed.starts).tolist()
        return {
            "starts": dict(zip(names, starts, strict=True)),
            "servers": dict(zip(names, placed.servers.tolist(), strict=True)),
        }
