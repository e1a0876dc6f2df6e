"""`python -m experiments.solve PATH...`: solve one or many instance files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments import flags
from experiments.entry import exit_status, run
from experiments.harness.instance_set import instances_at
from experiments.harness.run import Run, starts_at
from experiments.harness.store import Store
from experiments.harness.user_functions import resolve
from experiments.output.columns import csv_text, names_csv, plan_csv
from experiments.output.folder import files_first, ready_folder, result_file, write_certified, write_results
from experiments.output.results import best_of, draw_solutions, print_plan, print_table
from experiments.output.terminal import as_json, err, line, print_line, print_rich
from experiments.papers import BUILDERS, CERTIFIERS, IN_VIPR, LITERAL_NAMES, NEXT_BEST, PLANS, PLOTS
from experiments.plan import methods_for, plan
from experiments.session import Interrupted, Session
from instances import CheckFailed, InputError, Instance, Result
from instances.files import write_whole

if TYPE_CHECKING:
    from experiments.harness.certification import Certified
    from instances.proofs import Certificate


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
    plan_file: Annotated[
        Path | None, typer.Option("--plan", help="Also write the best plan to FILE.csv, one row a placement.")
    ] = None,
    next_best: Annotated[
        bool, typer.Option("--next-best", help="Also say the next best mix of instance types, an exact run a type.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw each solution, as .svg and .pdf, in this folder.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Also write results and what proves their bounds to this folder, for `verify`.")
    ] = None,
    vipr: Annotated[
        bool, typer.Option("--vipr", help="With --certificate, also write SIA's proofs of a delay as VIPR.")
    ] = False,
) -> None:
    """Solve instance files with one or several methods and print one row for each."""
    instances = [instance for path in paths for instance in instances_at([path]).values()]
    runs = plan(instances, method or ["exact"], session.options)
    if start is not None:
        known = starts_at(start, instances)
        runs = [replace(run, start=known.get(run.instance.name)) for run in runs]
    if write_model is not None:
        names = export(instances, write_model)
        if not session.quiet:
            err.print(f"wrote {write_model} and {names}")
    if plan_file is not None:
        ready_plan(instances, plan_file)
    rival = _ready_rival(instances, session) if next_best else None
    if certificate is not None:
        ready_folder(certificate)
    elif vipr:
        raise InputError("--vipr: goes with --certificate, whose proofs it writes")
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
            results = _certify(runs, results, certificate, session, vipr)
        best = best_of(results)
        said = None
        if rival is not None and best is not None and interrupt is None:
            said = _describe_next_best(rival, best, instances[0], session, store)

        def write() -> None:
            write_results(session.folder, results)
            if plot is not None:
                draw_solutions(plot, instances, results, PLOTS)
            if plan_file is not None and best is not None:
                write_whole(plan_file, plan_csv(best).encode())

        with files_first(write):
            if session.format == "table" and results:
                print_table(results)
                print_plan(instances, results, PLANS)
                if said is not None:
                    print_rich(f"  {said}")
            elif session.format == "csv":
                print(csv_text(results), end="")
        if interrupt is not None:
            raise interrupt
    raise typer.Exit(exit_status(results, store))


def ready_plan(instances: list[Instance], path: Path) -> None:
    """Check before any work that the plan of the one instance can be written to `path`. Raises InputError."""
    if path.suffix != ".csv":
        raise InputError(f"--plan: {path}: a plan is written as .csv")
    if len(instances) != 1:
        raise InputError(f"--plan: takes one instance file, got {len(instances)}")
    ready_folder(path.parent)


def _ready_rival(instances: list[Instance], session: Session) -> Any:
    """Return the search for the next best plan of the one instance. Raises InputError if there is none."""
    if len(instances) != 1 or session.format != "table":
        raise InputError("--next-best: takes one instance file, and is printed with its plan as a table")
    if instances[0].problem not in NEXT_BEST:
        raise InputError(f"--next-best: there is one of {', '.join(NEXT_BEST)}, got {instances[0].problem}")
    return resolve(NEXT_BEST[instances[0].problem])(instances[0].data)


def _describe_next_best(rival: Any, best: Result, instance: Instance, session: Session, store: Store | None) -> str:
    """Describe the next best plan, with an exact run for each problem that excludes `best`."""
    if best.status != "optimal":
        return "next best mix: unknown, for the best one is not proven"
    problems = enumerate(rival.rivals(best.solution))
    rivals = [Instance.of(data, f"{instance.name}, another mix ({i})") for i, data in problems]
    found: str = rival.describe(best, session.outcomes(plan(rivals, ["exact"], session.options), store, line))
    return found


def export(instances: list[Instance], path: Path) -> Path:
    """Write the literal model of the one instance to `path`, and its names to a file next to it. Raises InputError."""
    from models.core.pyomo_model import write_model  # with Pyomo, only when a model is written

    if len(instances) != 1:
        raise InputError(f"--write-model: takes one instance file, got {len(instances)}")
    instance = instances[0]
    methods_for(instance, ["literal"])
    called = write_model(resolve(BUILDERS[instance.problem])(instance.data), path)
    names = path.with_suffix(".names.csv")
    write_whole(names, names_csv(called, resolve(LITERAL_NAMES[instance.problem])(instance.data)).encode())
    return names


def _certify(runs: list[Run], results: list[Result], folder: Path, session: Session, vipr: bool) -> list[Result]:
    """Return the results with bounds that certificates in `folder` prove; print a line for each without a certificate.

    A result without a bound, such as a heuristic's, is unchanged.
    """
    from experiments.harness.certification import Certification, certifiable  # with the verifier

    bounded = [i for i, result in enumerate(results) if certifiable(result)]
    if session.format == "json":
        for i in sorted(set(range(len(results))) - set(bounded)):
            print_line(as_json(i, results[i]))
    tasks = [Certification(runs[i], results[i], CERTIFIERS.get(results[i].problem)) for i in bounded]
    known = dict(enumerate(results))
    outcomes = session.outcomes(tasks, None, _describe_certified, lambda i, certified: as_json(i, certified.result))
    for i, certified in zip(bounded, outcomes, strict=True):
        known[i] = certified.result
        if certified.text is not None and certified.kind is not None:
            write_certified(folder, certified.result, certified.kind, certified.text)
            if vipr and certified.kind == "json":
                _write_vipr(folder, runs[i].instance, certified)
        elif session.quiet or err.is_terminal:
            err.print(_describe_certified(certified))
    return [known[i] for i in range(len(results))]


def _write_vipr(folder: Path, instance: Instance, certified: Certified) -> None:
    """Write a JSON certificate also as VIPR next to it; if this is not possible, print a line with the reason."""
    from instances.proofs import NoCertificate
    from instances.proofs.verify import see_certificate

    try:
        if instance.problem not in IN_VIPR:
            raise NoCertificate(f"{instance.problem} is proved without a program, in JSON alone")
        found: Certificate = resolve(IN_VIPR[instance.problem])(
            instance.data, certified.text, certified.result.solution
        )
        see_certificate(instance, found, empty=False)
    except (NoCertificate, CheckFailed, InputError) as error:
        err.print(f"{line(certified.result)}; not in VIPR: {error}")
        return
    write_whole(folder / result_file(certified.result.instance, certified.result.method, "vipr"), found.text.encode())


def _describe_certified(certified: Certified) -> str:
    said = "certified" if certified.reason is None else f"no certificate: {certified.reason}"
    return f"{line(certified.result)}; {said}"


if __name__ == "__main__":
    run(solve)
