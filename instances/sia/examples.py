"""The smallest workload on which Figure 6, read literally, breaks Theorem 1, and one on which locality costs time."""

from __future__ import annotations

from instances.envelope import Instance, Reference
from instances.sia.local_oracle import LocalJob, SiaLocalOracle
from instances.sia.oracle import Job, Pool, SiaOracle


def five_jobs() -> Instance[SiaOracle]:
    """Build two pools of 2 GPUs and five jobs on which Figure 6, read literally, delays a job past the cut-off."""
    jobs = [("p0", 0, 2, 2), ("p1", 0, 4, 1), ("p0", 0, 1, 2), ("p0", 1, 5, 1), ("p1", 2, 3, 2)]
    data = SiaOracle(
        slot_minutes=1.0,
        pools=(Pool(name="p0", gpus=2), Pool(name="p1", gpus=2)),
        jobs=tuple(
            Job(id=f"j{i}", pool=pool, submit=submit, duration=duration, gpus=gpus)
            for i, (pool, submit, duration, gpus) in enumerate(jobs)
        ),
    )
    reference = Reference(objective=3.0, bound=3.0, proved_by="enumeration of all schedules")
    return Instance.of(
        data, "sia-five-jobs", "smallest workload on which Figure 6 read literally breaks Theorem 1", reference
    )


def six_jobs() -> Instance[SiaLocalOracle]:
    """Build two servers and six jobs that wait 3 slots in total if they may move, and 6 slots otherwise."""
    jobs = [("p0", 3, 4, 2), ("p0", 2, 2, 8), ("p1", 2, 3, 2), ("p0", 3, 3, 8), ("p1", 0, 8, 4), ("p1", 2, 6, 2)]
    data = SiaLocalOracle(
        slot_minutes=1.0,
        pools=(Pool(name="p0", gpus=8), Pool(name="p1", gpus=8)),
        jobs=tuple(
            LocalJob(id=f"j{i}", pool=pool, submit=submit, duration=duration, gpus=gpus)
            for i, (pool, submit, duration, gpus) in enumerate(jobs)
        ),
    )
    reference = Reference(objective=6.0, bound=6.0, proved_by="enumeration of all schedules")
    return Instance.of(data, "sia-six-jobs", "jobs that wait because they cannot move between servers", reference)
