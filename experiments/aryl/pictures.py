"""Pictures of Aryl: use, loans and queueing of a loaning cluster, solutions, and the excess of Algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from experiments.canvas import canvas, choose_time_unit, from_zero, legend, plain, save_all, style_line
from experiments.output.terminal import label
from experiments.palette import BLUE, ORANGE, RED, assign_looks, ink_on, things
from experiments.simulator.plots import DAY_S, plot_over_days, plot_waiting_cdf, save_speedups, select_first_workload
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.aryl import ArylElastic, ArylLoaning, ArylPlacement, ArylReclaim
from instances.aryl.placement import PARTS


def use_over_time(runs: Sequence[Simulated], data: ArylLoaning) -> Figure:
    """Share of the training GPUs that is held, by policy, over days."""
    gpus = data.training_servers * data.gpus_per_server
    figure, axes = plot_over_days(runs, lambda rows: rows["training"] / gpus, "training GPUs in use, share")
    axes.set(ylim=(0, 1.02))
    legend(figure)
    return figure


def loans_over_time(runs: Sequence[Simulated], data: ArylLoaning) -> Figure:
    """Servers on loan, and how many of them each policy uses, over days."""
    borrowing = [run for run in runs if run.timeline_table()["loaned"].any()]
    figure, axes = plot_over_days(
        borrowing or runs, lambda rows: rows["loaned"] / data.gpus_per_server, "servers (GPUs in use over GPUs of one)"
    )
    rows = runs[0].timeline_table()
    axes.step(rows["time"] / DAY_S, rows["on_loan"], where="post", color="0.6", linewidth=2, label="on loan", zorder=0)
    legend(figure)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Speed-ups of all workloads; of the first one use, loans and queueing."""
    save_speedups(folder, done, baseline)
    first = select_first_workload(done)
    if first:
        save_all(use_over_time(first, data[done[0].workload]), folder / "use.svg")
        save_all(loans_over_time(first, data[done[0].workload]), folder / "loans.svg")
        save_all(plot_waiting_cdf(first, first[0].workload), folder / "queueing.svg")


def three_in_one(runs: Sequence[tuple[str, Simulated]]) -> Figure:
    """GPUs in use, servers on loan and jobs that wait over days, by row."""
    figure, (use, loans, waiting) = canvas(8, 7.6, 3, sharex=True)
    rows = runs[0][1].timeline_table()
    loans.step(rows["time"] / DAY_S, rows["on_loan"], where="post", color="0.6", linewidth=2, label="servers on loan")
    look, most = assign_looks(name for name, _ in runs), 0
    for name, run in runs:
        rows = run.timeline_table()
        days, style = rows["time"] / DAY_S, style_line(look[name], width=0.9) | {"where": "post", "label": plain(name)}
        use.step(days, rows["training"], **style)
        waiting.step(days, rows["waiting"], **style)
        most = max(most, rows["waiting"].max())
        if rows["loaned"].any():
            loans.step(days, rows["loaned"] / 8, **style)
    use.set(ylabel="training GPUs in use", ylim=(0, None))
    loans.set(ylabel="servers (GPUs in use / 8)", ylim=(0, None))
    waiting.set(ylabel="jobs that wait", xlabel="days")
    from_zero(waiting, "y", [1, most])
    legend(figure)
    return figure


MOST = 80  # maximum number of jobs or servers that are drawn individually


def elastic(data: ArylElastic, solution: Mapping[str, Any]) -> Figure:
    """Plot the workers of each job between its minimum and maximum, or the GPUs that the jobs hold over time."""
    return (
        _plot_over_time(data, solution["intervals"]) if "intervals" in solution else _workers(data, solution["workers"])
    )


