"""Draw small SIA instances."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from instances.sia import Job, Pool, SiaOracle


@st.composite
def oracles(draw: st.DrawFn, most_jobs: int = 7, most_pools: int = 3, late: int = 6) -> SiaOracle:
    """Draw pools of 1 to 4 GPUs with jobs of up to 6 slots, submitted within `late` slots."""
    pools = [Pool(name=f"p{i}", gpus=draw(st.integers(1, 4))) for i in range(draw(st.integers(1, most_pools)))]
    jobs = []
    for k in range(draw(st.integers(1, most_jobs))):
        pool = draw(st.sampled_from(pools))
        jobs.append(
            Job(
                id=f"j{k}",
                pool=pool.name,
                submit=draw(st.integers(0, late)),
                duration=draw(st.integers(1, 6)),
                gpus=draw(st.integers(1, pool.gpus)),
            )
        )
    return SiaOracle(slot_minutes=1.0, pools=tuple(pools), jobs=tuple(jobs))


def schedules(data: SiaOracle) -> int:
    """How many schedules enumeration would go through."""
    count = 1
    for job, cutoff in zip(data.jobs, data.cutoffs, strict=True):
        count *= cutoff - job.submit + 1
    return count


def crowd(latest_start: int) -> SiaOracle:
    """Three jobs of three slots on one GPU, submitted together."""
    jobs = tuple(Job(id=f"j{k}", pool="p", submit=0, duration=3, gpus=1, latest_start=latest_start) for k in range(3))
    return SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=1),), jobs=jobs)


def made(
    *jobs: tuple[str, int, int, int], pools: tuple[tuple[str, int], ...] = (("p", 2), ("q", 2)), **options: Any
) -> SiaOracle:
    """Build an instance of jobs (pool, submission, duration, GPUs), named j0, j1, ..., and pools (name, GPUs)."""
    return SiaOracle(
        slot_minutes=1.0,
        pools=tuple(Pool(name=name, gpus=gpus) for name, gpus in pools),
        jobs=tuple(Job(id=f"j{i}", pool=p, submit=s, duration=d, gpus=n) for i, (p, s, d, n) in enumerate(jobs)),
        **options,
    )
