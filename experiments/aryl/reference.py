"""Reference sets of Aryl, and the workloads of `gapwise draw`."""

from __future__ import annotations

from experiments.drawing import Drawing, Flag
from experiments.harness.instance_set import InstanceSet
from experiments.harness.overview import OverviewRow
from instances.aryl import (
    elastic_jobs,
    figure_5,
    five_servers,
    loaned_servers,
    loaning_days,
    placement_moment,
    spread_jobs,
    table_2,
    table_4,
)

FILLS = {"best fit": 0.0, "35% random": 0.35, "70% random": 0.7, "random": 1.0}

OVERVIEW_ROW = OverviewRow(
    "Aryl (Lyra, EuroSys'23)",
    "which borrowed servers to return",
    "aryl-reclaim",
    "600 servers, random",
    "600 servers, workers at random",
    "reclaim-greedy",
    "Algorithm 1",
)


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """Elastic jobs under both objectives, 600 loaned servers of which 60 go back, and workers to place."""
    few, more = range(1 if quick else 4), range(2 if quick else 10)
    six = [elastic_jobs(6, s, objective="mean-jct", elastic_share=0.75) for s in more]
    lossy = [elastic_jobs(5, s, objective="mean-jct", elastic_share=0.75, scaling_loss=0.1) for s in few]
    wanting = [
        loaned_servers(200, 0.7, s, 40, elastic_share=0.36, objective=objective)
        for s in few
        for objective in ("preempted-jobs", "lost-gpu-hours")
    ]
    moments = [placement_moment(60, 30, s, gpus_per_worker=(1, 2, 3, 5)) for s in few]
    return [
        InstanceSet("tables 2 and 4", [table_2(), table_4()], ("all",)),
        InstanceSet("tables 2 and 4, knapsack", [table_2("jct-reduction"), table_4("jct-reduction")], ("all",)),
        InstanceSet("figure 5", [figure_5()], ("all",)),
        InstanceSet("6 jobs, mean JCT", six, ("exact", "heuristics")),
        InstanceSet("5 jobs, imperfect scaling", lossy, ("exact", "heuristics")),
        InstanceSet(
            "2,000 jobs, knapsack", [elastic_jobs(2000, s, spare_gpus=3544) for s in few], ("exact", "heuristics")
        ),
        *(
            InstanceSet(f"600 servers, {name}", [loaned_servers(600, f, s, 60) for s in few], ("exact", "heuristics"))
            for name, f in FILLS.items()
        ),
        InstanceSet("60 servers, spread", [spread_jobs(60, 60, s, 12) for s in few], ("exact", "heuristics")),
        InstanceSet("200 servers, 36% elastic, jobs and GPU-hours", wanting, ("exact", "heuristics")),
        InstanceSet("five servers to place workers on", [five_servers()], ("all",)),
        InstanceSet("90 servers to place workers on", moments, ("exact", "best-fit-decreasing")),
    ]


loaning = Drawing(
    "Days of jobs on a training cluster that borrows inference servers, with the moments of Aryl's trace.",
    loaning_days,
    flags={
        "days": Flag(default=15.0),
        "seed": Flag(default=0),
        "trace": Flag(shown="drawn"),
        "training_servers": Flag(default=443, help="Servers of 8 GPUs; inference servers in proportion."),
        "orchestrator_period_seconds": Flag("orchestrator_period"),
        "scheduling_period_seconds": Flag("scheduling_period"),
    },
)
