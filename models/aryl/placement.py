"""The fast exact method of placement: an integer program over patterns (Aryl, section 5.3).

Workers with the same number of GPUs are interchangeable, and so are servers with the same number of free GPUs. A
pattern is the number of workers of each size on a server (Gilmore and Gomory, 1961). All maximal patterns are
enumerated. An integer program chooses the number of servers of each class that each pattern fills, and the kind of
servers of each job. Its objective is an integer, so a bound within one of it proves optimality.
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
from models.core.highs import LinearModel, solve_arrays
from models.core.safe_bounds import WHOLE, whole_bound

MAX_PATTERNS = 50_000  # of all classes of servers: HiGHS is too slow for more columns
Slot = tuple[Kind, Part, int]
"""The place of a worker: kind of server, part of the workers there (`base` if parts may mix), GPUs of the worker."""


def solve_placement(data: ArylPlacement, options: Options, report: Report) -> Answer:
    """Minimise the cost of the placement; return the best placement and a lower bound.

    Raises InputError if there are too many patterns to enumerate.
    """
    with Stopwatch(options.time_limit) as building:
        program = PlacementProgram(data)
        model = program.build()

    def watch(x: FloatArray | None, bound: float | None) -> None:
        integer_bound = None if bound is None else float(max(0, whole_bound(bound)))
        report(None if x is None else program.decode(x), integer_bound)

    limit = building.limit_left_s
    with Stopwatch() as solving:
        solved = solve_arrays(
            model, replace(options, time_limit=limit), watch=watch, extra={"mip_abs_gap": 1 - 2 * WHOLE}
        )
    return Answer(
        solution={"base": {}, "flexible": {}} if solved.x is None else program.decode(solved.x),
        bound=float(max(0, whole_bound(solved.bound or 0.0))),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        info=solved.info | {"patterns": len(program.fillings)},
    )


def explain_too_many_patterns(data: ArylPlacement) -> str | None:
    """Explain why there are too many patterns to enumerate; `None` if there are not."""
    try:
        PlacementProgram(data)
    except InputError as error:
        return str(error).removeprefix("data.servers: ")
    return None


@dataclass(frozen=True)
class Filling:
    """A pattern of a class of servers.

    - `servers`: the servers of the class.
    - `workers`: number of workers of each slot.
    - `opens`: whether the servers are empty before.
    """

    servers: tuple[str, ...]
    workers: dict[Slot, int]
    opens: bool


@dataclass
class NamedRows:
    """The columns of a program as they are added, and the entries of its rows by name."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: dict[object, list[tuple[int, float]]] = field(default_factory=dict)
    right: dict[object, float] = field(default_factory=dict)

    def add(self, cost: float, upper: float, entries: dict[object, float]) -> int:
        """Add an integer column with its entries by row; return its index."""
        for row, value in entries.items():
            self.rows.setdefault(row, []).append((len(self.cost), value))
        self.cost.append(cost)
        self.upper.append(upper)
        return len(self.cost) - 1


