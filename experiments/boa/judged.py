"""The task of BOA for the judge: widths under a budget, with rescaling."""

from __future__ import annotations

from experiments.boa.methods import METHODS
from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from instances.boa import random_allocation


def widths(seed: int) -> JudgeTask:
    """Eight sets of five classes of up to 60 epochs, whose jobs stop for an epoch when they change their width."""
    made = [random_allocation(5, 60, 64, rescale=1.0, seed=s) for s in range(seed, seed + 8)]
    return task_of("boa-widths", "widths of five classes with rescaling", METHODS["boa-allocation"][0], made)


TASKS: dict[str, Drawn] = {"boa-widths": widths}
