"""What a call of the judge takes of its own, of a program that answers nothing: CPU seconds, and seconds to wait."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from experiments.judging.judge import JudgeTask, ProgramJudge

NOTHING = "def solve(*_):\n    return {}\n\n\nget_best_schedule = solve\n"
"""A program that does nothing, by the names that tasks call."""


def overhead(task: JudgeTask, repeats: int) -> dict[str, Any]:
    """CPU seconds of the first call of a judge, which begins its process, and of each further one; all processes'.

    `wall_s`: seconds until a further call returns, the least and the median. Beside other work on the machine the
    least is that of a call which was not kept waiting.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "nothing.py"
        program.write_text(NOTHING)
        spent, waited = [], list[float]()
        for number in (1, 1 + repeats):
            begun = _used()
            with ProgramJudge(task) as judge:
                for _ in range(number):
                    started = time.perf_counter()
                    judge(program)
                    waited.append(time.perf_counter() - started)
            spent.append(_used() - begun)  # the process has been waited for, and all that it began
    further = waited[2:]  # without the first of either judge
    return {
        "task": task.name,
        "cases": len(task.cases),
        "first_s": spent[0],
        "call_s": (spent[1] - spent[0]) / repeats,
        "wall_s": (min(further), median(further)),
    }


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
