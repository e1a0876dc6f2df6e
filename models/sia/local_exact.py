"""The exact method with locality; docs/sia-locality.md describes its stages.

1. The oracle without locality gives a bound and a schedule of minimum delay (`exact`).
2. If servers can be assigned to its jobs (`assign_servers`), the schedule is optimal.
3. Otherwise, backfilling on servers gives schedules in similar orders.
4. Starts that no better schedule contains are excluded by reduced cost (`relaxation`).
5. HiGHS solves the model with servers on the remaining starts (`build_placement_model`).
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
from models.core.highs import LinearModel, solve_arrays
from models.core.incumbent import Incumbent
from models.core.safe_bounds import whole_bound
from models.sia.exact import exact
from models.sia.parameters import DEFAULTS
from models.sia.relaxation import StartRelaxation
from models.sia.rows import StartColumns

Load = tuple[tuple[int, int], ...]
"""(end, GPUs) of each job on a server, in order."""


def assign_servers(jobs: ServerJobs, starts: IntArray, max_placements: int) -> IntArray | None:
    """Assign servers to the jobs of a schedule by depth-first search.

    Jobs are placed in order of start, the widest first, and on the server with the fewest idle GPUs first. Only one
    of several servers with equal jobs is tried.

    - `jobs`: jobs and servers.
    - `starts`: a schedule, (J,).
    - `max_placements`: limit of placements.

    Returns the server of each job, (J,), or `None` if there is none or the limit is reached.
    """
    order = np.lexsort((-jobs.gpus, starts)).tolist()
    begin, width, end = starts.tolist(), jobs.gpus.tolist(), (starts + jobs.duration).tolist()
    steps = [_PlacementStep(tuple(() for _ in range(jobs.servers)), begin[order[0]], width[order[0]], jobs.capacity)]
    for _ in range(max_placements):
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
            servers = np.empty(len(order), dtype=np.int64)
            servers[order] = [placed.chosen for placed in steps]
            return servers
        loads = list(step.loads)
        loads[server] = tuple(sorted((*loads[server], (end[i], width[i]))))
        following = order[len(steps)]
        steps.append(_PlacementStep(tuple(loads), begin[following], width[following], jobs.capacity))
    return None


class _PlacementStep:
    """The load of all servers when a job is placed, the servers still to try, and the chosen one."""

    def __init__(self, loads: tuple[Load, ...], now: int, width: int, capacity: int) -> None:
        self.loads = tuple(tuple(job for job in server if job[0] > now) for server in loads)
        self.chosen = -1
        idle = [capacity - sum(gpus for _, gpus in server) for server in self.loads]
        distinct: dict[Load, int] = {}
        for k, server in enumerate(self.loads):
            if idle[k] >= width:
                distinct.setdefault(server, k)
        self.choices: Iterator[int] = iter(sorted(distinct.values(), key=lambda k: idle[k]))


@dataclass(frozen=True)
class PlacementModel:
    """The model for HiGHS, and the job, the start and the server of each of its variables, (N,)."""

    linear: LinearModel
    job: IntArray
    start: IntArray
    server: IntArray

    def decode(self, x: FloatArray) -> Placed | None:
        """Return the schedule of a solution vector; `None` if it does not start every job exactly once."""
        chosen = np.flatnonzero(x > 0.5)
        count = int(self.job.max()) + 1
        if len(chosen) != count or len(np.unique(self.job[chosen])) != count:
            return None
        order = chosen[np.argsort(self.job[chosen])]
        return Placed(self.start[order], self.server[order])


@dataclass(frozen=True)
class Candidates:
    """Columns of the model with servers (C,), and time points at which a server may be overloaded (M,).

    A column covers the time points from `first` to before `behind`, (C,) each, and is allowed on the first `servers`
    (C,) servers.
    """

    column: IntArray
    time_points: IntArray
    first: IntArray
    behind: IntArray
    servers: IntArray

    @property
    def entries(self) -> int:
        """The approximate number of entries of the model's matrix."""
        return int((self.servers * (self.behind - self.first + 2)).sum())


