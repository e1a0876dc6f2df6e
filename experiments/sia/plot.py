"""Pictures of a schedule: a Gantt chart, and below it the GPUs in use of all that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.canvas import canvas, clocked, legend
from experiments.output.terminal import label
from experiments.palette import things
from instances.sia import SiaOracle

MOST = 120  # jobs of a chart; the GPUs in use are drawn of all


def schedule(data: SiaOracle, solution: Mapping[str, Any]) -> Figure:
    """When each job waits (pale) and runs, coloured by pool, and the GPUs that the jobs of each pool hold."""
    starts = solution["starts"]
    each, unit = clocked(max(starts[job.id] + job.duration for job in data.jobs) * data.slot_minutes / 60)
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
