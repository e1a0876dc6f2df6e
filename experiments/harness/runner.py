"""Runs tasks in processes of their own, which can be ended from outside without losing what they found.

A solver may overrun its time limit, or die. Whatever a task reported last is kept in a file beside the process, is
checked here like any solution, and becomes the outcome.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as Expired
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from experiments.harness.diary import Diary, Told
from experiments.harness.processes import start_method
from experiments.harness.task import Failure, R, Task

GRACE = 1.5, 2.0  # a process is ended at the time limit times the first plus the second, seconds
T = TypeVar("T", bound=Task[Any])


def run_all(tasks: Sequence[Task[R]], jobs: int = 1) -> Iterator[tuple[Task[R], R]]:
    """Run everything, `jobs` at a time, and yield tasks and outcomes in the order of `tasks`."""
    found: dict[int, R] = {}
    turn = 0
    for i, outcome in as_finished(tasks, jobs):
        found[i] = outcome
        while turn in found:
            yield tasks[turn], found.pop(turn)
            turn += 1


def as_finished(
    tasks: Sequence[Task[R]],
    jobs: int = 1,
    keep: Callable[[Task[R], R], None] | None = None,
    ended: Callable[[int, R], None] | None = None,
) -> Iterator[tuple[int, R]]:
    """Run everything, `jobs` at a time, and yield the place in `tasks` and the outcome of each as soon as it is there.

    What a process hands back is judged here, against the data of this process: a method may have changed its own.
    A task that fails has an outcome like any. `keep` is told of every finished task, also of those that are finished
    when an interrupt, or leaving the iterator early, ends the processes, and `ended` of the places of those that this
    cuts short, with what they had told of.
    """
    # pebble leaves a semaphore to the interpreter's exit (its issue 160), of which Python's tracker may complain
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    with tempfile.TemporaryDirectory(prefix="gapwise-") as folder:
        modules = sorted({module for task in tasks for module in task.modules})
        pool = ProcessPool(
            max_workers=min(jobs, max(1, len(tasks))),
            initializer=_prepare,
            initargs=(modules,),
            context=start_method(),
        )
        diaries = [Path(folder) / f"{i}.pickle" for i in range(len(tasks))]
        futures: list[Any] = []
        done: queue.SimpleQueue[int] = queue.SimpleQueue()
        told: set[int] = set()

        def tell(i: int) -> R:
            outcome = _outcome(tasks[i], diaries[i], futures[i])
            if keep is not None:
                keep(tasks[i], outcome)
            told.add(i)
            return outcome

        try:
            with _interrupts_blocked():
                for i, task in enumerate(tasks):
                    future = pool.schedule(_work, args=(task, diaries[i]), timeout=_end(task.time_limit))
                    futures.append(future)
                    future.add_done_callback(partial(_finish, done, i))
            for _ in tasks:
                i = done.get()
                yield i, tell(i)
            pool.close()
        except BaseException:
            try:
                for i, future in enumerate(futures):
                    if future.done() and i not in told:
                        tell(i)
            finally:
                pool.stop()
            raise
        finally:
            pool.join()
            cut_short = [i for i, path in enumerate(diaries) if i not in told and path.exists()]
            for i in cut_short:
                if ended is not None:
                    ended(i, tasks[i].ended(Told.read(diaries[i]), "interrupted", "interrupted"))


def _finish(done: queue.SimpleQueue[int], i: int, future: Any) -> None:
    done.put(i)


def _end(limit: float | None) -> float | None:
    """Seconds after which a process is ended from outside."""
    end = None if limit is None else limit * GRACE[0] + GRACE[1]
    return None if end is None or end > threading.TIMEOUT_MAX else end


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """The pool's threads, started in here, and the processes these start never see an interrupt: it is for us alone."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _prepare(modules: Sequence[str]) -> None:
    """What each process does first: imports, which no task's time limit should pay for, are part of it.

    Standard output is for results: Python's prints go to standard error, those of solver libraries nowhere. A process
    whose parent is gone ends itself.
    """
    sys.stdout = sys.stderr
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    threading.Thread(target=_outlive_no_parent, args=(os.getppid(),), daemon=True).start()
    for module in modules:
        with suppress(Exception):  # the task that needs it will say so
            importlib.import_module(module)


def _outlive_no_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _work(task: Task[Any], path: Path) -> Any:
    diary = Diary(path)
    try:
        return task.work(diary)
    except BaseException as error:  # a user's function may raise SystemExit, or what it has made up itself
        return Failure.of(error, Told(about=diary.told.about))


def _outcome(task: Task[R], diary: Path, future: Any) -> R:
    try:
        found = future.result()
    except Expired:
        reason = f"ended from outside: overran the time limit of {task.time_limit:g} s"
        return task.ended(Told.read(diary), "killed", reason)
    except ProcessExpired as error:
        return task.ended(Told.read(diary), "error", f"the process died with exit code {error.exitcode}")
    except Exception as error:  # what was handed back cannot be read
        found = Failure.of(error, Told())
    if isinstance(found, Failure):
        return task.ended(found.told, "error", found.reason)
    return task.outcome(found)
