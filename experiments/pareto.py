"""`python -m experiments.pareto FILE`: two objectives against each other, every point proven.

For BOA: budget against mean job completion time. For Aryl: preempted jobs against the work that they lose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import flags
from experiments.entry import also, flags_of, option_of, run
from experiments.harness.user_functions import resolve
from experiments.output.folder import ready_folder
from experiments.papers import FRONT_CERTIFIERS, FRONTS, TRACES
from experiments.plan import methods_for
from experiments.session import Session
from instances import InputError, load

MAKERS = {problem: resolve(target) for problem, target in FRONTS.items()}
READERS = {problem: resolve(target) for problem, target in TRACES.items()}


@flags.common()
@also(*MAKERS.values(), *READERS.values())
def pareto(
    file: Annotated[
        Path,
        typer.Argument(help=f"Instance file of {' or '.join(FRONTS)}, or a job trace (.csv).", show_default=False),
    ],
    session: Session,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method in addition to `exact`, `all`, or your own `package.module:function`; repeatable.",
            show_default="randomised, width-calculator, one-width",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(help="Also write the front and what proves it to this folder, for `verify`.", show_default=False),
    ] = None,
    **said: Any,
) -> None:
    """Print what each budget buys: the proven optimum and the other methods; with --out also CSV, SVG, PDF and PNG.

    Of servers to reclaim: what the GPU-hours that are saved cost in preempted jobs.
    """
    if file.suffix.lower() == ".csv":
        ((problem, read),) = READERS.items()
        instance = read(file, **_select_arguments(read, said))
    else:
        for read in READERS.values():
            _refuse(read, said, f"goes with a job trace (.csv), got {file}")
        instance = load(file)
        problem = instance.problem
        if problem not in FRONTS:
            raise InputError(f"{file}: problem: must be {' or '.join(FRONTS)}, got {problem}")
    for other, make in MAKERS.items():
        if other != problem:
            _refuse(make, said, f"goes with {other}, got {problem}")
    make = MAKERS[problem]
    if certificate is not None:
        if problem not in FRONT_CERTIFIERS:
            raise InputError(f"--certificate: goes with {' or '.join(FRONT_CERTIFIERS)}, got {problem}")
        ready_folder(certificate)
    status = make(instance, session, method, methods_for, **_select_arguments(make, said))
    if certificate is not None:
        resolve(FRONT_CERTIFIERS[problem])(instance, session.options, certificate)
    raise typer.Exit(status)


def _select_arguments(function: Callable[..., Any], said: Mapping[str, Any]) -> dict[str, Any]:
    return {p.name: said[p.name] for p in flags_of(function)}


def _refuse(function: Callable[..., Any], said: Mapping[str, Any], why: str) -> None:
    """Raise InputError for a flag of a function that is not called."""
    for p in flags_of(function):
        if said[p.name] != p.default:
            raise InputError(f"{option_of(p)}: {why}")


if __name__ == "__main__":
    run(pareto)
