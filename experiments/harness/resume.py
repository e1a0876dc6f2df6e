"""Finished tasks are not repeated: they come from the store, the others as they are run, and are kept at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence

from experiments.harness.runner import as_finished
from experiments.harness.store import Store
from experiments.harness.task import R, Task


def finished(
    tasks: Sequence[Task[R]],
    jobs: int,
    store: Store | None,
    ended: Callable[[int, R], None] | None = None,
    cluster: str | None = None,
) -> Generator[tuple[int, R], None, None]:
    """The place in `tasks` and the outcome of each: first those in the store, then the others as they are finished.

    `ended` is told of those that an interrupt cuts short. `cluster`: the scheduler on whose workers they run.
    """
    left = []
    for i, task in enumerate(tasks):
        known = None if store is None else store.get(task)
        if known is None:
            left.append(i)
        else:
            yield i, known

    def cut_short(i: int, outcome: R) -> None:
        if ended is not None:
            ended(left[i], outcome)

    keep, todo = None if store is None else store.keep, [tasks[i] for i in left]
    if cluster is not None and todo:
        from experiments.harness.cluster import as_finished_on  # with what few commands need

        runs = as_finished_on(cluster, todo, keep, cut_short, lambda said: print(said, file=sys.stderr))
    else:
        runs = as_finished(todo, jobs, keep, cut_short)
    for i, outcome in runs:
        yield left[i], outcome