def _workers(data: ArylElastic, workers: Mapping[str, int]) -> Figure:
    jobs = data.jobs[:MOST]
    figure, (axes,) = canvas(min(14.0, 3.2 + 0.22 * len(jobs)), 3.8)
    places = np.arange(len(jobs))
    axes.bar(places, [job.max_workers for job in jobs], color="0.9", label="most")
    axes.bar(places, [workers.get(job.id, 0) for job in jobs], color=BLUE, label="given")
    axes.hlines([job.min_workers for job in jobs], places - 0.4, places + 0.4, color="black", label="least")
    axes.set_xticks(places, [label(job.id) for job in jobs], rotation=90, fontsize=6)
    used = sum(workers.get(job.id, 0) * job.gpus_per_worker for job in data.jobs)
    more = f"; the first {MOST} of {len(data.jobs)} jobs" if len(data.jobs) > MOST else ""
    axes.set(ylabel="workers", title=f"{used} of {data.capacity_gpus:g} GPUs{more}")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    legend(figure, 7)
    return figure


def _plot_over_time(data: ArylElastic, intervals: list[dict[str, Any]]) -> Figure:
    ends = np.cumsum([interval["length"] for interval in intervals]) / 3600
    each, unit = choose_time_unit(float(ends[-1]) if len(ends) else 0.0)
    edges = each * np.concatenate([[0.0], ends])
    figure, (axes,) = canvas(8, 3.6)
    base = np.zeros(len(intervals))
    for job, colour in zip(data.jobs, things(len(data.jobs)), strict=True):
        held = np.array([interval["workers"].get(job.id, 0) * job.gpus_per_worker for interval in intervals])
        axes.bar(edges[:-1], held, np.diff(edges), base, align="edge", color=colour, edgecolor="white", linewidth=0.3)
        longest = int(np.argmax(held * np.diff(edges)))
        seen = edges[longest + 1] - edges[longest] > 0.03 * edges[-1]  # else its name would be over others'
        if held[longest] and seen and len(data.jobs) <= 40:
            middle = (edges[longest] + edges[longest + 1]) / 2
            said: dict[str, Any] = {"color": ink_on(colour), "fontsize": 6, "ha": "center", "va": "center"}
            axes.text(middle, base[longest] + held[longest] / 2, label(job.id), **said)
        base += held
    axes.axhline(data.capacity_gpus, color="black", linewidth=0.8)
    axes.set(xlabel=unit, ylabel="GPUs", title=f"{len(data.jobs)} jobs, {data.capacity_gpus:g} GPUs")
    return figure


def reclaim(data: ArylReclaim, solution: Mapping[str, Any]) -> Figure:
    """Plot the servers of each job, with returned servers and preempted jobs in another colour."""
    back, servers = set(solution["servers"]), data.servers[:MOST]
    place, jobs = {server: i for i, server in enumerate(servers)}, data.jobs[:MOST]
    figure, (axes,) = canvas(max(4.5, 2.2 + 0.16 * len(servers)), 2 + 0.16 * len(jobs))
    for i, server in enumerate(servers):
        if server in back:
            axes.axvspan(i - 0.5, i + 0.5, color="0.88")
    for row, job in enumerate(jobs):
        hit = any(server in back for server in job.servers)
        here = [place[server] for server in job.servers if server in place]
        axes.scatter(here, [row] * len(here), marker="X" if hit else "s", s=28, color=RED if hit else BLUE)
    axes.set_xticks(range(len(servers)), [label(server) for server in servers], rotation=90, fontsize=6)
    axes.set_yticks(range(len(jobs)), [label(job.id) for job in jobs], fontsize=6)
    axes.invert_yaxis()
    preempted = sum(any(server in back for server in job.servers) for job in data.jobs)
    axes.set(title=f"{len(back)} servers go back, {preempted} of {len(data.jobs)} jobs are preempted")
    keys: list[Any] = [Patch(color="0.88", label="goes back")]
    for said, marker, colour in (("preempted", "X", RED), ("goes on", "s", BLUE)):
        keys.append(Line2D([], [], marker=marker, color=colour, linestyle="", label=said))
    legend(figure, 7, handles=keys)
    return figure


