"""What can be drawn for BOA: workloads of its renting world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from instances import InputError, Instance
from instances.boa import poisson_renting, trace_renting


def renting(
    trace: Annotated[Path | None, typer.Option(help="A job trace in CSV form.", show_default=False)] = None,
    speedups: Annotated[
        Path | None, typer.Option(help="Speedups of the jobs of --trace.", show_default="measured on NVIDIA T4")
    ] = None,
    believed: Annotated[
        str | None, typer.Option(help="Column of --speedups that policies are told.", show_default="the truth")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="GPUs on average.", show_default="1.25 times the load", min=0)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Jobs of --trace.", min=1, show_default="all")] = None,
    c2: Annotated[
        float | None,
        typer.Option(
            help="Squared coefficient of variation of the times between arrivals; they are drawn anew.",
            show_default="as in --trace",
        ),
    ] = None,
    hours: Annotated[float | None, typer.Option(help="Hours of arrivals, without --trace.", show_default="8")] = None,
    rate: Annotated[
        float | None, typer.Option(help="What newTrace's rates are multiplied with, without --trace.", show_default="1")
    ] = None,
    gpus_per_node: Annotated[int, typer.Option(help="GPUs of a node.", min=1)] = 4,
    acquisition: Annotated[float, typer.Option(help="Seconds to get a node.", min=0)] = 120.0,
    reclamation: Annotated[float, typer.Option(help="Seconds that a node is billed for after its release.", min=0)] = 0,
    rescale: Annotated[
        float | None, typer.Option(help="Seconds of a rescaling.", min=0, show_default="as measured")
    ] = None,
    estimate_minutes: Annotated[
        float, typer.Option(help="Time between two estimates of arrivals and speedups; 0: none.", min=0)
    ] = 0,
    window_minutes: Annotated[float, typer.Option(help="What estimates are made of; 0: all time before.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn.")] = 0,
) -> Instance[Any]:
    """Jobs that arrive at a cloud of rented nodes: of a trace, or Poisson arrivals of newTrace's classes."""
    if trace is None:
        for name, value in {"speedups": speedups, "believed": believed, "limit": limit, "rescale": rescale}.items():
            if value is not None:
                raise InputError(f"--{name}: only --trace takes it, got {value}")
        return poisson_renting(
            8.0 if hours is None else hours,
            seed,
            rate=1.0 if rate is None else rate,
            c2=c2,
            budget=budget,
            gpus_per_node=gpus_per_node,
            acquisition_seconds=acquisition,
            reclamation_seconds=reclamation,
            estimate_seconds=60 * estimate_minutes,
            window_seconds=60 * window_minutes,
        )
    for name, given in {"hours": hours, "rate": rate}.items():
        if given is not None:
            raise InputError(f"--{name}: --trace says it itself, got {given}")
    return trace_renting(
        trace,
        speedups=speedups,
        believed=believed,
        budget=budget,
        limit=limit,
        c2=c2,
        gpus_per_node=gpus_per_node,
        acquisition_seconds=acquisition,
        reclamation_seconds=reclamation,
        rescale_seconds=rescale,
        estimate_seconds=60 * estimate_minutes,
        window_seconds=60 * window_minutes,
        seed=seed,
    )
