"""Measure the cost of charging a job for each of its tasks, as section 4.4 does.

The optimum of the paper's net saving is compared with the optimum with every job at the speed of its slowest task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Annotated, Any

import typer

from experiments.harness.experiment import Study
from experiments.harness.task import Measured, Measurement
from heuristics.eva import full_reconfiguration
from instances import Options, Result
from instances.eva import EvaPacking, Task, synthetic_cloud
from models.eva import exact
from models.eva.true_speed import maximise_true_saving, true_saving

METHODS: dict[str, Callable[[EvaPacking], Result]] = {
    "optimum of the net saving": exact,
    "full-reconfiguration": full_reconfiguration,
}


def jobs_at_once(jobs: int, seed: int, tasks_per_job: int | None = None, throughput: float | None = None) -> EvaPacking:
    """Jobs of Table 7, distinguished, to be hosted at once; `throughput` of every pair, or Figure 1."""
    cloud = synthetic_cloud(jobs, seed, tasks_per_job=tasks_per_job, throughput=throughput).data
    classes = {c.name: c for c in cloud.classes}
    return EvaPacking(
        resources=cloud.resources,
        instance_types=tuple(kind.plain for kind in cloud.instance_types),
        tasks=tuple(
            Task(workload=classes[name].workload, count=k, demand=classes[name].demand, job=job.id, tasks_in_job=k)
            for job in cloud.jobs
            for name, k in job.tasks.items()
        ),
        throughput=cloud.throughput,
        objective="net-saving",
    )


def surrogate(
    options: Options,
    instance_jobs: Annotated[int, typer.Option(help="Jobs of each instance.", min=1)] = 5,
    seeds: Annotated[int, typer.Option(help="Instances.", min=1)] = 20,
    tasks_per_job: Annotated[int | None, typer.Option(help="Tasks of each job.", show_default="as in Table 7")] = None,
    throughput: Annotated[
        float | None,
        typer.Option(help="Throughput of every pair of tasks that share an instance.", show_default="Figure 1"),
    ] = None,
) -> Study:
    """Print the share of the most true saving that each method reaches."""
    drawn = {"jobs": instance_jobs, "tasks_per_job": tasks_per_job, "throughput": throughput}
    tasks = [Measurement.of(savings, options, None, seed=seed, **drawn) for seed in range(seeds)]

    def tables(outcomes: Sequence[Measured]) -> list[str]:
        best = [one.figures["most"] for one in outcomes]
        lines = [f"{seeds} instances of {instance_jobs} jobs: most true saving {fmean(best):.3f} USD/h on average"]
        for name in METHODS:
            reached = [one.figures[name] for one in outcomes]
            lost = [top - own for top, own in zip(best, reached, strict=True)]
            equal = sum(loss <= 1e-6 * max(1.0, top) for loss, top in zip(lost, best, strict=True))
            share = sum(reached) / sum(best)
            lines.append(f"{name}: {share:.1%} of it, the same in {equal}, at worst {max(lost):.3f} less")
        return lines

    return Study(tasks, tables)


def savings(
    jobs: int, seed: int, tasks_per_job: int | None, throughput: float | None, options: Options
) -> dict[str, Any]:
    """The most true saving of an instance, and that of each method."""
    data = jobs_at_once(jobs, seed, tasks_per_job, throughput)
    found = {"most": maximise_true_saving(data).saving}
    for name, method in METHODS.items():
        solution = method(data).solution
        assert solution is not None
        found[name] = true_saving(data, solution)
    return found
