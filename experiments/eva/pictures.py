"""Pictures of Eva's cloud: what is rented and what runs over time, and speed-ups against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.simulator.plots import legend, of_first_workload, over_days, save_figure, save_speedups
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds

COLUMNS = {"instances": "instances that are billed", "tasks": "tasks that run"}


def over_time(runs: Sequence[Simulated], column: str) -> Figure:
    """A column of the timeline of each run, by policy, over days."""
    figure, axes = over_days(runs, lambda rows: rows[column], COLUMNS[column])
    legend(axes)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Speed-ups of all workloads; of the first one instances and tasks over time."""
    save_speedups(folder, done, baseline)
    first = of_first_workload(done)
    for column in COLUMNS if first else ():
        save_figure(over_time(first, column), folder / f"{column}.svg")
