"""Placement by patterns: the fast exact method (Aryl, section 5.3).

Workers of as many GPUs and servers with as many free GPUs are alike. A way to fill a server is a pattern, how many
workers of each size it holds (Gilmore and Gomory, 1961); all patterns to which no worker can be added are listed, and
an integer program chooses how many servers of a class are filled by each, and at the same time which jobs are placed
on which kind of servers. Its objective is a whole number, so that a bound within one of it proves a placement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray
from instances.aryl import ArylPlacement, PlacedJob
from instances.aryl.online import Kind, Part
from instances.aryl.placement import KINDS, PARTS, HostServer
from models.bounds import WHOLE, whole_bound
from models.highs import LinearModel, solve_arrays

MOST_PATTERNS = 50_000
"""So many ways to fill a server can be listed, over all classes of servers."""
Slot = tuple[Kind, Part, int]
"""Where a worker goes: kind of server, part that it hosts (`base` where parts may mix), GPUs of the worker."""


def solve_placement(data: ArylPlacement, options: Options, report: Report) -> Answer:
    """The cheapest placement, proved, or the best one and bound at the time limit.

    Raises InputError where there are too many patterns to list.
    """
    with Stopwatch(options.time_limit) as building:
        program = PlacementProgram(data)
        model = program.model()
    nothing: Solution = {"base": {}, "flexible": {}}

    def watch(x: FloatArray | None, bound: float | None) -> None:
        proven = None if bound is None else float(max(0, whole_bound(bound)))
        report(None if x is None else program.placement(x), proven)

    left = building.limit_left_s
    with Stopwatch() as solving:
        solved = solve_arrays(
            model, replace(options, time_limit=left), watch=watch, extra={"mip_abs_gap": 1 - 2 * WHOLE}
        )
    return Answer(
        solution=nothing if solved.x is None else program.placement(solved.x),
        bound=float(max(0, whole_bound(solved.bound or 0.0))),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        info=solved.info | {"patterns": len(program.fillings)},
    )


def too_many_patterns(data: ArylPlacement) -> str | None:
    """Why the patterns cannot be listed, `None` where they can."""
    try:
        PlacementProgram(data)
    except InputError as error:
        return str(error).removeprefix("data.servers: ")
    return None


@dataclass(frozen=True)
class Filling:
    """Servers of a class filled by a pattern: `workers` by slot; `opens`: they were empty."""

    servers: tuple[str, ...]
    workers: dict[Slot, int]
    opens: bool


@dataclass
class NamedRows:
    """NamedRows of a program as they are added, and its rows by name with their entries."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: dict[object, list[tuple[int, float]]] = field(default_factory=dict)
    right: dict[object, float] = field(default_factory=dict)

    def add(self, cost: float, upper: float, entries: dict[object, float]) -> int:
        """A column of whole numbers up to `upper`, with its entries by row; its place."""
        for row, value in entries.items():
            self.rows.setdefault(row, []).append((len(self.cost), value))
        self.cost.append(cost)
        self.upper.append(upper)
        return len(self.cost) - 1


