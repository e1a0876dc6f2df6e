"""Tasks of Eva for the judge: samples of Table 7, and rounds of a running cluster; and the overhead of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from experiments.eva import prism, transactions
from experiments.eva.methods import METHODS
from experiments.harness.experiment import Study, TextTable
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.judging.judge import JudgeTask
from experiments.judging.overhead import overhead
from experiments.judging.problems import Drawn, task_of
from instances import Options
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
    "prism": prism.build_task,
    "transactions": transactions.build_task,
}


def judge_calls(
    options: Options, repeats: Annotated[int, typer.Option(help="Calls of the judge.", min=1)] = 20
) -> Study:
    """Measure what a call of the judge takes of its own, on tasks of one case to fifty."""
    tasks = [Measurement.of(measure_overhead, options, None, task=name, repeats=repeats) for name in TASKS]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable]:
        rows = [
            [str(one["task"]), str(one["cases"]), f"{one['first_s']:.2f}"]
            + [f"{1000 * seconds:.0f}" for seconds in (one["call_s"], *one["wall_s"])]
            for one in (outcome.figures for outcome in outcomes)
        ]
        head = ["task", "cases", "first call, CPU s", "each other call, CPU ms", "wall ms, least", "median"]
        return [TextTable(head, rows)]

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        figures = [outcome.figures for outcome in outcomes]
        return {
            "CPU ms of a call": Sample.of([1000 * one["call_s"] for one in figures]),
            "wall ms of a call, least": Sample.of([1000 * one["wall_s"][0] for one in figures]),
            "wall ms of a call, median": Sample.of([1000 * one["wall_s"][1] for one in figures]),
            "CPU s of the first": Sample.of([one["first_s"] for one in figures]),
        }

    return Study(tasks, tables, values=values)


def measure_overhead(task: str, repeats: int, options: Options) -> dict[str, Any]:
    """Return the overhead of calls of the judge on a task."""
    return overhead(TASKS[task](0), repeats)
