"""Pictures of the site, drawn by its build: plans side by side, solutions of each problem, growth, runs of each world.

It is `docs/conf.py` that calls `make`, with the folder of the tutorials on the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from my_cluster import my_cluster

from experiments.api import cluster, plot
from experiments.aryl.pictures import use_over_time
from experiments.boa.pictures import gpus_over_time
from experiments.canvas import canvas, legend, save_figure
from experiments.eva.pictures import plot_over_time
from experiments.harness.evidence import path_of, read
from experiments.kubernetes.pictures import savings
from experiments.palette import things
from experiments.papers import ONLINE, PAPERS
from experiments.peers.curves import curves
from experiments.simulator.plots import speedup_cdf
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation
from heuristics.aryl import reclaim_greedy
from heuristics.eva import full_reconfiguration
from heuristics.sia import gssf
from instances import InputError, Instance, Options
from instances.aryl import elastic_jobs, figure_5, five_servers, loaned_servers, table_2
from instances.boa import figure_1
from instances.eva import EvaPacking, table_3, table_7
from instances.eva.generators import random_round
from instances.kubernetes import synthetic_dump
from instances.sia import five_jobs, six_jobs, synthetic
from models import aryl, boa, eva, sia
from models.eva.reconfiguration import exact_reconfiguration

FOLDER = Path(__file__).resolve().parent / "_made"  # not under version control
"""Where the pictures go."""
Made = dict[str, Callable[[], Figure]]


def front() -> Figure:
    """Return the plans of the paper's heuristic and of the exact method for the same eight tasks."""
    data = table_7(8, seed=0).data
    plans = {"Eva's heuristic": full_reconfiguration(data), "the optimum": eva.exact(data)}
    colours = dict(zip((task.key for task in data.tasks), things(len(data.tasks)), strict=True))
    figure, both = canvas(4.6, 5.2, 2, 1)  # narrow, so that a phone shows all of it
    rows = max(len(_instances(data, result.solution)) for result in plans.values())
    for axes, (title, result) in zip(both, plans.items(), strict=True):
        instances = _instances(data, result.solution)
        for place, (_, shares) in enumerate(instances):
            start = 0.0
            for key, share in shares:
                axes.barh(place, share, left=start, color=colours[key], edgecolor="white")
                start += share
        axes.set_yticks(range(len(instances)), [said for said, _ in instances], fontsize=8)
        axes.set(xlim=(0, 1), ylim=(rows - 0.5, -0.5), xlabel="share of its CPU cores")
        axes.set_title(f"{title}: {result.objective:.2f} USD/h", fontsize=11)
    legend(figure, handles=[Patch(color=colour, label=key) for key, colour in colours.items()])
    return figure


def _instances(data: EvaPacking, solution: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, float]]]]:
    """List the rented instances, the most expensive first, and the tasks on each with their shares of its cores."""
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
    """Return a solution of each problem, and some heuristic ones for comparison."""
    table, jobs, spread = table_3(), elastic_jobs(16, 0, objective="mean-jct"), loaned_servers(24, 0.7, 31, 4)
    moment, two, oracle, servers = figure_5(), table_2("jct-reduction"), five_jobs(), five_servers()
    budget, moves, local, own = figure_1(8.0), random_round(12, 1), six_jobs(), Instance.of(my_cluster(), "my-cluster")
    return {
        "eva-packing": lambda: plot(table, eva.exact(table.data)),
        "eva-reconfiguration": lambda: plot(moves, exact_reconfiguration(moves.data)),
        "boa-allocation": lambda: plot(budget, boa.exact(budget.data)),
        "aryl-elastic": lambda: plot(two, aryl.exact(two.data)),
        "aryl-elastic-over-time": lambda: plot(jobs, aryl.exact(jobs.data, Options(effort=50))),
        "aryl-reclaim": lambda: plot(moment, aryl.exact(moment.data)),
        "aryl-reclaim-greedy": lambda: plot(spread, reclaim_greedy(spread.data)),
        "aryl-reclaim-optimum": lambda: plot(spread, aryl.exact(spread.data)),
        "aryl-placement": lambda: plot(servers, aryl.exact(servers.data)),
        "sia-oracle-gssf": lambda: plot(oracle, gssf(oracle.data)),
        "sia-oracle": lambda: plot(oracle, sia.exact(oracle.data)),
        "sia-local-oracle": lambda: plot(local, sia.local_exact(local.data)),
        "tutorial-bill": lambda: plot(own, eva.exact(own.data)),
        "tutorial-kubernetes": saved,
    }


def saved() -> Figure:
    """Show what a cluster could save."""
    with TemporaryDirectory() as folder:
        for name, content in synthetic_dump(1).items():
            (Path(folder) / name).write_bytes(content)
        answer = cluster(f"{folder}/dump.json", f"{folder}/types.csv", max_evictions="50%", time_limit=3, jobs=2)
    return savings(answer.content())


def growth() -> Figure:
    """CPU seconds by size, from the records of all papers. Raises InputError where one is missing."""
    tables = []
    for name in (f"{paper}/growth" for paper in PAPERS):
        record = read(name)
        if record is None:
            raise InputError(f"{path_of(name)}: no such record")
        tables.append(record.tables[1])
    return curves(tables)


def worlds() -> Made:
    """Return a short run of each world."""

    def cloud() -> Figure:
        return plot_over_time(_runs(_example("eva-cloud"), "no-packing", "synergy", "stratus", "eva"), "instances")

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
    jobs = {run.policy: [run.jobs_table()] for run in _runs(workload, "fcfs", *policies)}
    return speedup_cdf(jobs, title=workload.name)


def make(folder: Path = FOLDER) -> list[str]:
    """Draw every picture into the folder, and return their names. Raises OutputError where one cannot be written."""
    folder.mkdir(exist_ok=True)
    pictures: Made = {
        "front": front,
        "growth": growth,
        **plans(),
        **worlds(),
    }
    for name, drawn in pictures.items():
        save_figure(drawn(), folder / f"{name}.svg")
    return list(pictures)
