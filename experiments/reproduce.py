"""`python -m experiments.reproduce [PAPER ...]`: the papers' tables and figures, theirs, ours and a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.entry import FAILED, run
from experiments.harness.experiment import Context, Experiment, SharedTasks
from experiments.harness.task import TaskOutcome
from experiments.output.claims import Reproduction, claims_csv, print_claims, record, write_claims
from experiments.output.folder import files_first
from experiments.output.terminal import err, print_line
from experiments.papers import PAPERS, experiments_of
from experiments.session import Session
from instances import InputError
from instances.text import meant, shown


@flags.common()
def reproduce(
    session: Session,
    papers: Annotated[list[str] | None, typer.Argument(help="Papers.", show_default="all")] = None,
    traces: Annotated[
        Path | None, typer.Option(help="Folder of the papers' traces.", show_default="what needs one is not run")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Table or figure, such as `table-13`; repeatable.", show_default="all")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs, for a look.")] = False,
) -> None:
    """Reproduce the tables and figures of papers: the paper's figure or claim, ours, and a verdict."""
    chosen = _chosen(papers or (), only or ())
    context = Context(traces, session.options, quick)
    shared, found, places = SharedTasks(), [], []
    for paper, experiment in chosen:
        why = experiment.missing(context)
        if why is not None and only:
            raise InputError(f"{experiment.name}: {why}")
        places.append(None if why is not None else shared.add(experiment.tasks(context)))
        found.append(Reproduction(paper, experiment, () if why is None else (experiment.not_run(why),)))
    with session.store() as store:
        done = session.outcomes(shared.tasks, store, _line)
        failed = [outcome for outcome in done if getattr(outcome, "status", None) == "error"]
        for i, (one, mine) in enumerate(zip(found, places, strict=True)):
            if mine is not None:
                outcomes = [done[place] for place in mine]
                found[i] = one.concluded(context, outcomes)

        def write() -> None:
            if session.folder is not None:
                write_claims(session.folder, found, context)

        with files_first(write):
            if session.format == "json":
                for one in found:
                    for claim in one.claims:
                        print_line(json.dumps(record(one, claim)))
            elif session.format == "csv":
                print(claims_csv(found), end="")
            else:
                print_claims(found)
            for outcome in failed:
                err.print(f"gapwise: {shown(_line(outcome))}")
        if session.folder is not None and not session.quiet:
            err.print(f"wrote claims and pictures to {session.folder}")
    raise typer.Exit(FAILED if failed or (store is not None and store.fault) else 0)


def _chosen(papers: list[str] | tuple[()], only: list[str] | tuple[()]) -> list[tuple[str, Experiment]]:
    """The experiments that are asked for, with their papers. Raises InputError for an unknown paper or name."""
    for paper in papers:
        if paper not in PAPERS:
            raise InputError(f"paper: must be one of {', '.join(PAPERS)}, got {paper!r}{meant(PAPERS, paper)}")
    found = [(paper, one) for paper in papers or PAPERS for one in experiments_of(paper)]
    names = [one.name for _, one in found]
    for name in only:
        if name not in names:
            known = list(dict.fromkeys(names))
            raise InputError(f"--only: must be one of {', '.join(known)}, got {name!r}{meant(known, name)}")
    return [(paper, one) for paper, one in found if not only or one.name in only]


def _line(outcome: TaskOutcome) -> str:
    tell = getattr(outcome, "line", None)
    return str(tell()) if tell is not None else f"{getattr(outcome, 'instance', '')} {getattr(outcome, 'method', '')}"


if __name__ == "__main__":
    run(reproduce)
