"""The task of SIA for the judge: when each job of half a day starts, all of them known."""

from __future__ import annotations

from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from experiments.sia.methods import METHODS
from experiments.sia.reference import HALF_DAYS
from instances.sia import synthetic


def starts(seed: int) -> JudgeTask:
    """Half days of the base workload, ten of those in the library, or four that begin with another seed."""
    seeds = HALF_DAYS if seed == 0 else range(seed, seed + 4)
    made = [synthetic("base", s, days=0.5) for s in seeds]
    return task_of("sia-starts", "starts of the jobs of half a day", METHODS["sia-oracle"][0], made)


TASKS: dict[str, Drawn] = {"sia-starts": starts}
