"""Processes that work on tasks one after the other, and can be ended without losing what a task had told of."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import TimeoutError as Expired
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from experiments.harness.diary import Diary, Told
from experiments.harness.lock import CAN_LOCK, locked
from experiments.harness.processes import start_method
from experiments.harness.task import Failure, R, Task
from instances.deadline import OVERRUN, ended_after
from instances.result import Termination

GRACE = 1.5, 2.0  # a process is ended at the time limit times the first plus the second, CPU seconds
WAIT = 5.0, 2.0  # the same in wall seconds, the last resort: a process may wait for a core, sleep, or for another one
FOLDERS = "gapwise-"  # how the temporary folders of diaries begin


@dataclass(frozen=True)
class Handed:
    """What a process hands over of a task: what it found, or what it had told of when it was ended, and why."""

    found: Any = None
    told: Told | None = None
    termination: Termination = "error"
    reason: str = ""

    def judged(self, task: Task[R]) -> R:
        """The outcome, checked in this process."""
        if self.told is not None:
            return task.ended(self.told, self.termination, self.reason)
        return task.outcome(self.found)


class Pool:
    """`jobs` processes, which import `modules` first, and work in the folder `place` where there is such a folder."""

    def __init__(self, jobs: int, modules: Sequence[str], place: str | None = None) -> None:
        # pebble leaves a semaphore to the interpreter's exit (its issue 160), of which Python's tracker may complain
        os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
        remove_abandoned()
        self.folder, self._lock = _held_folder()
        self._pool = ProcessPool(
            max_workers=jobs,
            initializer=_prepare,
            initargs=(tuple(modules), str(self.folder), place),
            context=start_method(),
        )

    def diary(self, i: int) -> Path:
        """Where the task at place `i` tells of what it finds."""
        return self.folder / f"{i}.pickle"

    def schedule(self, i: int, task: Task[Any]) -> Any:
        """The future of a task."""
        with _interrupts_blocked():
            return self._pool.schedule(_work, args=(task, self.diary(i)), timeout=_end(task.time_limit, WAIT))

    def handed(self, i: int, task: Task[Any], future: Any) -> Handed:
        """What is handed over of a task whose future is done."""
        try:
            found = future.result()
        except Expired:
            return Handed(told=Told.read(self.diary(i)), termination="killed", reason=_overran(task))
        except ProcessExpired as error:
            if task.time_limit is not None and error.exitcode == OVERRUN:
                return Handed(told=Told.read(self.diary(i)), termination="killed", reason=_overran(task))
            return Handed(told=Told.read(self.diary(i)), reason=f"the process died with exit code {error.exitcode}")
        except Exception as error:  # what was handed back cannot be read
            found = Failure.of(error, Told())
        if isinstance(found, Failure):
            return Handed(told=found.told, reason=found.reason)
        return Handed(found)

    def interrupted(self, i: int) -> Handed | None:
        """What a task that is cut short had told of; `None` of one that had not begun."""
        if not self.diary(i).exists():
            return None
        return Handed(told=Told.read(self.diary(i)), termination="interrupted", reason="interrupted")

    def close(self) -> None:
        """Let the processes end once all is done."""
        self._pool.close()

    def stop(self) -> None:
        """End the processes now."""
        self._pool.stop()

    def join(self) -> None:
        """Wait until all processes have ended."""
        self._pool.join()

    def clear(self) -> None:
        """Remove the diaries."""
        if self._lock is not None:
            os.close(self._lock)
        shutil.rmtree(self.folder, ignore_errors=True)


def _held_folder() -> tuple[Path, int | None]:
    """A new temporary folder, and a handle that holds a lock of it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=FOLDERS))
        if not CAN_LOCK:
            return folder, None
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # another command has taken it for abandoned before it was held
            continue
        if not locked(handle):  # the same, a moment later
            os.close(handle)
            continue
        return folder, handle


def remove_abandoned() -> None:
    """Remove the folders of commands that were killed: nobody holds them any more."""
    if not CAN_LOCK:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDERS}*"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                if locked(handle):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _overran(task: Task[Any]) -> str:
    return f"ended from outside: overran the time limit of {task.time_limit:g} s"


def _end(limit: float | None, grace: tuple[float, float]) -> float | None:
    """Seconds after which a process is ended from outside."""
    end = None if limit is None else limit * grace[0] + grace[1]
    return None if end is None or end > threading.TIMEOUT_MAX else end


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """The pool's threads, started in here, and the processes these start never see an interrupt: it is for us alone."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(modules: Sequence[str], folder: str, place: str | None) -> None:
    """What each process does first: imports, which no task's time limit should pay for, are part of it.

    Standard output is for results: Python's prints go to standard error, those of solver libraries nowhere. A process
    whose parent is gone ends itself, and removes the folder that the parent cannot remove any more.
    """
    sys.stdout = sys.stderr
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    threading.Thread(target=_outlive_no_parent, args=(os.getppid(), folder), daemon=True).start()
    if place is not None and os.path.isdir(place):
        os.chdir(place)
    for module in modules:
        with suppress(Exception):  # the task that needs it will say so
            importlib.import_module(module)
    gc.freeze()  # what is imported stays, and need not be looked through at every collection


def _outlive_no_parent(parent: int, folder: str) -> None:
    process = multiprocessing.parent_process()
    while os.getppid() == parent and (process is None or process.is_alive()):  # Windows keeps the first for ever
        time.sleep(1.0)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _work(task: Task[Any], path: Path) -> Any:
    diary = Diary(path)
    try:
        with ended_after(_end(task.time_limit, GRACE)):
            return task.work(diary)
    except BaseException as error:  # a user's function may raise SystemExit, or what it has made up itself
        return Failure.of(error, Told(about=diary.told.about))