def placement(data: ArylPlacement, solution: Mapping[str, Any]) -> Figure:
    """Plot the GPUs of each server: occupied before (grey), and by base and flexible workers of each named job."""
    jobs, added = {job.id: job for job in data.jobs}, dict[str, list[tuple[str, str, int]]]()
    for part in ("base", "flexible"):
        for job, hosts in solution.get(part, {}).items():
            for server, workers in hosts.items():
                added.setdefault(server, []).append((part, job, workers))
    # if there are too many servers, those with new workers are drawn first
    drawn = sorted(data.servers, key=lambda server: server.id not in added)[:MOST]
    servers = [server for server in data.servers if server in drawn]
    figure, (axes,) = canvas(max(4.5, 1.5 + 0.45 * len(servers)), 4)
    colours = {"base": BLUE, "flexible": ORANGE}
    for i, server in enumerate(servers):
        axes.bar(i, server.gpus, color="none", edgecolor="black", linewidth=0.8)
        top = server.gpus - server.free_gpus
        axes.bar(i, top, color="0.8")
        for part, job, workers in added.get(server.id, []):
            gpus = workers * jobs[job].gpus_on(server.kind)
            axes.bar(i, gpus, bottom=top, color=colours[part], edgecolor="white", linewidth=0.5)
            if len(servers) <= 30:
                said: dict[str, Any] = {"color": ink_on(colours[part]), "ha": "center", "va": "center"}
                axes.text(i, top + gpus / 2, f"{label(job, 12)}\n{workers}", fontsize=6, **said)
            top += gpus
    names = [f"{label(server.id)}, {server.kind}" for server in servers]
    axes.set_xticks(range(len(servers)), names, rotation=90, fontsize=6)
    opened = sum(not server.is_in_use and server.id in added for server in data.servers)
    wanted = sum(job.workers(part) * job.gpus_per_worker for job in data.jobs for part in PARTS)
    placed = sum(workers * jobs[job].gpus_per_worker for on in added.values() for _, job, workers in on)
    more = f"; {len(servers)} of {len(data.servers)} servers" if len(servers) < len(data.servers) else ""
    axes.set(ylabel="GPUs", title=f"{opened} servers newly used, {placed} of {wanted} GPUs placed{more}")
    legend(figure, 7, handles=[Patch(color=c, label=n) for n, c in {"taken before": "0.8", **colours}.items()])
    return figure


Excesses = Mapping[float, tuple[float | None, bool]]
"""By the share of the servers to reclaim: an excess as a share, and whether every optimum behind it is proven."""


def excess_lines(lines: Mapping[tuple[int, str], Excesses], seeds: int) -> Figure:
    """Plot excess preemptions, one panel per pool, one line per placement; hollow if some optimum is not proven."""
    pools = list(dict.fromkeys(pool for pool, _ in lines))
    figure, every = canvas(1.4 + 3.2 * len(pools), 4.2, 1, len(pools), sharey=True)
    look = assign_looks(place for _, place in lines)
    for pool, axes in zip(pools, every, strict=True):
        for (_, place), line in ((key, of) for key, of in lines.items() if key[0] == pool):
            heights = {100 * share: 100 * excess for share, (excess, _) in line.items() if excess is not None}
            style = style_line(look[place], marked=True)
            axes.plot(list(heights), list(heights.values()), label=place, **style)
            bounded = [100 * share for share, (excess, proven) in line.items() if excess is not None and not proven]
            hollow = {"facecolors": "white", "edgecolors": look[place].colour, "marker": style["marker"], "zorder": 3}
            axes.scatter(bounded, [heights[at] for at in bounded], s=24, **hollow)
        axes.axvline(6000 / pool, color="grey", linewidth=0.8, linestyle=":")
        axes.set(xlabel=f"servers to reclaim, % of {pool}")
    every[0].set_ylim(bottom=0)
    proven = all(known for line in lines.values() for _, known in line.values())
    hollow_said = "" if proven else "; hollow: some above a bound"
    every[0].set_ylabel(f"preemptions above the optimum, %\n(means of {seeds} instances{hollow_said})")
    legend(figure, title="placement of workers")
    return figure
