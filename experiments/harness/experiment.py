"""Experiments: a table or a figure of a paper with its claims, or a table of our own, and the runs that they take."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.harness.sample import ENOUGH_SEEDS, Sample
from experiments.harness.task import Digests, HarnessTask
from instances import InputError, Options

Verdict = Literal["reproduced", "near", "differs", "impossible", "not comparable", "few runs", "no figure", "not run"]
"""`impossible`: the paper's own figures contradict each other under every reading; `not comparable`: what is measured
is another thing, as the note says; `few runs`: not near the paper's figure, but on fewer seeds or shorter runs than a
sentence against a paper takes; `no figure`: a picture of the paper without numbers; `not run`: a trace is missing."""
AGAINST: tuple[Verdict, ...] = ("differs", "impossible")
"""Verdicts against a paper."""
Quick = Annotated[
    bool, typer.Option("--quick", help="Few and small instances, for a look, and for the record's probe.")
]
"""The flag of a study with which it takes seconds."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, compared with our measurement.

    `where`: the table, figure or section. `what`: the measured quantity, with its unit. `paper`, `ours`: figures, or
    words. `note`: data, number of seeds, or why the two differ. `sample`: the seeds behind `ours`. `name`: by which
    pages take the figure from its record; `where` and `what` where it is empty. A claim against the paper says more:
    `sentence`, the paper's own words or their place; `readings`, every other reading that was tried with what it gave;
    `would_change`, what would change our mind.
    """

    where: str
    what: str
    paper: float | str | None
    ours: float | str | None
    verdict: Verdict
    note: str = ""
    sample: Sample | None = None
    sentence: str = ""
    readings: tuple[str, ...] = ()
    would_change: str = ""
    name: str = ""

    def when_cut(self) -> Claim:
        """Return the claim for shortened runs, which never contradict the paper."""
        return replace(self, verdict="few runs") if self.verdict in AGAINST else self


def compare_figure(
    where: str, what: str, paper: float, ours: float, *, within: float = 0.03, near: float = 0.1, note: str = ""
) -> Claim:
    """Compare a figure of the paper with ours: `reproduced` or `near` within a share of it, or `differs`."""
    off = abs(ours - paper) / max(abs(paper), 1e-9)
    verdict: Verdict = "reproduced" if off <= within else "near" if off <= near else "differs"
    return Claim(where, what, paper, ours, verdict, note)


def compare_mean(
    where: str,
    what: str,
    paper: float,
    sample: Sample,
    *,
    within: float = 0.03,
    near: float = 0.1,
    note: str = "",
    **more: Any,
) -> Claim:
    """Compare a figure of the paper with the mean of a sample of ours; `more`: further fields of the claim.

    The mean decides `reproduced` and `near`, as in `compare_figure`. `differs` takes enough seeds and an interval that
    does not reach the paper's figure; else it is `few runs`.
    """
    claim = compare_figure(where, what, paper, sample.mean, within=within, near=near, note=note)
    claim = replace(claim, sample=sample, **more)
    if claim.verdict == "differs":
        reached = sample.low is None or sample.high is None or sample.low <= paper <= sample.high
        if reached or sample.seeds < ENOUGH_SEEDS:
            return claim.when_cut()
    return claim


@dataclass(frozen=True)
class Context:
    """The arguments of the command: the folder of traces, the options of every run, and whether few runs suffice."""

    traces: Path | None = None
    options: Options = Options()
    quick: bool = False
    read: dict[str, Path] = field(default_factory=dict, compare=False)
    lacked: dict[str, InputError] = field(default_factory=dict, compare=False)

    def trace(self, name: str) -> Path:
        """Return the file of a trace, from the folder of its paper's data or from the folder of traces.

        It is noted among those that are `read`, or `lacked`. Raises InputError where it is in neither.
        """
        why = f"--traces: needed, for {name}"
        if self.traces is not None:
            for place in (self.traces / name, self.traces / Path(name).name):
                if place.is_file():
                    self.read[name] = place
                    return place
            why = f"{self.traces / name}: No such file or directory"
        self.lacked[name] = InputError(why)
        raise self.lacked[name]

    def find_files(self, names: Iterable[str]) -> dict[str, Path]:
        """Return the files of those traces that are there."""
        found = {}
        for name in names:
            with suppress(InputError):
                found[name] = self.trace(name)
        return found


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper.

    `name`: as in `--only`. `title`: its subject. `traces`: files under `--traces` without which it is not run.
    `tasks(context)`: the runs. `claims(context, outcomes)`: statements, from the outcomes in the
    order of the tasks. `draw(path, context, outcomes)`: the picture, as SVG.
    """

    name: str
    title: str
    tasks: Callable[[Context], Sequence[HarnessTask[Any]]]
    claims: Callable[[Context, Sequence[Any]], Sequence[Claim]]
    traces: tuple[str, ...] = ()
    draw: Callable[[Path, Context, Sequence[Any]], None] | None = None

    def missing(self, context: Context) -> str | None:
        """Return why the experiment cannot be run: the first missing trace."""
        try:
            for name in self.traces:
                context.trace(name)
        except InputError as error:
            return str(error)
        return None

    def claim_not_run(self, why: str) -> Claim:
        """Return the one claim of an experiment that is not run."""
        return Claim(self.title, self.name, None, None, "not run", why)


