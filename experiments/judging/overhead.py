"""What a call of the judge takes of its own: CPU seconds of a program that answers nothing."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.judging.judge import JudgeTask, ProgramJudge

NOTHING = "def solve(*_):\n    return {}\n\n\nget_best_schedule = solve\n"
"""A program that does nothing, by the names that tasks call."""


def overhead(task: JudgeTask, repeats: int) -> dict[str, Any]:
    """CPU seconds of the first call of a judge, which begins its process, and of each further one; all processes'."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "nothing.py"
        program.write_text(NOTHING)
        spent = []
        for number in (1, 1 + repeats):
            begun = _used()
            with ProgramJudge(task) as judge:
                for _ in range(number):
                    judge(program)
            spent.append(_used() - begun)  # the process has been waited for, and all that it began
    return {"task": task.name, "cases": len(task.cases), "first_s": spent[0], "call_s": (spent[1] - spent[0]) / repeats}


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
