"""What can be drawn for Aryl: workloads of its loaning cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from instances import Instance
from instances.aryl import loaning_days


def loaning(
    days: Annotated[float, typer.Option(help="Days within which jobs arrive.")] = 15.0,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    trace: Annotated[
        Path | None, typer.Option(help="Jobs in CSV form: submit_s, duration_s, gpus.", show_default="drawn")
    ] = None,
    training_servers: Annotated[int, typer.Option(help="Servers of 8 GPUs; inference servers in proportion.")] = 443,
    load: Annotated[float, typer.Option(help="GPU time of the jobs over that of the training servers.")] = 0.72,
    loaned_speed: Annotated[float, typer.Option(help="Speed of a loaned GPU; 1 is a training GPU's.")] = 1 / 3,
    loaned_workers: Annotated[
        Literal["slow", "wide"], typer.Option(help="Workers on loaned servers are slow, or have more GPUs.")
    ] = "slow",
    orchestrator_period: Annotated[float, typer.Option(help="Seconds between decisions to lend.")] = 1800.0,
    scheduling_period: Annotated[float, typer.Option(help="Seconds between decisions to start; 0: at events.")] = 60.0,
    headroom: Annotated[float, typer.Option(help="Share of inference servers that is never lent.")] = 0.02,
    elastic_share: Annotated[float, typer.Option(help="Share of jobs that scale.")] = 0.05,
    scaling_range: Annotated[int, typer.Option(help="Most workers of an elastic job over its least.")] = 2,
    scaling_loss: Annotated[float, typer.Option(help="Loss of a worker beyond the middle of the range.")] = 0.0,
    any_gpu_share: Annotated[float, typer.Option(help="Share of jobs that may run on loaned servers.")] = 0.21,
    heterogeneous_share: Annotated[float, typer.Option(help="Share of jobs that may run on both kinds at once.")] = 0.0,
    heterogeneous_speed: Annotated[float, typer.Option(help="Their speed there, as a share of the ideal.")] = 0.7,
    checkpointed_share: Annotated[float, typer.Option(help="Share of jobs that keep their progress.")] = 0.5,
    preemption_seconds: Annotated[float, typer.Option(help="What a preemption costs beside.")] = 63.0,
    wrong_predictions: Annotated[float, typer.Option(help="Share of jobs with a wrong predicted time.")] = 0.0,
    placement: Annotated[Literal["grouped", "plain"], typer.Option(help="Placement of elastic jobs.")] = "grouped",
    workers: Annotated[
        Literal["whole", "small"], typer.Option(help="Workers of inelastic jobs: as wide as can be, or 1 GPU each.")
    ] = "whole",
) -> Instance[Any]:
    """Days of jobs on a training cluster that borrows inference servers, with the moments of Aryl's trace."""
    return loaning_days(
        days,
        seed,
        trace=trace,
        training_servers=training_servers,
        load=load,
        loaned_speed=loaned_speed,
        loaned_workers=loaned_workers,
        orchestrator_period_seconds=orchestrator_period,
        scheduling_period_seconds=scheduling_period,
        headroom=headroom,
        elastic_share=elastic_share,
        scaling_range=scaling_range,
        scaling_loss=scaling_loss,
        any_gpu_share=any_gpu_share,
        heterogeneous_share=heterogeneous_share,
        heterogeneous_speed=heterogeneous_speed,
        checkpointed_share=checkpointed_share,
        preemption_seconds=preemption_seconds,
        wrong_predictions=wrong_predictions,
        placement=placement,
        workers=workers,
    )
