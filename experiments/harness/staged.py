"""Studies in stages: which runs come next is told by the outcomes of those before."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from experiments.harness.experiment import Study
from experiments.harness.task import HarnessTask

Tasks = Sequence[HarnessTask[Any]]
Stages = Generator[Tasks, Sequence[Any], None]
"""The tasks of one stage after the other, none of them empty; it is sent the outcomes of each."""


@dataclass(frozen=True, kw_only=True)
class StagedStudy(Study):
    """A study whose `tasks` are those of the first of its stages. Outcomes are those of all, one after the other."""

    stages: Callable[[], Stages]


def following(study: Study, outcomes: Sequence[Any]) -> Tasks:
    """The tasks of the stage that follows on these outcomes; none after the last."""
    return after(_stages_of(study), outcomes)


def _stages_of(study: Study) -> Stages:
    if isinstance(study, StagedStudy):
        yield from study.stages()
    else:
        yield study.tasks


def after(stages: Stages, outcomes: Sequence[Any]) -> Tasks:
    """The tasks that follow on these outcomes."""
    left = list(outcomes)
    with suppress(StopIteration):
        tasks = next(stages)
        while left:
            mine, left = left[: len(tasks)], left[len(tasks) :]
            tasks = stages.send(mine)
        return tasks
    return ()


def side_by_side(each: Sequence[Stages]) -> Stages:
    """The first stages of all at once, then the second ones, and so on."""
    going = [(stages, next(stages)) for stages in each]
    while going:
        outcomes = yield [task for _, tasks in going for task in tasks]
        left, before, going = list(outcomes), going, []
        for stages, tasks in before:
            mine, left = left[: len(tasks)], left[len(tasks) :]
            with suppress(StopIteration):
                going.append((stages, stages.send(mine)))


def of_each(studies: Sequence[Study]) -> tuple[list[list[Any]], Stages]:
    """The stages of several studies side by side; as they go on, the outcomes of each are put into its list."""
    found: list[list[Any]] = [[] for _ in studies]
    return found, side_by_side([_noted(_stages_of(one), mine) for one, mine in zip(studies, found, strict=True)])


def _noted(stages: Stages, found: list[Any]) -> Stages:
    with suppress(StopIteration):
        tasks = next(stages)
        while True:
            outcomes = yield tasks
            found += outcomes
            tasks = stages.send(outcomes)
