"""`python -m experiments.simulate ...`: what does a schedule cost or save once jobs arrive and leave?"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments import flags
from experiments.entry import FAILED, run
from experiments.output.folder import files_first
from experiments.output.simulation import Draw, print_policies, rows_csv, write_simulations
from experiments.output.terminal import err, print_line
from experiments.session import Session
from experiments.sia.workloads import workloads
from experiments.simulator.rows import rows_of
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import chosen_policies, simulations
from instances.sia import VARIANTS
from instances.text import shown


@flags.common()
def simulate(
    session: Session,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Workloads: files of eva-cloud or sia-oracle.", show_default=False)
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
    slot_minutes: Annotated[float | None, typer.Option(help="Minutes of a slot.", show_default="1")] = None,
    warm_up_days: Annotated[float, typer.Option(help="Jobs submitted before do not count.", min=0)] = 0.0,
) -> None:
    """Run policies on workloads, and compare them with a baseline."""
    drawing = {"seeds": seeds, "days": days, "slot_minutes": slot_minutes, "start_day": start_day, "pools": pools}
    found = workloads(files or (), workload, trace, session.options.seed, drawing, trace_format)
    names, base = chosen_policies(found, policy, baseline)
    tasks = simulations(found, names, session.options)
    with session.store() as store:
        done = session.outcomes(tasks, store, Simulated.line)
        rows = rows_of(tasks, done, base, warm_up_days)
        failed = [run for run in done if run.status == "error"]

        def write() -> None:
            if session.folder is not None:
                write_simulations(session.folder, rows, done, base, found[0].data, _pictures(found[0].problem))

        with files_first(write):
            if session.format == "json":
                for row in rows:
                    print_line(json.dumps(row))
            elif session.format == "csv":
                print(rows_csv(rows), end="")
            elif len(failed) < len(done):
                print_policies(rows, names, base)
            for simulated in failed:
                err.print(f"gapwise: {shown(f'{simulated.workload}: policy {simulated.policy}: {simulated.reason}')}")
        if session.folder is not None and not session.quiet:
            err.print(f"wrote tables and pictures to {session.folder}")
    raise typer.Exit(FAILED if failed or (store is not None and store.fault) else 0)


def _pictures(problem: str) -> Draw:
    """What draws the pictures of a paper's world; it is loaded, with matplotlib, only where something is drawn."""
    draw: Draw = importlib.import_module(f"experiments.{problem.partition('-')[0]}.pictures").draw_all
    return draw


if __name__ == "__main__":
    run(simulate)
