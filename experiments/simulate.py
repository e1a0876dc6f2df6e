"""`python -m experiments.simulate ...`: what does a schedule cost or save once jobs arrive and leave?"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments import flags
from experiments.entry import FAILED, run
from experiments.output.folder import files_first
from experiments.output.simulation import Draw, print_policies, rows_csv, write_simulations
from experiments.output.terminal import err, out, print_line
from experiments.papers import ONLINE
from experiments.session import Session
from experiments.sia.workloads import missed_loads, workloads
from experiments.simulator.bounding import Bounds, boundings, by_run
from experiments.simulator.rows import pool_rows, rows_of
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import chosen_policies, examples, simulations
from instances.sia import VARIANTS
from instances.text import shown


@flags.common()
def simulate(
    session: Session,
    files: Annotated[
        list[Path] | None, typer.Argument(help=f"Workloads: files of {', '.join(ONLINE)}.", show_default=False)
    ] = None,
    workload: Annotated[str | None, typer.Option(help="Synthetic workload: " + ", ".join(VARIANTS) + ".")] = None,
    trace: Annotated[Path | None, typer.Option(help="A pool trace in CSV form.")] = None,
    trace_format: Annotated[
        Literal["philly", "gavel"] | None, typer.Option(help="Columns of --trace.", show_default="philly")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Policy, a method that re-plans, `all`, or your own `package.module:function`; repeatable.",
            show_default="a selection",
            autocompletion=flags.policy_names,
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Policy that the others are compared with.", show_default="the world's own")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Workloads drawn from --workload or --trace.", min=1, show_default="3")
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="Days of submissions; workloads have 3.", show_default="all")
    ] = None,
    start_day: Annotated[float | None, typer.Option(help="First day of --trace.", min=0, show_default="0")] = None,
    pools: Annotated[int | None, typer.Option(help="Pools drawn from --trace.", show_default="all", min=1)] = None,
    load: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Least and largest load that pools of --trace are sized for.", show_default="0.6 1.1"),
    ] = None,
    least_jobs: Annotated[
        int | None, typer.Option(help="Pools of --trace with fewer jobs are not drawn.", min=1, show_default="20")
    ] = None,
    drop_wide: Annotated[
        bool | None, typer.Option("--drop-wide", help="Size pools of --trace for the load alone; drop wider jobs.")
    ] = None,
    slot_minutes: Annotated[float | None, typer.Option(help="Minutes of a slot.", show_default="1")] = None,
    warm_up_days: Annotated[float, typer.Option(help="Jobs submitted before do not count.", min=0)] = 0.0,
    bound: Annotated[bool, typer.Option(help="Bound every policy from below, where the world has a bound.")] = True,
) -> None:
    """Run policies on workloads, and compare them with a baseline."""
    drawing: dict[str, Any] = {
        "seeds": seeds,
        "days": days,
        "slot_minutes": slot_minutes,
        "start_day": start_day,
        "pools": pools,
    }
    drawing |= {"load": load, "least_jobs": least_jobs, "drop_wide": drop_wide}
    found = workloads(files or (), workload, trace, session.options.seed, drawing, trace_format) or examples()
    if trace is not None and not session.quiet:
        for line in missed_loads(found, load):
            err.print(shown(line))
    choices = chosen_policies(found, policy, baseline)
    tasks = simulations(found, choices, session.options)
    with session.store() as store:
        done = session.outcomes(tasks, store, Simulated.line)
        bounded = session.outcomes(boundings(tasks, done) if bound else [], store, Bounds.line)
        baselines = {problem: choice.baseline for problem, choice in choices.items()}
        rows = rows_of(tasks, done, baselines, warm_up_days, by_run(bounded))
        failed = [run for run in done if run.status == "error"]
        missed = [bounds for bounds in bounded if bounds.status == "error"]

        def write() -> None:
            if session.folder is not None:
                pools = pool_rows(tasks, done, baselines, warm_up_days)
                write_simulations(session.folder, rows, pools, done, found, baselines, bounded, _pictures)

        with files_first(write):
            if session.format == "json":
                for row in rows:
                    print_line(json.dumps(row))
            elif session.format == "csv":
                print(rows_csv(rows), end="")
            elif len(failed) < len(done):
                for problem, choice in choices.items():
                    if len(choices) > 1:
                        out.print(problem, style="bold")
                    print_policies([row for row in rows if row["problem"] == problem], choice)
            for simulated in failed:
                err.print(f"gapwise: {shown(f'{simulated.workload}: policy {simulated.policy}: {simulated.reason}')}")
            for bounds in missed:
                err.print(f"gapwise: {shown(f'{bounds.workload}: bound: {bounds.reason}')}")
        if session.folder is not None and not session.quiet:
            err.print(f"wrote tables and pictures to {session.folder}")
    raise typer.Exit(FAILED if failed or missed or (store is not None and store.fault) else 0)


def _pictures(problem: str) -> Draw:
    """What draws the pictures of a paper's world; it is loaded, with matplotlib, only where something is drawn."""
    draw: Draw = importlib.import_module(f"experiments.{problem.partition('-')[0]}.pictures").draw_all
    return draw


if __name__ == "__main__":
    run(simulate)
