"""Measure the overhead of a short run, here and on a cluster: `python -m tests.attacks.overhead [RUNS]`.

Two studies of different lengths are run each way; start-up is the same in both, so that their difference is what the
further runs cost.
"""

from __future__ import annotations

import logging
import resource
import sys
import time
from collections.abc import Callable

import distributed

from experiments.harness.dask import as_finished_on
from experiments.harness.run import Run
from experiments.harness.runner import as_finished
from experiments.plan import plan
from instances import Instance, Options
from instances.eva import table_3

FEW = 50


def spent() -> tuple[float, float]:
    """Wall seconds, and CPU seconds of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.monotonic(), sum(u.ru_utime + u.ru_stime for u in used)


def measured(study: Callable[[list[Run]], None], number: int) -> tuple[float, float]:
    data = table_3().data
    runs = plan([Instance.of(data, f"i{i}") for i in range(number)], ["no-packing"], Options())
    before = spent()
    study(runs)
    after = spent()
    return after[0] - before[0], after[1] - before[1]


def here(runs: list[Run]) -> None:
    assert all(result.solved for _, result in as_finished(runs, 2))


def on_a_cluster(runs: list[Run]) -> None:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    ) as cluster:
        assert all(result.solved for _, result in as_finished_on(cluster.scheduler_address, runs))


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for name, study in (("here", here), ("on a cluster", on_a_cluster)):
        few, many = measured(study, FEW), measured(study, FEW + number)
        wall, cpu = ((b - a) / number * 1000 for a, b in zip(few, many, strict=True))
        print(f"{name}: {wall:.1f} ms wall and {cpu:.1f} ms CPU a run; {FEW} runs alone {few[0]:.1f} s, {few[1]:.1f} s")


if __name__ == "__main__":
    main()
