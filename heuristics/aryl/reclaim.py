"""Which loaned servers go back: Algorithm 1 and the orders of section 7.1 (sections 4 and 7.1, Table 1)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction

from instances import Options, Solution
from instances.aryl import ArylReclaim, LoanedJob
from instances.method import ANY, SEEDED, method

Costs = Mapping[tuple[str, str], Fraction]
"""What a job adds to the preemption cost of a server, by job and server."""


@method("heuristic", ANY)
def reclaim_greedy(data: ArylReclaim) -> Solution:
    """Algorithm 1: the server of least cost, one at a time; a job on k servers costs each 1/k until preempted.

    A single server to reclaim is the one with the fewest jobs (line 18).
    Ties decide between one and two preemptions on Figure 5. They go to the server after whose return the cheapest of
    the others is cheapest, then to the first by name.
    """
    return _one_by_one(data, server_fraction(data), look_ahead=True)


@method("heuristic", ANY)
def reclaim_literal_order(data: ArylReclaim) -> Solution:
    """Algorithm 1 with ties in the order of the file at every pick.

    Appendix B sorts its queue again after a pick: a stable sort would keep the order of before among ties instead.
    """
    return _one_by_one(data, server_fraction(data), look_ahead=False)


@method("heuristic", ANY)
def reclaim_gpu_fraction(data: ArylReclaim) -> Solution:
    """Algorithm 1 on the third column of Table 1: a job costs a server the share of the job's GPUs that are there.

    A job without `gpus` is taken to have as many on each of its servers.
    """
    return _one_by_one(data, gpu_fraction(data), look_ahead=False)


@method("heuristic", ANY)
def reclaim_scf(data: ArylReclaim) -> Solution:
    """Smallest job count first (section 7.1): the servers with the fewest jobs, counted once; ties in file order."""
    on = data.jobs_on()
    return {"servers": sorted(data.servers, key=lambda server: len(on[server]))[: data.reclaim]}


@method("heuristic", SEEDED)
def reclaim_random(data: ArylReclaim, options: Options) -> Solution:
    """Servers drawn at random with `options.seed` (section 7.1)."""
    return {"servers": random.Random(options.seed).sample(sorted(data.servers), data.reclaim)}


def server_fraction(data: ArylReclaim) -> Costs:
    """The last column of Table 1: 1 / |S_j| for each server of a job."""
    return {(job.id, server): Fraction(1, len(job.servers)) for job in data.jobs for server in job.servers}


def gpu_fraction(data: ArylReclaim) -> Costs:
    """The third column of Table 1: the share of a job's GPUs on each server of the job."""
    return {
        (job.id, server): Fraction(gpus, sum(_gpus(job)))
        for job in data.jobs
        for server, gpus in zip(job.servers, _gpus(job), strict=True)
    }


def _gpus(job: LoanedJob) -> tuple[int, ...]:
    return job.gpus or (1,) * len(job.servers)


def _one_by_one(data: ArylReclaim, costs: Costs, look_ahead: bool) -> Solution:
    """Servers of least cost one at a time; with `look_ahead` ties go where the cheapest next server is cheapest."""
    unit = math.lcm(*(cost.denominator for cost in costs.values()))
    part = {key: int(value * unit) for key, value in costs.items()}  # In whole numbers ties are exact, and fast.
    cost, on = dict.fromkeys(data.servers, 0), {server: set(jobs) for server, jobs in data.jobs_on().items()}
    for (_, server), value in part.items():
        cost[server] += value
    hosts = {job.id: job.servers for job in data.jobs}

    def cheapest_after(server: str) -> int:
        """The least cost that another server falls to once the jobs of `server` are preempted."""
        relief: dict[str, int] = {}
        for job in on[server]:
            for other in hosts[job]:
                if other != server:
                    relief[other] = relief.get(other, 0) + part[job, other]
        return min((cost[other] - value for other, value in relief.items() if other in left), default=cost[server])

    left, chosen = dict.fromkeys(data.servers), list[str]()
    if data.reclaim == 1:
        chosen.append(min(data.servers, key=lambda server: len(on[server])))
    while len(chosen) < data.reclaim:
        least = min(cost[server] for server in left)
        ties = [server for server in left if cost[server] == least]
        server = min(ties, key=lambda s: (min(least, cheapest_after(s)), s)) if look_ahead else ties[0]
        del left[server]
        chosen.append(server)
        for job in sorted(on[server]):
            for other in hosts[job]:
                on[other].discard(job)
                cost[other] -= part[job, other]
    return {"servers": chosen}
