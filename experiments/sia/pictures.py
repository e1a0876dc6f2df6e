"""Pictures of SIA's pools: speed-ups and slow-downs against the baseline, use over time, and Gantt charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.canvas import save_all
from experiments.output.folder import part
from experiments.simulator.plots import (
    GANTT_JOBS,
    gantt,
    of_first_workload,
    pool_use,
    save_speedups,
    slowdown_cdf,
    tables_by_policy,
    titles,
)
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """CDFs against the baseline, and of the first workload the use of the pools and a Gantt chart of each policy."""
    first = data[done[0].workload]
    minutes = first.slot_minutes
    save_speedups(folder, done, baseline)
    tables = tables_by_policy(done, baseline)
    if len(tables) > 1:
        save_all(slowdown_cdf(tables, baseline, slot_minutes=minutes, title=titles(done)), folder / "slowdown.svg")
    for run in of_first_workload(done):
        title, name, jobs = f"{run.workload}, {run.policy}", part(run.policy, dots=False), run.jobs_table()
        use = pool_use(run.timeline_table(), first.capacity, slot_minutes=minutes, title=title)
        save_all(use, folder / f"use-{name}.svg")
        if len(jobs) <= GANTT_JOBS:
            chart = gantt(jobs, first.capacity, slot_minutes=minutes, title=title)
            save_all(chart, folder / f"gantt-{name}.svg")
