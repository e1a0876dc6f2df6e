"""`python -m experiments.score MODULE:FUNCTION --problem NAME`: a heuristic's scorecard over the reference library."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from experiments import flags
from experiments.entry import exit_status, run
from experiments.harness.gaps import score as gaps_of
from experiments.harness.gaps import summarise
from experiments.harness.plan import chosen_sets, plan
from experiments.harness.records import with_records
from experiments.output.folder import files_first
from experiments.output.report import write_study
from experiments.output.scorecard import Score, scorecard
from experiments.output.terminal import err, line, out, percent, print_line, print_rich
from experiments.papers import METHODS, reference_sets
from experiments.session import Session
from instances import InputError
from instances.text import shown

PROVERS = ("exact", "literal", "literal-windows")  # the library knows what they would find


@flags.common(time_limit=60.0, jobs=2)
def score(
    function: Annotated[str, typer.Argument(metavar="MODULE:FUNCTION", help="Your heuristic.", show_default=False)],
    problem: Annotated[str, typer.Option(help="Its problem.", autocompletion=flags.problem_names, show_default=False)],
    session: Session,
    instance_set: Annotated[
        list[str] | None,
        typer.Option("--set", help="Only this instance set; `*` stands for anything.", show_default="all"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer instances of each set.")] = False,
) -> None:
    """Run a heuristic of your own over the reference library, beside the papers' heuristics, and print a scorecard."""
    if ":" not in function:
        raise InputError(f"function: must be package.module:function, got {function!r}")
    sets = with_records(chosen_sets(reference_sets(quick), (problem,), instance_set or ()))
    runs = []
    for s in sets:
        papers = [name for name in s.methods if name not in (*PROVERS, "all")]
        papers = papers or [entry.name for entry in METHODS[problem] if entry.name not in PROVERS]
        here = plan(s.instances, ["all"], session.options, s.name)
        runs += [run for run in here if run.entry.name in papers]
        runs += plan(s.instances, [function], session.options, s.name)
    with session.store() as store:
        scored = gaps_of(list(zip(runs, session.outcomes(runs, store, line), strict=True)))
        scores = scorecard(scored)

        def write() -> None:
            if session.folder is not None:
                write_study(session.folder, summarise(scored), scored)

        with files_first(write):
            if session.format == "table":
                print_scores(scores, function)
            else:
                _print_rows(scores, session.format)
        if session.folder is not None and not session.quiet:
            err.print(f"wrote {session.folder / 'report.html'}")
    raise typer.Exit(exit_status((s.result for s in scored if s.result.method == function), store))


def print_scores(scores: list[Score], own: str) -> None:
    """One row a heuristic, the user's own marked."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("heuristic", no_wrap=True)
    for name in ("mean", "worst", "over", "wins", "broken", "failed", "CPU s"):
        table.add_column(name, justify="right", no_wrap=True)
    for s in scores:
        known, seconds = f"{len(s.gaps)}/{s.runs}", "-" if s.cpu_s is None else f"{s.cpu_s:.3f}"
        name = f"{shown(s.method)}{' *' if s.method == own else ''}"
        numbers = percent(s.mean), percent(s.worst), known, str(s.wins), str(s.violating), str(s.failed)
        table.add_row(name, *numbers, seconds)
    print_rich(table)
    for s in scores:
        if s.method == own and s.worst_on:
            out.print(f"* is worst on {shown(s.worst_on)}: {percent(s.worst)} from the optimum or the best bound")
    out.print("wins: instances on which no other heuristic is better; broken: a constraint; CPU s: mean a run")


def _print_rows(scores: list[Score], form: str) -> None:
    rows = [
        {"method": s.method, "mean": s.mean, "worst": s.worst, "known": len(s.gaps)}
        | {name: value for name, value in asdict(s).items() if name not in ("method", "gaps")}
        for s in scores
    ]
    if form == "csv":
        import pandas as pd

        print(pd.DataFrame(rows).to_csv(index=False), end="")
    else:
        for row in rows:
            print_line(json.dumps(row))


if __name__ == "__main__":
    run(score)
