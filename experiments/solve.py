"""`python -m experiments.solve FILE...`: solve one or many instance files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.methods import BUILDERS, resolve
from experiments.runner import Run, plan, run_all
from experiments.store import Store
from experiments.table import csv_text, print_table, ready_folder
from experiments.terminal import err, follow
from instances import InputError, Instance, Result, load
from instances.files import write_whole


def solve(
    files: Annotated[list[Path], typer.Argument(help="Instance files (.json, .json.gz).", show_default=False)],
    method: flags.Method = None,
    time_limit: flags.TimeLimit = None,
    gap: flags.Gap = None,
    threads: flags.Threads = None,
    seed: flags.Seed = None,
    jobs: flags.Jobs = 1,
    format: flags.Format = "table",
    folder: flags.Out = None,
    resume: flags.Resume = False,
    write_model: Annotated[
        Path | None, typer.Option(help="Also export the paper's literal model, to FILE.lp or FILE.mps.")
    ] = None,
    quiet: flags.Quiet = False,
) -> None:
    """Solve instance files with one or several methods and print one row for each."""
    options, given = flags.options(time_limit=time_limit, gap=gap, threads=threads, seed=seed)
    if resume and folder is None:
        raise InputError("--resume: needs --out, the folder with the finished runs")
    instances = [load(path) for path in files]
    runs = plan(instances, method or ["exact"], options, given)
    if write_model is not None:
        export(instances, write_model, quiet)
    with ExitStack() as stack:
        store = stack.enter_context(Store(ready_folder(folder) / "runs.sqlite", resume=resume)) if folder else None
        results = []
        for _, result in follow(finished(runs, jobs, store), len(runs), quiet):
            results.append(result)
            if format == "json":
                print(result.model_dump_json(), flush=True)
    if format == "table":
        print_table(results)
    elif format == "csv":
        print(csv_text(results), end="")
    if folder is not None:
        write_results(folder, results)
    raise typer.Exit(exit_status(results))


def finished(runs: Sequence[Run], jobs: int, store: Store | None) -> Iterator[tuple[Run, Result]]:
    """Results in the order of `runs`: those the store has from the store, the others as they are run, and then kept."""
    known = {i: store.get(run) for i, run in enumerate(runs)} if store is not None else {}
    fresh = run_all([run for i, run in enumerate(runs) if known.get(i) is None], jobs)
    for i, run in enumerate(runs):
        result = known.get(i)
        if result is None:
            _, result = next(fresh)
            if store is not None:
                store.put(run, result)
        yield run, result
    next(fresh, None)  # lets the processes end by themselves


def export(instances: Sequence[Instance], path: Path, quiet: bool = False) -> None:
    """Write the literal model of the one instance to `path`. Raises InputError."""
    from models.literal import write_model

    if len(instances) != 1:
        raise InputError(f"--write-model: takes one instance file, got {len(instances)}")
    instance = instances[0]
    plan(instances, ["literal"], flags.options()[0])
    write_model(resolve(BUILDERS[instance.problem])(instance.data), path)
    if not quiet:
        err.print(f"wrote {path}")


def write_results(folder: Path, results: Iterable[Result]) -> None:
    """`results.csv` and one JSON file a result, with its solution, in `folder`."""
    results = list(results)
    write_whole(folder / "results.csv", csv_text(results).encode())
    for result in results:
        name = re.sub(r"[^\w.+-]+", "-", f"{result.instance}.{result.method}")
        write_whole(folder / f"{name}.json", (result.model_dump_json(indent=1) + "\n").encode())


def exit_status(results: Iterable[Result]) -> int:
    """0: done; 1: a method failed; 3: a limit ended a method without a solution."""
    statuses = {result.status for result in results}
    return 1 if "error" in statuses else 3 if "no_solution" in statuses else 0


if __name__ == "__main__":
    from experiments.cli import main

    main("solve")
