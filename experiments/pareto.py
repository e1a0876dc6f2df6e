"""`python -m experiments.pareto FILE`: two objectives against each other, every point proven.

Of BOA budget against mean job completion time, of Aryl preempted jobs against the work that they lose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.boa.points import (
    DEFAULT_METHODS,
    Point,
    at_budget,
    budgets_of,
    default_methods,
    frontier_csv,
    instance_at,
    line_of,
    print_frontier,
    wanted_line,
    write_files,
)
from experiments.entry import UNSOLVED, exit_status, run
from experiments.harness.apply import load_method
from experiments.harness.own import resolve
from experiments.harness.run import Run
from experiments.output.folder import files_first
from experiments.output.terminal import err, line, out
from experiments.papers import FRONTS
from experiments.plan import plan
from experiments.session import Session
from instances import InputError, Instance


@flags.common()
def pareto(
    file: Annotated[
        Path,
        typer.Argument(
            help="Instance file of boa-allocation or aryl-reclaim, or a job trace (.csv).", show_default=False
        ),
    ],
    session: Session,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method beside `exact`, `all`, or your own `package.module:function`; repeatable.",
            show_default=", ".join(DEFAULT_METHODS[1:]),
        ),
    ] = None,
    points: Annotated[int, typer.Option(help="Number of budgets.", min=2)] = 40,
    low: Annotated[float | None, typer.Option("--from", help="First budget.", show_default="the least")] = None,
    high: Annotated[
        float | None,
        typer.Option("--to", help="Last budget.", show_default="5 times the least, or where more buys nothing"),
    ] = None,
    mean_jct: Annotated[
        float | None, typer.Option(help="Also find the least budget that reaches this mean completion time, hours.")
    ] = None,
    speedups: Annotated[
        Path | None, typer.Option(help="Speedup table of a job trace.", show_default="measured on NVIDIA T4")
    ] = None,
    hours: Annotated[float | None, typer.Option(help="Length of a job trace.", show_default="to the last job")] = None,
    rescale_seconds: Annotated[
        float | None, typer.Option(help="Time of a rescaling in a job trace.", show_default="measured")
    ] = None,
) -> None:
    """Print what each budget buys: the proven optimum and the methods beside it; with --out also CSV, SVG and PNG.

    Of servers to reclaim: what the GPU-hours that are saved cost in preempted jobs.
    """
    of_trace = {"speedups": speedups, "hours": hours, "rescale_seconds": rescale_seconds}
    instance = instance_at(file, of_trace, tuple(FRONTS))
    if instance.problem in FRONTS:
        of_budgets = {"--from": low, "--to": high, "--mean-jct": mean_jct}
        for name, value in of_budgets.items():
            if value is not None:
                raise InputError(f"{name}: goes with boa-allocation, got {instance.problem}")
        raise typer.Exit(_front(instance, session, method))
    names = ["exact", *(name for name in method or default_methods(instance) if name != "exact")]
    entries = [run.entry for run in plan([instance], names, session.options)]
    budgets = budgets_of(instance.data, points, low, high)
    wanted = None if mean_jct is None else wanted_line(instance.data, budgets[-1], mean_jct, session.options)
    runs = [Run(at_budget(instance, budget), entry, session.options) for budget in budgets for entry in entries]
    with session.store() as store:
        results = session.outcomes(runs, store, line, line_of(runs))
        found = [Point(run.instance.data.budget, result) for run, result in zip(runs, results, strict=True)]
        with files_first(lambda: write_files(session.folder, found, instance.name)):
            if session.format == "table":
                print_frontier(found, entries, instance.data)
            elif session.format == "csv":
                print(frontier_csv(found), end="")
            if wanted is not None:
                (out if session.format == "table" else err).print(wanted)
        if session.folder is not None and not session.quiet:
            err.print(f"wrote {session.folder / 'frontier'}.csv, .svg and .png")
    raise typer.Exit(exit_status(results, store))


def _front(instance: Instance, session: Session, method: list[str] | None) -> int:
    """Print the front of a problem that is not BOA's, beside the heuristics or the methods asked for; the status."""
    runs = plan([instance], method or ["all"], session.options)
    if not method:
        runs = [run for run in runs if load_method(run.entry).kind == "heuristic"]
    with session.store() as store:
        results = session.outcomes(runs, store, line)
        kept = session.options, session.format, session.folder, session.quiet
        solved = resolve(FRONTS[instance.problem])(instance, results, *kept)
    return exit_status(results, store) if solved else UNSOLVED


if __name__ == "__main__":
    run(pareto)