@dataclass(frozen=True)
class TextTable:
    """A table of text: the headings of its columns, and its rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Study:
    """Tables of our own.

    `tasks`: the runs. `tables(outcomes)`: the tables and lines to print, from the outcomes in the order of
    the tasks. `write(outcomes)`: further files, if requested. `values(outcomes)`: figures by the names that
    pages take them by from a record.
    """

    tasks: Sequence[HarnessTask[Any]]
    tables: Callable[[Sequence[Any]], Sequence[TextTable | str]]
    write: Callable[[Sequence[Any]], None] | None = None
    values: Callable[[Sequence[Any]], Mapping[str, Sample | float | str]] | None = None


class SharedTasks:
    """The tasks of several experiments, equal ones once."""

    def __init__(self) -> None:
        self.tasks: list[HarnessTask[Any]] = []
        self._digests = Digests()
        self._places: dict[str, int] = {}

    def add(self, tasks: Sequence[HarnessTask[Any]]) -> list[int]:
        """Add tasks unless they exist, and return the place of each among all tasks."""
        places = []
        for task in tasks:
            content = [type(task).__name__, task.content(self._digests), repr(getattr(task, "options", None))]
            key = json.dumps(content, sort_keys=True)
            if key not in self._places:
                self._places[key] = len(self.tasks)
                self.tasks.append(task)
            places.append(self._places[key])
        return places


def chunks(outcomes: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Return the outcomes in groups of `size`."""
    return [outcomes[i : i + size] for i in range(0, len(outcomes), size)]


def limit_time(options: Options, seconds: float) -> Options:
    """Return the options with a study's own time limit, unless another one is given."""
    return options if options.time_limit is not None else replace(options, time_limit=seconds)


Tasks = Sequence[HarnessTask[Any]]
Stages = Generator[Tasks, Sequence[Any], None]
"""A generator of the tasks of each stage, none empty. It is sent the outcomes of each stage."""


@dataclass(frozen=True, kw_only=True)
class StagedStudy(Study):
    """A study whose `tasks` are those of its first stage. Its outcomes are those of all stages, in order."""

    stages: Callable[[], Stages]


def following(study: Study, outcomes: Sequence[Any]) -> Tasks:
    """Return the tasks of the stage after these outcomes; empty after the last stage."""
    return send_outcomes(_stages_of(study), outcomes)


def _stages_of(study: Study) -> Stages:
    if isinstance(study, StagedStudy):
        yield from study.stages()
    else:
        yield study.tasks


def send_outcomes(stages: Stages, outcomes: Sequence[Any]) -> Tasks:
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


def combine_stages(studies: Sequence[Study]) -> tuple[list[list[Any]], Stages]:
    """Combine the stages of several studies, and return them with one list per study that collects its outcomes."""
    found: list[list[Any]] = [[] for _ in studies]
    return found, side_by_side(
        [_collect_outcomes(_stages_of(one), mine) for one, mine in zip(studies, found, strict=True)]
    )


def _collect_outcomes(stages: Stages, found: list[Any]) -> Stages:
    with suppress(StopIteration):
        tasks = next(stages)
        while True:
            outcomes = yield tasks
            found += outcomes
            tasks = stages.send(outcomes)
