"""`python -m experiments.score MODULE:FUNCTION --problem NAME`: a heuristic's scorecard over the reference library.

`score FILE --task NAME`: the judge's one object on a program that nobody vouches for.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments import flags
from experiments.entry import FAILED, exit_status, refuse_unknown, run
from experiments.harness.entry import GROUPS
from experiments.harness.gaps import false_references, summarise
from experiments.harness.gaps import score as gaps_of
from experiments.harness.records import add_records, unlike
from experiments.output.folder import files_first
from experiments.output.report import write_study
from experiments.output.summary import Scorecard, scorecards
from experiments.output.table import show_table
from experiments.output.terminal import err, line, out, percent, print_line, print_rich
from experiments.papers import JUDGED, METHODS, reference_sets
from experiments.plan import chosen_sets, plan
from experiments.session import Session
from instances import InputError, Options
from instances.text import escape_text

if TYPE_CHECKING:
    from experiments.judging.judge import Judgement

JOBS = 2
PROVERS = ("exact", "literal", "literal-windows")  # the library knows what they would find


def _task_names(incomplete: str) -> list[str]:
    return [name for name in JUDGED if name.startswith(incomplete)]


@flags.common(time_limit=60.0, jobs=JOBS)
def score(
    function: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="Your heuristic; with --task the file of a program, or FILE:FUNCTION.",
            show_default=False,
        ),
    ],
    session: Session,
    problem: Annotated[
        str | None,
        typer.Option(
            help="The problem that the heuristic solves.", autocompletion=flags.problem_names, show_default=False
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="Run a program in a sandbox, and compare it with the proven optima of this task.",
            autocompletion=_task_names,
            show_default=False,
        ),
    ] = None,
    instance_set: flags.Sets = None,
    quick: flags.Quick = False,
) -> None:
    """Run a heuristic of your own and the papers' heuristics over the reference library, and print a scorecard."""
    if task is not None:
        if problem is not None or instance_set or quick or session.folder is not None:
            raise InputError("--task: not with --problem, --set, --quick or --out: a task has its instances")
        told = replace(session.options, seed=0, time_limit=None)
        if told != Options() or session.jobs != JOBS or session.cluster is not None:
            raise InputError("--task: not with --gap, --threads, --effort, --jobs, --dask")
        raise typer.Exit(_judge(function, task, session))
    if problem is None:
        raise InputError("give --problem NAME or --task NAME")
    if ":" not in function:
        raise InputError(f"function: must be package.module:function, got {function!r}")
    sets = add_records(chosen_sets(reference_sets(quick), (problem,), instance_set or ()))
    other = unlike(instance for s in sets for instance in s.instances)
    if other is not None:
        err.print(f"not compared: {escape_text(other)}")
    runs = []
    for s in sets:
        papers = [name for name in s.methods if name not in (*PROVERS, *GROUPS)]
        papers = papers or [entry.name for entry in METHODS[problem] if entry.name not in PROVERS]
        here = plan(s.instances, ["all"], session.options, s.name)
        runs += [run for run in here if run.entry.name in papers]
        runs += plan(s.instances, [function], session.options, s.name)
    with session.store() as store:
        done = list(zip(runs, session.outcomes(runs, store, line), strict=True))
        scored, faults = gaps_of(done), false_references(done)
        cards = scorecards(scored, function)

        def write() -> None:
            if session.folder is not None:
                write_study(session.folder, summarise(scored), scored)

        with files_first(write):
            for fault in faults:
                err.print(f"error: {escape_text(fault)}")
            if session.format == "table":
                print_scores(cards, function)
            else:
                _print_rows(cards, session.format)
        if session.folder is not None and not session.quiet:
            err.print(f"wrote {session.folder / 'report.html'}")
    status = exit_status((s.result for s in scored if s.result.method == function), store)
    raise typer.Exit(FAILED if faults else status)


