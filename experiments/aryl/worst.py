"""Spaces of Aryl: elastic jobs on eight GPUs, and jobs that are spread over four loaned servers."""

from __future__ import annotations

import itertools

from experiments.harness.experiment import Study
from experiments.worst_cases.space import RepeatedEntries
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options
from instances.aryl import ArylElastic, ArylReclaim, ElasticJob, LoanedJob

WORKERS = ((1, 2), (1, 3), (2, 3), (2, 4), (2, 6))
SECONDS = (1.0, 2.0, 5.0, 20.0, 100.0)
SERVERS = ("s1", "s2", "s3", "s4")


def elastic_jobs() -> RepeatedEntries:
    """Jobs like those of Tables 2 and 4, on eight GPUs."""
    jobs = tuple(
        ElasticJob(
            id=f"{least}-to-{most}-workers-{seconds:g}s",
            min_workers=least,
            max_workers=most,
            gpus_per_worker=1,
            min_running_time=seconds,
        )
        for least, most in WORKERS
        for seconds in SECONDS
    )
    data = ArylElastic(capacity_gpus=8.0, jobs=jobs[:1], objective="jct-reduction")
    base = Instance.of(data, "aryl-elastic-jobs", "Aryl (arXiv:2202.07896), as in Tables 2 and 4")
    return RepeatedEntries(base, jobs)


def spread_jobs() -> RepeatedEntries:
    """Jobs on any of four servers, two of which go back, as in Figure 5."""
    spreads = [held for n in range(1, 5) for held in itertools.combinations(SERVERS, n)]
    jobs = tuple(LoanedJob(id="-".join(held), servers=held) for held in spreads)
    data = ArylReclaim(servers=SERVERS, jobs=jobs, reclaim=2)
    return RepeatedEntries(Instance.of(data, "aryl-spread-jobs", "Aryl (arXiv:2202.07896), as in Figure 5"))


SPACES = {"aryl-elastic": {"elastic-jobs": elastic_jobs}, "aryl-reclaim": {"spread-jobs": spread_jobs}}
ELASTIC = ("two-phase", "fifo", "afs", "gandiva", "equal-split")
SWEEPS = (Sweep("aryl-elastic", "elastic-jobs", 3, (4,), ELASTIC), Sweep("aryl-reclaim", "spread-jobs", 4, (12,)))


def worst_cases(options: Options) -> Study:
    """Worst cases of the heuristics of Aryl."""
    return study_of("aryl", SWEEPS, options)
