"""What can be drawn for Eva: workloads of its cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from instances import InputError, Instance
from instances.eva import synthetic_cloud, trace_cloud

DRAWINGS = {"eva-cloud": "experiments.eva.draw:cloud"}
NAMED = ("artifact", "artifact-generator", "figure-1")


def cloud(
    trace: Annotated[Path | None, typer.Option(help="A trace of Eva in CSV form.", show_default=False)] = None,
    durations: Annotated[
        Literal["gavel", "alibaba"] | None, typer.Option(help="Durations of --trace.", show_default="gavel")
    ] = None,
    shuffle: Annotated[
        int | None, typer.Option(help="Seed that deals the durations of --trace out anew.", show_default="as they are")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Jobs of --trace.", min=1, show_default="all")] = None,
    cpu: Annotated[
        Literal["vcpus", "physical_cores"] | None,
        typer.Option(help="What a CPU of --trace is.", show_default="vcpus"),
    ] = None,
    interference: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(NAMED)}, or the throughput of every task beside one other.", show_default=NAMED[0]
        ),
    ] = None,
    delay_factor: Annotated[float, typer.Option(help="What the delays of jobs are multiplied with.", min=0)] = 1.0,
    jobs: Annotated[
        int | None, typer.Option(help="Jobs drawn from Table 7, without --trace.", min=1, show_default="32")
    ] = None,
    gap_minutes: Annotated[
        float | None, typer.Option(help="Mean time between arrivals of --jobs.", show_default="20")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --jobs.")] = 0,
) -> Instance[Any]:
    """Jobs that arrive at Eva's cloud: of a trace, or drawn from Table 7."""
    if trace is None:
        said = {"durations": durations, "shuffle": shuffle, "limit": limit, "cpu": cpu}
        _refuse("only --trace takes it", said)
        throughput = None if interference in (None, "figure-1") else _number(interference)
        gap = 20.0 if gap_minutes is None else gap_minutes
        return synthetic_cloud(jobs or 32, seed, gap_minutes=gap, delay_factor=delay_factor, throughput=throughput)
    _refuse("--trace says it itself", {"jobs": jobs, "gap_minutes": gap_minutes})
    slowdown: Any = NAMED[0] if interference is None else interference
    return trace_cloud(
        trace,
        durations=durations or "gavel",
        shuffle=shuffle,
        limit=limit,
        cpu=cpu or "vcpus",
        slowdown=slowdown if slowdown in NAMED else _number(slowdown),
        delay_factor=delay_factor,
    )


def _number(said: str | None) -> float:
    try:
        return float(said or "")
    except ValueError:
        raise InputError(f"--interference: must be {', '.join(NAMED)} or a number, got {said}") from None


def _refuse(why: str, said: dict[str, Any]) -> None:
    for name, value in said.items():
        if value is not None:
            raise InputError(f"--{name.replace('_', '-')}: {why}, got {value}")
