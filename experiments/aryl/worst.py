"""Spaces of worst cases of Aryl, and its tasks for the judge."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Literal

from experiments.aryl.methods import METHODS
from experiments.harness.experiment import Quick, Study
from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from experiments.worst_cases.space import RepeatedEntries
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options, aryl
from instances.aryl import ArylElastic, ArylReclaim, ElasticJob, LoanedJob

WORKERS = ((1, 2), (1, 3), (2, 3), (2, 4), (2, 6))
SECONDS = (1.0, 2.0, 5.0, 20.0, 100.0)
SERVERS = ("s1", "s2", "s3", "s4")
HOURS = (0.1, 10.0, 1000.0)


def elastic_jobs(objective: Literal["jct-reduction", "mean-jct"] = "jct-reduction") -> RepeatedEntries:
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
    data = ArylElastic(capacity_gpus=8.0, jobs=jobs[:1], objective=objective)
    name = "aryl-elastic-jobs" if objective == "jct-reduction" else f"aryl-elastic-{objective}"
    return RepeatedEntries(Instance.of(data, name, "Aryl (arXiv:2202.07896), as in Tables 2 and 4"), jobs)


def spread_jobs() -> RepeatedEntries:
    """Jobs on any of four servers, two of which go back, as in Figure 5."""
    spreads = [held for n in range(1, 5) for held in itertools.combinations(SERVERS, n)]
    jobs = tuple(LoanedJob(id="-".join(held), servers=held) for held in spreads)
    data = ArylReclaim(servers=SERVERS, jobs=jobs, reclaim=2)
    return RepeatedEntries(Instance.of(data, "aryl-spread-jobs", "Aryl (arXiv:2202.07896), as in Figure 5"))


def lost_hours() -> RepeatedEntries:
    """Return the same jobs by the work that a preemption loses: 0.1, 10 or 1,000 GPU-hours."""
    base = spread_jobs().base
    jobs = tuple(
        job.model_copy(update={"id": f"{job.id}-{hours:g}h", "gpu_hours": hours})
        for hours in HOURS
        for job in base.data.jobs
    )
    data = base.data.with_(jobs=jobs, objective="lost-gpu-hours")
    return RepeatedEntries(Instance.of(data, "aryl-lost-hours", base.source))


SPACES = {
    "aryl-elastic": {"elastic-jobs": elastic_jobs, "elastic-mean-jct": partial(elastic_jobs, "mean-jct")},
    "aryl-reclaim": {"spread-jobs": spread_jobs, "lost-hours": lost_hours},
}
ELASTIC = ("two-phase", "fifo", "afs", "gandiva", "equal-split")
SWEEPS = (
    Sweep("aryl-elastic", "elastic-jobs", 3, (4,), ELASTIC),
    Sweep("aryl-elastic", "elastic-mean-jct", 2, (3,), ELASTIC),
    Sweep("aryl-reclaim", "spread-jobs", 4, (6,), seeds=30),
    Sweep("aryl-reclaim", "lost-hours", 2, (3,), seeds=30),
)


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the heuristics of Aryl."""
    return study_of("aryl", SWEEPS, options, quick)


def reclaiming(seed: int) -> JudgeTask:
    """Four spreads of 600 loaned servers of which 60 go back, a third of the jobs placed at random."""
    made = [aryl.loaned_servers(600, 0.35, s, 60) for s in range(seed, seed + 4)]
    return task_of("aryl-reclaim", "60 of 600 servers go back", METHODS["aryl-reclaim"][0], made)


def two_phase(seed: int) -> JudgeTask:
    """Ten sets of six jobs, three in four elastic, by mean JCT."""
    made = [aryl.elastic_jobs(6, s, objective="mean-jct", elastic_share=0.75) for s in range(seed, seed + 10)]
    return task_of("aryl-elastic", "GPUs for six jobs, by mean JCT", METHODS["aryl-elastic"][0], made)


TASKS: dict[str, Drawn] = {"aryl-reclaim": reclaiming, "aryl-elastic": two_phase}
