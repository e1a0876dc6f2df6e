"""Seeded random moments of placement: servers of which some are in use, and jobs whose workers are to be placed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from instances.aryl.generators import GPUS_PER_WORKER, WORKERS_PER_JOB
from instances.aryl.online import Kind, Part
from instances.aryl.placement import ArylPlacement, HostServer, PlacedJob
from instances.envelope import Instance

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
    """Servers of 8 GPUs, and jobs of 1 to 16 base workers that fill `load` of what is free.

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