def _judge(program: str, name: str, session: Session) -> int:
    """Judge a program and print the judgement: the exit status, that of a failure where a case has no solution."""
    from experiments.judging.judge import ProgramJudge  # loads what no scorecard needs

    refuse_unknown("--task", name, JUDGED)
    path, colon, function = program.rpartition(":")
    if not colon or "/" in function or function.endswith(".py"):
        path, function = program, ""
    if session.options.time_limit is None:
        raise InputError("--time-limit: needed")
    with ProgramJudge(JUDGED[name](session.options.seed), seconds=session.options.time_limit) as judge:
        found = judge(path, function or None)
    if session.format == "json":
        print_line(json.dumps(found.as_json()))
    elif session.format == "csv":
        _print_table([asdict(case) for case in found.cases])
    else:
        print_judgement(found)
    return FAILED if found.failed else 0


def print_judgement(found: Judgement) -> None:
    """Print one line per case that is not optimal, and the score."""
    for case in found.cases:
        if case.status != "solved":
            print(f"{case.case}: {case.status}: {case.reason}")
        elif case.score < 1:
            far = "" if case.gap is None else f", {percent(case.gap)} from it"
            print(f"{case.case}: {case.objective:g}, optimum {case.optimum:g}{far}")
    solved = len(found.cases) - found.failed
    gaps = "" if found.mean_gap is None else f"; mean gap {percent(found.mean_gap)}, worst {percent(found.worst_gap)}"
    print(f"{found.task}: score {found.combined_score:.6f}; {solved} of {len(found.cases)} solved{gaps}")
    print(f"{found.seconds:.2f} CPU s of the program")


def print_scores(cards: list[Scorecard], own: str) -> None:
    """Print one table per card, with one row per heuristic and the user's own marked."""
    for card in cards:
        print_rich(card.heading, "bold")
        _print_scores(card, own)
        out.print()
    mine = next(s for card in cards for s in card.scores if s.method == own)
    if mine.worst_on:
        print_rich(f"* is worst on {escape_text(mine.worst_on)}: {percent(mine.worst)} from the optimum")
    if mine.nothing:
        print_rich(f"* has no gap on {mine.nothing}: of an optimum or an objective of 0 there is no share")
    if mine.unsolved:
        more = ", ..." if len(mine.unsolved) > 3 else ""
        print_rich(f"* has no solution of {len(mine.unsolved)}: {escape_text(', '.join(mine.unsolved[:3]))}{more}")
    print_rich(
        "mean, worst: gap to the optimum; wins: no other heuristic is better; broken: a constraint; CPU s: mean a run; "
        "broken, failed and CPU s are of all runs"
    )


def _print_scores(card: Scorecard, own: str) -> None:
    to_bound = any(s.to_bound is not None for s in card.scores)
    head = ("mean", "worst", *(["to bound"] if to_bound else []), "wins", "broken", "failed", "CPU s")
    rows = []
    for s in card.scores:
        name = f"{escape_text(s.method)}{' *' if s.method == own else ''}"
        gaps = percent(s.mean), percent(s.worst), *([percent(s.to_bound)] if to_bound else [])
        seconds = "-" if s.cpu_s is None else f"{s.cpu_s:.3f}"
        rows.append([name, *gaps, str(s.wins), str(s.violating), str(len(s.unsolved)), seconds])
    show_table([("heuristic", "name"), *((name, "number") for name in head)], rows)


def _print_rows(cards: list[Scorecard], form: str) -> None:
    rows = [
        {**asdict(s), "mean": s.mean, "card": i, "over": card.over, "instances": card.instances}
        for i, card in enumerate(cards, 1)
        for s in card.scores
    ]
    if form == "csv":
        _print_table(rows)
    else:
        for row in rows:
            print_line(json.dumps(row))


def _print_table(rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    print(pd.DataFrame(rows).to_csv(index=False), end="")


if __name__ == "__main__":
    run(score)
