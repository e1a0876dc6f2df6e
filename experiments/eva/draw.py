"""What can be drawn for Eva: workloads of its cloud, and the rounds of one as problems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from instances import InputError, Instance, load
from instances.eva import EvaCloud, EvaReconfiguration, synthetic_cloud, trace_cloud

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
    hash_order: Annotated[
        int | None,
        typer.Option(
            help="Seed of the order in which the artifact's generator lists sets of three and more tasks.",
            show_default="sets run at the product of their pairs",
        ),
    ] = None,
    delay_factor: Annotated[float, typer.Option(help="What the delays of jobs are multiplied with.", min=0)] = 1.0,
    arrival_rate: Annotated[
        float | None, typer.Option(help="What the rate of arrivals of --trace is multiplied with.", show_default="1")
    ] = None,
    multi_task: Annotated[
        float | None, typer.Option(help="Share of the jobs of --trace that get 2 or 4 tasks.", show_default="0")
    ] = None,
    multi_gpu: Annotated[
        float | None, typer.Option(help="Share of the jobs of --trace with 2, 4 or 8 GPUs.", show_default="as it is")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Jobs drawn from Table 7, without --trace.", min=1, show_default="32")
    ] = None,
    gap_minutes: Annotated[
        float | None, typer.Option(help="Mean time between arrivals of --jobs.", show_default="20")
    ] = None,
    tasks_per_job: Annotated[
        int | None, typer.Option(help="Tasks of each of --jobs.", min=1, show_default="as in Table 7")
    ] = None,
    longest_hours: Annotated[
        float | None, typer.Option(help="Longest duration of --jobs, the shortest is half an hour.", show_default="3")
    ] = None,
    log_uniform: Annotated[
        bool, typer.Option("--log-uniform", help="Logarithms of the durations of --jobs are uniform.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of --jobs, or of --multi-task and --multi-gpu.")] = 0,
) -> Instance[Any]:
    """Jobs that arrive at Eva's cloud: of a trace, or drawn from Table 7."""
    if trace is None:
        said: dict[str, Any] = {"durations": durations, "shuffle": shuffle, "limit": limit, "cpu": cpu}
        said |= {
            "arrival_rate": arrival_rate,
            "multi_task": multi_task,
            "multi_gpu": multi_gpu,
            "hash_order": hash_order,
        }
        _refuse("only --trace takes it", said)
        throughput = None if interference in (None, "figure-1") else _number(interference)
        return synthetic_cloud(
            jobs or 32,
            seed,
            gap_minutes=20.0 if gap_minutes is None else gap_minutes,
            hours=(0.5, 3.0 if longest_hours is None else longest_hours),
            log_uniform=log_uniform,
            delay_factor=delay_factor,
            throughput=throughput,
            tasks_per_job=tasks_per_job,
        )
    said = {"jobs": jobs, "gap_minutes": gap_minutes, "tasks_per_job": tasks_per_job, "longest_hours": longest_hours}
    _refuse("--trace says it itself", said | {"log_uniform": log_uniform or None})
    slowdown: Any = NAMED[0] if interference is None else interference
    return trace_cloud(
        trace,
        durations=durations or "gavel",
        shuffle=shuffle,
        limit=limit,
        cpu=cpu or "vcpus",
        slowdown=slowdown if slowdown in NAMED else _number(slowdown),
        hash_order=hash_order,
        delay_factor=delay_factor,
        arrival_rate=1.0 if arrival_rate is None else arrival_rate,
        multi_task=multi_task or 0.0,
        multi_gpu=multi_gpu,
        seed=seed,
    )


def rounds(
    workload: Annotated[Path, typer.Option(help="A workload file of eva-cloud.", show_default=False)],
    every: Annotated[int, typer.Option(help="Take one round of so many with an event.", min=1)] = 1,
) -> list[Instance[EvaReconfiguration]]:
    """The rounds of Eva's run of a workload in which jobs have arrived or ended, as problems."""
    from experiments.eva.rounds import rounds_of_eva  # loaded only where a run is made

    instance = load(workload)
    if not isinstance(instance.data, EvaCloud):
        raise InputError(f"{workload}: problem: must be eva-cloud, got {instance.problem}")
    return rounds_of_eva(instance, every)


def _number(said: str | None) -> float:
    try:
        return float(said or "")
    except ValueError:
        raise InputError(f"--interference: must be {', '.join(NAMED)} or a number, got {said}") from None


def _refuse(why: str, said: dict[str, Any]) -> None:
    for name, value in said.items():
        if value is not None:
            raise InputError(f"--{name.replace('_', '-')}: {why}, got {value}")
