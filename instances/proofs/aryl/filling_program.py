"""Build the program of placement for a certificate, from the data alone: patterns fill the servers.

Identical jobs differ only in name. Identical workers have the same number of GPUs and go to the same part of the same
kind of servers. Identical servers have the same kind, the same number of free GPUs and host the same part. The program
enumerates all maximal patterns of a server; a server that holds less uses one of them and leaves GPUs free.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from instances.aryl.online import Kind, Part
from instances.aryl.placement import PARTS, ArylPlacement, HostServer, PlacedJob
from instances.options import Solution
from instances.proofs.certificate import NoCertificate
from instances.proofs.vipr import Direction, Program, ProgramBuilder

MOST = 20_000  # ways to fill a server
LOOKS = 2_000_000  # steps of their enumeration, plus the entries of the patterns
Slot = tuple[Kind, Part, int]
"""Kind of server, GPUs of a worker, and the part that the server hosts, `base` where base and flexible workers mix."""
Alike = tuple[Kind, int, bool, Part | None]
"""Kind of a server, free GPUs, whether it is in use, and the part that it may host; `None` for one of the two."""


class FillingProgram(ProgramBuilder):
    """The program of `data`: minimise the cost.

    Identical jobs have the index j of the first of them; classes c and patterns i have their own indices. The variables
    count jobs, workers or servers:

    - `on_j_k`: jobs on kind k of servers, or `on_j`: placed jobs, if they are heterogeneous.
    - `base_j_k`, `flexible_j_k`: workers of the jobs on kind k.
    - `missing_base_j`, `missing_flexible_j`: workers of the jobs that are not placed.
    - `fill_c_i`: servers of class c that pattern i fills.

    Raises NoCertificate if there are too many patterns.
    """

    def __init__(self, data: ArylPlacement) -> None:
        super().__init__()
        self.data = data
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
        """Return the program in the form of a VIPR file."""
        return self.build("min")

    def point(self, solution: Solution) -> dict[int, Fraction]:
        """Return a placement as a point; each server uses the first pattern that contains its workers."""
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
                    on.add(_name_variable(j, job, kind))
            point.update(on)
        order = {alike: c for c, alike in enumerate(self.classes)}
        for name, held in hosted.items():
            c = order[self._alike(servers[name])]
            i = next(i for i, p in enumerate(self.patterns[c]) if all(p.get(slot, 0) >= n for slot, n in held.items()))
            point[f"fill_{c}_{i}"] += 1
        return {self.place[name]: Fraction(n) for name, n in point.items() if n}

    def _new(self, name: str, upper: int, cost: int = 0) -> str:
        self.add_variable(name, upper, cost)
        return name

    def _add(self, name: str, direction: Direction, right: int, row: Mapping[str, int]) -> None:
        self.add_row(name, direction, right, {self.place[v]: a for v, a in row.items()})

    def _slot(self, kind: Kind, part: Part, job: PlacedJob) -> Slot:
        """Return the slot of the workers of a part of a job on a kind of server."""
        return kind, part if kind == "loaned" and self.data.grouped else "base", job.gpus_on(kind)

    def _alike(self, server: HostServer) -> Alike:
        apart = server.kind == "loaned" and self.data.grouped
        return server.kind, server.free_gpus, server.is_in_use, server.hosts if apart else "base"

    def _job(self, j: int, job: PlacedJob, jobs: int) -> None:
        gpus, data = job.gpus_per_worker, self.data
        on = [self._new(name, jobs) for name in dict.fromkeys(_name_variable(j, job, kind) for kind in job.kinds)]
        self._add(f"one_{j}", "L", jobs, dict.fromkeys(on, 1))
        for part in PARTS:
            workers = job.workers(part)
            if not workers:
                continue
            there: dict[str, dict[str, int]] = defaultdict(dict)
            for kind in job.kinds:
                cost = data.misplaced_cost * gpus * (kind != job.choose_kind(part))
                name, slot = self._new(f"{part}_{j}_{kind}", jobs * workers, cost), self._slot(kind, part, job)
                there[_name_variable(j, job, kind)][name] = 1
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
        """Yield the patterns for `free` GPUs: any number of each slot, the widest first; the maximum of the last."""
        left: list[tuple[int, int, dict[Slot, int], int]] = []  # a stack instead of recursion, which is limited

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


def _name_variable(j: int, job: PlacedJob, kind: Kind) -> str:
    """Return the variable that counts jobs on a kind of servers, or on any kind if a job may mix kinds."""
    return f"on_{j}" if job.heterogeneous else f"on_{j}_{kind}"
