"""`python -m experiments.reproduce [PAPER ...]`: the papers' tables and figures, theirs, ours and a verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from experiments import flags
from experiments.entry import FAILED, refuse_unknown, run
from experiments.harness.evidence import FOLDER, Probe, digests_of, list_records, read, write
from experiments.harness.experiment import Context, Experiment, SharedTasks, Tasks
from experiments.harness.task import Batch, TaskOutcome
from experiments.harness.user_functions import code_digest
from experiments.output.claims import Reproduction, claims_csv, print_claims, record, write_claims
from experiments.output.folder import files_first
from experiments.output.terminal import err, print_line
from experiments.pages import renew_pages
from experiments.papers import PAPERS, experiments_of
from experiments.recorded import FIRST_JOBS, Recorded, RecordPlan, list_records_of, probe_context, timeless
from experiments.session import Session
from instances import InputError, Options
from instances.text import escape_text

N = TypeVar("N", Experiment, Recorded)
MIN_BATCH = 32  # short runs of one process: it loads a second of modules and kernels first


@flags.common()
def reproduce(
    session: Session,
    papers: Annotated[
        list[str] | None, typer.Argument(help="Papers, or names such as eva/table-13.", show_default="all")
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(help="Folder of the papers' traces.", show_default="experiments that need one are skipped"),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Table or figure, such as `table-13`; repeatable.", show_default="all")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs, for a look.")] = False,
    renew: Annotated[
        bool, typer.Option("--renew", help="Make the records that the docs take their figures from.")
    ] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Run the probes of the records, and list the stale records.")
    ] = False,
    keep: Annotated[
        str | None, typer.Option(help="Make the probes alone again, and state in the records why their values hold.")
    ] = None,
    records: Annotated[Path, typer.Option(help="Folder of the records.", show_default="docs/evidence")] = FOLDER,
) -> None:
    """Reproduce the tables and figures of papers: the paper's figure or claim, ours, and a verdict."""
    if renew or stale or keep is not None:
        if renew + stale + (keep is not None) > 1 or quick or session.options != Options():
            raise InputError("--renew, --stale, --keep: one of them alone: a record is of the defaults")
        if keep is not None and not (keep.strip() and (papers or only)):
            raise InputError("--keep: give a reason, and name the records that it holds for")
        wanted = [one for _, one in _select_parts(list_records_of, papers or (), only or ())]
        context = Context(traces, session.options)
        if stale:
            raise typer.Exit(_list_stale(session, wanted, context, records, whole=not papers and not only))
        if keep is not None:
            raise typer.Exit(_keep(session, wanted, context, records, keep))
        raise typer.Exit(_renew(session, wanted, context, records))
    chosen = _select_parts(experiments_of, papers or (), only or ())
    context = Context(traces, session.options, quick)
    shared, found, places = SharedTasks(), [], []
    for paper, experiment in chosen:
        why = experiment.missing(context)
        if why is not None and only:
            raise InputError(f"{experiment.name}: {why}")
        places.append(None if why is not None else shared.add(experiment.tasks(context)))
        found.append(Reproduction(paper, experiment, () if why is None else (experiment.claim_not_run(why),)))
    with session.store() as store:
        done = session.outcomes(shared.tasks, store, _line)
        failed = [outcome for outcome in done if getattr(outcome, "status", None) == "error"]
        for i, (one, mine) in enumerate(zip(found, places, strict=True)):
            if mine is not None:
                outcomes = [done[place] for place in mine]
                found[i] = one.conclude(context, outcomes)

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
                err.print(f"gapwise: {escape_text(_line(outcome))}")
        if session.folder is not None and not session.quiet:
            err.print(f"wrote claims and pictures to {session.folder}")
    raise typer.Exit(FAILED if failed or (store is not None and store.fault) else 0)


def _select_parts(of: Callable[[str], Sequence[N]], papers: Sequence[str], only: Sequence[str]) -> list[tuple[str, N]]:
    """Return the chosen experiments or records, with their papers. Raises InputError for an unknown name."""
    found = []
    for paper, _, name in (said.partition("/") for said in papers or PAPERS):
        refuse_unknown("paper", paper, PAPERS)
        of_paper = [(paper, one) for one in of(paper)]
        found += _select_named(of_paper, [name], paper) if name else of_paper
    return _select_named(found, only, "--only") if only else found


def _select_named(found: Sequence[tuple[str, N]], names: Sequence[str], where: str) -> list[tuple[str, N]]:
    """Return the ones with one of the names. Raises InputError, which begins with `where`, for an unknown name."""
    known = list(dict.fromkeys(one.name for _, one in found))
    for name in names:
        refuse_unknown(where, name, known)
    return [(paper, one) for paper, one in found if one.name in names]


@dataclass
class _Planned:
    """The runs of a record or of its probe: `places` among all runs, and `outcomes`, once they are there."""

    one: Recorded
    context: Context
    plan: RecordPlan
    places: list[int]
    outcomes: Sequence[Any] = ()

    @property
    def lost(self) -> str | None:
        """Return the first run that failed, `None` if there is none."""
        lost = [outcome for outcome in self.outcomes if getattr(outcome, "status", None) == "error"]
        return escape_text(_line(lost[0])) if lost else None

    def probe(self) -> Probe:
        """Return the probe that the outcomes give. Raises InputError if there is none."""
        if self.lost is not None:
            raise InputError(self.lost)
        return self.one.probe(self.plan, self.outcomes)


