"""Helper until `aryl-placement` is a problem: best-fit decreasing placement (Aryl, section 5.3)."""

from __future__ import annotations

from instances.aryl.placement import PARTS, Cluster, Part, Server


def best_fit_decreasing(cluster: Cluster) -> tuple[Server, ...]:
    """Servers for all workers: jobs by decreasing GPUs per worker, each worker to the best fit in use.

    A worker that fits no server in use gets a new one. Ties go to the job first in the file and the oldest server.
    Inelastic jobs are on training servers, base and flexible workers on inference servers of their own.
    """
    servers: list[Server] = []
    for part in PARTS:
        servers += _pack(cluster, part)
    return tuple(servers)


def _pack(cluster: Cluster, part: Part) -> list[Server]:
    free: list[int] = []
    held: list[dict[str, int]] = []
    for job in sorted(cluster.jobs, key=lambda job: -job.gpus_per_worker):
        for _ in range(job.workers().get(part, 0)):
            fitting = [s for s, gpus in enumerate(free) if gpus >= job.gpus_per_worker]
            if fitting:
                server = min(fitting, key=lambda s: free[s])
            else:
                server = len(free)
                free.append(cluster.gpus_per_server)
                held.append({})
            free[server] -= job.gpus_per_worker
            held[server][job.id] = held[server].get(job.id, 0) + 1
    return [Server(part=part, workers=workers) for workers in held]
