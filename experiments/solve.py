"""`python -m experiments.solve PATH...`: solve one or many instance files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.entry import exit_status, run
from experiments.harness.export import export
from experiments.harness.instance_set import instances_at
from experiments.harness.plan import plan
from experiments.output.csv import csv_text
from experiments.output.folder import files_first, write_results
from experiments.output.table import print_table
from experiments.output.terminal import as_json, err, line
from experiments.session import Session


@flags.common()
def solve(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Instance files (.json, .json.gz, - for standard input) or folders.",
            show_default=False,
        ),
    ],
    session: Session,
    method: flags.Method = None,
    write_model: Annotated[
        Path | None, typer.Option(help="Also export the paper's literal model, to FILE.lp or FILE.mps.")
    ] = None,
) -> None:
    """Solve instance files with one or several methods and print one row for each."""
    instances = [instance for path in paths for instance in instances_at([path]).values()]
    runs = plan(instances, method or ["exact"], session.options)
    if write_model is not None:
        export(instances, write_model)
        if not session.quiet:
            err.print(f"wrote {write_model}")
    with session.store() as store:
        results = session.outcomes(runs, store, line, as_json)
        with files_first(lambda: write_results(session.folder, results)):
            if session.format == "table":
                print_table(results)
            elif session.format == "csv":
                print(csv_text(results), end="")
    raise typer.Exit(exit_status(results, store))


if __name__ == "__main__":
    run(solve)
