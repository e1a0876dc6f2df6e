"""`python -m experiments.gap_study [PATH...]`: how far are the heuristics from the proven optimum?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from experiments import flags, reference
from experiments.instance_set import InstanceSet, from_paths
from experiments.methods import METHODS
from experiments.report import write_report
from experiments.runner import Run, plan
from experiments.solve import exit_status, finished
from experiments.store import Store
from experiments.summary import Row, Scored, score, summarise
from experiments.table import csv_text, ready_folder
from experiments.terminal import err, follow, out, percent
from instances import InputError, Options, Result
from instances.files import write_whole

TIME_LIMIT = 60.0


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
    quick: Annotated[bool, typer.Option("--quick", help="Fewer instances of each reference set.")] = False,
    quiet: flags.Quiet = False,
) -> None:
    """Solve instances exactly, run the heuristics on them, and print the true gaps."""
    options, given = flags.options(time_limit=time_limit, gap=gap, threads=threads, seed=seed)
    runs = study_runs(paths or [], method, options, given - {"time_limit"}, quick)
    ready_folder(folder)
    done: list[tuple[Run, Result]] = []
    with Store(folder / "runs.sqlite", resume=resume) as store:
        try:
            for run, result in follow(finished(runs, jobs, store), len(runs), quiet):
                done.append((run, result))
                if format == "json":
                    print(result.model_dump_json(), flush=True)
        except KeyboardInterrupt:
            err.print(f"{len(done)} of {len(runs)} runs are kept in {folder}; go on with --resume")
            raise
    scored = score(done)
    rows = summarise(scored)
    text = results_csv(scored)
    write_whole(folder / "results.csv", text.encode())
    write_report(folder / "report.html", rows, scored)
    if format == "table":
        print_tables(rows)
    elif format == "csv":
        print(text, end="")
    for s in scored:
        if s.result.status == "error":
            err.print(f"error: {s.result.instance} {s.result.method}: {s.result.reason}")
    if not quiet:
        err.print(f"wrote {folder / 'results.csv'} and {folder / 'report.html'}")
    raise typer.Exit(exit_status(s.result for s in scored))


def study_runs(
    paths: Sequence[Path], names: list[str] | None, options: Options, given: frozenset[str], quick: bool
) -> list[Run]:
    """The runs of a study: of the reference sets, or of the instances at `paths`.

    `names` replaces the methods of each set, save for `exact`. A method of another problem is passed over, one that no
    problem has raises InputError.
    """
    sets = from_paths(paths, ("all",)) if paths else reference.instance_sets(quick)
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
    """One row a run, with its instance set and all three gaps."""
    extra: list[dict[str, object]] = [
        {"instance_set": s.run.instance_set, "gap_to_optimum": s.gap_to_optimum, "gap_to_bound": s.gap_to_bound}
        for s in scored
    ]
    return csv_text([s.result for s in scored], extra)


def print_tables(rows: Sequence[Row]) -> None:
    """One table a problem on standard output."""
    for problem in dict.fromkeys(row.problem for row in rows):
        here = [row for row in rows if row.problem == problem]
        table = Table(
            title=problem, title_justify="left", title_style="bold", box=None, header_style="bold", pad_edge=False
        )
        table.add_column("instance set")
        table.add_column("method")
        for name in HEADINGS:
            table.add_column(name, justify="right")
        before = None
        for row in here:
            table.add_row(row.instance_set if row.instance_set != before else "", row.method, *cells(row))
            before = row.instance_set
        out.print(table)
        out.print()
    out.print(
        "gap to optimum: |objective - optimum| / |optimum|; to bound: where no optimum is proven; CPU s: mean a run"
    )


HEADINGS = ("runs", "gap to optimum: mean", "median", "max", "to bound", "proven", "CPU s", "")


def cells(row: Row) -> list[str]:
    """The columns of HEADINGS for one row."""
    mean, middle, most = row.describe(row.gaps)
    notes = []
    if row.violating:
        notes.append(f"{row.violating} break a constraint")
    if row.failed:
        notes.append(f"{row.failed} without a solution")
    return [
        str(row.runs),
        percent(mean),
        percent(middle),
        percent(most),
        percent(row.describe(row.gaps_to_bound)[0]),
        f"{row.proven}/{row.runs}" if row.own_gaps or row.proven else "-",
        "-" if not row.cpu_s else f"{sum(row.cpu_s) / len(row.cpu_s):.3f}",
        ", ".join(notes),
    ]


if __name__ == "__main__":
    from experiments.cli import main

    main("gap_study")
