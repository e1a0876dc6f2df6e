"""`python -m experiments.study NAME`: measurements in addition to the papers', each study a table of the docs."""

from __future__ import annotations

import csv
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import typer

from experiments import flags
from experiments.entry import FAILED, group, run_app, set_signature
from experiments.harness.experiment import Study, TextTable, following
from experiments.output.folder import files_first
from experiments.output.terminal import err, line, markdown, out
from experiments.papers import STUDIES
from experiments.session import Session
from instances import Result
from instances.text import escape_text


def study(arguments: list[str]) -> typer.Typer:
    """Measure what a table of the docs shows, and print it."""
    return group(study, STUDIES, _command, arguments)


def _command(make: Callable[..., Study]) -> Callable[..., None]:
    """Build the command of a study from its parameters and the common flags; the session provides `options`."""

    def call(session: Session, **said: Any) -> None:
        run_study(make(options=session.options, **said), session)

    own = [p for p in inspect.signature(make, eval_str=True).parameters.values() if p.name != "options"]
    session = inspect.Parameter("session", inspect.Parameter.KEYWORD_ONLY, annotation=Session)
    set_signature(call, make, [*own, session])
    return flags.common()(call)


def run_study(made: Study, session: Session) -> None:
    """Run a study and print its tables. Raises the exit status."""
    with session.store() as store:
        outcomes: list[Any] = []
        while tasks := following(made, outcomes):
            outcomes += session.outcomes(tasks, store, _line, lambda _, outcome: outcome.model_dump_json())
            if any(outcome.status == "error" for outcome in outcomes):
                break  # the next stage depends on the failed outcomes
        failed = [outcome for outcome in outcomes if outcome.status == "error"]
        write = (lambda: None) if failed or made.write is None else functools.partial(made.write, outcomes)
        with files_first(write):
            if session.format != "json" and not failed:
                for part in made.tables(outcomes):
                    _print(part, session.format)
            for outcome in failed:
                err.print(f"gapwise: {escape_text(_line(outcome))}")
    raise typer.Exit(FAILED if failed or (store is not None and store.fault) else 0)


def _line(outcome: Any) -> str:
    return line(outcome) if isinstance(outcome, Result) else str(outcome.line())


def _print(part: TextTable | str, form: str) -> None:
    if isinstance(part, str):
        (err if form == "csv" else out).print(part)
    elif form == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([part.head, *part.rows])
    else:
        for text in markdown(part):
            out.print(text)


if __name__ == "__main__":
    run_app(study(sys.argv[1:]), sys.argv[1:], "gapwise study")