def select_candidates(columns: StartColumns, servers: int) -> Candidates:
    """Select the open columns that are not dominated: of a job's starts that cover the same time points, the first.

    A start needs a capacity row only if a column ends before the next start. Removing columns removes time points, so
    both are repeated. Servers are identical: in order of submission, the first job may use server 0, the second server
    0 or 1, and so on, because every solution can be renumbered in this way.
    """
    chosen = np.flatnonzero(columns.open)
    submit = columns.arrays.submit
    rank = np.empty(len(submit), dtype=np.int64)
    rank[np.argsort(submit, kind="stable")] = np.arange(len(submit))
    while True:
        starts, ends = np.unique(columns.start[chosen]), np.unique(columns.end[chosen])
        following = np.append(starts[1:], np.iinfo(np.int64).max)
        has_end = np.searchsorted(ends, starts, side="right") < np.searchsorted(ends, following, side="right")
        time_points = starts[has_end]
        first = np.searchsorted(time_points, columns.start[chosen])
        behind = np.searchsorted(time_points, columns.end[chosen])
        job = columns.job[chosen]  # columns are ordered by job and start
        is_new = np.diff(job, prepend=-1) != 0
        is_new |= (np.diff(first, prepend=-1) != 0) | (np.diff(behind, prepend=-1) != 0)
        if is_new.all():
            return Candidates(chosen, time_points, first, behind, np.minimum(rank[job] + 1, servers))
        chosen = chosen[is_new]


def build_placement_model(
    columns: StartColumns, candidates: Candidates, jobs: ServerJobs, bound: int
) -> PlacementModel:
    """Build the model with X = 1 if a job starts at a slot on a server; every job starts once within the capacity.

    - `columns`: all columns.
    - `candidates`: the columns of the model.
    - `jobs`: jobs and servers.
    - `bound`: a proven lower bound on the delay, in steps, which becomes a row.
    """
    column = np.repeat(candidates.column, candidates.servers)
    first_copy = np.cumsum(candidates.servers) - candidates.servers
    server = np.arange(len(column)) - np.repeat(first_copy, candidates.servers)
    job, start = columns.job[column], columns.start[column]
    first = np.repeat(candidates.first, candidates.servers)
    spans = np.repeat(candidates.behind - candidates.first, candidates.servers)
    variable = np.repeat(np.arange(len(column)), spans)
    time_point = np.arange(len(variable)) - np.repeat(np.cumsum(spans) - spans, spans) + first[variable]
    count, full = len(jobs.submit), len(candidates.time_points) * jobs.servers
    every = np.arange(len(column))
    capacity_row = count + time_point * jobs.servers + server[variable]
    rows = np.concatenate([job, capacity_row, np.full(len(column), count + full)])
    cols = np.concatenate([every, variable, every])
    values = np.concatenate([np.ones(len(column)), jobs.gpus[job[variable]], columns.delay[column]]).astype(float)
    linear = LinearModel(
        cost=columns.delay[column].astype(float),
        matrix=sparse.csc_array((values, (rows, cols)), shape=(count + full + 1, len(column))),
        row_lower=np.concatenate([np.ones(count), np.full(full, -np.inf), [float(bound)]]),
        row_upper=np.concatenate([np.ones(count), np.full(full, float(jobs.capacity)), [np.inf]]),
        upper=1.0,
        integer=True,
    )
    return PlacementModel(linear, job, start, server)


@dataclass(frozen=True)
class LocalParameters:
    """Parameters of the exact method with locality. They affect its speed, never the validity of its bounds."""

    relaxed_share: float = 0.5  # time share of the oracle without locality
    placing_share: float = 0.6  # share of the remaining time for the model with servers; HiGHS may overrun it
    max_placements: int = 20_000  # placements of one search for servers
    max_tries: int = 3_000  # orders of backfilling
    failures: int = 200  # consecutive orders without a better schedule that end the search
    spread: float = 0.4  # largest perturbation of the starts that define an order, as a share of the job's window
    spread_levels: int = 6  # number of perturbations, each half as large as the previous one
    max_cut_rounds: int = 10  # iterations of cuts before starts are excluded
    max_server_slots: int = 50_000_000  # above this number of slots of all servers, no array over them is created
    max_starts: int = (
        2_000_000  # above this number of starts in all windows, no start is excluded and no model is built
    )
    max_entries: int = 1_000_000  # above this number of matrix entries, the model with servers is not built


