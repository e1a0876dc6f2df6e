"""Make the records of experiments, studies and the reference study, and their probes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments.harness.evidence import Evidence, Probe, Value, build_record, collect_claims
from experiments.harness.experiment import Context, Experiment, Study, Tasks, TextTable, following, limit_time
from experiments.harness.gaps import MethodSummary, score, summarise
from experiments.harness.overview import figures_of
from experiments.harness.sample import Sample
from experiments.harness.task import HarnessTask
from experiments.harness.user_functions import ROOT, resolve
from experiments.output.columns import NAMED, choose_gap_columns
from experiments.papers import RECORDED, STUDIES, experiments_of, problems_of, reference_sets_of
from experiments.plan import study_runs
from experiments.spec import Recording

GAP_STUDY, LIMIT_S = "gap-study", 60.0
FIRST_JOBS = ROOT / "tests" / "data" / "first"
"""The first jobs of the traces, on which the experiments of probes are run."""
TIMES = {"cpu_s", "build_s", "solve_s", "wall_s", "call_s", "first_s", "least_s", "mean_s", "plan_s", "search_cpu_s"}
"""Names of all measured times, in outcomes and in their figures."""

Found = tuple[Mapping[str, Value | Sample | float | str], Sequence[TextTable]]


@dataclass(frozen=True)
class RecordPlan:
    """The runs of a record, and a function that computes values and tables from their outcomes.

    `following(outcomes)`: the runs of the next stage, if there are stages.
    """

    tasks: Sequence[HarnessTask[Any]]
    found: Callable[[Sequence[Any]], Found]
    following: Callable[[Sequence[Any]], Tasks] = lambda outcomes: ()


@dataclass(frozen=True)
class Recorded:
    """How a record is made.

    `command(quick)`: the command that prints its figures. `plan(context)`: its runs, or those of its probe if the
    context is quick.
    """

    paper: str
    name: str
    title: str
    command: Callable[[bool], str]
    plan: Callable[[Context], RecordPlan]

    @property
    def id(self) -> str:
        """Return the record's name, which is that of its file."""
        return f"{self.paper}/{self.name}"

    def evidence(self, context: Context, plan: RecordPlan, outcomes: Sequence[Any], probe: Probe) -> Evidence:
        """Return the record of these outcomes. Raises InputError for a value with an invalid name."""
        values, tables = plan.found(outcomes)
        seconds = [seconds for outcome in outcomes if (seconds := _cpu_s(outcome)) is not None]
        spent = sum(seconds) if seconds else None
        said = self.id, self.title, self.command(False), values
        return build_record(*said, tables=tables, inputs=context.read, cpu_s=spent, probe=probe)

    def probe(self, plan: RecordPlan, outcomes: Sequence[Any]) -> Probe:
        """Return the probe of these outcomes, `timeless` ones."""
        return Probe.of(self.command(True), *plan.found(outcomes))


def probe_context(context: Context) -> Context:
    """Return the context of a probe: few and short runs on the first jobs of the traces."""
    return Context(FIRST_JOBS, context.options, quick=True)


def timeless(outcome: Any) -> Any:
    """Return the outcome of a run as if each time that it measured were a second."""
    return outcome.model_copy(update={name: _timeless(name, getattr(outcome, name)) for name in vars(outcome)})


def _timeless(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(name if name in TIMES else str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_timeless(name, one) for one in value)
    return 1.0 if name in TIMES and value is not None else value


def _cpu_s(outcome: Any) -> float | None:
    """Return the CPU seconds of a run, summed if they are by policy; `None` if it has none."""
    found = getattr(outcome, "cpu_s", None)
    return sum(found.values()) if isinstance(found, dict) else found


def list_records_of(paper: str) -> tuple[Recorded, ...]:
    """Return all records of a paper."""
    experiments = (_record_experiment(paper, one) for one in experiments_of(paper))
    studies = (_record_study(paper, *said) for record, said in RECORDED.items() if record.startswith(f"{paper}/"))
    return (*experiments, *studies, _gap_study(paper))


def _record_experiment(paper: str, experiment: Experiment) -> Recorded:
    def plan(context: Context) -> RecordPlan:
        for name in experiment.traces:
            context.trace(name)
        tasks = experiment.tasks(context)
        return RecordPlan(tasks, lambda outcomes: (collect_claims(experiment.claims(context, outcomes)), ()))

    def command(quick: bool) -> str:
        more = f"{'--quick ' if quick else ''}--traces {FIRST_JOBS.relative_to(ROOT) if quick else 'DIR'}"
        return f"gapwise reproduce {paper} --only {experiment.name} {more}"

    return Recorded(paper, experiment.name, experiment.title, command, plan)


def _record_study(paper: str, study: str, said: Recording) -> Recorded:
    make: Callable[..., Study] = resolve(STUDIES[study])

    def choose_arguments(quick: bool) -> dict[str, Any]:
        return {**said.given, **(said.probe if quick else {})}

    def plan(context: Context) -> RecordPlan:
        known = {name: _replace_trace(context, value) for name, value in choose_arguments(context.quick).items()}
        made = make(options=context.options, **known)

        def collect(outcomes: Sequence[Any]) -> Found:
            values = {} if made.values is None else made.values(outcomes)
            return values, [part for part in made.tables(outcomes) if isinstance(part, TextTable)]

        return RecordPlan(made.tasks, collect, partial(following, made))

    def command(quick: bool) -> str:
        return " ".join(
            ["gapwise study", study, *(word for item in choose_arguments(quick).items() for word in _flags(*item))]
        )

    title = inspect.getdoc(make) or study
    return Recorded(paper, said.name, title.partition("\n")[0], command, plan)


def _replace_trace(context: Context, value: Any) -> Any:
    """Return an argument of a study with the path of a trace for its name."""
    if isinstance(value, list):
        return [_replace_trace(context, one) for one in value]
    return context.trace(str(value)) if isinstance(value, Path) else value


def _flags(name: str, value: Any) -> list[str]:
    """Return an argument of a study as words of the command line."""
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return [flag]
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (flag, f"DIR/{one}" if isinstance(one, Path) else str(one))]


def _gap_study(paper: str) -> Recorded:
    problems = problems_of(paper)

    def plan(context: Context) -> RecordPlan:
        sets = reference_sets_of(paper, context.quick)
        runs = study_runs(sets, None, limit_time(context.options, LIMIT_S))

        def collect(outcomes: Sequence[Any]) -> Found:
            rows = summarise(score(list(zip(runs, outcomes, strict=True))))
            values: dict[str, Value | Sample | float | str] = {}
            for row in rows:
                values |= figures_of(row)
            return values, [_table([row for row in rows if row.problem == problem]) for problem in problems]

        return RecordPlan(runs, collect)

    def command(quick: bool) -> str:
        return " ".join(["gapwise gap_study", *(f"--problem {name}" for name in problems), *["--quick"] * quick])

    return Recorded(paper, GAP_STUDY, "The reference study", command, plan)


def _table(rows: Sequence[MethodSummary]) -> TextTable:
    columns = (*NAMED, *choose_gap_columns(rows))
    return TextTable([column.heading for column in columns], [[column.show(row) for column in columns] for row in rows])
