"""Tasks of Aryl for the judge: which servers go back, and how many GPUs each job gets."""

from __future__ import annotations

from experiments.aryl.methods import METHODS
from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from instances.aryl import elastic_jobs, loaned_servers


def reclaiming(seed: int) -> JudgeTask:
    """Four spreads of 600 loaned servers of which 60 go back, a third of the jobs placed at random."""
    made = [loaned_servers(600, 0.35, s, 60) for s in range(seed, seed + 4)]
    return task_of("aryl-reclaim", "60 of 600 servers go back", METHODS["aryl-reclaim"][0], made)


def two_phase(seed: int) -> JudgeTask:
    """Ten sets of six jobs, three in four elastic, by mean JCT."""
    made = [elastic_jobs(6, s, objective="mean-jct", elastic_share=0.75) for s in range(seed, seed + 10)]
    return task_of("aryl-elastic", "GPUs for six jobs, by mean JCT", METHODS["aryl-elastic"][0], made)


TASKS: dict[str, Drawn] = {"aryl-reclaim": reclaiming, "aryl-elastic": two_phase}