LOCAL_DEFAULTS = LocalParameters()
INTEGER_GAP = 0.99  # an absolute gap below one step closes a problem with integer delays


@method("exact", name="exact")
def local_exact(
    data: SiaLocalOracle,
    options: Options,
    report: Report,
    start: Solution | None = None,
    *,
    parameters: LocalParameters = LOCAL_DEFAULTS,
) -> Answer:
    """Find a schedule of minimum delay with every job on one server, with a proof of its optimality.

    If a limit ends the method, or if the model with servers is too large, the answer is the best schedule found, with a
    valid bound and a reason.

    - `data`: the problem.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each better solution and bound.
    - `start`: a feasible solution to improve on.
    - `parameters`: parameters of the method.
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
        self.reserved = Placed(arrays.cutoff, np.array([server for _, server in data.alone], dtype=np.int64))
        self.info: dict[str, float] = {}

        def report_steps(placed: Placed | None, bound: int | None) -> None:
            report(None if placed is None else self._decode(placed), float((bound or 0) * arrays.slot))

        self.incumbent: Incumbent[Placed, int] = Incumbent("minimize", self.clock, report_steps, options.gap, bound=0)

    def run(self, start: Solution | None) -> Answer:
        """Return an answer that is not worse than `start` and the schedule without sharing."""
        arrays, incumbent = self.arrays, self.incumbent
        self._offer(self.reserved)
        if start is not None:
            servers = np.array([start["servers"][job.id] for job in self.data.jobs], dtype=np.int64)
            self._offer(Placed(arrays.starts_of(self.data.without_locality, start), servers))
        build_s = self.clock.cpu_s
        server_slots = arrays.horizon * self.jobs.servers
        if server_slots > self.parameters.max_server_slots:
            termination: Termination = "finished"
            reason: str | None = f"its servers have {server_slots:,} slots, too many to be looked at one by one"
        else:
            for order in (arrays.gpus * arrays.duration, arrays.cutoff):
                self._offer(backfill_servers(self.jobs, self.reserved, order.tolist(), self.clock))
            termination, reason = self._prove()
        assert incumbent.solution is not None
        slot = arrays.slot
        return Answer(
            solution=self._decode(incumbent.solution),
            bound=float((incumbent.bound or 0) * slot),
            termination=termination,
            reason=reason,
            build_s=build_s,
            solve_s=self.clock.cpu_s - build_s,
            trace=[(t, float((v or 0) * slot), float((b or 0) * slot)) for t, v, b in incumbent.trace],
            info=self.info,
        )

    def _prove(self) -> tuple[Termination, str | None]:
        """Run the stages of the proof, and return how it ended, with a reason if the gap is not closed."""
        if self.incumbent.is_closed:
            return "finished", None
        termination = self._solve_without_locality()
        if self.incumbent.is_closed:
            return "finished", None
        if termination not in ("finished", "time_limit"):
            return termination, None
        if self.clock.has_expired:
            return "time_limit", None
        if self.arrays.starts > self.parameters.max_starts:
            return "finished", f"its windows hold {self.arrays.starts:,} starts, too many to be looked at one by one"
        columns = self._exclude_starts()
        if self.incumbent.is_closed:
            return "finished", None
        if columns is None:
            return "time_limit", None
        return self._solve_placement_model(columns)

    def _limit_time(self, share: float) -> float | None:
        """Return a time limit in seconds: this share of the remaining time."""
        remaining_s = self.clock.remaining_s
        return None if remaining_s == float("inf") else max(share * remaining_s, 1e-3)

    def _solve_without_locality(self) -> Termination:
        """Solve the oracle without locality for its bound, and search for servers for its schedule."""
        data = self.data.without_locality
        limit = self._limit_time(self.parameters.relaxed_share)
        relaxed = exact(data, replace(self.options, time_limit=limit, gap=0.0))
        if relaxed.bound is not None:
            self.incumbent.raise_bound(int(relaxed.bound) // self.arrays.slot)
        self.info |= {"without_locality": relaxed.bound or 0.0}
        if relaxed.solution is not None and not self.incumbent.is_closed:
            self._search_servers(self.arrays.starts_of(data, relaxed.solution))
        return relaxed.termination

    def _search_servers(self, exactly: IntArray) -> None:
        """Offer the schedule with these starts (J,) if servers can be assigned, then schedules in similar orders.

        The orders are perturbations of these starts and, alternately, of the best schedule. Each schedule is backfilled
        a second time, with its own starts as reservations.
        """
        p, rng, starts = self.parameters, np.random.default_rng(self.options.seed), exactly.astype(float)
        servers = assign_servers(self.jobs, exactly, p.max_placements)
        if servers is not None:
            self._offer(Placed(exactly, servers))
        window = self.arrays.cutoff - self.arrays.submit
        failures = 0
        for k in range(p.max_tries):
            if self.incumbent.is_closed or self.clock.has_expired or failures == p.failures:
                return
            best, before = self._best()
            center = best.starts if k % 2 else starts
            spread = p.spread * 0.5 ** rng.integers(p.spread_levels)
            order = center + (spread * window * rng.uniform(-1, 1, len(starts)) if k else 0.0)
            placed = backfill_servers(self.jobs, self.reserved, order.tolist(), self.clock)
            self._offer(backfill_servers(self.jobs, placed, placed.starts.tolist(), self.clock))
            failures = failures + 1 if self._best()[1] == before else 0

    def _exclude_starts(self) -> StartColumns | None:
        """Return columns, with the starts that no better schedule contains closed; `None` if the clock expires."""
        best, delay = self._best()
        columns = StartColumns(self.arrays)
        relaxation = StartRelaxation(columns, best.starts, DEFAULTS)
        for _ in range(self.parameters.max_cut_rounds):
            if not relaxation.converge(delay, self.clock):
                return None
            self.incumbent.raise_bound(relaxation.bound)
            if not relaxation.close_columns(delay):
                self.incumbent.raise_bound(delay)  # a job has no open start: no schedule is better
            if self.incumbent.is_closed or not relaxation.add_cuts():
                break
        self.info |= {"open_starts": int(columns.open.sum())}
        return columns

    def _solve_placement_model(self, columns: StartColumns) -> tuple[Termination, str | None]:
        """Solve the model with servers on the open columns, and return how it ended, with a reason."""
        candidates = select_candidates(columns, self.jobs.servers)
        if candidates.entries > self.parameters.max_entries:
            size = f"{candidates.entries:,} entries, too many"
            return "finished", f"the model of the starts that are not excluded has {size}"
        _, delay = self._best()
        model = build_placement_model(columns, candidates, self.jobs, self.incumbent.bound or 0)
        options = replace(self.options, gap=0.0, time_limit=self._limit_time(self.parameters.placing_share))

        def receive(x: FloatArray | None, bound: float | None) -> None:
            placed = None if x is None else model.decode(x)
            if placed is not None and self.jobs.fits(placed):
                self._offer(placed)
            if bound is not None:
                self.incumbent.raise_bound(whole_bound(bound))

        extra = {"mip_abs_gap": INTEGER_GAP, "objective_bound": delay - 0.5}
        solved = solve_arrays(model.linear, options, watch=receive, extra=extra)
        if solved.termination == "infeasible":
            self.incumbent.raise_bound(delay)  # no schedule is better than the best one
            return "finished", None
        receive(solved.x, solved.bound)
        return solved.termination, solved.reason

    def _best(self) -> tuple[Placed, int]:
        """Return the best schedule and its delay in steps."""
        placed, delay = self.incumbent.solution, self.incumbent.objective
        assert placed is not None
        assert delay is not None
        return placed, delay

    def _offer(self, placed: Placed) -> None:
        self.incumbent.offer(self.arrays.delay(placed.starts), placed)

    def _decode(self, placed: Placed) -> dict[str, dict[str, int]]:
        names, starts = [job.id for job in self.data.jobs], self.arrays.to_slots(placed.starts).tolist()
        return {
            "starts": dict(zip(names, starts, strict=True)),
            "servers": dict(zip(names, placed.servers.tolist(), strict=True)),
        }
