"""Pictures of Aryl's decisions: workers of jobs, also over time, servers that go back, and servers that host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.output.terminal import label
from instances.aryl import ArylElastic, ArylPlacement, ArylReclaim
from instances.aryl.placement import PARTS

MOST = 80  # jobs or servers that are drawn one by one


def elastic(data: ArylElastic, solution: Mapping[str, Any]) -> Figure:
    """Workers of each job between the least and the most it takes; or, over time, the GPUs that the jobs hold."""
    return _over_time(data, solution["intervals"]) if "intervals" in solution else _workers(data, solution["workers"])


def _workers(data: ArylElastic, workers: Mapping[str, int]) -> Figure:
    jobs = data.jobs[:MOST]
    figure = Figure(figsize=(min(14.0, 2.5 + 0.22 * len(jobs)), 3.4), layout="constrained")
    axes, places = figure.subplots(), np.arange(len(jobs))
    axes.bar(places, [job.max_workers for job in jobs], color="0.9", label="most")
    axes.bar(places, [workers.get(job.id, 0) for job in jobs], color="C0", label="given")
    axes.hlines([job.min_workers for job in jobs], places - 0.4, places + 0.4, color="black", label="least")
    axes.set_xticks(places, [label(job.id) for job in jobs], rotation=90, fontsize=6)
    used = sum(workers.get(job.id, 0) * job.gpus_per_worker for job in data.jobs)
    more = f"; the first {MOST} of {len(data.jobs)} jobs" if len(data.jobs) > MOST else ""
    axes.set(ylabel="workers", title=f"{used} of {data.capacity_gpus} GPUs{more}")
    axes.legend(frameon=False, fontsize=7)
    return figure


def _over_time(data: ArylElastic, intervals: list[dict[str, Any]]) -> Figure:
    edges = np.concatenate([[0.0], np.cumsum([interval["length"] for interval in intervals])]) / 3600
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes, base = figure.subplots(), np.zeros(len(intervals))
    for i, job in enumerate(data.jobs):
        held = np.array([interval["workers"].get(job.id, 0) * job.gpus_per_worker for interval in intervals])
        colour = mpl.colormaps["tab20"](i % 20)
        axes.bar(edges[:-1], held, np.diff(edges), base, align="edge", color=colour, edgecolor="white", linewidth=0.3)
        longest = int(np.argmax(held * np.diff(edges)))
        if held[longest] and len(data.jobs) <= 40:
            middle = (edges[longest] + edges[longest + 1]) / 2
            axes.text(middle, base[longest] + held[longest] / 2, label(job.id), fontsize=6, ha="center", va="center")
        base += held
    axes.axhline(data.capacity_gpus, color="black", linewidth=0.8)
    axes.set(xlabel="hours", ylabel="GPUs", title=f"{len(data.jobs)} jobs, {data.capacity_gpus} GPUs")
    return figure


def reclaim(data: ArylReclaim, solution: Mapping[str, Any]) -> Figure:
    """Which servers each job is on: those that go back, and the jobs that this preempts, in another colour."""
    back, servers = set(solution["servers"]), data.servers[:MOST]
    place, jobs = {server: i for i, server in enumerate(servers)}, data.jobs[:MOST]
    figure = Figure(figsize=(max(4.5, 2.2 + 0.16 * len(servers)), 1.6 + 0.16 * len(jobs)), layout="constrained")
    axes = figure.subplots()
    for i, server in enumerate(servers):
        if server in back:
            axes.axvspan(i - 0.5, i + 0.5, color="0.88")
    for row, job in enumerate(jobs):
        hit = any(server in back for server in job.servers)
        here = [place[server] for server in job.servers if server in place]
        axes.scatter(here, [row] * len(here), marker="s", s=24, color="C3" if hit else "C0")
    axes.set_xticks(range(len(servers)), [label(server) for server in servers], rotation=90, fontsize=6)
    axes.set_yticks(range(len(jobs)), [label(job.id) for job in jobs], fontsize=6)
    axes.invert_yaxis()
    preempted = sum(any(server in back for server in job.servers) for job in data.jobs)
    axes.set(title=f"{len(back)} servers go back, {preempted} of {len(data.jobs)} jobs hit")
    return figure


def placement(data: ArylPlacement, solution: Mapping[str, Any]) -> Figure:
    """GPUs of each server: taken before (grey), and by the base and the flexible workers of each job, named."""
    jobs, added = {job.id: job for job in data.jobs}, dict[str, list[tuple[str, str, int]]]()
    for part in ("base", "flexible"):
        for job, hosts in solution.get(part, {}).items():
            for server, workers in hosts.items():
                added.setdefault(server, []).append((part, job, workers))
    # servers that host something new come first where there are more than can be drawn
    drawn = sorted(data.servers, key=lambda server: server.id not in added)[:MOST]
    servers = [server for server in data.servers if server in drawn]
    figure = Figure(figsize=(max(4.5, 1.5 + 0.45 * len(servers)), 3.6), layout="constrained")
    axes, colours = figure.subplots(), {"base": "C0", "flexible": "C1"}
    for i, server in enumerate(servers):
        axes.bar(i, server.gpus, color="none", edgecolor="black", linewidth=0.8)
        top = server.gpus - server.free_gpus
        axes.bar(i, top, color="0.8")
        for part, job, workers in added.get(server.id, []):
            gpus = workers * jobs[job].gpus_on(server.kind)
            axes.bar(i, gpus, bottom=top, color=colours[part], edgecolor="white", linewidth=0.5)
            if len(servers) <= 30:
                axes.text(i, top + gpus / 2, f"{label(job, 12)}\n{workers}", fontsize=5, ha="center", va="center")
            top += gpus
    for name, colour in {"before": "0.8", **colours}.items():
        axes.bar(0, 0, color=colour, label=name)
    names = [f"{label(server.id)}, {server.kind}" for server in servers]
    axes.set_xticks(range(len(servers)), names, rotation=90, fontsize=6)
    opened = sum(not server.in_use and server.id in added for server in data.servers)
    wanted = sum(job.workers(part) * job.gpus_per_worker for job in data.jobs for part in PARTS)
    placed = sum(workers * jobs[job].gpus_per_worker for on in added.values() for _, job, workers in on)
    more = f"; {len(servers)} of {len(data.servers)} servers" if len(servers) < len(data.servers) else ""
    axes.set(ylabel="GPUs", title=f"{opened} servers newly used, {placed} of {wanted} GPUs placed{more}")
    axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
