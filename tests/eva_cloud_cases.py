"""Build workloads of Eva's cloud for tests: slices of the paper's simulations, and small random ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from instances.eva import CloudJob, EvaCloud, TaskClass, Throughput
from instances.eva.cloud import LargerSets
from instances.eva.tables import RESOURCES, cloud_types

DATA = Path(__file__).parent / "data"
TRACE = DATA / "eva_200_jobs.csv"
SLICES = {first: DATA / f"eva_jobs_from_{first}.csv" for first in (1000, 3000)}
"""150 jobs each of the trace of 6,274, by the first of them; time begins with the round before it arrives."""
WORKLOADS = ("a", "b", "c")


def random_cloud(seed: int, *, jobs: int = 8, delay_factor: float = 1.0, dealt: bool = False) -> EvaCloud:
    """Jobs of one to three tasks of few classes, with delays of a second and more, multiplied with `delay_factor`.

    `dealt`: sets of three tasks and more are as `larger_sets` says.
    """
    rng = np.random.default_rng(seed)

    def seconds(longest: int) -> float:
        return float(round(delay_factor * int(rng.integers(1, longest + 1))))

    classes = tuple(
        TaskClass(
            name=f"{WORKLOADS[i % 3]}[{i}]",
            workload=WORKLOADS[i % 3],
            demand={
                "default": {"gpu": gpu, "cpu": float(rng.integers(1, 9)), "ram_gb": float(rng.integers(1, 40))},
                "c7i": {"gpu": gpu, "cpu": float(rng.integers(1, 5)), "ram_gb": float(rng.integers(1, 20))},
            },
            fetch_seconds=seconds(20),
            build_seconds=seconds(20),
            init_seconds=seconds(200),
            kill_seconds=seconds(3),
            upload_seconds=seconds(30),
        )
        for i, gpu in enumerate(float(g) for g in rng.integers(0, 3, size=5))
    )
    arrival = np.cumsum(rng.integers(0, 900, size=jobs))
    arrival[rng.random(jobs) < 0.2] //= 300
    arrival = np.sort(np.where(rng.random(jobs) < 0.3, arrival // 300 * 300, arrival))
    return EvaCloud(
        resources=RESOURCES,
        instance_types=cloud_types(),
        classes=classes,
        jobs=tuple(
            CloudJob(
                id=f"j{i}",
                arrival_seconds=float(t),
                duration_seconds=float(rng.integers(1, 5000)),
                tasks={classes[rng.integers(5)].name: int(rng.choice([1, 1, 1, 2, 3]))},
            )
            for i, t in enumerate(arrival.tolist())
        ),
        throughput=Throughput(
            default=0.95,
            pairwise=tuple((a, b, round(float(rng.uniform(0.7, 1)), 2)) for a in WORKLOADS for b in WORKLOADS),
        ),
        larger_sets=None
        if not dealt
        else LargerSets(
            throughput=Throughput(
                default=0.9, pairwise=(("a", "b", 0.6), ("b", "a", 0.8), ("c", "a", 1.0), ("b", "c", 0.7))
            ),
            listed=("b", "c", "a"),
            named=("c", "a", "b"),
        ),
        period_seconds=300.0,
    )
