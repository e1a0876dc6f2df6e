"""Reference sets of Eva, and its generators: workloads of its cloud, their rounds as problems, and pods to be hosted.

The sets are Table 3, samples of Table 7 with and without the interference of Figure 1, and rounds.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.drawing import Drawing, Flag
from experiments.harness.instance_set import InstanceSet
from experiments.harness.overview import OverviewRow
from instances import InputError, Instance, load
from instances.eva import (
    EvaCloud,
    EvaReconfiguration,
    price_list,
    random_round,
    synthetic_cloud,
    table_3,
    table_3_round,
    table_7,
    trace_cloud,
)

OVERVIEW_ROW = OverviewRow(
    "Eva, EuroSys'25",
    "which instances to rent",
    "eva-packing",
    "200 tasks",
    "200 tasks",
    "full-reconfiguration",
    "Full Reconfiguration",
)


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """Table 4's own setting is `200 tasks`, with seeds 0 to 29."""
    few, three = range(2 if quick else 10), range(1 if quick else 3)
    large = ("exact", "heuristics")
    return [
        InstanceSet("table 3", [table_3()]),
        InstanceSet("8 tasks, literal too", [table_7(8, s) for s in three]),
        InstanceSet("200 tasks", [table_7(200, s) for s in range(3 if quick else 30)], large),
        InstanceSet("8,000 tasks", [table_7(8000, s) for s in range(1 if quick else 5)], large),
        InstanceSet("table 3, interference", [table_3("net-saving")]),
        InstanceSet("200 tasks, interference", [table_7(200, s, objective="net-saving") for s in few], large),
        InstanceSet("table 3, a round", [table_3_round()]),
        InstanceSet(
            "rounds of 6 tasks, literal too", [random_round(6, s, tasks_per_job=k) for k in (1, 2) for s in three]
        ),
        InstanceSet("rounds of 40 tasks", [random_round(40, s) for s in few], large),
        InstanceSet("rounds of 20 tasks in jobs of two", [random_round(20, s, tasks_per_job=2) for s in few], large),
    ]


NAMED = ("artifact", "artifact-generator", "figure-1")


def _number(said: str) -> float:
    try:
        number = float(said)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise InputError(f"--interference: must be {', '.join(NAMED)} or a number in [0, 1], got {said}")
    return number


def _pairs(said: str) -> float | None:
    """Return the throughput of the jobs of Table 7: that of Figure 1, or one value for all pairs."""
    return None if said == "figure-1" else _number(said)


def _matrix(said: str) -> Any:
    """Return the throughput of the jobs of a trace: a matrix by name, or one value for all pairs."""
    return said if said in NAMED else _number(said)


INTERFERENCE = f"{', '.join(NAMED)}, or the throughput of every task with one other."
cloud = Drawing(
    "Jobs that arrive at Eva's cloud: of a trace, or drawn from Table 7.",
    drawn=synthetic_cloud,
    traced=trace_cloud,
    flags={
        "path": Flag("trace", "A trace of Eva in CSV form.", Path, None),
        "durations": Flag(help="Durations of --trace: drawn as in Gavel, or the pods' own lives."),
        "shuffle": Flag(shown="as they are"),
        "first": Flag(help="Jobs to skip at the start of --trace.", least=0),
        "limit": Flag(help="Jobs of --trace.", least=1, shown="all"),
        "cpu": Flag(kind=Literal["vcpus", "physical_cores"], help="Unit in which --trace counts CPUs."),
        "slowdown": Flag("interference", INTERFERENCE, str, None, NAMED[0], value=_matrix),
        "throughput": Flag("interference", INTERFERENCE, str, None, "figure-1", value=_pairs),
        "hash_order": Flag(
            help="Seed of the order in which the artifact's generator lists sets of three and more tasks.",
            shown="sets run at the product of their pairs",
        ),
        "delay_factor": Flag(least=0, scales="(fetch|build|init|kill|upload)_seconds"),
        "gap_minutes": Flag(scales="arrival_seconds"),
        "arrival_rate": Flag(scales="arrival_seconds"),
        "multi_gpu": Flag(shown="as it is"),
        "n": Flag("jobs", "Jobs drawn from Table 7, without --trace.", default=32, least=1),
        "tasks_per_job": Flag(least=1, help="Tasks of each of --jobs.", shown="as in Table 7"),
        "hours": Flag(
            "longest_hours",
            "Longest duration of --jobs, the shortest is half an hour.",
            float,
            3.0,
            value=lambda longest: (0.5, longest),
            scales="duration_seconds",
        ),
        "log_uniform": Flag(help="Draw the durations of --jobs log-uniformly."),
        "seed": Flag(help="Seed of --jobs, or of --multi-task and --multi-gpu.", default=0),
    },
    left_out=("name",),
)


packing = Drawing(
    "Pods to be hosted on a cloud's price list.",
    drawn=price_list,
    flags={
        "n": Flag("pods", "Number of pods.", default=200, least=1),
        "seed": Flag(help="Seed of all draws.", default=0),
    },
)


def rounds(
    workload: Annotated[Path, typer.Option(help="A workload file of eva-cloud.", show_default=False)],
    every: Annotated[int, typer.Option(help="Take every N-th round in which a job arrives or ends.", min=1)] = 1,
) -> list[Instance[EvaReconfiguration]]:
    """Return the rounds of Eva's run of a workload in which jobs have arrived or ended, as problems."""
    from experiments.eva.simulation import rounds_of_eva  # loaded only where a run is made

    instance = load(workload)
    if not isinstance(instance.data, EvaCloud):
        raise InputError(f"{workload}: problem: must be eva-cloud, got {instance.problem}")
    return rounds_of_eva(instance, every)
