"""Run tasks in separate processes, which can be ended without loss of the tasks' reports."""

from __future__ import annotations

import errno
import os
import pickle
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from experiments.harness.host import Ended, Host
from experiments.harness.task import Failure, HarnessTask, R, Reported, ReportFile
from experiments.harness.temporary import TemporaryFolder
from instances.clock import OVERRUN, ended_after
from instances.result import Termination

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
            return task.ended(self.reported, self.termination, self.reason)
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
            found = _found(self.report_path(i))
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

    def interrupted(self, i: int) -> Handover | None:
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
        with ended_after(_end(task.time_limit, GRACE)):
            content = pickle.dumps((task.work(report),))
    except BaseException as error:  # a user's function may raise SystemExit or any other class
        content = pickle.dumps(Failure.of(error, Reported(about=report.reported.about)))
    if os.getpid() == me:  # not in a process that the work has forked
        try:
            _hand_over(content, _handed_over(report.path))
        except OSError as error:
            raise SystemExit(UNWRITTEN + (error.errno or 0)) from error


def _hand_over(content: bytes, path: Path) -> None:
    """Write a file atomically."""
    beside = path.with_suffix(".part")
    path.parent.mkdir(mode=0o700, exist_ok=True)  # a task may have removed it
    beside.write_bytes(content)
    os.replace(beside, path)


def _handed_over(report: Path) -> Path:
    return report.with_suffix(".found")


def _found(report: Path) -> Any:
    """Read and remove the output of a task: a Failure, or a tuple with the result; `None` if there is no file."""
    path = _handed_over(report)
    if not path.exists():
        return None
    content = path.read_bytes()
    path.unlink()
    return pickle.loads(content)
