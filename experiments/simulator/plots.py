"""Figures of simulations: speed-ups and slow-downs against FCFS, use over time, and a Gantt chart of a small run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.canvas import canvas, from_zero, legend, logarithmic, plain, save_all, style_line
from experiments.palette import looks, things, widths
from experiments.simulator.simulated import Simulated
from instances import InputError
from instances.arrays import FloatArray

GANTT_JOBS = 80
DAY_S = 86_400
Jobs = Mapping[str, Sequence[pd.DataFrame]]
"""Tables of jobs of each policy, one for each instance, in the same order for all policies."""


def tables_by_policy(runs: Sequence[Simulated], baseline: str) -> dict[str, list[pd.DataFrame]]:
    """Return the job tables of policies that finished on every workload; empty if the baseline did not."""
    finished = [run for run in runs if run.status == "finished"]
    workloads = {run.workload for run in runs}
    tables = {
        name: [run.jobs_table() for run in finished if run.policy == name]
        for name in dict.fromkeys(run.policy for run in finished)
    }
    complete = {name: found for name, found in tables.items() if len(found) == len(workloads)}
    return complete if baseline in complete else {}


def select_first_workload(runs: Sequence[Simulated]) -> list[Simulated]:
    """Return the finished runs on the first workload."""
    return [run for run in runs if run.status == "finished" and run.workload == runs[0].workload]


def save_speedups(folder: Path, runs: Sequence[Simulated], baseline: str) -> None:
    """Write `speedup` if the baseline and another policy finished on every workload."""
    complete = tables_by_policy(runs, baseline)
    if len(complete) > 1:
        save_all(speedup_cdf(complete, baseline, title=titles(runs)), folder / "speedup.svg")


def titles(runs: Sequence[Simulated]) -> str:
    """Return the title of a figure of these runs: the workload, or the number of workloads."""
    names = list(dict.fromkeys(run.workload for run in runs))
    return names[0] if len(names) == 1 else f"{len(names)} workloads"


def plot_over_days(
    runs: Sequence[Simulated], value: Callable[[pd.DataFrame], pd.Series], ylabel: str
) -> tuple[Figure, Axes]:
    """Plot a value of the timelines of runs whose clock counts seconds, by policy; the caller adds the legend."""
    figure, (axes,) = canvas(8, 3.8)
    look = looks(run.policy for run in runs)
    for run, width in zip(runs, widths(len(runs)), strict=True):
        rows = run.timeline_table()
        style = style_line(look[run.policy], width=width)
        axes.step(rows["time"] / DAY_S, value(rows), where="post", label=plain(run.policy), **style)
    axes.set(xlabel="days", ylabel=ylabel, title=plain(runs[0].workload))
    axes.set_ylim(bottom=0)
    return figure, axes


def cdf(axes: Axes, values: FloatArray, **said: Any) -> None:
    """Plot the empirical distribution function of the values, starting at 0."""
    ordered = np.sort(np.asarray(values, float))
    shares = np.arange(len(ordered) + 1) / max(len(ordered), 1)
    axes.step(np.concatenate([ordered[:1], ordered]), shares, where="post", **said)


def speedup_cdf(jobs: Jobs, baseline: str = "fcfs", title: str = "") -> Figure:
    """Plot the CDF over jobs of the speed-up against `baseline`; below 1 a job is slower (section 6.1, Figure 11)."""
    figure, (axes,) = canvas(6, 4.3)
    look, drawn = looks(jobs), [name for name in jobs if name != baseline]
    wide = dict(zip(drawn, widths(len(drawn)), strict=True))
    for name, tables in jobs.items():
        if name != baseline:
            pairs = [_join_baseline(a, b) for a, b in zip(tables, jobs[baseline], strict=True)]
            ratio = np.concatenate([both["jct_base"] / both["jct"] for both in pairs])
            cdf(axes, ratio, label=plain(name), **style_line(look[name], width=wide[name]))
    logarithmic(axes, "x")
    axes.set(xlabel=f"speed-up of a job against {plain(baseline)}", ylabel="share of jobs", ylim=(0, 1))
    axes.set_title(plain(title))
    axes.axvline(1, color="0.7", linewidth=0.8, zorder=0)
    legend(figure)
    return figure


def slowdown_cdf(jobs: Jobs, baseline: str = "fcfs", *, slot_minutes: float = 1.0, title: str = "") -> Figure:
    """Plot the share of all jobs that end at least a given time later than under `baseline`."""
    figure, (axes,) = canvas(6, 4.3)
    look = looks(jobs)
    for name, tables in jobs.items():
        if name != baseline:
            both = pd.concat([_join_baseline(a, b) for a, b in zip(tables, jobs[baseline], strict=True)])
            late = np.sort((both["end"] - both["end_base"]).to_numpy()) * slot_minutes
            late = late[late > 1e-9]
            shares = np.arange(len(late), 0, -1) / len(both) * 100
            if len(late):
                axes.step(late, shares, where="post", label=plain(name), **style_line(look[name]))
            else:
                axes.plot([], [], label=f"{plain(name)} (none)", **style_line(look[name]))
    axes.set(xlabel=f"minutes later than under {plain(baseline)}", ylabel="jobs at least so late, %")
    axes.set(title=plain(title))
    logarithmic(axes, "x")
    axes.set_ylim(bottom=0)
    legend(figure)
    return figure


def plot_waiting_cdf(runs: Sequence[Simulated], title: str = "") -> Figure:
    """Plot the CDF over jobs of their waiting time in seconds, by policy, including jobs that did not wait."""
    figure, (axes,) = canvas(6, 4.3)
    look = looks(run.policy for run in runs)
    waits = {run.policy: run.jobs_table()["delay"].to_numpy(float) for run in runs}
    for (name, waited), width in zip(waits.items(), widths(len(waits)), strict=True):
        cdf(axes, waited, label=plain(name), **style_line(look[name], width=width))
    axes.set(xlabel="seconds that a job waited", ylabel="share of jobs", ylim=(0, 1), title=plain(title))
    from_zero(axes, "x", np.concatenate(list(waits.values())).tolist())
    legend(figure)
    return figure


def pool_use(timeline: pd.DataFrame, capacity: int, *, slot_minutes: float = 1.0, title: str = "") -> Figure:
    """Plot the GPUs that the jobs of each pool hold over time, stacked, with the total number of GPUs."""
    figure, (axes,) = canvas(8, 3.8)
    pools = [c for c in timeline.columns if c.startswith("used ")]
    hours = timeline["time"] * slot_minutes / 60
    names = [plain(c[5:]) for c in pools]
    axes.stackplot(hours, *[timeline[c] for c in pools], labels=names, colors=things(len(pools)), step="post")
    axes.axhline(capacity, color="black", linewidth=0.8)
    axes.set(xlabel="hours", ylabel="GPUs in use", title=plain(title))
    if len(pools) <= 12:
        legend(figure)
    return figure


def gantt(jobs: pd.DataFrame, capacity: int, *, slot_minutes: float = 1.0, title: str = "") -> Figure:
    """Plot when each job waits (pale) and runs, one line per job, coloured by pool.

    Raises InputError for more than GANTT_JOBS jobs.
    """
    if len(jobs) > GANTT_JOBS:
        raise InputError(f"gantt: takes at most {GANTT_JOBS} jobs, got {len(jobs)}")
    figure, (axes,) = canvas(8, 1.3 + 0.16 * len(jobs))
    pools = sorted(jobs["pool"].unique())
    colours = dict(zip(pools, things(len(pools)), strict=True))
    unit = slot_minutes / 60
    columns = (jobs[c] for c in ("job", "pool", "submit", "start", "end", "gpus"))
    for place, (job, pool, submit, start, end, gpus) in enumerate(zip(*columns, strict=True)):
        axes.barh(place, (start - submit) * unit, left=submit * unit, color=colours[pool], alpha=0.25)
        axes.barh(place, (end - start) * unit, left=start * unit, color=colours[pool])
        axes.text(end * unit, place, f" {plain(job)} ({gpus})", va="center", fontsize=6)
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set(xlabel="hours", yticks=[], title=f"{plain(title)}, {capacity} GPUs" if title else f"{capacity} GPUs")
    legend(figure, 7, handles=[Patch(color=colour, label=plain(pool)) for pool, colour in colours.items()])
    return figure


def _join_baseline(jobs: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    return jobs.merge(baseline[["job", "jct", "end"]], on="job", suffixes=("", "_base"))
