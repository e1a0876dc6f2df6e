"""Which loaned servers go back: Algorithm 1 and the orders it is compared with (sections 4 and 7.1, Table 1)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction

from instances import Answer, Options, Result, Stopwatch, conclude
from instances.aryl import ArylReclaim, LoanedJob

Costs = Mapping[tuple[str, str], Fraction]  # what a job adds to the cost of a server it is on


def reclaim_greedy(data: ArylReclaim) -> Result:
    """Algorithm 1: the server of least cost, one at a time; a job costs each of its k servers 1/k until preempted.

    A single server to reclaim is the one with the fewest jobs (line 18).
    Ties decide between one and two preemptions on Figure 5. They go to the server after whose return the cheapest of
    the others is cheapest, then to the first by name.
    """
    return _one_by_one(data, "reclaim-greedy", server_fraction(data), look_ahead=True)


def reclaim_literal_order(data: ArylReclaim) -> Result:
    """Algorithm 1 with ties in the order of the file, as a stable sort of the queue leaves them."""
    return _one_by_one(data, "reclaim-literal-order", server_fraction(data), look_ahead=False)


def reclaim_gpu_fraction(data: ArylReclaim) -> Result:
    """Algorithm 1 on the third column of Table 1: a job costs a server the share of the job's GPUs that are there.

    A job without `gpus` is taken to have as many on each of its servers.
    """
    return _one_by_one(data, "reclaim-gpu-fraction", gpu_fraction(data), look_ahead=False)


def reclaim_scf(data: ArylReclaim) -> Result:
    """Smallest job count first (section 7.1): the servers with the fewest jobs, counted once; ties in file order."""
    with Stopwatch() as clock:
        on = data.jobs_on()
        chosen = sorted(data.servers, key=lambda server: len(on[server]))[: data.reclaim]
    return _result(data, "reclaim-scf", chosen, clock)


def reclaim_random(data: ArylReclaim, options: Options = Options()) -> Result:
    """Servers drawn at random with `options.seed` (section 7.1)."""
    with Stopwatch() as clock:
        chosen = random.Random(options.seed).sample(sorted(data.servers), data.reclaim)
    return _result(data, "reclaim-random", chosen, clock, options)


def server_fraction(data: ArylReclaim) -> Costs:
    """The last column of Table 1: 1 / |S_j| for each server of a job."""
    return {(job.id, server): Fraction(1, len(job.servers)) for job in data.jobs for server in job.servers}


def gpu_fraction(data: ArylReclaim) -> Costs:
    """The third column of Table 1: the share of a job's GPUs on each of its servers."""
    return {
        (job.id, server): Fraction(gpus, sum(_gpus(job)))
        for job in data.jobs
        for server, gpus in zip(job.servers, _gpus(job), strict=True)
    }


def preemption_cost(data: ArylReclaim, costs: Costs) -> dict[str, Fraction]:
    """The preemption cost of each server before any goes back."""
    total = dict.fromkeys(data.servers, Fraction(0))
    for (_, server), cost in costs.items():
        total[server] += cost
    return total


def _gpus(job: LoanedJob) -> tuple[int, ...]:
    return job.gpus or (1,) * len(job.servers)


def _one_by_one(data: ArylReclaim, method: str, costs: Costs, look_ahead: bool) -> Result:
    with Stopwatch() as clock:
        unit = math.lcm(*(cost.denominator for cost in costs.values()))
        part = {key: int(value * unit) for key, value in costs.items()}  # whole numbers: ties are exact, and fast
        cost, on = dict.fromkeys(data.servers, 0), {server: set(jobs) for server, jobs in data.jobs_on().items()}
        for (_, server), value in part.items():
            cost[server] += value
        hosts = {job.id: job.servers for job in data.jobs}

        def cheapest_after(server: str) -> int:
            """The least cost of another server once the jobs of this one are preempted, as far as that lowers it."""
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
    return _result(data, method, chosen, clock)


def _result(
    data: ArylReclaim, method: str, chosen: list[str], clock: Stopwatch, options: Options = Options()
) -> Result:
    answer = Answer({"servers": chosen}, solve_s=clock.cpu_s)
    return conclude(data, method, answer, options, kind="heuristic")
