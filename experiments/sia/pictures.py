"""Pictures of SIA's pools: speed-ups and slow-downs against the baseline, use over time, and Gantt charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.canvas import canvas, choose_time_unit, legend, save_all
from experiments.output.folder import part
from experiments.output.terminal import label
from experiments.palette import things
from experiments.simulator.plots import (
    GANTT_JOBS,
    gantt,
    pool_use,
    save_speedups,
    select_first_workload,
    slowdown_cdf,
    tables_by_policy,
    titles,
)
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.sia import SiaOracle


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
    for run in select_first_workload(done):
        title, name, jobs = f"{run.workload}, {run.policy}", part(run.policy, dots=False), run.jobs_table()
        use = pool_use(run.timeline_table(), first.capacity, slot_minutes=minutes, title=title)
        save_all(use, folder / f"use-{name}.svg")
        if len(jobs) <= GANTT_JOBS:
            chart = gantt(jobs, first.capacity, slot_minutes=minutes, title=title)
            save_all(chart, folder / f"gantt-{name}.svg")


MOST = 120  # jobs of a chart; the GPUs in use are drawn of all


def schedule(data: SiaOracle, solution: Mapping[str, Any]) -> Figure:
    """When each job waits (pale) and runs, coloured by pool, and the GPUs that the jobs of each pool hold."""
    starts = solution["starts"]
    each, unit = choose_time_unit(max(starts[job.id] + job.duration for job in data.jobs) * data.slot_minutes / 60)
    slot = each * data.slot_minutes / 60
    colours = dict(zip((pool.name for pool in data.pools), things(len(data.pools)), strict=True))
    jobs = sorted(data.jobs, key=lambda job: (starts[job.id], job.submit))
    drawn = jobs[:MOST]
    tall = max(1.0, 0.16 * len(drawn))
    figure, (above, below) = canvas(8, 2.8 + tall, 2, sharex=True, height_ratios=(tall, 1.6))
    for place, job in enumerate(drawn):
        start = starts[job.id]
        above.barh(place, (start - job.submit) * slot, left=job.submit * slot, color=colours[job.pool], alpha=0.25)
        above.barh(place, job.duration * slot, left=start * slot, color=colours[job.pool])
        if len(drawn) <= 60:
            above.text((start + job.duration) * slot, place, f" {label(job.id)} ({job.gpus})", va="center", fontsize=6)
    above.invert_yaxis()
    left = len(jobs) - len(drawn)
    above.set(yticks=[], ylabel=f"{len(drawn)} jobs" + (f", {left} more" if left else ""))
    moments = np.unique([m for job in jobs for m in (starts[job.id], starts[job.id] + job.duration)])
    use = {name: np.zeros(len(moments)) for name in colours}
    for job in jobs:
        first, last = np.searchsorted(moments, [starts[job.id], starts[job.id] + job.duration])
        use[job.pool][first:last] += job.gpus
    capacity = sum(pool.gpus for pool in data.pools)
    below.stackplot(moments * slot, *use.values(), colors=list(colours.values()), labels=map(label, use), step="post")
    below.axhline(capacity, color="black", linewidth=0.8)
    below.text(0, capacity, f" {capacity} GPUs", fontsize=7, va="bottom")
    below.set(xlabel=unit, ylabel="GPUs in use", ylim=(0, 1.2 * capacity))
    above.set_title("waiting (pale) and running; in brackets the GPUs of a job", fontsize=9)
    above.margins(x=0.08)
    if len(use) <= 12:
        legend(figure, 7)
    return figure
