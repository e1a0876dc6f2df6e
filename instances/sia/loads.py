"""The load that each pool of an instance really has, which pools sized in whole GPUs for wide jobs may miss."""

from __future__ import annotations

from instances.sia.oracle import SiaOracle


def pool_loads(data: SiaOracle, *, within: bool = False) -> dict[str, float]:
    """GPU time of the jobs of each pool over the GPU time that it owns, from the first submission of all to the last.

    All work counts that is submitted, also what would run beyond the last submission; with `within` only what a job
    would do by then if it started at once.
    """
    first = min(job.submit for job in data.jobs)
    last = max(job.submit for job in data.jobs)
    work = dict.fromkeys((pool.name for pool in data.pools), 0)
    for job in data.jobs:
        work[job.pool] += job.gpus * (min(job.duration, last - job.submit) if within else job.duration)
    return {pool.name: work[pool.name] / (pool.gpus * max(1, last - first)) for pool in data.pools}
