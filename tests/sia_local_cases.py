"""Random small instances of the oracle with locality, and their optima by enumeration."""

from __future__ import annotations

import random
from itertools import product

from instances import check
from instances.sia import LocalJob, Pool, SiaLocalOracle


def crowded(seed: int, jobs: int, pools: int | None = None) -> SiaLocalOracle:
    """Pools of one server each, and jobs of up to 9 slots that come within 4."""
    rng = random.Random(seed)
    owned = [Pool(name=f"p{i}", gpus=8) for i in range(rng.choice((2, 3)) if pools is None else pools)]
    return SiaLocalOracle(
        slot_minutes=1.0,
        pools=tuple(owned),
        jobs=tuple(
            LocalJob(
                id=f"j{k}",
                pool=rng.choice(owned).name,
                submit=rng.randint(0, 3),
                duration=rng.randint(1, 9),
                gpus=rng.choice((2, 4, 4, 8, 1)),
            )
            for k in range(jobs)
        ),
    )


def best_local_delay(data: SiaLocalOracle) -> float:
    """The least delay over all starts and servers that the checker lets pass; no sharing is one of them."""
    names = [job.id for job in data.jobs]
    windows = [range(job.submit, cutoff + 1) for job, cutoff in zip(data.jobs, data.cutoffs, strict=True)]
    best = float("inf")
    for starts in product(*windows):
        delay = sum(start - job.submit for start, job in zip(starts, data.jobs, strict=True))
        if delay >= best:
            continue
        for servers in product(range(data.servers), repeat=len(names) - 1):
            solution = {
                "starts": dict(zip(names, starts, strict=True)),
                "servers": dict(zip(names, (0, *servers), strict=True)),  # servers are alike
            }
            if not check(data, solution).violations:
                best = delay
                break
    return best
