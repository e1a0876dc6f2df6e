"""Tasks of Eva for the judge: samples of Table 7, and rounds of a running cluster."""

from __future__ import annotations

from experiments.eva import prism, transactions
from experiments.eva.methods import METHODS
from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from instances.eva import random_round, table_7


def packing(seed: int) -> JudgeTask:
    """Build the task of thirty samples of 200 tasks of Table 7, as in Table 4."""
    made = [table_7(200, s) for s in range(seed, seed + 30)]
    return task_of("eva-packing", "rent instances for 200 tasks", METHODS["eva-packing"][0], made)


def rounds(seed: int) -> JudgeTask:
    """Build the task of ten rounds of clusters with 40 tasks: which instances to keep, and which to rent."""
    made = [random_round(40, s) for s in range(seed, seed + 10)]
    return task_of("eva-rounds", "the next configuration of 40 tasks", METHODS["eva-reconfiguration"][0], made)


TASKS: dict[str, Drawn] = {
    "eva-packing": packing,
    "eva-rounds": rounds,
    "prism": prism.judged,
    "transactions": transactions.judged,
}
