"""Check certificates of `sia-oracle` and, with the servers' cut-offs, of `sia-local-oracle`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate
from math import gcd
from typing import Any

from tests.certificates.second.reading import CHILDREN, Object, fields, leaves, listed, record, see, whole

SCALE = 1 << 20
Starts = list[list[int]]  # of each job those that are left, in steps after its submission


class Delays:
    """Jobs in steps and units of GPUs, and the rows that bound them."""

    def __init__(self, data: Object) -> None:
        see(not data.get("fairness_weight"), "with fairness there are no prices of rows")
        jobs = data["jobs"]
        latest = in_cells(data) if "latest_start" not in jobs[0] else alone(data)
        first, unit = min(j["submit"] for j in jobs), gcd(*(j["gpus"] for j in jobs))
        self.slots = gcd(*(j["submit"] - first for j in jobs), *(j["duration"] for j in jobs))
        self.submit = [(j["submit"] - first) // self.slots for j in jobs]
        self.duration = [j["duration"] // self.slots for j in jobs]
        self.window = [(m - j["submit"]) // self.slots for m, j in zip(latest, jobs, strict=True)]
        self.gpus = [j["gpus"] // unit for j in jobs]
        self.capacity = sum(pool["gpus"] for pool in data["pools"]) // unit

    def checked(self, content: Object) -> Fraction:
        small, jobs = whole(1 - (1 << 62)), len(self.gpus)
        number = whole(1 - (1 << 80), 1 << 80)
        read = {"first": small, "last": small, "limit": number, "starts": whole()}
        row = record(read, {"touching": whole(0, jobs), "divisor": whole(), "jobs": listed(whole(0, jobs))})
        pair = listed(whole(), 2)
        prices = record({"prices": listed(pair), "least": number, "spent": number})
        branch = record({"job": whole(0, jobs), "until": whole()})
        node = record({}, {"branch": branch, "children": CHILDREN, "prices": prices, "without": whole()})
        head = {"slots": whole(1), "reach": whole(), "bound": whole(), "rows": listed(row)}
        stated = fields(content, head | {"stages": listed(prices), "nodes": listed(node)})
        see(stated["slots"] == self.slots, "steps of another length")
        self.reach = stated["reach"]
        self.rows = [self.row(one) for one in stated["rows"]]
        left: Starts = [list(range(window + 1)) for window in self.window]
        for stage in stated["stages"]:
            left = self.priced(stage, left)[1]
        least = [self.reach]
        for leaf, (bound, open_) in leaves(stated["nodes"], (None, left), self.sides):
            if leaf["prices"] is not None:
                see(leaf["without"] is None, "a leaf of prices and without a job")
                bound, _ = self.priced(leaf["prices"], open_)
                least.append(-(-bound // SCALE))
                continue
            closed = next((j for j, starts in enumerate(open_) if not starts), None)
            see(closed is not None and closed == leaf["without"], "another job is the first without a start")
        see(min(least) == stated["bound"], f"{min(least)} steps are proved")
        return Fraction(stated["bound"] * self.slots)

    def sides(self, node: Object, decided: Any) -> Sequence[Any]:
        left, branch = decided[1], node["branch"]
        see(node["without"] is None, "a branch without a job")
        if node["prices"] is not None:
            left = self.priced(node["prices"], left)[1]
        j, until = branch["job"], branch["until"]
        early, late = [k for k in left[j] if k <= until], [k for k in left[j] if k > until]
        return [(None, [*left[:j], some, *left[j + 1 :]]) for some in (early, late)]

    def row(self, stated: Object) -> tuple[int, list[tuple[int, int, int, int]]]:
        """Limit of a row, and of the jobs that it counts the weight and the first and last start."""
        see(stated["first"] <= stated["last"], "a row of no steps")
        named = stated["jobs"] or []
        see(len(set(named)) == len(named), "a job twice")
        see(stated["divisor"] or not named, "jobs of a row that is not rounded")
        limit, counted = self.counted(stated)
        starts = sum(high - low + 1 for _, _, low, high in counted)
        see((limit, starts) == (stated["limit"], stated["starts"]), "a row has another limit, or counts other starts")
        if stated["first"] < stated["last"]:
            fewer = ({"first": stated["first"] + 1}, {"last": stated["last"] - 1})
            see(
                all(self.counted(stated | less) != (limit, counted) for less in fewer),
                "a row of more steps than it needs",
            )
        return limit, counted

    def counted(self, row: Object) -> tuple[int, list[tuple[int, int, int, int]]]:
        weights, limit = (
            self.rounded(row["divisor"], row["jobs"] or []) if row["divisor"] else (self.gpus, self.capacity)
        )
        see(max(weights) < 1 << 62, "weights beyond 62 bits")
        found = []
        for j, (weight, s, d, window) in enumerate(zip(weights, self.submit, self.duration, self.window, strict=True)):
            begin, end = (row["first"], row["last"]) if j == row["touching"] else (row["last"], row["first"])
            low, high = max(0, begin - d + 1 - s), min(window, end - s)
            if weight > 0 and low <= high:
                found.append((j, weight, low, high))
        return limit, found

    def rounded(self, c: int, jobs: Sequence[int]) -> tuple[list[int], int]:
        """Weights and limit of a capacity row that is rounded, some jobs complemented."""
        inside = set(jobs)
        room = self.capacity - sum(self.gpus[j] for j in inside)
        r, k = -room % c, room // c
        see(r > 0, "a divisor that leaves no rest")
        g = [r * (n // c) + max(0, n % c - (c - r)) for n in self.gpus]
        less = [-(r * (-n // c) + max(0, -n % c - (c - r))) for n in self.gpus]
        weights = [less[j] if j in inside else g[j] for j in range(len(g))]
        return weights, r * k + sum(less[j] for j in inside)

    def priced(self, stated: Object, left: Starts) -> tuple[int, Starts]:
        """SCALE times the bound of prices, and the starts that are in a schedule of less delay than the reach."""
        places = [place for place, _ in stated["prices"]]
        see(len(set(places)) == len(places) and all(place < len(self.rows) for place in places), "prices of other rows")
        change = [dict[int, int]() for _ in self.gpus]
        spent, dearest = 0, SCALE * max(self.window)
        for place, price in stated["prices"]:
            limit, counted = self.rows[place]
            spent += price * limit
            dearest += price * max((weight for _, weight, _, _ in counted), default=0)
            for j, weight, low, high in counted:
                change[j][low] = change[j].get(low, 0) + price * weight
                change[j][high + 1] = change[j].get(high + 1, 0) - price * weight
        see(dearest < 1 << 61, "charges of more than 61 bits")
        charges = []
        for j, starts in enumerate(left):
            see(starts, "prices where a job has no start left")
            charges.append(list(self.of_job(change[j], starts)))
        each = [min(some) for some in charges]
        see((sum(each), spent) == (stated["least"], stated["spent"]), "prices charge something else")
        bound = sum(each) - spent
        room = max(SCALE * (self.reach - 1) - bound, -1)
        kept = [
            [k for k, charge in zip(starts, some, strict=True) if charge - least <= room]
            for starts, some, least in zip(left, charges, each, strict=True)
        ]
        return bound, kept

    def of_job(self, change: dict[int, int], starts: Sequence[int]) -> Iterator[int]:
        """Yield the charge of each start of a job."""
        edges = sorted(change)
        sums = list(accumulate(change[edge] for edge in edges))
        at = -1
        for k in starts:
            while at + 1 < len(edges) and edges[at + 1] <= k:
                at += 1
            yield SCALE * k + (sums[at] if at >= 0 else 0)


def in_turn(data: Object) -> Iterator[int]:
    """Order the jobs by submission, and jobs submitted together as they are listed."""
    return iter(sorted(range(len(data["jobs"])), key=lambda j: (data["jobs"][j]["submit"], j)))


def alone(data: Object) -> list[int]:
    """Cut-offs: as stated, or the start where each pool serves its queue in order on its own GPUs."""
    idle, before = {p["name"]: p["gpus"] for p in data["pools"]}, {p["name"]: 0 for p in data["pools"]}
    own = dict(idle)
    running: dict[str, list[tuple[int, int]]] = {name: [] for name in idle}
    found = [0] * len(data["jobs"])
    for j in in_turn(data):
        job = data["jobs"][j]
        name = job["pool"]
        if job["gpus"] > own[name]:  # it takes none of its pool's GPUs
            found[j] = job["latest_start"]
            continue
        now = max(job["submit"], before[name])
        while running[name] and (running[name][0][0] <= now or idle[name] < job["gpus"]):
            end, gpus = heappop(running[name])
            now, idle[name] = max(now, end), idle[name] + gpus
        idle[name] -= job["gpus"]
        heappush(running[name], (now + job["duration"], job["gpus"]))
        found[j] = before[name] = now
    return [
        start if job["latest_start"] is None else job["latest_start"]
        for start, job in zip(found, data["jobs"], strict=True)
    ]


def in_cells(data: Object) -> list[int]:
    """Pack in cells, aligned blocks of a server: a job takes the first of the smallest free cells that fit."""
    taken: dict[str, set[tuple[int, int]]] = {p["name"]: set() for p in data["pools"]}  # GPUs in use
    servers = {p["name"]: p["gpus"] // 8 for p in data["pools"]}
    before = dict.fromkeys(taken, 0)
    running: dict[str, list[tuple[int, int, tuple[int, int, int]]]] = {name: [] for name in taken}
    found = [0] * len(data["jobs"])
    for j in in_turn(data):
        job = data["jobs"][j]
        name, size = job["pool"], job["gpus"]
        now, ends, use = max(job["submit"], before[name]), running[name], taken[name]
        while True:
            while ends and ends[0][0] <= now:
                _, _, (server, at, width) = heappop(ends)
                use.difference_update((server, i) for i in range(at, at + width))
            cell = free_cell(use, servers[name], size)
            if cell is not None:
                break
            now = ends[0][0]
        server, at = cell
        use.update((server, i) for i in range(at, at + size))
        heappush(ends, (now + job["duration"], j, (server, at, size)))
        found[j] = before[name] = now
    return found


def free_cell(use: set[tuple[int, int]], servers: int, size: int) -> tuple[int, int] | None:
    """Server and first GPU of the first of the smallest cells that are free, and no part of a larger free one."""
    width = size
    while width <= 8:
        for server in range(servers):
            for at in range(0, 8, width):
                twice = at - at % (2 * width)
                part = width < 8 and not any((server, i) in use for i in range(twice, twice + 2 * width))
                if not part and not any((server, i) in use for i in range(at, at + width)):
                    return server, at
        width *= 2
    return None
