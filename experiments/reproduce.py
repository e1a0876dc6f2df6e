"""`python -m experiments.reproduce [PAPER ...]`: the papers' tables and figures, theirs, ours and a verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from experiments import flags
from experiments.entry import FAILED, run
from experiments.harness.evidence import FOLDER, code_of, recorded, write
from experiments.harness.experiment import Context, Experiment, SharedTasks
from experiments.harness.sources import ROOT, digest_of
from experiments.harness.task import HarnessTask, TaskOutcome
from experiments.output.claims import Reproduction, claims_csv, print_claims, record, write_claims
from experiments.output.folder import files_first
from experiments.output.terminal import err, print_line
from experiments.pages import renew_pages
from experiments.papers import PAPERS, experiments_of, others
from experiments.recorded import Recorded, recorded_of
from experiments.session import Session
from instances import InputError, Options
from instances.text import meant, shown

N = TypeVar("N", Experiment, Recorded)
README = ROOT / "README.md"


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
    renew: Annotated[
        bool, typer.Option("--renew", help="Make the records that the docs take their figures from.")
    ] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="List the records that were made by other code; run nothing.")
    ] = False,
    records: Annotated[Path, typer.Option(help="Folder of the records.", show_default="docs/evidence")] = FOLDER,
) -> None:
    """Reproduce the tables and figures of papers: the paper's figure or claim, ours, and a verdict."""
    if renew or stale:
        if renew and (stale or quick or session.options != Options()):
            raise InputError("--renew: not with --stale, --quick or other options of runs: a record is of the defaults")
        wanted = _wanted(recorded_of, papers or (), only or ())
        context = Context(traces, session.options)
        if stale:
            raise typer.Exit(_tell_stale(wanted, context, records, whole=not papers and not only))
        raise typer.Exit(_renew(session, [(one, Context(traces, session.options)) for _, one in wanted], records))
    chosen = _wanted(experiments_of, papers or (), only or ())
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


def _wanted(of: Callable[[str], Sequence[N]], papers: Sequence[str], only: Sequence[str]) -> list[tuple[str, N]]:
    """What is asked for of all that papers have, with their papers. Raises InputError for an unknown paper or name."""
    for paper in papers:
        if paper not in PAPERS:
            raise InputError(f"paper: must be one of {', '.join(PAPERS)}, got {paper!r}{meant(PAPERS, paper)}")
    found = [(paper, one) for paper in papers or PAPERS for one in of(paper)]
    names = [one.name for _, one in found]
    for name in only:
        if name not in names:
            known = list(dict.fromkeys(names))
            raise InputError(f"--only: must be one of {', '.join(known)}, got {name!r}{meant(known, name)}")
    return [(paper, one) for paper, one in found if not only or one.name in only]


def _renew(session: Session, wanted: Sequence[tuple[Recorded, Context]], folder: Path) -> int:
    """Make records: the exit status. Runs of other code than that which is here are made anew, also with --resume."""
    shared, plans = SharedTasks(), []
    paper_of: dict[int, str] = {}
    for one, context in wanted:
        plan = one.plan(context)
        for lacking in context.lacked.values():
            raise InputError(f"{one.id}: {lacking}")
        places = shared.add(plan.tasks)
        plans.append((one, context, plan, one.code, places))  # the code of now, whatever is edited while it runs
        paper_of |= {id(shared.tasks[place]): one.paper for place in places}
    failed = 0
    with session.store(lambda task: _code_of_run(task, paper_of[id(task)])) as store:
        done: list[Any] = []
        while len(done) < len(shared.tasks):
            done += session.outcomes(shared.tasks[len(done) :], store, _line)
            for one, _, plan, _, places in plans:
                more = shared.add(plan.following([done[place] for place in places]))
                paper_of |= {id(shared.tasks[place]): one.paper for place in more}
                places += more
        for one, context, plan, code, places in plans:
            outcomes = [done[place] for place in places]
            lost = [outcome for outcome in outcomes if getattr(outcome, "status", None) == "error"]
            if lost:
                failed += 1
                err.print(f"gapwise: {one.id}: not renewed: {shown(_line(lost[0]))}")
                continue
            try:
                evidence = one.concluded(context, plan, code, outcomes)
            except InputError as error:  # of one record, after hours: the others are written
                failed += 1
                err.print(f"gapwise: {one.id}: not renewed: {shown(str(error))}")
                continue
            path = write(evidence, folder)
            if not session.quiet:
                seconds = "" if evidence.cpu_s is None else f", {evidence.cpu_s:.1f} CPU s"
                err.print(f"wrote {path}: {len(evidence.values)} values{seconds}")
    if folder == FOLDER:
        renew_pages()
    return FAILED if failed or (store is not None and store.fault) else 0


def _code_of_run(task: HarnessTask[Any], paper: str) -> str:
    """A digest of the code that a task of a paper runs."""
    return digest_of(code_of({type(task).__module__, *task.modules}, paper, others(paper)))


def _tell_stale(wanted: Sequence[tuple[str, Recorded]], context: Context, folder: Path, whole: bool) -> int:
    """Print the records that are not what a run would make now, and why: the exit status."""
    faults = {one.id: fault for _, one in wanted if (fault := one.fault(context, folder)) is not None}
    if whole:
        faults |= dict.fromkeys(set(recorded(folder)) - {one.id for _, one in wanted}, "nothing makes it")
    for name, fault in sorted(faults.items()):
        print_line(f"{name}: {fault}")
    return FAILED if faults else 0


def _line(outcome: TaskOutcome) -> str:
    tell = getattr(outcome, "line", None)
    return str(tell()) if tell is not None else f"{getattr(outcome, 'instance', '')} {getattr(outcome, 'method', '')}"


if __name__ == "__main__":
    run(reproduce)