class PlacementProgram:
    """The program, with variables for jobs by kind, workers by kind and part, and servers by pattern."""

    def __init__(self, data: ArylPlacement) -> None:
        self.data = data
        self.demand = Counter[Slot]()
        for job in data.jobs:
            for kind in job.kinds:
                for part in PARTS:
                    if job.workers(part):
                        self.demand[self._find_slot(kind, part, job)] += job.workers(part)
        self.fillings = list(self._enumerate_fillings())
        self.columns = NamedRows()
        self.placed: dict[tuple[str, Part, Kind], tuple[int, int]] = {}  # index and workers per unit of a column
        for job in data.jobs:
            self._add_job(job)
        self.first_filling = len(self.columns.cost)
        for filling in self.fillings:
            used: dict[object, float] = {slot: -float(n) for slot, n in filling.workers.items()}
            self.columns.add(float(filling.opens), len(filling.servers), used | {("servers", filling.servers): 1.0})
            self.columns.right["servers", filling.servers] = float(len(filling.servers))

    def _find_slot(self, kind: Kind, part: Part, job: PlacedJob) -> Slot:
        """Return the slot of workers of a part of a job on a kind of server."""
        return kind, part if kind == "loaned" and self.data.grouped else "base", job.gpus_on(kind)

    def _add_job(self, job: PlacedJob) -> None:
        """Add the columns of a job: the kinds that host it, and the number of workers of each part there.

        If all workers must be on one kind, the column of the kind includes all base workers. A placed worker saves the
        cost of an unplaced one.
        """
        columns, data, chosen = self.columns, self.data, ("placed", job.id)
        columns.right[chosen] = 1.0
        column: dict[Kind, int] = {}
        for kind in job.kinds:
            if not job.heterogeneous:
                column[kind] = self._add_kind(job, kind)
        if job.heterogeneous:
            is_placed = columns.add(0.0, 1.0, {chosen: 1.0})
        for part in PARTS:
            workers = job.workers(part)
            if not workers or (part == "base" and not job.heterogeneous):
                continue
            all_workers = ("workers", job.id, part)
            for kind in job.kinds:
                row = all_workers if job.heterogeneous else (*all_workers, kind)
                saved = data.unplaced_cost - data.misplaced_cost * (kind != job.choose_kind(part))
                entries: dict[object, float] = {row: 1.0, self._find_slot(kind, part, job): 1.0}
                place = columns.add(-float(saved * job.gpus_per_worker), float(workers), entries)
                self.placed[job.id, part, kind] = place, 1
                on = is_placed if job.heterogeneous else column[kind]
                if not job.heterogeneous or kind == job.kinds[0]:
                    columns.rows.setdefault(row, []).append((on, -float(workers)))
                    columns.right[row] = 0.0
            if job.heterogeneous and part == "base":  # either all base workers or none
                columns.rows["all", job.id] = [(c, -value) for c, value in columns.rows[all_workers]]
                columns.right["all", job.id] = 0.0

    def _add_kind(self, job: PlacedJob, kind: Kind) -> int:
        """Add the column that is 1 if all workers of a job are on a kind; it places the base workers."""
        entries: dict[object, float] = {("placed", job.id): 1.0}
        saved = 0
        if job.base_workers:
            entries[self._find_slot(kind, "base", job)] = float(job.base_workers)
            saved = self.data.unplaced_cost - self.data.misplaced_cost * (kind != job.choose_kind("base"))
        place = self.columns.add(-float(saved * job.gpus_per_worker * job.base_workers), 1.0, entries)
        if job.base_workers:
            self.placed[job.id, "base", kind] = place, job.base_workers
        return place

    def build(self) -> LinearModel:
        """Build the model that minimises the cost."""
        columns = self.columns
        index = {row: i for i, row in enumerate(columns.rows)}
        entries = [(index[row], c, value) for row, part in columns.rows.items() for c, value in part]
        row_indices, column_indices, values = zip(*entries, strict=True)
        shape = len(index), len(columns.cost)
        missing = sum(job.gpus_per_worker * sum(job.workers(part) for part in PARTS) for job in self.data.jobs)
        return LinearModel(
            cost=np.array(columns.cost),
            matrix=sparse.coo_array((values, (row_indices, column_indices)), shape=shape),
            row_lower=-math.inf,
            row_upper=np.array([columns.right.get(row, 0.0) for row in columns.rows]),
            upper=np.array(columns.upper),
            integer=True,
            offset=float(self.data.unplaced_cost * missing),
        )

    def _enumerate_fillings(self) -> Iterator[Filling]:
        """Enumerate the patterns of each class of servers with the same kind, free GPUs, use and hosted part."""
        classes: dict[tuple[Kind, int, bool, Part | None], list[str]] = {}
        for server in self.data.servers:
            key = server.kind, server.free_gpus, server.is_in_use, self._find_part(server)
            classes.setdefault(key, []).append(server.id)
        number = 0
        for (kind, free, in_use, hosts), names in classes.items():
            for part in PARTS if hosts is None else (hosts,):
                slots = [s for s in self.demand if s[:2] == (kind, part) and s[2] <= free]
                slots.sort(key=lambda slot: -slot[2])
                if not slots:
                    continue
                for pattern in _enumerate_patterns([s[2] for s in slots], [self.demand[s] for s in slots], free):
                    number += 1
                    if number > MAX_PATTERNS:
                        raise InputError(f"data.servers: more than {MAX_PATTERNS:,} ways to fill them")
                    workers = {slot: n for slot, n in zip(slots, pattern, strict=True) if n}
                    yield Filling(tuple(names), workers, not in_use)

    def _find_part(self, server: HostServer) -> Part | None:
        """Return the part that a server may host; `None` if it may host either part, but not both."""
        return server.hosts if server.kind == "loaned" and self.data.grouped else "base"

    def decode(self, x: FloatArray) -> Solution:
        """Return the placement of a point: the jobs take the slots of the filled servers in file order."""
        free: dict[Slot, list[str]] = {}
        unused = {filling.servers: list(reversed(filling.servers)) for filling in self.fillings}
        for filling, times in zip(self.fillings, x[self.first_filling :], strict=True):
            for _ in range(round(times)):
                server = unused[filling.servers].pop()
                for slot, n in filling.workers.items():
                    free.setdefault(slot, []).extend([server] * n)
        placed: dict[str, dict[str, dict[str, int]]] = {"base": {}, "flexible": {}}
        for job in self.data.jobs:
            for part in PARTS:
                for kind in KINDS:
                    column, unit = self.placed.get((job.id, part, kind), (0, 0))
                    for _ in range(unit * round(x[column])):
                        hosts = placed[part].setdefault(job.id, {})
                        server = free[self._find_slot(kind, part, job)].pop(0)
                        hosts[server] = hosts.get(server, 0) + 1
        return placed


def _enumerate_patterns(sizes: list[int], demand: list[int], free: int) -> Iterator[tuple[int, ...]]:
    """Enumerate the patterns to which no worker of the smallest size can be added; `sizes` are decreasing."""
    max_count = min(demand[0], free // sizes[0])
    if len(sizes) == 1:
        yield (max_count,)
        return
    for n in range(max_count, -1, -1):
        for rest in _enumerate_patterns(sizes[1:], demand[1:], free - n * sizes[0]):
            yield (n, *rest)
