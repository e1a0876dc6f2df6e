"""The task of pods on given nodes for the judge: all pods placed, with the fewest moves."""

from __future__ import annotations

from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from experiments.kubernetes.methods import METHODS
from instances.kubernetes import random_cluster


def placing(seed: int) -> JudgeTask:
    """Ten clusters of 20 nodes, nearly full, whose pods can all be placed, but not as they come."""
    made = [random_cluster(20, s, load=0.97) for s in range(seed, seed + 10)]
    return task_of("node-placement", "pods on 20 nodes, by moves", METHODS["node-placement"][0], made)


TASKS: dict[str, Drawn] = {"node-placement": placing}
