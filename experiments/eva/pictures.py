"""Pictures of Eva's cloud: what is rented and what runs over time, and speed-ups against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.simulator.bounding import Bounds
from experiments.simulator.plots import plain, save_figure, speedup_cdf, tables_by_policy
from experiments.simulator.simulated import Simulated

COLUMNS = {"instances": "instances that are billed", "tasks": "tasks that run"}


def over_time(runs: Sequence[Simulated], column: str) -> Figure:
    """A column of the timeline of each run, by policy, over days."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    for run in runs:
        timeline = run.timeline_table()
        axes.step(timeline["time"] / 86_400, timeline[column], where="post", linewidth=0.8, label=plain(run.policy))
    axes.set(xlabel="days", ylabel=COLUMNS[column], title=plain(runs[0].workload))
    axes.legend(frameon=False, fontsize=8)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Speed-ups of all workloads; of the first one instances and tasks over time."""
    finished = [run for run in done if run.status == "finished"]
    complete = tables_by_policy(done, baseline)
    if len(complete) > 1:
        save_figure(speedup_cdf(complete, baseline), folder / "speedup.svg")
    first = [run for run in finished if run.workload == done[0].workload]
    for column in COLUMNS if first else ():
        save_figure(over_time(first, column), folder / f"{column}.svg")
