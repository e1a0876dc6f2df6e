"""Measure the overhead of a call of the judge with an empty program: CPU seconds, and seconds of waiting."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from experiments.judging.judge import JudgeTask, ProgramJudge

NOTHING = "def solve(*_):\n    return {}\n\n\nget_best_schedule = solve\n"
"""An empty program that defines the function names that tasks call."""


def overhead(task: JudgeTask, repeats: int) -> dict[str, Any]:
    """Return the CPU seconds of all processes for the first call of a judge, and for each further call.

    The first call starts the judge's process. `wall_s`: wall-clock seconds of a further call, minimum and median. If
    the machine also does other work, the minimum is that of a call without waiting.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "nothing.py"
        program.write_text(NOTHING)
        spent, waited = [], list[float]()
        for number in (1, 1 + repeats):
            begun = _measure_cpu_s()
            with ProgramJudge(task) as judge:
                for _ in range(number):
                    started = time.perf_counter()
                    judge(program)
                    waited.append(time.perf_counter() - started)
            spent.append(_measure_cpu_s() - begun)  # the process and its children have ended and been waited for
    further = waited[2:]  # excludes the first call of each judge
    return {
        "task": task.name,
        "cases": len(task.cases),
        "first_s": spent[0],
        "call_s": (spent[1] - spent[0]) / repeats,
        "wall_s": (min(further), median(further)),
    }


def _measure_cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
