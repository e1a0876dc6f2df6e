"""`python -m experiments.solve PATH...`: solve one or many instance files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.entry import exit_status, run
from experiments.harness.certification import Certification, Certified
from experiments.harness.instance_set import instances_at
from experiments.harness.run import Run
from experiments.harness.starts import starts_at
from experiments.harness.user_functions import resolve
from experiments.output.csv import csv_text
from experiments.output.folder import files_first, ready_folder, write_certified, write_results
from experiments.output.results import draw_solutions, print_plan, print_table
from experiments.output.terminal import as_json, err, line, print_line
from experiments.papers import BUILDERS, CERTIFIERS, PLANS, PLOTS
from experiments.plan import methods_for, plan
from experiments.session import Interrupted, Session
from instances import InputError, Instance, Result


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
    start: Annotated[
        Path | None,
        typer.Option(help="A result, or a folder of results, whose solution methods start from.", show_default=False),
    ] = None,
    write_model: Annotated[
        Path | None, typer.Option(help="Also export the paper's literal model, to FILE.lp or FILE.mps.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw each solution, to .svg files in this folder.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Also write results and what proves their bounds to this folder, for `verify`.")
    ] = None,
) -> None:
    """Solve instance files with one or several methods and print one row for each."""
    instances = [instance for path in paths for instance in instances_at([path]).values()]
    runs = plan(instances, method or ["exact"], session.options)
    if start is not None:
        known = starts_at(start, instances)
        runs = [replace(run, start=known.get(run.instance.name)) for run in runs]
    if write_model is not None:
        export(instances, write_model)
        if not session.quiet:
            err.print(f"wrote {write_model}")
    if certificate is not None:
        ready_folder(certificate)
    if plot is not None:
        for instance in instances:
            if instance.problem not in PLOTS:
                raise InputError(f"--plot: there are pictures of {', '.join(PLOTS)}, got {instance.problem}")
        ready_folder(plot)
    with session.store() as store:
        try:
            results, interrupt = session.outcomes(runs, store, line, None if certificate else as_json), None
        except Interrupted as error:
            results, interrupt = [error.found[i] for i in sorted(error.found)], error
        if certificate is not None and interrupt is None:
            results = _certified(runs, results, certificate, session)

        def write() -> None:
            write_results(session.folder, results)
            if plot is not None:
                draw_solutions(plot, instances, results, PLOTS)

        with files_first(write):
            if session.format == "table" and results:
                print_table(results)
                print_plan(instances, results, PLANS)
            elif session.format == "csv":
                print(csv_text(results), end="")
        if interrupt is not None:
            raise interrupt
    raise typer.Exit(exit_status(results, store))


def export(instances: list[Instance], path: Path) -> None:
    """Write the literal model of the one instance to `path`. Raises InputError."""
    from models.literal import write_model  # with Pyomo, only when a model is written

    if len(instances) != 1:
        raise InputError(f"--write-model: takes one instance file, got {len(instances)}")
    instance = instances[0]
    methods_for(instance, ["literal"])
    write_model(resolve(BUILDERS[instance.problem])(instance.data), path)


def _certified(runs: list[Run], results: list[Result], folder: Path, session: Session) -> list[Result]:
    """The results with the bounds that are proved in `folder`; a line says which have no certificate, and why.

    A result without a bound, as of a heuristic, stays as it is.
    """
    bounded = [i for i, result in enumerate(results) if result.bound is not None and result.solved]
    if session.format == "json":
        for i in sorted(set(range(len(results))) - set(bounded)):
            print_line(as_json(i, results[i]))
    tasks = [Certification(runs[i], results[i], CERTIFIERS.get(results[i].problem)) for i in bounded]
    known = dict(enumerate(results))
    outcomes = session.outcomes(tasks, None, _told, lambda i, certified: as_json(i, certified.result))
    for i, certified in zip(bounded, outcomes, strict=True):
        known[i] = certified.result
        if certified.text is not None and certified.kind is not None:
            write_certified(folder, certified.result, certified.kind, certified.text)
        elif session.quiet or err.is_terminal:
            err.print(_told(certified))
    return [known[i] for i in range(len(results))]


def _told(certified: Certified) -> str:
    said = "certified" if certified.reason is None else f"no certificate: {certified.reason}"
    return f"{line(certified.result)}; {said}"


if __name__ == "__main__":
    run(solve)