def _run(wanted: Sequence[tuple[Recorded, Context]], run: Callable[[Tasks], Sequence[Any]]) -> list[_Planned]:
    """Run the tasks of records or probes, equal tasks once. Raises InputError if a trace is missing."""
    shared, plans = SharedTasks(), []
    for one, context in wanted:
        plan = one.plan(context)
        for lacking in context.lacked.values():
            raise InputError(f"{one.id}: {lacking}")
        plans.append(_Planned(one, context, plan, shared.add(plan.tasks)))
    done: list[Any] = []
    left = plans
    while left:
        done += run(shared.tasks[len(done) :])
        going = []
        for each in left:
            each.outcomes = [done[place] for place in each.places]
            if more := shared.add(each.plan.following(each.outcomes)):
                each.places += more
                going.append(each)
        left = going
    return plans


def _run_together(session: Session, tasks: Tasks) -> list[Any]:
    """Return the outcomes of short runs, `timeless`, with few processes for many of them."""
    size = max(MIN_BATCH, math.ceil(len(tasks) / session.jobs))
    batches: list[Any] = [Batch(tasks[i : i + size]) for i in range(0, len(tasks), size)]
    found: list[Any] = session.outcomes(batches, None, lambda outcomes: f"{len(outcomes)} runs")
    return [timeless(outcome) for outcomes in found for outcome in outcomes]


def _renew(session: Session, wanted: Sequence[Recorded], context: Context, folder: Path) -> int:
    """Make records and their probes: the exit status."""
    for one in wanted:
        if not _can_be_probed(one, context):
            raise InputError(f"{one.id}: {FIRST_JOBS} has no first jobs for its probe")
    with session.store(code_digest()) as store:  # with --resume, runs of other code are made again
        each = [(one, replace(context, read={}, lacked={})) for one in wanted]
        plans = _run(each, lambda tasks: session.outcomes(tasks, store, _line))
    probes = _run_probes(session, wanted, context)
    failed = 0
    for planned in plans:
        one, probe = planned.one, probes[planned.one.id]
        try:
            if isinstance(probe, InputError):
                raise probe
            if planned.lost is not None:
                raise InputError(planned.lost)
            evidence = one.evidence(planned.context, planned.plan, planned.outcomes, probe)
        except InputError as error:  # of one record, after hours: the others are written
            failed += 1
            err.print(f"gapwise: {one.id}: not renewed: {escape_text(str(error))}")
            continue
        path = write(evidence, folder)
        if not session.quiet:
            seconds = "" if evidence.cpu_s is None else f", {evidence.cpu_s:.1f} CPU s"
            err.print(f"wrote {path}: {len(evidence.values)} values{seconds}")
    if folder == FOLDER:
        renew_pages()
    return FAILED if failed or (store is not None and store.fault) else 0


def _run_probes(session: Session, records: Sequence[Recorded], context: Context) -> dict[str, Probe | InputError]:
    """Run the probes of records and return them by id, or the error of each that fails."""
    found: dict[str, Probe | InputError] = {}
    each = [(one, probe_context(context)) for one in records]
    for planned in _run(each, partial(_run_together, session)):
        try:
            found[planned.one.id] = planned.probe()
        except InputError as error:
            found[planned.one.id] = error
    return found


def _can_be_probed(one: Recorded, context: Context) -> bool:
    """Return whether the first jobs have all traces of a record. A record without them is not made."""
    try:
        one.plan(probe_context(context))
    except InputError:
        return False
    return True


def _list_stale(session: Session, wanted: Sequence[Recorded], context: Context, folder: Path, whole: bool) -> int:
    """Run the probes, print the stale records with reason and cost of renewal, and return the exit status."""
    made = {one.id: evidence for one in wanted if (evidence := read(one.id, folder)) is not None}
    probes = _run_probes(session, [one for one in wanted if one.id in made], context)
    faults: dict[str, str] = {}
    for one in wanted:
        if one.id not in made:
            if _can_be_probed(one, context):
                faults[one.id] = "not made"
            continue
        now = probes[one.id]
        inputs = digests_of(context.find_files(made[one.id].inputs))
        if isinstance(now, InputError):
            why: str | None = f"its probe fails: {escape_text(str(now))}"
        else:
            why = made[one.id].explain_staleness(one.command(False), inputs, now)
        if why is not None:
            spent = made[one.id].cpu_s
            faults[one.id] = why + ("" if spent is None else f" (to renew it takes {spent:,.0f} CPU s)")
    if whole:
        faults |= dict.fromkeys(set(list_records(folder)) - {one.id for one in wanted}, "nothing makes it")
    for name, evidence in made.items():
        if name not in faults and evidence.kept is not None:
            print_line(f"{name}: kept: {evidence.kept}")
    for name, fault in sorted(faults.items()):
        print_line(f"{name}: stale: {fault}")
    return FAILED if faults else 0


def _keep(session: Session, wanted: Sequence[Recorded], context: Context, folder: Path, reason: str) -> int:
    """Make the probes of records again and state in each why its values hold: the exit status."""
    made = []
    for one in wanted:
        if (evidence := read(one.id, folder)) is None:
            raise InputError(f"{one.id}: not made")
        made.append(evidence)
    probes, kept = _run_probes(session, wanted, context), []
    for one, evidence in zip(wanted, made, strict=True):
        probe = probes[one.id]
        if isinstance(probe, InputError):
            raise InputError(f"{one.id}: {probe}")
        kept.append(evidence.model_copy(update={"command": one.command(False), "probe": probe, "kept": reason}))
    for evidence in kept:  # once all can be kept
        write(evidence, folder)
    return 0


def _line(outcome: TaskOutcome) -> str:
    tell = getattr(outcome, "line", None)
    return str(tell()) if tell is not None else f"{getattr(outcome, 'instance', '')} {getattr(outcome, 'method', '')}"


if __name__ == "__main__":
    run(reproduce)
