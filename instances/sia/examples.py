"""The smallest workload on which Figure 6, read literally, breaks Theorem 1."""

from __future__ import annotations

from instances.envelope import Instance, Reference
from instances.sia.oracle import Job, Pool, SiaOracle


def five_jobs() -> Instance[SiaOracle]:
    """Two pools of 2 GPUs and five jobs on which Figure 6, read literally, delays a job past the cut-off."""
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
