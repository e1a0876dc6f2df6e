"""`python -m experiments.solve PATH...`: solve one or many instance files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from experiments import flags
from experiments.filename import result_file
from experiments.instance_set import instances_at
from experiments.methods import BUILDERS, resolve
from experiments.runner import Run, as_finished, plan
from experiments.store import Store
from experiments.table import csv_text, files_first, print_table, ready_folder
from experiments.terminal import err, follow, print_line
from instances import InputError, Instance, Result
from instances.files import write_whole


def solve(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Instance files (.json, .json.gz, - for standard input) or folders.",
            show_default=False,
        ),
    ],
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
    instances = [instance for path in paths for instance in instances_at([path]).values()]
    runs = plan(instances, method or ["exact"], options, given)
    if write_model is not None:
        export(instances, write_model, quiet)
    with ExitStack() as stack:
        store = stack.enter_context(Store(ready_folder(folder) / "runs.sqlite", resume=resume)) if folder else None
        found = follow_to_the_end(runs, jobs, store, quiet, as_json if format == "json" else None)
        results = [found[i] for i in range(len(runs))]
        with files_first(lambda: write_results(folder, results)):
            if format == "table":
                print_table(results)
            elif format == "csv":
                print(csv_text(results), end="")
    raise typer.Exit(exit_status(results, store))


def as_json(i: int, result: Result) -> str:
    """A result as one line of JSON."""
    return result.model_dump_json()


def follow_to_the_end(
    runs: Sequence[Run],
    jobs: int,
    store: Store | None,
    quiet: bool,
    line: Callable[[int, Result], str] | None = None,
) -> dict[int, Result]:
    """The results by their place in `runs`; told of, and their `line` printed, as they are finished."""
    found: dict[int, Result] = {}
    try:
        for i, result in follow(finished(runs, jobs, store), len(runs), quiet):
            found[i] = result
            if line is not None:
                print_line(line(i, result))
    except KeyboardInterrupt:
        if store is not None:
            err.print(f"{store.held} of {len(runs)} runs are kept in {store.path.parent}; go on with --resume")
        raise
    return found


def finished(runs: Sequence[Run], jobs: int, store: Store | None) -> Iterator[tuple[int, Result]]:
    """The place in `runs` and the result of each: first those in the store, then the others as they are finished."""
    left = []
    for i, run in enumerate(runs):
        known = None if store is None else store.get(run)
        if known is None:
            left.append(i)
        else:
            yield i, known
    for i, result in as_finished([runs[i] for i in left], jobs, None if store is None else store.keep):
        yield left[i], result


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


def write_results(folder: Path | None, results: Sequence[Result]) -> None:
    """`results.csv` and one JSON file a result, with its solution, in `folder`, if there is one."""
    if folder is None:
        return
    write_whole(folder / "results.csv", csv_text(results).encode())
    for result in results:
        content = result.model_dump_json(indent=1) + "\n"
        write_whole(folder / result_file(result.instance, result.method), content.encode())


def exit_status(results: Iterable[Result], store: Store | None = None) -> int:
    """0: done; 1: a method failed, or a result could not be kept; 3: a limit ended a method without a solution."""
    statuses = {result.status for result in results}
    if "error" in statuses or (store is not None and store.fault):
        return 1
    return 3 if "no_solution" in statuses else 0


if __name__ == "__main__":
    from experiments.cli import main

    main("solve")
