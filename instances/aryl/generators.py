"""Random instances of Aryl's problems, each from a seed: elastic jobs, loaned servers, moments of placement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from instances.arrays import exponentials
from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.examples import Objective
from instances.aryl.online import Kind, Part
from instances.aryl.placement import ArylPlacement, HostServer, PlacedJob
from instances.aryl.reclaim import ArylReclaim, LoanedJob, Loss
from instances.envelope import Instance
from instances.fields import refuse_outside

MINUTES, DAYS = 60.0, 86_400.0
GPUS_PER_WORKER = ((1, 0.35), (2, 0.3), (4, 0.2), (8, 0.15))
WORKERS_PER_JOB = ((1, 0.3), (2, 0.25), (4, 0.2), (8, 0.15), (16, 0.1))


def elastic_jobs(
    n: int,
    seed: int,
    *,
    objective: Objective = "jct-reduction",
    elastic_share: float = 1.0,
    load: float = 0.6,
    spare_gpus: int | None = None,
    gpus_per_worker: Sequence[int] = (1, 2, 4),
    scaling_loss: float = 0.0,
) -> Instance[ArylElastic]:
    """Draw `n` jobs of 1 to 3 workers that scale 2- to 4-fold; running times log-uniform from 5 minutes to 2 days.

    - `n`, `seed`: number of jobs, and the seed that they are drawn from.
    - `objective`: `jct-reduction` or `mean-jct`.
    - `elastic_share`: probability that a job scales at all.
    - `load`: GPUs as a share of the maximum demand of all jobs, at least what the objective needs.
    - `spare_gpus`: GPUs beyond the base demand of all jobs, instead of `load`.
    - `gpus_per_worker`: GPUs of a worker, drawn with equal probability.
    - `scaling_loss`: share of the throughput that each worker beyond the midpoint of the range costs.

    Raises ValueError for no jobs.
    """
    refuse_outside("n", n, 1)
    rng = np.random.default_rng(seed)
    jobs = []
    for i in range(n):
        least = int(rng.integers(1, 4))
        factor = int(rng.integers(2, 5)) if rng.random() < elastic_share else 1
        seconds = round(math.exp(rng.uniform(math.log(5 * MINUTES), math.log(2 * DAYS))))
        jobs.append(
            ElasticJob(
                id=f"j{i}",
                min_workers=least,
                max_workers=least * factor,
                gpus_per_worker=int(rng.choice(np.asarray(gpus_per_worker))),
                min_running_time=float(seconds),
            )
        )
    base = [job.base_gpus for job in jobs]
    needed = sum(base) if objective == "jct-reduction" else max(base)
    wanted = round(load * sum(job.max_workers * job.gpus_per_worker for job in jobs))
    capacity = sum(base) + spare_gpus if spare_gpus is not None else max(needed, wanted)
    data = ArylElastic(capacity_gpus=float(capacity), jobs=tuple(jobs), objective=objective, scaling_loss=scaling_loss)
    return Instance.of(data, f"aryl-{objective}-{n}-{seed}", f"elastic_jobs({n}, seed {seed})")


def loaned_servers(
    n: int,
    fragmentation: float,
    seed: int,
    reclaim: int,
    *,
    utilisation: float = 0.93,
    gpus_per_server: int = 8,
    flexible_servers: int = 0,
    elastic_share: float | None = None,
    objective: Loss = "preempted-jobs",
) -> Instance[ArylReclaim]:
    """Fill `n` loaned servers with jobs of 1 to 16 workers of 1 to 8 GPUs up to `utilisation` of the GPUs.

    - `n`, `seed`: number of servers with base workers, and the seed that jobs are drawn from.
    - `fragmentation`: probability that a worker goes to a random server that it fits on instead of the best fit among
      those in use (or an empty one where it fits on none of these): 0 is best fit, 1 is random.
    - `reclaim`: servers that go back.
    - `utilisation`: share of the GPUs that is in use at least; 93% is that of loaned servers in section 7.3.
    - `gpus_per_server`: GPUs of each server.
    - `flexible_servers`: further servers that host flexible workers only, of random jobs (section 5.3).
    - `elastic_share`: probability that a job goes on with half of its workers, whichever they are, the first half being
      its base workers; without it no job says how many workers it needs.
    - `objective`: with `lost-gpu-hours` every job has run for a time log-uniform from 5 minutes to 2 days.

    Raises ValueError for a fragmentation or a share that is no probability.
    """
    for name, share in (("fragmentation", fragmentation), ("elastic_share", elastic_share or 0.0)):
        refuse_outside(name, share, 0, 1)
    rng = np.random.default_rng(seed)
    free = np.full(n, gpus_per_server)
    placed: list[dict[int, int]] = []
    orders: list[list[int]] = []  # the servers of the workers of each job, one after the other
    while free.sum() > (1 - utilisation) * n * gpus_per_server:
        size = min(_draw(rng, GPUS_PER_WORKER), int(free.max()))
        held: dict[int, int] = {}
        order: list[int] = []
        for _ in range(_draw(rng, WORKERS_PER_JOB)):
            fitting = np.flatnonzero(free >= size)
            if not fitting.size:
                break
            if rng.random() < fragmentation:
                server = int(rng.choice(fitting))
            else:
                in_use = fitting[free[fitting] < gpus_per_server]
                server = int(in_use[np.argmin(free[in_use])]) if in_use.size else int(fitting[0])
            free[server] -= size
            held[server] = held.get(server, 0) + size
            order.append(server)
        placed.append(dict(sorted(held.items())))
        orders.append(order)
    hosts: list[list[str]] = [[] for _ in placed]
    for server in range(n, n + flexible_servers):
        for j in rng.choice(len(placed), size=min(4, len(placed)), replace=False):
            hosts[int(j)].append(f"s{server}")
    jobs = [
        LoanedJob(
            id=f"j{j}",
            servers=tuple(f"s{s}" for s in held),
            flexible_servers=tuple(hosts[j]),
            gpus=tuple(held.values()),
        )
        for j, held in enumerate(placed)
    ]
    kind = ""
    more = np.random.default_rng((seed, 1))  # draws of their own: the placement of a seed is the same with and without
    if elastic_share is not None:
        jobs = [_add_least(job, order, more.random() < elastic_share) for job, order in zip(jobs, orders, strict=True)]
        kind += f"-elastic{round(100 * elastic_share)}"
    if objective == "lost-gpu-hours":
        hours = exponentials(more.uniform(math.log(5 / 60), math.log(48), len(jobs))).tolist()
        jobs = [
            job.model_copy(update={"gpu_hours": round(h * sum(job.gpus or ()), 2)})
            for job, h in zip(jobs, hours, strict=True)
        ]
        kind += "-hours"
    servers = tuple(f"s{s}" for s in range(n + flexible_servers))
    data = ArylReclaim(servers=servers, jobs=tuple(jobs), reclaim=reclaim, objective=objective)
    name = f"aryl-reclaim-{n}-{round(100 * fragmentation)}pct{kind}-{reclaim}-{seed}"
    return Instance.of(data, name, f"loaned_servers({n}, {fragmentation:g}, seed {seed})")


def _add_least(job: LoanedJob, order: Sequence[int], elastic: bool) -> LoanedJob:
    """Return `job` with its workers on servers in this `order`, and the number it needs: half of them if `elastic`."""
    least = math.ceil(len(order) / 2) if elastic else len(order)
    workers, base = Counter(f"s{s}" for s in order), {f"s{s}" for s in order[:least]}
    workers.update(dict.fromkeys(job.flexible_servers, 1))
    held = dict(zip(job.servers, job.gpus or (), strict=True))
    kept = {server: gpus for server, gpus in held.items() if server in base}
    return LoanedJob(
        id=job.id,
        servers=tuple(kept),
        flexible_servers=(*(server for server in held if server not in base), *job.flexible_servers),
        gpus=tuple(kept.values()),
        workers=dict(workers),
        min_workers=least,
    )


def spread_jobs(n: int, jobs: int, seed: int, reclaim: int, *, most: int = 8) -> Instance[ArylReclaim]:
    """Draw `jobs` jobs, each on 1 to `most` random servers of `n`, without any best fit: hard for every bound.

    - `n`, `jobs`, `seed`: numbers of servers and jobs, and the seed that servers are drawn from.
    - `reclaim`: servers that go back.
    - `most`: the most servers of a job.
    """
    rng = np.random.default_rng(seed)
    spread = [rng.choice(n, size=int(rng.integers(1, most + 1)), replace=False) for _ in range(jobs)]
    data = ArylReclaim(
        servers=tuple(f"s{s}" for s in range(n)),
        jobs=tuple(
            LoanedJob(id=f"j{j}", servers=tuple(f"s{s}" for s in sorted(int(s) for s in on)))
            for j, on in enumerate(spread)
        ),
        reclaim=reclaim,
    )
    name = f"aryl-spread-{n}-{jobs}-{reclaim}-{seed}"
    return Instance.of(data, name, f"spread_jobs({n}, {jobs}, seed {seed})")


def _draw(rng: np.random.Generator, distribution: Sequence[tuple[int, float]]) -> int:
    values, weights = zip(*distribution, strict=True)
    return int(rng.choice(np.asarray(values), p=np.asarray(weights)))


GPUS = 8  # of a server


def placement_moment(
    training: int,
    loaned: int,
    seed: int,
    *,
    load: float = 0.8,
    in_use: float = 0.5,
    elastic_share: float = 0.25,
    any_gpu_share: float = 0.21,
    heterogeneous_share: float = 0.1,
    gpus_per_worker: Sequence[int] | None = None,
) -> Instance[ArylPlacement]:
    """Return the servers of 8 GPUs, and jobs of 1 to 16 base workers that fill `load` of what is free.

    - `training`, `loaned`, `seed`: numbers of servers, and the seed of all draws.
    - `load`: GPUs of all workers as a share of the free ones.
    - `in_use`: probability that a server is in use, by 1 to 7 of its GPUs.
    - `elastic_share`: probability that a job is elastic, with as many flexible workers as base workers at most.
    - `any_gpu_share`: probability that a job may use loaned servers; 21% is the paper's. Elastic jobs may.
    - `heterogeneous_share`: probability that a job which may use both may do so at once.
    - `gpus_per_worker`: GPUs of a worker, with equal probability; without it 1, 2, 4 and 8, small ones more often.

    Raises ValueError where there is no server.
    """
    if training + loaned < 1:
        raise ValueError(f"training, loaned: must be >= 1 server, got {training + loaned}")
    rng = np.random.default_rng(seed)
    servers = []
    kinds: list[tuple[Kind, int]] = [("training", training), ("loaned", loaned)]
    for kind, count in kinds:
        for i in range(count):
            held = int(rng.integers(1, GPUS)) if rng.random() < in_use else 0
            group: Part = "flexible" if rng.random() < 0.3 else "base"
            shown = group if held and kind == "loaned" else None
            servers.append(HostServer(id=f"{kind[0]}{i}", kind=kind, gpus=GPUS, free_gpus=GPUS - held, group=shown))
    free = {kind: sum(server.free_gpus for server in servers if server.kind == kind) for kind, _ in kinds}
    left, jobs = load * sum(free.values()), list[PlacedJob]()
    sizes = GPUS_PER_WORKER if gpus_per_worker is None else [(n, 1 / len(gpus_per_worker)) for n in gpus_per_worker]
    while True:
        gpus, workers = (int(rng.choice([n for n, _ in d], p=[p for _, p in d])) for d in (sizes, WORKERS_PER_JOB))
        elastic, any_gpu = rng.random() < elastic_share, rng.random() < any_gpu_share
        mixed, extra = rng.random() < heterogeneous_share, int(rng.integers(0, workers + 1))
        both = (elastic or any_gpu) and free["loaned"] > 0
        left -= gpus * (workers + (extra if elastic else 0))
        if jobs and left < 0:
            break
        jobs.append(
            PlacedJob(
                id=f"j{len(jobs)}",
                gpus_per_worker=gpus,
                base_workers=workers,
                flexible_workers=extra if elastic else 0,
                elastic=elastic,
                kinds=("training", "loaned") if both else ("training",),
                heterogeneous=both and mixed,
            )
        )
    data = ArylPlacement(servers=tuple(servers), jobs=tuple(jobs))
    name = f"aryl-placement-{training}-{loaned}-{seed}"
    return Instance.of(data, name, f"placement_moment({training}, {loaned}, seed {seed}): load {load:g}")
