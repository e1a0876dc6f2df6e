"""The program of placement that a certificate rests on, from the data alone: servers are filled by patterns.

Alike are jobs that differ in name only, workers of as many GPUs that go to the same part of the same kind of servers,
and servers of a kind with as many free GPUs that host the same. All ways to fill a server to which nothing can be added
are listed; a server that holds less is one of these with GPUs left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from instances.aryl.online import Kind, Part
from instances.aryl.placement import PARTS, ArylPlacement, HostServer, PlacedJob
from instances.options import Solution
from instances.proofs.certificate import NoCertificate
from instances.proofs.vipr import Direction, Program, Row, box

MOST = 20_000  # ways to fill a server
LOOKS = 2_000_000  # steps in listing them, and workers listed
Slot = tuple[Kind, Part, int]
"""Kind of server, GPUs of a worker, and the part that the server hosts, `base` where base and flexible workers mix."""
Alike = tuple[Kind, int, bool, Part | None]
"""Kind of a server, free GPUs, whether it is in use, and the part that it may host; `None` for either, not both."""


class FillingProgram:
    """The program of `data`; jobs go by the place of the first that is alike, classes and patterns by their own.

    Of the jobs like j `on_j_k` are on kind k of servers, or `on_j` are placed if they are heterogeneous; `base_j_k` and
    `flexible_j_k` are their workers there, `missing_base_j` and `missing_flexible_j` those not placed. `fill_c_i` is
    how many servers of class c are filled by pattern i. Minimise the cost.
    Raises NoCertificate where there are too many patterns.
    """

    def __init__(self, data: ArylPlacement) -> None:
        self.data = data
        self.place: dict[str, int] = {}
        self.upper: list[Fraction] = []
        self.cost: dict[int, Fraction] = {}
        self.rows: list[Row] = []
        self.wanted = Counter[Slot]()
        self.entries: dict[Slot, dict[str, int]] = defaultdict(dict)
        first: dict[PlacedJob, int] = {}
        self.like = [first.setdefault(job.model_copy(update={"id": ""}), j) for j, job in enumerate(data.jobs)]
        for j, jobs in Counter(self.like).items():
            self._job(j, data.jobs[j], jobs)
        self.classes: dict[Alike, list[HostServer]] = defaultdict(list)
        for server in data.servers:
            self.classes[self._alike(server)].append(server)
        self.patterns: list[list[dict[Slot, int]]] = []
        for c, alike in enumerate(self.classes):
            self._class(c, alike)
        for name, entries in self.entries.items():
            self._add("room_" + "_".join(map(str, name)), "G", 0, entries)

    def program(self) -> Program:
        """The program."""
        names, bounds = tuple(self.place), box(tuple(self.place), self.upper)
        whole = frozenset(range(len(names)))
        return Program(names, whole, "min", self.cost, (*bounds, *self.rows), len(bounds))

    def point(self, solution: Solution) -> dict[int, Fraction]:
        """A placement as a point; a server is filled by the first pattern that holds what it hosts."""
        point = Counter[str]()
        hosted: dict[str, Counter[Slot]] = defaultdict(Counter)
        servers = {server.id: server for server in self.data.servers}
        for j, job in zip(self.like, self.data.jobs, strict=True):
            on = set[str]()
            for part in PARTS:
                placed = solution.get(part, {}).get(job.id, {})
                point[f"missing_{part}_{j}"] += job.workers(part) - sum(placed.values())
                for name, n in placed.items():
                    kind = servers[name].kind
                    hosted[name][self._slot(kind, part, job)] += n
                    point[f"{part}_{j}_{kind}"] += n
                    on.add(_on(j, job, kind))
            point.update(on)
        order = {alike: c for c, alike in enumerate(self.classes)}
        for name, held in hosted.items():
            c = order[self._alike(servers[name])]
            i = next(i for i, p in enumerate(self.patterns[c]) if all(p.get(slot, 0) >= n for slot, n in held.items()))
            point[f"fill_{c}_{i}"] += 1
        return {self.place[name]: Fraction(n) for name, n in point.items() if n}

    def _new(self, name: str, upper: int, cost: int = 0) -> str:
        self.place[name] = len(self.upper)
        self.upper.append(Fraction(upper))
        if cost:
            self.cost[self.place[name]] = Fraction(cost)
        return name

    def _add(self, name: str, direction: Direction, right: int, row: Mapping[str, int]) -> None:
        self.rows.append(Row(name, direction, Fraction(right), {self.place[v]: Fraction(a) for v, a in row.items()}))

    def _slot(self, kind: Kind, part: Part, job: PlacedJob) -> Slot:
        """Where workers of a part of a job go on a kind of server."""
        return kind, part if kind == "loaned" and self.data.grouped else "base", job.gpus_on(kind)

    def _alike(self, server: HostServer) -> Alike:
        apart = server.kind == "loaned" and self.data.grouped
        return server.kind, server.free_gpus, server.in_use, server.hosts if apart else "base"

    def _job(self, j: int, job: PlacedJob, jobs: int) -> None:
        gpus, data = job.gpus_per_worker, self.data
        on = [self._new(name, jobs) for name in dict.fromkeys(_on(j, job, kind) for kind in job.kinds)]
        self._add(f"one_{j}", "L", jobs, dict.fromkeys(on, 1))
        for part in PARTS:
            workers = job.workers(part)
            if not workers:
                continue
            there: dict[str, dict[str, int]] = defaultdict(dict)
            for kind in job.kinds:
                cost = data.misplaced_cost * gpus * (kind != job.preferred(part))
                name, slot = self._new(f"{part}_{j}_{kind}", jobs * workers, cost), self._slot(kind, part, job)
                there[_on(j, job, kind)][name] = 1
                self.wanted[slot] += jobs * workers
                self.entries[slot][name] = -1
            for place, named in there.items():
                row = {**named, place: -workers}
                self._add(f"{part}_{place}", "E" if part == "base" else "L", 0, row)
            missing = self._new(f"missing_{part}_{j}", jobs * workers, data.unplaced_cost * gpus)
            every = {name: 1 for named in there.values() for name in named}
            self._add(f"all_{part}_{j}", "E", jobs * workers, {**every, missing: 1})

    def _class(self, c: int, alike: Alike) -> None:
        kind, free, in_use, hosts = alike
        servers = len(self.classes[alike])
        self.patterns.append([])
        for part in PARTS if hosts is None else (hosts,):
            slots = sorted((r for r in self.wanted if r[:2] == (kind, part) and r[2] <= free), key=lambda r: -r[2])
            for pattern in self._patterns(slots, free) if slots else ():
                if len(self.patterns[c]) == MOST:
                    raise NoCertificate(f"more than {MOST:,} ways to fill a server")
                name = self._new(f"fill_{c}_{len(self.patterns[c])}", servers, int(not in_use))
                for slot, n in pattern.items():
                    self.entries[slot][name] = n
                self.patterns[c].append(pattern)
        filled = {f"fill_{c}_{i}": 1 for i in range(len(self.patterns[c]))}
        if filled:
            self._add(f"servers_{c}", "L", servers, filled)

    def _patterns(self, slots: list[Slot], free: int) -> Iterator[dict[Slot, int]]:
        """Ways to fill `free` GPUs: any number of the widest workers, the rest with others, the last as many as go."""
        left: list[tuple[int, int, dict[Slot, int], int]] = []  # a stack, for there may be any number of slots

        def enter(i: int, spare: int, held: dict[Slot, int]) -> None:
            left.append((i, spare, held, min(self.wanted[slots[i]], spare // slots[i][2])))

        enter(0, free, {})
        looks = 0
        while left:
            looks += 1
            if looks > LOOKS:
                raise NoCertificate(f"more than {LOOKS:,} steps in listing the ways to fill a server")
            i, spare, held, n = left.pop()
            filled = {**held, slots[i]: n} if n else held
            if i + 1 == len(slots):
                looks += len(filled)
                yield filled
                continue
            if n:
                left.append((i, spare, held, n - 1))
            enter(i + 1, spare - n * slots[i][2], filled)


def _on(j: int, job: PlacedJob, kind: Kind) -> str:
    """The variable that says that a job is on a kind of servers, or on any where it may mix them."""
    return f"on_{j}" if job.heterogeneous else f"on_{j}_{kind}"
