"""Run tasks in separate processes, which can be ended from outside without loss of their results.

A solver may overrun its time limit, or die. The last report of a task is kept in a file, is checked here like any
solution, and becomes the outcome.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from experiments.harness.host import LOOK_S
from experiments.harness.pool import HostPool
from experiments.harness.task import HarnessTask, R

T = TypeVar("T", bound=HarnessTask[Any])
Keep = Callable[[HarnessTask[R], R], None]
Ended = Callable[[int, R], None]


class Lost(RuntimeError):
    """Loss of the scheduler or pool that runs the tasks; the tasks that are left do not run."""


def run_all(tasks: Sequence[HarnessTask[R]], jobs: int = 1) -> Iterator[tuple[HarnessTask[R], R]]:
    """Run everything, `jobs` at a time, and yield tasks and outcomes in the order of `tasks`."""
    found: dict[int, R] = {}
    turn = 0
    for i, outcome in as_finished(tasks, jobs):
        found[i] = outcome
        while turn in found:
            yield tasks[turn], found.pop(turn)
            turn += 1


def as_finished(
    tasks: Sequence[HarnessTask[R]], jobs: int = 1, keep: Keep[R] | None = None, ended: Ended[R] | None = None
) -> Iterator[tuple[int, R]]:
    """Run all tasks, `jobs` at a time; yield the place in `tasks` and the outcome of each as soon as it is finished.

    A result is checked here, against the data of this process: a method may have changed its own data. A task that
    fails has an outcome like any other. An interrupt ends the processes, and so does closing the iterator early.

    - `keep`: called with each finished task and its outcome, also after an interrupt.
    - `ended`: called with the place of each task that is cut short and the outcome of its last report.
    """
    pool = HostPool(min(jobs, max(1, len(tasks))), modules_of(tasks))
    futures: list[Any] = []
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    finished: set[int] = set()

    def settle(i: int) -> R:
        outcome = pool.handover(i, tasks[i], futures[i]).outcome_of(tasks[i])
        if keep is not None:
            keep(tasks[i], outcome)
        finished.add(i)
        return outcome

    try:
        for i, task in enumerate(tasks):
            futures.append(pool.schedule(i, task))
            futures[i].add_done_callback(partial(_finish, done, i))
        for _ in tasks:
            i = wait_for_next(done)
            yield i, settle(i)
        pool.close()
    except BaseException:
        try:
            for i, future in enumerate(futures):
                if future.done() and i not in finished:
                    settle(i)
        finally:
            pool.stop()
        raise
    finally:
        pool.join()
        short = {} if ended is None else {i: pool.interrupted(i) for i in range(len(tasks)) if i not in finished}
        pool.clear()
        for i, handover in short.items():
            if ended is not None and handover is not None:
                ended(i, handover.outcome_of(tasks[i]))


def modules_of(tasks: Sequence[HarnessTask[Any]]) -> list[str]:
    """Return the modules that the tasks want imported before their clocks start."""
    return sorted({module for task in tasks for module in (type(task).__module__, *task.modules)})


def _finish(done: queue.SimpleQueue[int], i: int, future: Any) -> None:
    done.put(i)


def wait_for_next(done: queue.SimpleQueue[int]) -> int:
    """Wait for the place of the next finished task, and let an interrupt end the wait.

    Python may handle a signal just before it begins to wait, and raises KeyboardInterrupt after the wait only. So each
    wait is short.
    """
    while True:
        with suppress(queue.Empty):
            return done.get(timeout=LOOK_S)
