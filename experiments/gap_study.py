"""`python -m experiments.gap_study [PATH...]`: how far are the heuristics from the proven optimum?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from experiments import flags, reference
from experiments.columns import MEASURED, NAMED, summary_csv
from experiments.instance_set import InstanceSet, from_paths
from experiments.methods import METHODS
from experiments.report import write_report
from experiments.runner import Run, plan
from experiments.solve import as_json, exit_status, follow_to_the_end
from experiments.store import Store
from experiments.summary import Row, Scored, false_references, score, summarise
from experiments.table import csv_text, files_first, ready_folder
from experiments.terminal import err, out
from experiments.text import shown
from instances import PROBLEMS, InputError, Options
from instances.files import write_whole

TIME_LIMIT = 60.0
NARROW = 120  # columns of a terminal under which a table has its sets as headings


def gap_study(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Instance files or folders; none: the reference study."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method beside `exact`: a name, `all`, or your own `package.module:function`; repeatable.",
            show_default="those of each set; all for your own instances",
        ),
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Wall seconds for each run.")] = TIME_LIMIT,
    gap: flags.Gap = None,
    threads: flags.Threads = None,
    seed: flags.Seed = None,
    jobs: flags.Jobs = 2,
    format: flags.Format = "table",
    folder: Annotated[Path, typer.Option("--out", help="Folder for results and report.")] = Path("results"),
    resume: flags.Resume = False,
    problem: Annotated[
        list[str] | None,
        typer.Option(help="Only instances of this problem, say of your own method's; repeatable.", show_default="all"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer instances of each reference set.")] = False,
    quiet: flags.Quiet = False,
) -> None:
    """Solve instances exactly, run the heuristics on them, and print the true gaps."""
    options, given = flags.options(time_limit=time_limit, gap=gap, threads=threads, seed=seed)
    runs = study_runs(paths or [], method, options, given - {"time_limit"}, quick, problem)
    with Store(ready_folder(folder) / "runs.sqlite", resume=resume) as store:
        found = follow_to_the_end(runs, jobs, store, quiet, as_json if format == "json" else None)
        done = [(run, found[i]) for i, run in enumerate(runs)]
        scored, faults = score(done), false_references(done)
        rows = summarise(scored)
        text = results_csv(scored)
        faults += [f"{s.result.instance} {s.result.method}: {s.result.reason}" for s in scored if _failed(s)]

        def write() -> None:
            write_whole(folder / "results.csv", text.encode())
            write_whole(folder / "summary.csv", summary_csv(rows).encode())
            write_report(folder / "report.html", rows, scored)

        with files_first(write):
            for fault in faults:
                err.print(f"error: {shown(fault)}")
            if format == "table":
                print_tables(rows)
            elif format == "csv":
                print(text, end="")
        if not quiet:
            err.print(f"wrote {folder / 'results.csv'}, {folder / 'summary.csv'} and {folder / 'report.html'}")
    raise typer.Exit(1 if faults else exit_status((s.result for s in scored), store))


def _failed(scored: Scored) -> bool:
    return scored.result.status == "error"


def study_runs(
    paths: Sequence[Path],
    names: list[str] | None,
    options: Options,
    given: frozenset[str],
    quick: bool = False,
    wanted: Sequence[str] | None = None,
) -> list[Run]:
    """The runs of a study: of the reference sets, or of the instances at `paths`, of the problems `wanted` alone.

    `names` replaces the methods of each set, save for `exact`. A method of another problem is passed over, one that no
    problem has raises InputError.
    """
    for problem in wanted or ():
        if problem not in PROBLEMS:
            raise InputError(f"--problem: must be one of {', '.join(PROBLEMS)}, got {problem!r}")
    sets = from_paths(paths, ("all",)) if paths else reference.instance_sets(quick)
    if wanted:
        sets = [s for s in sets if s.instances[0].problem in wanted]
        if not sets:
            raise InputError(f"--problem: no instance is of {' or '.join(wanted)}")
    if names:
        problems = dict.fromkeys(s.instances[0].problem for s in sets)
        known = {m.name for problem in problems for m in METHODS[problem]}
        for name in names:
            if name != "all" and ":" not in name and name not in known:
                raise InputError(
                    f"method: must be all, {', '.join(sorted(known))} or package.module:function, got {name!r}"
                )
    return [run for s in sets for run in _runs_of(s, names, options, given)]


def _runs_of(s: InstanceSet, names: list[str] | None, options: Options, given: frozenset[str]) -> list[Run]:
    wanted = list(names or s.methods)
    here = {m.name for m in METHODS[s.instances[0].problem]}
    wanted = [name for name in wanted if name == "all" or ":" in name or name in here]
    if not wanted:
        return []
    wanted = list(dict.fromkeys(["exact", *wanted]))  # a gap needs an optimum
    return [Run(r.instance, r.method, r.options, s.name) for r in plan(s.instances, wanted, options, given)]


def results_csv(scored: Sequence[Scored]) -> str:
    """One row a run, with its instance set, both gaps of the study, whether it is proven optimal, by whose bound."""
    extra: list[dict[str, object]] = [
        {
            "instance_set": s.run.instance_set,
            "gap_to_optimum": s.gap_to_optimum,
            "gap_to_bound": s.gap_to_bound,
            "proven": "yes" if s.proven else "no",
            "bound_by": s.bound_by,
        }
        for s in scored
    ]
    return csv_text([s.result for s in scored], extra)


def print_tables(rows: Sequence[Row]) -> None:
    """One table a problem on standard output; on a narrow terminal one a set, so that no name and number is cut."""
    narrow = out.width < NARROW
    for problem in dict.fromkeys(row.problem for row in rows):
        here = [row for row in rows if row.problem == problem]
        out.print(problem, style="bold")
        if narrow:
            for name in dict.fromkeys(row.instance_set for row in here):
                out.print(shown(name), style="italic")
                _print_table([row for row in here if row.instance_set == name], narrow)
        else:
            _print_table(here, narrow)
        out.print()
    out.print(
        "gap to optimum: |objective - optimum| / |optimum|; to bound: where no optimum is proven; "
        "proven: solutions that meet the best bound, to 1e-6; CPU s: mean a run"
    )


def _print_table(rows: Sequence[Row], narrow: bool) -> None:
    named = NAMED[1:] if narrow else NAMED
    table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=True)
    for column in named:
        table.add_column(column.heading, overflow="fold")
    for column in MEASURED:
        heading = column.heading.rpartition(": ")[2] if narrow else column.heading
        table.add_column(heading, justify="right", overflow="fold", no_wrap=column.name != "notes")
    before = None
    for row in rows:
        names = [shown(column.show(row)) for column in named]
        if row.instance_set == before and not narrow:
            names[0] = ""
        table.add_row(*names, *(column.show(row) for column in MEASURED))
        before = row.instance_set
    out.print(table)


if __name__ == "__main__":
    from experiments.cli import main

    main("gap_study")
