"""Pictures of the renting world: completion time against the bill, GPUs over time, and when each job waits and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.boa.bound_curve import LABEL, draw_bound
from experiments.simulator.plots import plain, save_figure
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.boa import BoaRenting

GANTT_JOBS = 80  # the first so many are shown
HOUR = 3600.0


def jct_against_bill(runs: Sequence[Simulated], bounded: Mapping[str, BoaRenting] = MappingProxyType({})) -> Figure:
    """Mean completion time against rented GPUs, a point a run, and below them the bound that no policy beats.

    Runs of one policy are joined. `bounded`: the workloads whose bound is drawn, by name; those of the same jobs have
    one curve.
    """
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(run.policy for run in runs):
        points = sorted((run.totals["rented_gpus"], _mean_jct(run)) for run in runs if run.policy == name)
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, linewidth=0.8, label=plain(name))
    alike = _alike(bounded)
    for names in alike:
        rented = [run.totals["rented_gpus"] for run in runs if run.workload in names]
        draw_bound(axes, bounded[names[0]], rented, LABEL if len(alike) == 1 else f"{LABEL}, {plain(names[0])}")
    axes.set(xlabel="rented GPUs, billed hours over the time until the last arrival", ylabel="mean JCT, hours")
    axes.legend(frameon=False, fontsize=8)
    return figure


def gpus_over_time(runs: Sequence[Simulated]) -> Figure:
    """Rented GPUs (line) and GPUs that jobs hold (filled) of each run over time, one panel a policy."""
    figure = Figure(figsize=(8, 0.6 + 1.3 * len(runs)), layout="constrained")
    panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, run in zip(panels, runs, strict=True):
        _gpus(axes, run.timeline_table())
        axes.set_title(plain(run.policy), fontsize=8, loc="left")
        axes.set_ylabel("GPUs")
    panels[-1].set_xlabel("hours")
    return figure


def gantt(jobs: pd.DataFrame, title: str = "") -> Figure:
    """When each job waits (pale) and has begun, one line a job, coloured by class; the first GANTT_JOBS jobs."""
    jobs = jobs.head(GANTT_JOBS)
    figure = Figure(figsize=(8, 1 + 0.12 * len(jobs)), layout="constrained")
    axes = figure.subplots()
    colours = {name: f"C{i % 10}" for i, name in enumerate(dict.fromkeys(jobs["class"]))}
    for place, (kind, submit, start, end) in enumerate(
        zip(jobs["class"], jobs["submit"] / HOUR, jobs["start"] / HOUR, jobs["end"] / HOUR, strict=True)
    ):
        axes.barh(place, start - submit, left=submit, color=colours[kind], alpha=0.3)
        axes.barh(place, end - start, left=start, color=colours[kind])
    axes.invert_yaxis()
    for name, colour in colours.items():
        axes.barh([0], [0], color=colour, label=plain(name))
    axes.set(xlabel="hours", yticks=[], title=plain(title))
    axes.legend(frameon=False, fontsize=8)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Completion time against the bill of all runs; of the first workload GPUs over time, and the jobs of each run."""
    finished = [run for run in done if run.status == "finished"]
    if not finished:
        return
    billed = [run for run in finished if run.totals["rented_gpus"] is not None]
    if billed:
        names = {run.workload for run in billed} & {one.workload for one in bounds if one.status == "finished"}
        bounded = {name: one for name, one in data.items() if name in names}
        save_figure(jct_against_bill(billed, bounded), folder / "jct_against_bill.svg")
    first = [run for run in finished if run.workload == finished[0].workload]
    save_figure(gpus_over_time(first), folder / "gpus.svg")
    for run in first:
        name = "".join(c if c.isalnum() or c in "-." else "-" for c in run.policy)
        save_figure(gantt(run.jobs_table(), f"{run.workload}, {run.policy}"), folder / f"jobs-{name}.svg")


def _alike(workloads: Mapping[str, BoaRenting]) -> list[list[str]]:
    """Names of the workloads, those together that have the same jobs, whatever their budgets are."""
    found: list[list[str]] = []
    for name, data in workloads.items():
        for names in found:
            other = workloads[names[0]]
            if (data.jobs, data.classes, data.max_width) == (other.jobs, other.classes, other.max_width):
                names.append(name)
                break
        else:
            found.append([name])
    return found


def _gpus(axes: Axes, timeline: pd.DataFrame) -> None:
    hours = timeline["time"] / HOUR
    axes.fill_between(hours, timeline["held"], step="post", alpha=0.3, linewidth=0)
    axes.step(hours, timeline["rented"], where="post", linewidth=0.8)


def _mean_jct(run: Simulated) -> float:
    return float(run.jobs_table()["jct"].mean()) / HOUR
