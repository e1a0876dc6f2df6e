"""Pictures of simulations: speed-ups and slow-downs against FCFS, use over time, and a Gantt chart of a small run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.simulator.simulated import Simulated
from instances import InputError, OutputError

GANTT_JOBS = 80
DAY_S = 86_400
Jobs = Mapping[str, Sequence[pd.DataFrame]]
"""Tables of jobs of each policy, one for each instance, in the same order for all policies."""


def tables_by_policy(runs: Sequence[Simulated], baseline: str) -> dict[str, list[pd.DataFrame]]:
    """Tables of jobs by policy, of those that finished on every workload; empty where the baseline did not."""
    finished = [run for run in runs if run.status == "finished"]
    workloads = {run.workload for run in runs}
    tables = {
        name: [run.jobs_table() for run in finished if run.policy == name]
        for name in dict.fromkeys(run.policy for run in finished)
    }
    complete = {name: found for name, found in tables.items() if len(found) == len(workloads)}
    return complete if baseline in complete else {}


def of_first_workload(runs: Sequence[Simulated]) -> list[Simulated]:
    """The finished runs on the workload that comes first."""
    return [run for run in runs if run.status == "finished" and run.workload == runs[0].workload]


def save_speedups(folder: Path, runs: Sequence[Simulated], baseline: str) -> None:
    """Write `speedup.svg`, where a policy beside the baseline finished on every workload."""
    complete = tables_by_policy(runs, baseline)
    if len(complete) > 1:
        save_figure(speedup_cdf(complete, baseline), folder / "speedup.svg")


def over_days(
    runs: Sequence[Simulated], value: Callable[[pd.DataFrame], pd.Series], ylabel: str
) -> tuple[Figure, Axes]:
    """A value of the timelines of runs whose clock counts seconds, by policy; the caller adds the legend."""
    figure, axes = _axes(8, 3.5)
    for run in runs:
        rows = run.timeline_table()
        axes.step(rows["time"] / DAY_S, value(rows), where="post", linewidth=0.8, label=plain(run.policy))
    axes.set(xlabel="days", ylabel=ylabel, title=plain(runs[0].workload))
    return figure, axes


def speedup_cdf(jobs: Jobs, baseline: str = "fcfs") -> Figure:
    """CDF over jobs of the speed-up against `baseline`; below 1 a job is slower (section 6.1, Figure 11)."""
    figure, axes = _axes(6, 4)
    for name, tables in jobs.items():
        if name != baseline:
            pairs = zip(tables, jobs[baseline], strict=True)
            ratio = np.sort(np.concatenate([_joined(a, b)["jct_base"] / _joined(a, b)["jct"] for a, b in pairs]))
            axes.step(ratio, np.arange(1, len(ratio) + 1) / len(ratio), where="post", label=plain(name))
    axes.set(xscale="log", xlabel=f"speed-up of a job against {baseline}", ylabel="share of jobs", ylim=(0, 1))
    axes.axvline(1, color="0.7", linewidth=0.8, zorder=0)
    legend(axes)
    return figure


def slowdown_cdf(jobs: Jobs, baseline: str = "fcfs", *, slot_minutes: float = 1.0) -> Figure:
    """CDF, over the jobs that end later than under `baseline`, of how much later, as a share of all jobs."""
    figure, axes = _axes(6, 4)
    for name, tables in jobs.items():
        if name != baseline:
            both = pd.concat([_joined(a, b) for a, b in zip(tables, jobs[baseline], strict=True)])
            late = np.sort((both["end"] - both["end_base"]).to_numpy()) * slot_minutes
            late = late[late > 1e-9]
            shares = np.arange(len(late), 0, -1) / len(both) * 100
            if len(late):
                axes.step(late, shares, where="post", label=plain(name))
            else:
                axes.plot([], [], label=f"{plain(name)} (none)")
    axes.set(xscale="log", xlabel=f"minutes later than under {baseline}", ylabel="jobs at least so late, %")
    legend(axes)
    return figure


def pool_use(timeline: pd.DataFrame, capacity: int, *, slot_minutes: float = 1.0, title: str = "") -> Figure:
    """GPUs that the jobs of each pool hold over time, stacked, below the number of all GPUs."""
    figure, axes = _axes(8, 3.5)
    pools = [c for c in timeline.columns if c.startswith("used ")]
    hours = timeline["time"] * slot_minutes / 60
    axes.stackplot(hours, *[timeline[c] for c in pools], labels=[plain(c[5:]) for c in pools], step="post")
    axes.axhline(capacity, color="black", linewidth=0.8)
    axes.set(xlabel="hours", ylabel="GPUs in use", title=plain(title))
    if len(pools) <= 12:
        legend(axes)
    return figure


def gantt(jobs: pd.DataFrame, capacity: int, *, slot_minutes: float = 1.0, title: str = "") -> Figure:
    """When each job waits (pale) and runs, one line a job, coloured by pool. At most GANTT_JOBS jobs.

    Raises InputError for more.
    """
    if len(jobs) > GANTT_JOBS:
        raise InputError(f"gantt: takes at most {GANTT_JOBS} jobs, got {len(jobs)}")
    figure, axes = _axes(8, 1 + 0.16 * len(jobs))
    colours = {pool: f"C{i % 10}" for i, pool in enumerate(sorted(jobs["pool"].unique()))}
    unit = slot_minutes / 60
    columns = (jobs[c] for c in ("job", "pool", "submit", "start", "end", "gpus"))
    for place, (job, pool, submit, start, end, gpus) in enumerate(zip(*columns, strict=True)):
        axes.barh(place, (start - submit) * unit, left=submit * unit, color=colours[pool], alpha=0.25)
        axes.barh(place, (end - start) * unit, left=start * unit, color=colours[pool])
        axes.text(end * unit, place, f" {plain(job)} ({gpus})", va="center", fontsize=6)
    axes.invert_yaxis()
    axes.set(xlabel="hours", yticks=[], title=f"{plain(title)}, {capacity} GPUs" if title else f"{capacity} GPUs")
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in colours.values()]
    axes.legend(handles, [plain(pool) for pool in colours], frameon=False, fontsize=7)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture; an SVG is the same at every run. Raises OutputError where it cannot be written."""
    try:
        with mpl.rc_context({"svg.hashsalt": "gapwise"}):
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    # more curves than colours: the next ones are dashed, then dotted
    axes.set_prop_cycle(cycler(linestyle=["-", "--", ":"]) * cycler(color=mpl.color_sequences["tab10"]))
    return figure, axes


def plain(name: str) -> str:
    """A user's name as it is: without this matplotlib takes what is between two dollars for mathematics."""
    return name.replace("$", r"\$")


def _joined(jobs: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    return jobs.merge(baseline[["job", "jct", "end"]], on="job", suffixes=("", "_base"))


def legend(axes: Axes) -> None:
    """The names of what is drawn, if anything is."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)
