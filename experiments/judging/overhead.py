"""What a call of the judge takes of its own: CPU seconds of a program that answers nothing, on every task."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.harness.experiment import Study, TextTable
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.judging.judge import ProgramJudge
from experiments.papers import JUDGED
from instances import Options

NOTHING = "def solve(*_):\n    return {}\n\n\nget_best_schedule = solve\n"
"""A program that does nothing, by the names that tasks call."""


def overhead(
    options: Options,
    task: Annotated[list[str] | None, typer.Option(help="Of this task.", show_default="all")] = None,
    repeats: Annotated[int, typer.Option(help="Calls of the judge.", min=1)] = 20,
) -> Study:
    """Measure what a call of the judge takes of its own: confining a program that does nothing, and checking it."""
    tasks = [Measurement.of(calls, options, None, task=name, repeats=repeats) for name in task or JUDGED]

    def tables(outcomes: Sequence[Measured]) -> Iterator[TextTable | str]:
        rows = [
            [str(one["task"]), str(one["cases"]), f"{one['first_s']:.2f}", f"{one['call_s'] * 1000:.0f}"]
            for one in (outcome.figures for outcome in outcomes)
        ]
        yield TextTable(["task", "cases", "first call, CPU s", "each other call, CPU ms"], rows)

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        return {
            "CPU ms of a call": Sample.of([1000 * o.figures["call_s"] for o in outcomes]),
            "CPU s of the first": Sample.of([o.figures["first_s"] for o in outcomes]),
        }

    return Study(tasks, lambda outcomes: list(tables(outcomes)), values=values)


def calls(task: str, repeats: int, options: Options) -> dict[str, Any]:
    """CPU seconds of the first call of a judge, which begins its process, and of each further one; all processes'."""
    made = JUDGED[task](0)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "nothing.py"
        program.write_text(NOTHING)
        spent = []
        for number in (1, 1 + repeats):
            begun = _used()
            with ProgramJudge(made) as judge:
                for _ in range(number):
                    judge(program)
            spent.append(_used() - begun)  # the process has been waited for, and all that it began
    return {"task": task, "cases": len(made.cases), "first_s": spent[0], "call_s": (spent[1] - spent[0]) / repeats}


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
