"""Pictures of a loaning cluster: use, loans and queueing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.simulator.plots import (
    DAY_S,
    legend,
    of_first_workload,
    over_days,
    plain,
    save_figure,
    save_speedups,
)
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.aryl import ArylLoaning


def use_over_time(runs: Sequence[Simulated], data: ArylLoaning) -> Figure:
    """Share of the training GPUs that is held, by policy, over days."""
    gpus = data.training_servers * data.gpus_per_server
    figure, axes = over_days(runs, lambda rows: rows["training"] / gpus, "training GPUs in use, share")
    axes.set(ylim=(0, 1.02))
    legend(axes)
    return figure


def loans_over_time(runs: Sequence[Simulated], data: ArylLoaning) -> Figure:
    """Servers on loan, and how many of them each policy uses, over days."""
    borrowing = [run for run in runs if run.timeline_table()["loaned"].any()]
    figure, axes = over_days(
        borrowing or runs, lambda rows: rows["loaned"] / data.gpus_per_server, "servers (GPUs in use over GPUs of one)"
    )
    rows = runs[0].timeline_table()
    axes.step(rows["time"] / DAY_S, rows["on_loan"], where="post", color="0.6", linewidth=1.2, label="on loan")
    legend(axes)
    return figure


def queueing(runs: Sequence[Simulated]) -> Figure:
    """CDF over jobs of the time that they waited, by policy."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for run in runs:
        waited = np.sort(run.jobs_table()["delay"].to_numpy(float))
        axes.step(np.maximum(waited, 1), np.arange(1, len(waited) + 1) / len(waited), label=plain(run.policy))
    axes.set(xscale="log", xlabel="seconds that a job waited, 1 where it did not", ylabel="share of jobs", ylim=(0, 1))
    axes.legend(frameon=False, fontsize=8)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Speed-ups of all workloads; of the first one use, loans and queueing."""
    save_speedups(folder, done, baseline)
    first = of_first_workload(done)
    if first:
        save_figure(use_over_time(first, data[done[0].workload]), folder / "use.svg")
        save_figure(loans_over_time(first, data[done[0].workload]), folder / "loans.svg")
        save_figure(queueing(first), folder / "queueing.svg")


def three_in_one(runs: Sequence[tuple[str, Simulated]]) -> Figure:
    """GPUs in use, servers on loan and jobs that wait over days, by row."""
    figure = Figure(figsize=(8, 7), layout="constrained")
    use, loans, waiting = figure.subplots(3, sharex=True)
    rows = runs[0][1].timeline_table()
    loans.step(rows["time"] / DAY_S, rows["on_loan"], where="post", color="0.6", label="servers on loan")
    for name, run in runs:
        rows = run.timeline_table()
        days = rows["time"] / DAY_S
        use.step(days, rows["training"], where="post", linewidth=0.8, label=plain(name))
        waiting.step(days, rows["waiting"], where="post", linewidth=0.8, label=plain(name))
        if rows["loaned"].any():
            loans.step(days, rows["loaned"] / 8, where="post", linewidth=0.8, label=plain(name))
    use.set(ylabel="training GPUs in use")
    loans.set(ylabel="servers (GPUs in use / 8)")
    waiting.set(ylabel="jobs that wait", xlabel="days", yscale="symlog")
    for axes in (use, loans, waiting):
        axes.legend(frameon=False, fontsize=7)
    return figure
