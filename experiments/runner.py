"""Runs methods on instances in processes of their own, which can be ended from outside without losing what they found.

A solver may overrun its time limit, or die. Whatever a method reported last is kept in a file beside the process, is
checked here like any solution, and becomes the result.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as Expired
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from experiments.methods import Method, answer, concluded, methods_for
from experiments.methods.starts import ahead
from instances import Answer, CheckFailed, InputError, Instance, Options, Result, Solution
from instances.result import TracePoint

BOUND_EVERY_S = 0.5  # a bound alone is written down no more often than this
GRACE = 1.5, 2.0  # a process is ended at the time limit times the first plus the second, seconds


@dataclass(frozen=True)
class Run:
    """One method on one instance, with the options asked for."""

    instance: Instance
    method: Method
    options: Options
    instance_set: str = ""


class Diary:
    """The first and the last incumbent, and the bound, of a running method, in a file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first: Solution | None = None
        self.solution: Solution | None = None
        self.bound: float | None = None
        self.trace: list[TracePoint] = []
        self._started = self._written = time.monotonic()

    def __call__(self, solution: Solution | None, bound: float | None) -> None:
        """Note an incumbent, a bound, or both."""
        self.first = solution if self.first is None else self.first
        self.solution = solution if solution is not None else self.solution
        self.bound = bound if bound is not None else self.bound
        now = time.monotonic()
        if solution is None and now - self._written < BOUND_EVERY_S:
            return
        self._written = now
        self.trace.append((now - self._started, None, self.bound))
        beside = self.path.with_suffix(".new")
        with suppress(OSError):  # a full disk costs what would be left of an ended process, not the run
            beside.write_bytes(pickle.dumps((self.first, self.solution, self.bound, self.trace)))
            os.replace(beside, self.path)


def run_all(
    runs: Sequence[Run], jobs: int = 1, keep: Callable[[Run, Result], None] | None = None
) -> Iterator[tuple[Run, Result]]:
    """Run everything, `jobs` at a time, and yield results in the order of `runs`; `keep` as in `as_finished`."""
    found: dict[int, Result] = {}
    turn = 0
    for i, result in as_finished(runs, jobs, keep):
        found[i] = result
        while turn in found:
            yield runs[turn], found.pop(turn)
            turn += 1


def as_finished(
    runs: Sequence[Run], jobs: int = 1, keep: Callable[[Run, Result], None] | None = None
) -> Iterator[tuple[int, Result]]:
    """Run everything, `jobs` at a time, and yield the place in `runs` and the result of each as soon as it is finished.

    What a process hands back is checked here, against the data of this process: a method may have changed its own.
    A failing method is a result of status `error`, never an exception. `keep` is told of every finished run, also of
    those that are finished when an interrupt, or leaving the iterator early, ends the processes.
    """
    # pebble leaves a semaphore to the interpreter's exit (its issue 160), of which Python's tracker may complain
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    with tempfile.TemporaryDirectory(prefix="gapwise-") as folder:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPool(max_workers=min(jobs, max(1, len(runs))), initializer=_prepare, context=context)
        diaries = [Path(folder) / f"{i}.pickle" for i in range(len(runs))]
        futures: list[Any] = []
        done: queue.SimpleQueue[int] = queue.SimpleQueue()

        def tell(i: int) -> Result:
            result = _result(runs[i], diaries[i], futures[i])
            if keep is not None:
                keep(runs[i], result)
            futures[i] = None
            return result

        try:
            with _interrupts_blocked():
                for i, run in enumerate(runs):
                    future = pool.schedule(_work, args=(run, diaries[i]), timeout=_end(run.options.time_limit))
                    futures.append(future)
                    future.add_done_callback(partial(_finish, done, i))
            for _ in runs:
                i = done.get()
                yield i, tell(i)
            pool.close()
        except BaseException:
            try:
                for i, future in enumerate(futures):
                    if future is not None and future.done():
                        tell(i)
            finally:
                pool.stop()
            raise
        finally:
            pool.join()


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


def _prepare() -> None:
    """What each process does first.

    Standard output is for results: Python's prints go to standard error, those of solver libraries nowhere. A process
    whose parent is gone ends itself.
    """
    sys.stdout = sys.stderr
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    threading.Thread(target=_outlive_no_parent, args=(os.getppid(),), daemon=True).start()


def _outlive_no_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _work(run: Run, diary: Path) -> Answer:
    try:
        return answer(run.method, run.instance, run.options, Diary(diary))
    except BaseException as error:  # a user's function may raise SystemExit, or what it has made up itself
        return _failure(error)


def _failure(error: BaseException) -> Answer:
    name = type(error).__name__
    try:
        said = str(error)
    except Exception:
        said = "whose text cannot be had"
    reason = said if isinstance(error, InputError | CheckFailed) else f"{name}: {said}" if said else name
    return Answer(None, None, "error", " ".join(reason.split()), None, None)


def _result(run: Run, diary: Path, future: Any) -> Result:
    try:
        found = future.result()
    except Expired:
        reason = f"ended from outside: overran the time limit of {run.options.time_limit:g} s"
        return _from_diary(run, diary, "killed", reason)
    except ProcessExpired as error:
        return _from_diary(run, diary, "error", f"the process died with exit code {error.exitcode}")
    except Exception as error:  # what was handed back cannot be read
        found = _failure(error)
    return _checked(run, found)


def _from_diary(run: Run, path: Path, termination: Any, reason: str) -> Result:
    first, last, bound, trace = pickle.loads(path.read_bytes()) if path.exists() else (None, None, None, [])
    found = Answer(last, bound, termination, reason, None, None, trace)
    result = _checked(run, found)
    if result.status == "error" or first is None or first == last:
        return result
    started = _checked(run, replace(found, solution=first))
    if started.objective is None or not started.solved:
        return result
    return started if ahead(started.objective, result.objective, result.sense) else result


def _checked(run: Run, found: Answer) -> Result:
    """The result of `found`; one of status `error` where it cannot be checked or is refuted."""
    try:
        return concluded(run.method, run.instance, found, run.options)
    except Exception as error:
        return concluded(run.method, run.instance, _failure(error), run.options)


def plan(
    instances: Sequence[Instance], names: list[str], options: Options, given: frozenset[str] = frozenset()
) -> list[Run]:
    """The runs of the methods called `names` on `instances`.

    `given` are the options the user set himself. Raises InputError for one that no chosen method honours, for an
    unknown method and for two instances of one name.
    """
    for name, times in Counter(instance.name for instance in instances).items():
        if times > 1:
            raise InputError(f"{times} instances are called {name!r}: names must be unique")
    runs = [Run(i, method, options) for i in instances for method in methods_for(i, names)]
    if not runs:
        raise InputError("method: none of the methods fits any of the instances")
    for name in sorted(given - frozenset().union(*(run.method.honours for run in runs))):
        chosen = ", ".join(dict.fromkeys(run.method.name for run in runs))
        raise InputError(f"--{name.replace('_', '-')}: none of the chosen methods takes notice of it ({chosen})")
    return runs
