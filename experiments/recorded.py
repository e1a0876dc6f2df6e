"""What is recorded: experiments of the papers, tables of studies, and the reference study, each by the same means."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments.harness.evidence import FOLDER, Evidence, Value, claimed, code_of, digests_of, made, read
from experiments.harness.experiment import Context, Experiment, Study, TextTable, limited
from experiments.harness.gaps import MethodSummary, score, summarise
from experiments.harness.sample import Sample
from experiments.harness.staged import Tasks, following
from experiments.harness.task import HarnessTask
from experiments.harness.user_functions import resolve
from experiments.output.summary import NAMED, measured
from experiments.papers import RECORDED, STUDIES, experiments_of, others, problems_of, reference_sets_of
from experiments.plan import study_runs
from instances import InputError

GAP_STUDY, LIMIT_S = "gap-study", 60.0

Found = tuple[Mapping[str, Value | Sample | float | str], Sequence[TextTable]]


@dataclass(frozen=True)
class RecordPlan:
    """The runs of a record, and what is found in their outcomes, values and tables.

    `following(outcomes)`: the runs of the next stage, where there are stages.
    """

    tasks: Sequence[HarnessTask[Any]]
    found: Callable[[Sequence[Any]], Found]
    following: Callable[[Sequence[Any]], Tasks] = lambda outcomes: ()


@dataclass(frozen=True)
class Recorded:
    """How a record is made.

    `command`: what makes its figures beside the record. `modules`: whose code makes them. `plan(context)`: its runs.
    """

    paper: str
    name: str
    title: str
    command: str
    modules: tuple[str, ...]
    plan: Callable[[Context], RecordPlan]

    @property
    def id(self) -> str:
        """The record's name, that of its file."""
        return f"{self.paper}/{self.name}"

    @property
    def code(self) -> dict[str, str]:
        """Digests of all modules that its figures depend on."""
        return code_of(self.modules, self.paper, others(self.paper))

    def concluded(
        self, context: Context, plan: RecordPlan, code: Mapping[str, str], outcomes: Sequence[Any]
    ) -> Evidence:
        """The record of these outcomes of this code. Raises InputError for a value with a name that none can have."""
        values, tables = plan.found(outcomes)
        seconds = [seconds for outcome in outcomes if (seconds := _cpu_s(outcome)) is not None]
        return made(
            self.id,
            self.title,
            self.command,
            values,
            tables=tables,
            inputs=context.read,
            code=code,
            cpu_s=sum(seconds) if seconds else None,
        )

    def fault(self, context: Context, folder: Path = FOLDER) -> str | None:
        """Why its record is not what a run would make now: in one line, `None` where it is."""
        found = read(self.id, folder)
        if found is None:
            return "not made"
        files = {}
        for name in found.inputs if context.traces is not None else ():
            try:
                files[name] = context.trace(name)
            except InputError:
                continue  # what is not at hand has not changed
        changed = found.outdated(self.code, digests_of(files))
        return None if not changed else f"{len(changed)} changed since: {', '.join(changed)}"


def _cpu_s(outcome: Any) -> float | None:
    """CPU seconds of a run, in all where it has them by policy; `None` where it has none."""
    found = getattr(outcome, "cpu_s", None)
    return sum(found.values()) if isinstance(found, dict) else found


def recorded_of(paper: str) -> tuple[Recorded, ...]:
    """All that is recorded of a paper."""
    experiments = (_of_experiment(paper, one) for one in experiments_of(paper))
    studies = (_of_study(record, *said) for record, said in RECORDED.items() if record.startswith(f"{paper}/"))
    return (*experiments, *studies, _gap_study(paper))


def _of_experiment(paper: str, experiment: Experiment) -> Recorded:
    def plan(context: Context) -> RecordPlan:
        for name in experiment.traces:
            context.trace(name)
        tasks = experiment.tasks(context)
        return RecordPlan(tasks, lambda outcomes: (claimed(experiment.claims(context, outcomes)), ()))

    command = f"gapwise reproduce {paper} --only {experiment.name} --traces DIR"
    module = f"experiments.{paper}.reproduce"
    return Recorded(paper, experiment.name, experiment.title, command, (module,), plan)


def _of_study(record: str, study: str, given: Mapping[str, Any]) -> Recorded:
    make: Callable[..., Study] = resolve(STUDIES[study])

    def plan(context: Context) -> RecordPlan:
        made = make(options=context.options, **{name: _at_hand(context, value) for name, value in given.items()})

        def found(outcomes: Sequence[Any]) -> Found:
            values = {} if made.values is None else made.values(outcomes)
            return values, [part for part in made.tables(outcomes) if isinstance(part, TextTable)]

        return RecordPlan(made.tasks, found, partial(following, made))

    paper, _, name = record.partition("/")
    title = inspect.getdoc(make) or study
    command = " ".join(["gapwise study", study, *(word for item in given.items() for word in _flags(*item))])
    return Recorded(paper, name, title.partition("\n")[0], command, (make.__module__,), plan)


def _at_hand(context: Context, value: Any) -> Any:
    """What a study is given, with the file of a trace for its name."""
    if isinstance(value, list):
        return [_at_hand(context, one) for one in value]
    return context.trace(str(value)) if isinstance(value, Path) else value


def _flags(name: str, value: Any) -> list[str]:
    """What is given as it stands on the command line."""
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return [flag]
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (flag, f"DIR/{one}" if isinstance(one, Path) else str(one))]


def _gap_study(paper: str) -> Recorded:
    problems = problems_of(paper)

    def plan(context: Context) -> RecordPlan:
        sets = reference_sets_of(paper, context.quick)
        runs = study_runs(sets, None, limited(context.options, LIMIT_S))

        def found(outcomes: Sequence[Any]) -> Found:
            rows = summarise(score(list(zip(runs, outcomes, strict=True))))
            values: dict[str, Value | Sample | float | str] = {}
            for row in rows:
                values |= _summary(row)
            return values, [_table([row for row in rows if row.problem == problem]) for problem in problems]

        return RecordPlan(runs, found)

    command = " ".join(["gapwise gap_study", *(f"--problem {name}" for name in problems)])
    modules = (f"experiments.{paper}.methods", f"experiments.{paper}.reference", score.__module__, Sample.__module__)
    return Recorded(paper, GAP_STUDY, "The reference study", command, modules, plan)


def _summary(row: MethodSummary) -> dict[str, Value | Sample | float | str]:
    name = f"{row.instance_set}: {row.method}"
    samples = {
        "gap to optimum": row.gaps,
        "gap to bound": row.gaps_to_bound,
        f"gap in {row.measure}": row.measure_gaps,
        f"gap to bound in {row.measure}": row.measure_gaps_to_bound,
        "CPU s": row.cpu_s,
    }
    found: dict[str, Value | Sample | float | str] = {
        f"{name}: {what}": Sample.of(values) for what, values in samples.items() if values
    }
    return found | {f"{name}: proven": f"{row.proven} of {row.runs}"}


def _table(rows: Sequence[MethodSummary]) -> TextTable:
    columns = (*NAMED, *measured(rows))
    return TextTable([column.heading for column in columns], [[column.show(row) for column in columns] for row in rows])
