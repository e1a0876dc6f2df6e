"""Helper until `aryl-placement` is a problem: the fewest servers for given workers (Aryl, section 5.3).

Each part of the cluster is a cutting-stock problem (Gilmore and Gomory, 1961) of its own.

Workers of as many GPUs are alike, so that a server is a pattern: how many workers of each size it holds. All patterns
to which no worker can be added are listed, and an integer program chooses how often each is used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from instances import InputError, Options
from instances.aryl.placement import PARTS, Cluster, Part, Server
from models.bounds import WHOLE, whole_bound
from models.highs import LinearModel, solve_arrays

MOST_PATTERNS = 200_000
"""So many ways to fill a server can be listed."""


@dataclass(frozen=True)
class Placement:
    """Servers in use, `None` if time ran out before a placement was found, and a lower bound on their number."""

    servers: tuple[Server, ...] | None
    bound: int

    @property
    def optimal(self) -> bool:
        """Whether the placement is proved best."""
        return self.servers is not None and len(self.servers) == self.bound


def place_workers(cluster: Cluster, options: Options = Options()) -> Placement:
    """Place all workers on the fewest servers. Raises InputError where there are too many patterns to list."""
    servers: list[Server] | None = []
    bound = 0
    for part in PARTS:
        found, least = _pack(cluster, part, options)
        bound += least
        servers = None if servers is None or found is None else servers + found
    return Placement(None if servers is None else tuple(servers), bound)


def _pack(cluster: Cluster, part: Part, options: Options) -> tuple[list[Server] | None, int]:
    demand = Counter[int]()
    for job in cluster.jobs:
        demand[job.gpus_per_worker] += job.workers().get(part, 0)
    sizes = sorted((size for size, n in demand.items() if n), reverse=True)
    if not sizes:
        return [], 0
    patterns = []
    for pattern in _patterns(sizes, [demand[size] for size in sizes], cluster.gpus_per_server):
        patterns.append(pattern)
        if len(patterns) > MOST_PATTERNS:
            raise InputError(f"jobs: more than {MOST_PATTERNS:,} ways to fill a server")
    model = LinearModel(
        cost=np.ones(len(patterns)),
        matrix=sparse.csc_array(np.array(patterns, dtype=float).T),
        row_lower=np.array([float(demand[size]) for size in sizes]),
        row_upper=math.inf,
        integer=True,
    )
    solved = solve_arrays(model, options, extra={"mip_abs_gap": 1 - 2 * WHOLE})
    volume = -(-sum(size * n for size, n in demand.items()) // cluster.gpus_per_server)
    bound = max(volume, whole_bound(solved.bound or 0.0))
    if solved.x is None:
        return None, bound
    times = np.round(solved.x).astype(int)
    return _fill(cluster, part, sizes, [p for p, n in zip(patterns, times, strict=True) for _ in range(n)]), bound


def _patterns(sizes: list[int], demand: list[int], free: int) -> Iterator[tuple[int, ...]]:
    """Patterns of workers by size, the largest first, to which no worker of the smallest size can be added."""
    most = min(demand[0], free // sizes[0])
    if len(sizes) == 1:
        yield (most,)
        return
    for n in range(most, -1, -1):
        for rest in _patterns(sizes[1:], demand[1:], free - n * sizes[0]):
            yield (n, *rest)


def _fill(cluster: Cluster, part: Part, sizes: list[int], patterns: list[tuple[int, ...]]) -> list[Server]:
    """Servers filled by `patterns`, each size with the workers of the jobs in file order."""
    waiting = {
        size: [job.id for job in cluster.jobs if job.gpus_per_worker == size for _ in range(job.workers().get(part, 0))]
        for size in sizes
    }
    servers = []
    for pattern in patterns:
        held: dict[str, int] = {}
        for size, n in zip(sizes, pattern, strict=True):
            for _ in range(min(n, len(waiting[size]))):
                job = waiting[size].pop()
                held[job] = held.get(job, 0) + 1
        if held:
            servers.append(Server(part=part, workers=held))
    return servers
