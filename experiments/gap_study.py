"""`python -m experiments.gap_study [PATH...]`: how far are the heuristics from the proven optimum?"""

from __future__ import annotations

import sys

from experiments.first_word import announce, announce_early

if __name__ == "__main__":
    announce_early(sys.argv[1:])

from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.entry import FAILED, exit_status, run
from experiments.harness.gaps import false_references, score, summarise
from experiments.harness.records import compare_with_records, unlike
from experiments.output.columns import results_csv
from experiments.output.folder import files_first, ready_folder
from experiments.output.report import write_study
from experiments.output.results import print_first_screen, print_tables
from experiments.output.terminal import as_json, err, line
from experiments.papers import OVERVIEW
from experiments.plan import sets_at, study_runs
from experiments.session import Session
from instances.text import escape_text


@flags.common(time_limit=60.0, jobs=2, out=Path("results"))
def gap_study(
    session: Session,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Instance files or folders; none: the reference study."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method in addition to `exact`: a name, `all`, or your own `package.module:function`; repeatable.",
            show_default="those of each set; all for your own instances",
            autocompletion=flags.method_names,
        ),
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            help="Only instances of this problem, say of your own method's; repeatable.",
            show_default="all",
            autocompletion=flags.problem_names,
        ),
    ] = None,
    instance_set: flags.Sets = None,
    tables: Annotated[bool, typer.Option("--tables", help="Print a table for each problem, too.")] = False,
    quick: flags.Quick = False,
) -> None:
    """Solve instances exactly, run the heuristics on them, and print the true gaps."""
    folder = session.folder
    assert folder is not None
    if not (paths or problem or instance_set or method or session.quiet):
        ready_folder(folder)  # all that can be wrong, so that bad input gets one line
        announce()
    sets = sets_at(paths or (), problem or (), quick, instance_set or ())
    runs = study_runs(sets, method, session.options)
    with session.store() as store:
        done = list(zip(runs, session.outcomes(runs, store, line, as_json), strict=True))
        scored, records = score(done), compare_with_records(done)
        rows = summarise(scored)
        faults = [*false_references(done), *records.refuted]
        faults += [f"{s.result.instance} {s.result.method}: {s.result.reason}" for s in scored if s.has_failed]
        reference = not (paths or problem or instance_set)
        overview = list(OVERVIEW.values()) if reference else []
        with files_first(lambda: write_study(folder, rows, scored, overview)):
            for fault in faults:
                err.print(f"error: {escape_text(fault)}")
            if session.format == "table":
                if tables:
                    print_tables(rows, scored)
                print_first_screen(rows, overview, folder)
            elif session.format == "csv":
                print(results_csv(scored), end="")
        if not session.quiet:
            other = unlike(instance for s in sets for instance in s.instances)
            if other is not None:
                err.print(f"not compared: {escape_text(other)}")
            for better in records.bettered:
                err.print(escape_text(f"better than the record: {better}: gapwise library record {folder}"))
            made = ["results.csv", "summary.csv"] + ["report.html"] * (session.format != "table")
            err.print(f"wrote {' and '.join(str(folder / name) for name in made)}")
    raise typer.Exit(FAILED if faults else exit_status((s.result for s in scored), store))


if __name__ == "__main__":
    run(gap_study)
