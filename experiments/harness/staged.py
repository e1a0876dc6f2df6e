"""Studies in stages: the outcomes of earlier stages determine the next runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from experiments.harness.experiment import Study
from experiments.harness.task import HarnessTask

Tasks = Sequence[HarnessTask[Any]]
Stages = Generator[Tasks, Sequence[Any], None]
"""A generator of the tasks of each stage, none empty. It is sent the outcomes of each stage."""


@dataclass(frozen=True, kw_only=True)
class StagedStudy(Study):
    """A study whose `tasks` are those of its first stage. Its outcomes are those of all stages, in order."""

    stages: Callable[[], Stages]


def following(study: Study, outcomes: Sequence[Any]) -> Tasks:
    """Return the tasks of the stage after these outcomes; empty after the last stage."""
    return after(_stages_of(study), outcomes)


def _stages_of(study: Study) -> Stages:
    if isinstance(study, StagedStudy):
        yield from study.stages()
    else:
        yield study.tasks


def after(stages: Stages, outcomes: Sequence[Any]) -> Tasks:
    """Return the tasks after these outcomes; empty after the last stage."""
    left = list(outcomes)
    with suppress(StopIteration):
        tasks = next(stages)
        while left:
            mine, left = left[: len(tasks)], left[len(tasks) :]
            tasks = stages.send(mine)
        return tasks
    return ()


def side_by_side(each: Sequence[Stages]) -> Stages:
    """Combine stages: yield the tasks of all first stages together, then those of all second stages, and so on."""
    going = [(stages, next(stages)) for stages in each]
    while going:
        outcomes = yield [task for _, tasks in going for task in tasks]
        left, before, going = list(outcomes), going, []
        for stages, tasks in before:
            mine, left = left[: len(tasks)], left[len(tasks) :]
            with suppress(StopIteration):
                going.append((stages, stages.send(mine)))


def of_each(studies: Sequence[Study]) -> tuple[list[list[Any]], Stages]:
    """Combine the stages of several studies, and return them with one list per study that collects its outcomes."""
    found: list[list[Any]] = [[] for _ in studies]
    return found, side_by_side([_noted(_stages_of(one), mine) for one, mine in zip(studies, found, strict=True)])


def _noted(stages: Stages, found: list[Any]) -> Stages:
    with suppress(StopIteration):
        tasks = next(stages)
        while True:
            outcomes = yield tasks
            found += outcomes
            tasks = stages.send(outcomes)
