"""Run tasks in separate processes, which can be ended from outside without loss of their results.

A solver may overrun its time limit, or die. The last report of a task is kept in a file, is checked here like any
solution, and becomes the outcome.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, TypeVar

from experiments.harness.host import LOOK_S, Ended, Host, TemporaryFolder
from experiments.harness.task import Failure, HarnessTask, R, Reported, ReportFile, Whole, WholeTask
from experiments.harness.user_functions import ROOT, resolve
from instances import Options
from instances.clock import OVERRUN, cpu_seconds, end_process_after
from instances.private import private_folder
from instances.result import Termination

T = TypeVar("T", bound=HarnessTask[Any])
Keep = Callable[[HarnessTask[R], R], None]
CutShort = Callable[[int, R], None]


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
    tasks: Sequence[HarnessTask[R]], jobs: int = 1, keep: Keep[R] | None = None, ended: CutShort[R] | None = None
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
            futures[i].add_done_callback(partial(note_finished, done, i))
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
        short = {} if ended is None else {i: pool.report_interrupted(i) for i in range(len(tasks)) if i not in finished}
        pool.clear()
        for i, handover in short.items():
            if ended is not None and handover is not None:
                ended(i, handover.outcome_of(tasks[i]))


def modules_of(tasks: Sequence[HarnessTask[Any]]) -> list[str]:
    """Return the modules that the tasks want imported before their clocks start."""
    return sorted({module for task in tasks for module in (type(task).__module__, *task.modules)})


def note_finished(done: queue.SimpleQueue[int], i: int, future: Any) -> None:
    done.put(i)


def wait_for_next(done: queue.SimpleQueue[int]) -> int:
    """Wait for the place of the next finished task, and let an interrupt end the wait.

    Python may handle a signal just before it begins to wait, and raises KeyboardInterrupt after the wait only. So each
    wait is short.
    """
    while True:
        with suppress(queue.Empty):
            return done.get(timeout=LOOK_S)


GRACE = 1.5, 2.0  # a process is ended at the time limit times the first plus the second, CPU seconds
UNWRITTEN = 100  # plus an errno: the exit status of a process that could not write its outcome
WAIT = 5.0, 2.0  # the same in wall-clock seconds, the last resort: a process may sleep or wait for a core


@dataclass(frozen=True)
class Handover:
    """The result that a process returns for a task, or its report and a reason if the process failed or was ended."""

    found: Any = None
    reported: Reported | None = None
    termination: Termination = "error"
    reason: str = ""

    def outcome_of(self, task: HarnessTask[R]) -> R:
        """Return the outcome of the task, checked in this process."""
        if self.reported is not None:
            return task.conclude_early(self.reported, self.termination, self.reason)
        return task.outcome(self.found)


class HostPool:
    """A pool of `jobs` hosts. They import `modules` first, and work in the folder `place` if it exists."""

    def __init__(self, jobs: int, modules: Sequence[str], place: str | None = None) -> None:
        self._temporary = TemporaryFolder()
        self.folder = self._temporary.path
        self._left: queue.SimpleQueue[tuple[int, HarnessTask[Any], Future[Ended]] | None] = queue.SimpleQueue()
        self._running: dict[int, Host] = {}
        self._stopped = False
        self._hosts = [Host(_work, modules, str(self.folder), place) for _ in range(jobs)]
        # daemon threads do not delay the exit of the interpreter, at which `stop` ends the processes
        self._threads = [threading.Thread(target=self._keep_busy, args=(host,), daemon=True) for host in self._hosts]
        self._at_exit = Finalize(None, self.stop, exitpriority=1)  # before the interpreter waits for its processes
        for thread in self._threads:
            thread.start()

    def report_path(self, i: int) -> Path:
        """Return the report file of task `i`."""
        return self.folder / f"{i}.pickle"

    def schedule(self, i: int, task: HarnessTask[Any]) -> Future[Ended]:
        """Queue a task and return its future."""
        future: Future[Ended] = Future()
        self._left.put((i, task, future))
        return future

    def _keep_busy(self, host: Host) -> None:
        """Let a host run tasks from the queue until it receives the end mark, or the pool stops."""
        while (next_one := self._left.get()) is not None and not self._stopped:
            i, task, future = next_one
            if not future.set_running_or_notify_cancel():
                continue
            self._running[i] = host
            try:
                order = pickle.dumps((self.report_path(i), pickle.dumps(task)))
                future.set_result(host.run(order, _end(task.time_limit, WAIT)))
            except BaseException as error:  # the task cannot be pickled, or no process can be started
                future.set_exception(error)
            finally:
                del self._running[i]
        host.close()

    def handover(self, i: int, task: HarnessTask[Any], future: Future[Ended]) -> Handover:
        """Return the result or the report of a task whose future is done."""
        try:
            ended = future.result()
            found = _read_output(self.report_path(i))
        except Exception as error:  # the output file cannot be read
            found = Failure.of(error, Reported())
        if isinstance(found, Failure):
            return Handover(reported=found.reported, reason=found.reason)
        if found is not None:
            return Handover(found[0])
        reported = Reported.read(self.report_path(i))
        if ended.at_limit or (task.time_limit is not None and ended.exitcode == OVERRUN):
            reason = f"ended from outside: overran the time limit of {task.time_limit:g} s"
            return Handover(reported=reported, termination="killed", reason=reason)
        if ended.exitcode is not None and ended.exitcode - UNWRITTEN in errno.errorcode:
            reason = f"the temporary folder {self.folder}: {os.strerror(ended.exitcode - UNWRITTEN)}"
            return Handover(reported=reported, reason=reason)
        return Handover(reported=reported, reason=f"the process died with exit code {ended.exitcode}")

    def report_interrupted(self, i: int) -> Handover | None:
        """Return the report of an interrupted task; `None` if the task had not begun."""
        if not self.report_path(i).exists():
            return None
        return Handover(reported=Reported.read(self.report_path(i)), termination="interrupted", reason="interrupted")

    def cancel(self, i: int, future: Future[Ended]) -> None:
        """End a task, or remove it from the queue."""
        if not future.cancel() and (host := self._running.get(i)) is not None:
            host.end_run()

    def close(self) -> None:
        """Let the processes end after the queued tasks."""
        for _ in self._hosts:
            self._left.put(None)

    def stop(self) -> None:
        """End the processes now."""
        self._stopped = True
        self.close()
        for host in self._hosts:
            host.stop()

    def join(self) -> None:
        """Wait until all processes have ended."""
        for thread in self._threads:
            thread.join()
        self._at_exit.cancel()

    def clear(self) -> None:
        """Remove the reports."""
        self._temporary.remove()


def _end(limit: float | None, grace: tuple[float, float]) -> float | None:
    """Return the seconds after which a process is ended from outside; `None` without a limit."""
    end = None if limit is None else limit * grace[0] + grace[1]
    return None if end is None or end > threading.TIMEOUT_MAX else end


def _work(order: bytes) -> None:
    """Do a task, and write its result to the file next to its report."""
    path, packed = pickle.loads(order)
    me = os.getpid()
    report = ReportFile(path)
    try:
        task = pickle.loads(packed)
        with end_process_after(_end(task.time_limit, GRACE)):
            content = pickle.dumps((task.work(report),))
    except BaseException as error:  # a user's function may raise SystemExit or any other class
        content = pickle.dumps(Failure.of(error, Reported(about=report.reported.about)))
    if os.getpid() == me:  # not in a process that the work has forked
        try:
            _hand_over(content, _name_output(report.path))
        except OSError as error:
            raise SystemExit(UNWRITTEN + (error.errno or 0)) from error


def _hand_over(content: bytes, path: Path) -> None:
    """Write a file atomically."""
    beside = path.with_suffix(".part")
    path.parent.mkdir(mode=0o700, exist_ok=True)  # a task may have removed it
    beside.write_bytes(content)
    os.replace(beside, path)


def _name_output(report: Path) -> Path:
    return report.with_suffix(".found")


def _read_output(report: Path) -> Any:
    """Read and remove the output of a task: a Failure, or a tuple with the result; `None` if there is no file."""
    path = _name_output(report)
    if not path.exists():
        return None
    content = path.read_bytes()
    path.unlink()
    return pickle.loads(content)


LIST = Path(__file__).with_name("kernels.json")
Kernels = dict[str, list[str]]
"""The signatures of each compiled function, `module:function`."""


@cache
def list_kernels() -> Mapping[str, Kernels]:
    """Return the compiled functions of each method."""
    known: Mapping[str, Kernels] = json.loads(LIST.read_text())
    return known


def compile_first(tasks: Sequence[HarnessTask[Any]], quiet: bool = False, jobs: int = 1) -> None:
    """Compile the functions that the tasks need and that are not in the cache. Raises the exception of an interrupt.

    `jobs`: number of processes. Each compiles different modules, so that none waits for another.
    """
    wanted: dict[str, set[str]] = {}
    for name in dict.fromkeys(name for task in tasks for name in task.kernels):
        for kernel, signatures in list_kernels().get(name, {}).items():
            wanted.setdefault(kernel, set()).update(signatures)
    kernels = {kernel: sorted(wanted[kernel]) for kernel in sorted(wanted)}
    if not kernels or (done := _mark(kernels)) is None or done.exists():
        return
    shares: dict[str, Kernels] = {}
    for kernel, signatures in kernels.items():
        shares.setdefault(kernel.rpartition(".")[0] if jobs > 1 else "", {})[kernel] = signatures
    outcomes = [outcome for _, outcome in as_finished([Compilation(each, quiet) for each in shares.values()], jobs)]
    if all(outcome.status == "finished" for outcome in outcomes):
        with suppress(OSError):
            done.parent.mkdir(parents=True, exist_ok=True)
            done.touch()


def _mark(kernels: Kernels) -> Path | None:
    """Return the file that marks these versions of the kernels as compiled; `None` if it has no possible place."""
    files = [ROOT / f"{kernel.partition(':')[0].replace('.', '/')}.py" for kernel in kernels]
    with suppress(OSError):
        stamps = [(stat.st_mtime_ns, stat.st_size) for stat in map(os.stat, files)]
        about = repr((kernels, stamps, version("numba"), version("llvmlite"), sys.version, str(ROOT)))
        name = f"compiled-{hashlib.sha256(about.encode()).hexdigest()[:16]}"
        said = os.environ.get("NUMBA_CACHE_DIR")
        if said:
            return Path(said) / name
        beside = LIST.parent / "__pycache__"
        folder = beside if os.access(beside, os.W_OK) else private_folder()
        return None if folder is None else folder / name
    return None


@dataclass(frozen=True)
class Compilation(WholeTask[Whole]):
    """Compile the functions that are not in the cache."""

    outcome_type = Whole

    kernels_wanted: Kernels
    quiet: bool
    options: Options = Options()

    def label(self) -> tuple[str, str]:
        return "compilation", ""

    def work(self, report: ReportFile) -> Whole:
        """Compile and report on standard error. A function that is missing or takes other arguments is no error."""
        from instances.compiled import is_missing_in_cache  # imports numba, so only if there are functions to compile

        missing = [(function, types) for function, types in self._functions() if is_missing_in_cache(function, types)]
        if missing and not self.quiet:
            print(
                f"compiling {len(missing)} function{'s' if len(missing) > 1 else ''}, once: ",
                end="",
                file=sys.stderr,
                flush=True,
            )
        before = cpu_seconds()
        for function, types in missing:
            with suppress(Exception):
                function.compile(types)
        if missing and not self.quiet:
            print(f"{cpu_seconds() - before:.0f} s", file=sys.stderr, flush=True)
        return self.build_outcome("finished")

    def _functions(self) -> list[tuple[Any, Any]]:
        """Return the functions with the argument types of each signature."""
        found = []
        for kernel, signatures in self.kernels_wanted.items():
            module, _, name = kernel.partition(":")
            with suppress(Exception):
                function = getattr(importlib.import_module(module), name)
                found += [(function, types_of(signature)) for signature in signatures]
        return found

    def content(self, digests: Any) -> dict[str, Any]:
        return {}


def types_of(signature: str) -> Any:
    """Parse the types of a signature in numba's notation; a named tuple is written with the name of its class."""
    from numba import types

    def build_named_tuple(kinds: Any, target: str) -> Any:
        return types.BaseTuple.from_types(kinds, resolve(target))

    return eval(
        signature, {"__builtins__": {}}, {**vars(types), "named": build_named_tuple, "generator": types.npy_rng}
    )
