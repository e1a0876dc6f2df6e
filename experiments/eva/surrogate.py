"""`python -m experiments.eva.surrogate`: what it costs to charge a job for each of its tasks, as section 4.4 does.

The optimum of the paper's net saving, and the best with every job at the speed of its slowest task, side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Annotated

import typer

from experiments.output.terminal import out
from heuristics.eva import full_reconfiguration
from instances import Result
from instances.eva import EvaPacking, Task, synthetic_cloud
from models.eva import exact
from models.eva.true_speed import most_true_saving, true_saving

METHODS: dict[str, Callable[[EvaPacking], Result]] = {
    "optimum of the net saving": exact,
    "full-reconfiguration": full_reconfiguration,
}


def jobs_at_once(jobs: int, seed: int, tasks_per_job: int | None = None, throughput: float | None = None) -> EvaPacking:
    """Jobs of Table 7, told apart, to be hosted at once; `throughput` of every pair, or Figure 1."""
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


def main(
    jobs: Annotated[int, typer.Option(help="Jobs of each instance.", min=1)] = 5,
    seeds: Annotated[int, typer.Option(help="Instances.", min=1)] = 20,
    tasks_per_job: Annotated[int | None, typer.Option(help="Tasks of each job.", show_default="as in Table 7")] = None,
    throughput: Annotated[float | None, typer.Option(help="Of every pair.", show_default="Figure 1")] = None,
) -> None:
    """Print the share of the most true saving that each method reaches."""
    reached: dict[str, list[float]] = {name: [] for name in METHODS}
    best: list[float] = []
    for seed in range(seeds):
        data = jobs_at_once(jobs, seed, tasks_per_job, throughput)
        best.append(most_true_saving(data).saving)
        for name, method in METHODS.items():
            solution = method(data).solution
            assert solution is not None
            reached[name].append(true_saving(data, solution))
    out.print(f"{seeds} instances of {jobs} jobs: most true saving {fmean(best):.3f} USD/h on average")
    for name, savings in reached.items():
        lost = [top - own for top, own in zip(best, savings, strict=True)]
        equal = sum(loss <= 1e-6 * max(1.0, top) for loss, top in zip(lost, best, strict=True))
        out.print(f"{name}: {sum(savings) / sum(best):.1%} of it, the same in {equal}, at worst {max(lost):.3f} less")


if __name__ == "__main__":
    typer.run(main)
