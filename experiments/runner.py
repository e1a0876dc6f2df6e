"""Runs methods on instances in processes of their own, which can be ended from outside without losing what they found.

A solver may overrun its time limit, or die. Whatever a method reported last is kept in a file beside the process, is
checked here like any solution, and becomes the result.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import TimeoutError as Expired
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from experiments.methods import Method, apply, methods_for
from instances import Answer, CheckFailed, InputError, Instance, Options, Result, Solution, conclude
from instances.result import TracePoint, versions

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
    """The last incumbent and bound of a running method, in a file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.solution: Solution | None = None
        self.bound: float | None = None
        self.trace: list[TracePoint] = []
        self._started = self._written = time.monotonic()

    def __call__(self, solution: Solution | None, bound: float | None) -> None:
        """Note an incumbent, a bound, or both."""
        self.solution = solution if solution is not None else self.solution
        self.bound = bound if bound is not None else self.bound
        now = time.monotonic()
        if solution is None and now - self._written < BOUND_EVERY_S:
            return
        self._written = now
        self.trace.append((now - self._started, None, self.bound))
        beside = self.path.with_suffix(".new")
        beside.write_bytes(pickle.dumps((self.solution, self.bound, self.trace)))
        os.replace(beside, self.path)


def run_all(runs: Sequence[Run], jobs: int = 1) -> Iterator[tuple[Run, Result]]:
    """Run everything, `jobs` at a time, and yield results in the order of `runs`.

    A failing method is a result of status `error`, never an exception. Leaving the iterator early, or an interrupt,
    ends the processes.
    """
    # pebble leaves a semaphore to the interpreter's exit (its issue 160), of which Python's tracker may complain
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    with tempfile.TemporaryDirectory(prefix="gapwise-") as folder:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPool(max_workers=min(jobs, max(1, len(runs))), initializer=_prepare, context=context)
        try:
            futures = []
            with _interrupts_blocked():
                for i, run in enumerate(runs):
                    diary, limit = Path(folder) / f"{i}.pickle", run.options.time_limit
                    end = None if limit is None else limit * GRACE[0] + GRACE[1]
                    futures.append((run, diary, pool.schedule(_work, args=(run, diary), timeout=end)))
            for run, diary, future in futures:
                yield run, _result(run, diary, future)
            pool.close()
        except BaseException:
            pool.stop()
            raise
        finally:
            pool.join()


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


def _work(run: Run, diary: Path) -> Result:
    try:
        return apply(run.method, run.instance, run.options, Diary(diary))
    except Exception as error:
        return _failed(run, f"{type(error).__name__}: {error}")


def _result(run: Run, diary: Path, future: Any) -> Result:
    try:
        result: Result = future.result()
    except Expired:
        reason = f"ended from outside: overran the time limit of {run.options.time_limit:g} s"
        return _from_diary(run, diary, "killed", reason)
    except ProcessExpired as error:
        return _from_diary(run, diary, "error", f"the process died with exit code {error.exitcode}")
    return result


def _from_diary(run: Run, path: Path, termination: Any, reason: str) -> Result:
    solution, bound, trace = pickle.loads(path.read_bytes()) if path.exists() else (None, None, [])
    answer = Answer(solution, bound, termination, reason, trace=trace)
    try:
        result = conclude(run.instance.data, run.method.name, answer, run.options, kind=run.method.kind)
    except CheckFailed as error:
        return _failed(run, str(error))
    update = {
        "instance": run.instance.name,
        "options": run.options.only(run.method.honours),
        "build_s": None,
        "solve_s": None,
    }
    return result.model_copy(update=update)


def _failed(run: Run, reason: str) -> Result:
    data = run.instance.data
    return Result(
        instance=run.instance.name,
        problem=data.problem,
        method=run.method.name,
        status="error",
        termination="error",
        sense=data.sense,
        unit=data.unit,
        options=run.options.only(run.method.honours),
        versions=versions(),
        reason=" ".join(reason.split()),
    )


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
