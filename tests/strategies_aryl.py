"""Random small instances of Aryl's problems for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from instances.aryl import ArylElastic, ArylReclaim, ElasticJob, LoanedJob


@st.composite
def elastic(draw: st.DrawFn, objective: str, most_jobs: int = 3, most_extra: int = 2) -> ArylElastic:
    """Up to `most_jobs` jobs of 1 to 2 base workers and up to `most_extra` more, linear or imperfect scaling."""
    jobs = []
    for i in range(draw(st.integers(1, most_jobs))):
        least = draw(st.integers(1, 2))
        jobs.append(
            ElasticJob(
                id=f"j{i}",
                min_workers=least,
                max_workers=least + draw(st.integers(0, most_extra)),
                gpus_per_worker=draw(st.integers(1, 3)),
                min_running_time=float(draw(st.integers(1, 40))),
            )
        )
    base = [job.base_gpus for job in jobs]
    least_gpus = sum(base) if objective == "jct-reduction" else max(base)
    capacity = least_gpus + draw(st.integers(0, 8))
    loss = draw(st.sampled_from([0.0, 0.1, 0.5]))
    return ArylElastic(capacity_gpus=float(capacity), jobs=tuple(jobs), objective=objective, scaling_loss=loss)


@st.composite
def reclaims(draw: st.DrawFn, most_servers: int = 8, most_jobs: int = 8) -> ArylReclaim:
    """Up to `most_servers` servers and `most_jobs` jobs on up to four of them."""
    servers = tuple(f"s{i}" for i in range(draw(st.integers(1, most_servers))))
    some = st.lists(st.sampled_from(servers), min_size=1, max_size=4, unique=True)
    jobs = tuple(LoanedJob(id=f"j{i}", servers=tuple(draw(some))) for i in range(draw(st.integers(0, most_jobs))))
    return ArylReclaim(servers=servers, jobs=jobs, reclaim=draw(st.integers(0, len(servers))))
