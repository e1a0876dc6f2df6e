"""`python -m experiments.simulate ...`: simulate a cluster in which jobs arrive and leave."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import flags
from experiments.entry import FAILED, also, flags_of, option_of, run
from experiments.harness.instance_set import instances_at
from experiments.harness.user_functions import resolve
from experiments.output.folder import files_first
from experiments.output.simulation import Draw, print_policies, rows_csv, write_simulations
from experiments.output.terminal import err, out, print_line
from experiments.papers import ONLINE, SAMPLES
from experiments.session import Session
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import (
    Bounds,
    boundings,
    chosen_policies,
    examples,
    map_bounds_to_runs,
    pool_rows,
    rows_of,
    simulations,
)
from instances import InputError, Instance
from instances.text import escape_text

_samples = resolve(SAMPLES)


@flags.common()
@also(_samples)
def simulate(
    session: Session,
    files: Annotated[
        list[Path] | None, typer.Argument(help=f"Workloads: files of {', '.join(ONLINE)}.", show_default=False)
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
    warm_up_days: Annotated[float, typer.Option(help="Jobs submitted before do not count.", min=0)] = 0.0,
    bound: Annotated[bool, typer.Option(help="Compute a lower bound for every policy, if the world has one.")] = True,
    **said: Any,
) -> None:
    """Run policies on workloads, and compare them with a baseline."""
    found = _workloads(files or [], session, said)
    choices = chosen_policies(found, policy, baseline)
    tasks = simulations(found, choices, session.options)
    with session.store() as store:
        done = session.outcomes(tasks, store, Simulated.line)
        bounded = session.outcomes(boundings(tasks, done) if bound else [], store, Bounds.line)
        baselines = {problem: choice.baseline for problem, choice in choices.items()}
        rows = rows_of(tasks, done, baselines, warm_up_days, map_bounds_to_runs(bounded))
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
                err.print(
                    f"gapwise: {escape_text(f'{simulated.workload}: policy {simulated.policy}: {simulated.reason}')}"
                )
            for bounds in missed:
                err.print(f"gapwise: {escape_text(f'{bounds.workload}: bound: {bounds.reason}')}")
        if session.folder is not None and not session.quiet:
            err.print(f"wrote tables and pictures to {session.folder}")
    raise typer.Exit(FAILED if failed or missed or (store is not None and store.fault) else 0)


def _workloads(files: Sequence[Path], session: Session, said: Mapping[str, Any]) -> list[Instance]:
    """Those in files, those that flags describe, or a small one of each world. Raises InputError for both at once."""
    drawn = [p for p in flags_of(_samples) if said[p.name] is not None]
    if files:
        if any(p.name in ("workload", "trace") for p in drawn):
            raise InputError("simulate: give instance files, or --workload, or --trace, one of them")
        for p in drawn:
            raise InputError(f"{option_of(p)}: instance files say it themselves, got {said[p.name]}")
        return list(instances_at(files).values())
    if not drawn:
        return examples()
    found, notes = _samples(session.options.seed, **said)
    for note in () if session.quiet else notes:
        err.print(escape_text(note))
    return found


def _pictures(problem: str) -> Draw:
    """Return the function that draws the pictures of a paper's world; it and matplotlib are loaded at the first use."""
    draw: Draw = importlib.import_module(f"experiments.{problem.partition('-')[0]}.pictures").draw_all
    return draw


if __name__ == "__main__":
    run(simulate)
