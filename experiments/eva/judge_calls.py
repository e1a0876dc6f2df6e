"""A study of what the judge takes of its own: confining a program that does nothing, and checking its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from experiments.eva.judged import TASKS
from experiments.harness.experiment import Study, TextTable
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.judging.overhead import overhead
from instances import Options


def judge_calls(
    options: Options, repeats: Annotated[int, typer.Option(help="Calls of the judge.", min=1)] = 20
) -> Study:
    """Measure what a call of the judge takes of its own, on tasks of one case to fifty."""
    tasks = [Measurement.of(taken, options, None, task=name, repeats=repeats) for name in TASKS]

    def tables(outcomes: Sequence[Measured]) -> Iterator[TextTable | str]:
        rows = [
            [str(one["task"]), str(one["cases"]), f"{one['first_s']:.2f}"]
            + [f"{1000 * seconds:.0f}" for seconds in (one["call_s"], *one["wall_s"])]
            for one in (outcome.figures for outcome in outcomes)
        ]
        head = ["task", "cases", "first call, CPU s", "each other call, CPU ms", "wall ms, least", "median"]
        yield TextTable(head, rows)

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        return {
            "CPU ms of a call": Sample.of([1000 * o.figures["call_s"] for o in outcomes]),
            "wall ms of a call, least": Sample.of([1000 * o.figures["wall_s"][0] for o in outcomes]),
            "wall ms of a call, median": Sample.of([1000 * o.figures["wall_s"][1] for o in outcomes]),
            "CPU s of the first": Sample.of([o.figures["first_s"] for o in outcomes]),
        }

    return Study(tasks, lambda outcomes: list(tables(outcomes)), values=values)


def taken(task: str, repeats: int, options: Options) -> dict[str, Any]:
    """Return the overhead of calls of the judge on a task."""
    return overhead(TASKS[task](0), repeats)
