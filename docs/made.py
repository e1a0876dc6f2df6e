"""Pictures of the site, drawn by its build: two plans side by side, a solution of each problem, a run of each world.

It is `docs/conf.py` that calls `make`, with the folder of the tutorials on the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from my_cluster import my_cluster

from experiments.api import plot
from experiments.aryl.pictures import use_over_time
from experiments.boa.pictures import gpus_over_time
from experiments.eva.pictures import over_time
from experiments.papers import ONLINE
from experiments.simulator.plots import save_figure, speedup_cdf
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from heuristics.aryl import reclaim_greedy
from heuristics.eva import full_reconfiguration
from heuristics.sia import gssf
from instances import Instance, Options
from instances.aryl import elastic_jobs, figure_5, five_servers, loaned_servers, table_2
from instances.boa import figure_1
from instances.eva import EvaPacking, table_3, table_7
from instances.eva.generators import random_round
from instances.sia import five_jobs, six_jobs, synthetic
from models import aryl, boa, eva, sia
from models.eva.reconfiguration import exact_reconfiguration

FOLDER = Path(__file__).resolve().parent / "_made"  # not under version control
"""Where the pictures go."""
Made = dict[str, Callable[[], Figure]]


def front() -> Figure:
    """The plans of the paper's heuristic and of the exact method for the same eight tasks, picked to be small."""
    data = table_7(8, seed=0).data
    plans = {"Eva's heuristic": full_reconfiguration(data), "the optimum": eva.exact(data)}
    colours = {task.key: mpl.colormaps["tab10"](i) for i, task in enumerate(data.tasks)}
    figure = Figure(figsize=(8.6, 2.9), layout="constrained")
    rows = max(len(_instances(data, result.solution)) for result in plans.values())
    for axes, (title, result) in zip(figure.subplots(1, 2), plans.items(), strict=True):
        instances = _instances(data, result.solution)
        for place, (_, shares) in enumerate(instances):
            start = 0.0
            for key, share in shares:
                axes.barh(place, share, left=start, color=colours[key], edgecolor="white")
                start += share
        axes.set_yticks(range(len(instances)), [said for said, _ in instances], fontsize=8)
        axes.set(xlim=(0, 1), ylim=(rows - 0.5, -0.5), xlabel="share of its CPU cores")
        axes.set_title(f"{title}: {result.objective:.2f} USD/h", fontsize=11)
    keys = [Patch(color=colour, label=key) for key, colour in colours.items()]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), fontsize=8, frameon=False)
    return figure


def _instances(data: EvaPacking, solution: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, float]]]]:
    """Each rented instance in words, and the tasks on it with their shares of its cores, the dearest first."""
    kinds, tasks = {kind.name: kind for kind in data.instance_types}, {task.key: task for task in data.tasks}
    found = []
    for group in sorted(solution["instances"], key=lambda group: -kinds[group["type"]].usd_per_hour):
        kind = kinds[group["type"]]
        on_it = [
            (key, tasks[key].demand_on(kind.family)["cpu"] / kind.capacity["cpu"])
            for key, number in group["tasks"].items()
            for _ in range(number)
        ]
        found += [(f"{kind.name}, {kind.usd_per_hour:g} USD/h", on_it)] * group.get("count", 1)
    return found


def plans() -> Made:
    """A solution of each problem, and some heuristic ones beside them."""
    table, jobs, spread = table_3().data, elastic_jobs(16, 0).data, loaned_servers(24, 0.7, 0, 4).data
    moment, two, oracle, servers = figure_5().data, table_2().data, five_jobs().data, five_servers().data
    budget, moves, local = figure_1(8.0).data, random_round(12, 1).data, six_jobs().data
    return {
        "eva-packing": lambda: plot(table, eva.exact(table)),
        "eva-reconfiguration": lambda: plot(moves, exact_reconfiguration(moves)),
        "boa-allocation": lambda: plot(budget, boa.exact(budget)),
        "aryl-elastic": lambda: plot(two, aryl.exact(two)),
        "aryl-elastic-over-time": lambda: plot(jobs, aryl.exact(jobs, Options(effort=50))),
        "aryl-reclaim": lambda: plot(moment, aryl.exact(moment)),
        "aryl-reclaim-greedy": lambda: plot(spread, reclaim_greedy(spread)),
        "aryl-reclaim-optimum": lambda: plot(spread, aryl.exact(spread)),
        "aryl-placement": lambda: plot(servers, aryl.exact(servers)),
        "sia-oracle-gssf": lambda: plot(oracle, gssf(oracle)),
        "sia-oracle": lambda: plot(oracle, sia.exact(oracle)),
        "sia-local-oracle": lambda: plot(local, sia.local_exact(local)),
        "tutorial-bill": lambda: plot(my_cluster(), eva.exact(my_cluster())),
    }


def worlds() -> Made:
    """A short run of each world."""

    def cloud() -> Figure:
        return over_time(_runs(_example("eva-cloud"), "no-packing", "synergy", "stratus", "eva"), "instances")

    def renting() -> Figure:
        return gpus_over_time(_runs(_example("boa-renting"), *ONLINE["boa-renting"].defaults[:3]))

    def loaning() -> Figure:
        workload = _example("aryl-loaning")
        return use_over_time(_runs(workload, "fifo", "sjf", "aryl"), workload.data)

    def pools() -> Figure:
        return _speedups(_example("sia-oracle"), "gssf", "sia-vc")

    def tutorial() -> Figure:
        return _speedups(synthetic("base", seed=0, days=0.5), "sia-vc", "my_policy:make")

    return {
        "world-eva": cloud,
        "world-boa": renting,
        "world-aryl": loaning,
        "world-sia": pools,
        "tutorial-policy": tutorial,
    }


def _example(problem: str) -> Instance:
    made = ONLINE[problem].example
    assert made is not None
    return made()


def _runs(workload: Instance, *policies: str) -> list[Simulated]:
    return [Simulation(workload, policy).work(None) for policy in policies]  # type: ignore[arg-type]


def _speedups(workload: Instance, *policies: str) -> Figure:
    return speedup_cdf({run.policy: [run.jobs_table()] for run in _runs(workload, "fcfs", *policies)})


def make(folder: Path = FOLDER) -> list[str]:
    """Draw every picture into the folder, and return their names. Raises OutputError where one cannot be written."""
    folder.mkdir(exist_ok=True)
    pictures: Made = {"front": front} | plans() | worlds()
    for name, drawn in pictures.items():
        save_figure(drawn(), folder / f"{name}.svg")
    return list(pictures)
