"""Choice of the loaned servers to return: Algorithm 1 and the orders of section 7.1 (sections 4 and 7.1, Table 1).

Comments name the lines of the pseudocode.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction

from instances import Options, Solution
from instances.aryl import ArylReclaim, LoanedJob
from instances.method import ANY, SEEDED, method

Costs = Mapping[tuple[str, str], Fraction]
"""The part of a job in the preemption cost of a server, by job and server."""


@method("heuristic", ANY)
def reclaim_greedy(data: ArylReclaim) -> Solution:
    """Run Algorithm 1: return the cheapest server, one at a time; a job on k servers costs each 1/k until preempted.

    If a single server is reclaimed, it is the one with the fewest jobs (line 18). On Figure 5, ties decide between one
    and two preemptions. They go to the server after whose return the minimum cost of the other servers is lowest, then
    to the first by name.
    """
    return _select_servers(data, server_fraction(data), look_ahead=True)


@method("heuristic", ANY)
def reclaim_literal_order(data: ArylReclaim) -> Solution:
    """Run Algorithm 1 with ties in file order at every pick.

    Appendix B sorts its queue again after a pick. A stable sort would keep the previous order of ties instead.
    """
    return _select_servers(data, server_fraction(data), look_ahead=False)


@method("heuristic", ANY)
def reclaim_gpu_fraction(data: ArylReclaim) -> Solution:
    """Run Algorithm 1 on the third column of Table 1: a job costs a server the fraction of its GPUs that are there.

    A job without `gpus` counts the same number on each of its servers.
    """
    return _select_servers(data, gpu_fraction(data), look_ahead=False)


@method("heuristic", ANY)
def reclaim_scf(data: ArylReclaim) -> Solution:
    """Return the servers with the fewest jobs, counted once (SCF, section 7.1); ties go in file order."""
    on = data.jobs_on()
    return {"servers": sorted(data.servers, key=lambda server: len(on[server]))[: data.reclaim]}


@method("heuristic", SEEDED)
def reclaim_random(data: ArylReclaim, options: Options) -> Solution:
    """Return servers drawn at random with `options.seed` (section 7.1)."""
    return {"servers": random.Random(options.seed).sample(sorted(data.servers), data.reclaim)}


def server_fraction(data: ArylReclaim) -> Costs:
    """Return the last column of Table 1: 1 / |S_j| for each server of a job."""
    return {(job.id, server): Fraction(1, len(job.servers)) for job in data.jobs for server in job.servers}


def gpu_fraction(data: ArylReclaim) -> Costs:
    """Return the third column of Table 1: the fraction of a job's GPUs on each of its servers."""
    return {
        (job.id, server): Fraction(gpus, sum(_gpus(job)))
        for job in data.jobs
        for server, gpus in zip(job.servers, _gpus(job), strict=True)
    }


def _gpus(job: LoanedJob) -> tuple[int, ...]:
    return job.gpus or (1,) * len(job.servers)


def _select_servers(data: ArylReclaim, costs: Costs, look_ahead: bool) -> Solution:
    """Run SelectServers of Algorithm 1 (lines 17 to 29) with the preemption costs `costs`.

    - `look_ahead`: whether ties go to the server after which the next one is cheapest, instead of to the first in the
      file.
    """
    unit = math.lcm(*(cost.denominator for cost in costs.values()))
    part = {key: int(value * unit) for key, value in costs.items()}  # integers make ties exact, and fast
    cost, on = dict.fromkeys(data.servers, 0), {server: set(jobs) for server, jobs in data.jobs_on().items()}
    for (_, server), value in part.items():  # lines 3 to 7
        cost[server] += value
    hosts = {job.id: job.servers for job in data.jobs}

    def cheapest_after(server: str) -> int:
        """Return the minimum cost of the other servers of the jobs on `server` once these jobs are preempted."""
        relief: dict[str, int] = {}
        for job in on[server]:
            for other in hosts[job]:
                if other != server:
                    relief[other] = relief.get(other, 0) + part[job, other]
        return min((cost[other] - value for other, value in relief.items() if other in left), default=cost[server])

    left, chosen = dict.fromkeys(data.servers), list[str]()
    if data.reclaim == 1:  # lines 18 to 20
        chosen.append(min(data.servers, key=lambda server: len(on[server])))
    while len(chosen) < data.reclaim:  # line 23
        min_cost = min(cost[server] for server in left)  # lines 8, 15 and 24
        ties = [server for server in left if cost[server] == min_cost]
        server = min(ties, key=lambda s: (min(min_cost, cheapest_after(s)), s)) if look_ahead else ties[0]
        chosen.append(server)  # line 25
        del left[server]  # lines 26 and 27
        for job in sorted(on[server]):  # line 11, in UpdateCost of line 28
            for other in hosts[job]:  # line 12
                on[other].discard(job)  # line 13
                cost[other] -= part[job, other]  # line 14
    return {"servers": chosen}