class PlacementProgram:
    """The program: jobs by kind, workers by kind and part, servers by pattern."""

    def __init__(self, data: ArylPlacement) -> None:
        self.data = data
        self.demand = Counter[Slot]()
        for job in data.jobs:
            for kind in job.kinds:
                for part in PARTS:
                    if job.workers(part):
                        self.demand[self.slot(kind, part, job)] += job.workers(part)
        self.fillings = list(self._fillings())
        self.columns = NamedRows()
        self.placed: dict[tuple[str, Part, Kind], tuple[int, int]] = {}  # the column, and workers for each unit of it
        for job in data.jobs:
            self._add(job)
        self.first_filling = len(self.columns.cost)
        for filling in self.fillings:
            used: dict[object, float] = {slot: -float(n) for slot, n in filling.workers.items()}
            self.columns.add(float(filling.opens), len(filling.servers), used | {("servers", filling.servers): 1.0})
            self.columns.right["servers", filling.servers] = float(len(filling.servers))

    def slot(self, kind: Kind, part: Part, job: PlacedJob) -> Slot:
        """Where workers of a part of a job go on a kind of server."""
        return kind, part if kind == "loaned" and self.data.grouped else "base", job.gpus_on(kind)

    def _add(self, job: PlacedJob) -> None:
        """The columns of a job: which kinds host it, and how many workers of each part are there.

        Where all workers are on one kind, base workers are all of them or none; what is placed saves its cost.
        """
        columns, data, chosen = self.columns, self.data, ("placed", job.id)
        columns.right[chosen] = 1.0
        column: dict[Kind, int] = {}
        for kind in job.kinds:
            if not job.heterogeneous:
                column[kind] = self._choose(job, kind)
        if job.heterogeneous:
            whole = columns.add(0.0, 1.0, {chosen: 1.0})
        for part in PARTS:
            workers = job.workers(part)
            if not workers or (part == "base" and not job.heterogeneous):
                continue
            every = ("workers", job.id, part)
            for kind in job.kinds:
                row = every if job.heterogeneous else (*every, kind)
                saved = data.unplaced_cost - data.misplaced_cost * (kind != job.preferred(part))
                entries: dict[object, float] = {row: 1.0, self.slot(kind, part, job): 1.0}
                place = columns.add(-float(saved * job.gpus_per_worker), float(workers), entries)
                self.placed[job.id, part, kind] = place, 1
                on = whole if job.heterogeneous else column[kind]
                if not job.heterogeneous or kind == job.kinds[0]:
                    columns.rows.setdefault(row, []).append((on, -float(workers)))
                    columns.right[row] = 0.0
            if job.heterogeneous and part == "base":  # all of them or none: not fewer either
                columns.rows["all", job.id] = [(c, -value) for c, value in columns.rows[every]]
                columns.right["all", job.id] = 0.0

    def _choose(self, job: PlacedJob, kind: Kind) -> int:
        """The column that is 1 where all workers of a job are on a kind; its base workers are placed with it."""
        entries: dict[object, float] = {("placed", job.id): 1.0}
        saved = 0
        if job.base_workers:
            entries[self.slot(kind, "base", job)] = float(job.base_workers)
            saved = self.data.unplaced_cost - self.data.misplaced_cost * (kind != job.preferred("base"))
        place = self.columns.add(-float(saved * job.gpus_per_worker * job.base_workers), 1.0, entries)
        if job.base_workers:
            self.placed[job.id, "base", kind] = place, job.base_workers
        return place

    def model(self) -> LinearModel:
        """Minimise the cost."""
        columns = self.columns
        place = {row: i for i, row in enumerate(columns.rows)}
        entries = [(place[row], c, value) for row, part in columns.rows.items() for c, value in part]
        rows, at, values = zip(*entries, strict=True)
        shape = len(place), len(columns.cost)
        missing = sum(job.gpus_per_worker * sum(job.workers(part) for part in PARTS) for job in self.data.jobs)
        return LinearModel(
            cost=np.array(columns.cost),
            matrix=sparse.coo_array((values, (rows, at)), shape=shape),
            row_lower=-math.inf,
            row_upper=np.array([columns.right.get(row, 0.0) for row in columns.rows]),
            upper=np.array(columns.upper),
            integer=True,
            offset=float(self.data.unplaced_cost * missing),
        )

    def _fillings(self) -> Iterator[Filling]:
        """The patterns of every class of servers: those of as many free GPUs and of one kind that host the same."""
        classes: dict[tuple[Kind, int, bool, Part | None], list[str]] = {}
        for server in self.data.servers:
            key = server.kind, server.free_gpus, server.in_use, self._hosts(server)
            classes.setdefault(key, []).append(server.id)
        listed = 0
        for (kind, free, in_use, hosts), names in classes.items():
            for part in PARTS if hosts is None else (hosts,):
                slots = [s for s in self.demand if s[:2] == (kind, part) and s[2] <= free]
                slots.sort(key=lambda slot: -slot[2])
                if not slots:
                    continue
                for pattern in _patterns([s[2] for s in slots], [self.demand[s] for s in slots], free):
                    listed += 1
                    if listed > MOST_PATTERNS:
                        raise InputError(f"data.servers: more than {MOST_PATTERNS:,} ways to fill them")
                    workers = {slot: n for slot, n in zip(slots, pattern, strict=True) if n}
                    yield Filling(tuple(names), workers, not in_use)

    def _hosts(self, server: HostServer) -> Part | None:
        """The part that a server may host, `None` where it may host either, but not both."""
        return server.hosts if server.kind == "loaned" and self.data.grouped else "base"

    def placement(self, x: FloatArray) -> Solution:
        """The placement that a solution of the program says: slots of filled servers, given to jobs in file order."""
        free: dict[Slot, list[str]] = {}
        left = {filling.servers: list(reversed(filling.servers)) for filling in self.fillings}
        for filling, times in zip(self.fillings, x[self.first_filling :], strict=True):
            for _ in range(round(times)):
                server = left[filling.servers].pop()
                for slot, n in filling.workers.items():
                    free.setdefault(slot, []).extend([server] * n)
        placed: dict[str, dict[str, dict[str, int]]] = {"base": {}, "flexible": {}}
        for job in self.data.jobs:
            for part in PARTS:
                for kind in KINDS:
                    column, unit = self.placed.get((job.id, part, kind), (0, 0))
                    for _ in range(unit * round(x[column])):
                        hosts = placed[part].setdefault(job.id, {})
                        server = free[self.slot(kind, part, job)].pop(0)
                        hosts[server] = hosts.get(server, 0) + 1
        return placed


def _patterns(sizes: list[int], demand: list[int], free: int) -> Iterator[tuple[int, ...]]:
    """Patterns of workers by size, the largest first, to which no worker of the smallest size can be added."""
    most = min(demand[0], free // sizes[0])
    if len(sizes) == 1:
        yield (most,)
        return
    for n in range(most, -1, -1):
        for rest in _patterns(sizes[1:], demand[1:], free - n * sizes[0]):
            yield (n, *rest)
