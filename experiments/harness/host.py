"""A host: a process that has imported the modules of runs. Each run is a copy of it and ends with all its children.

Changes of a run to its process (folder, environment, limits, modules) end with the run. The run writes its result to a
file. The pipe between command and host carries only orders and numbers, so that a process may die at any moment. If
the platform cannot copy processes safely, a host works on one order itself, and the next order gets a new host.

A process that Python spawns imports the script that started it, to find functions there. Tasks do not need the script,
because a user's functions are passed by value (`harness.user_functions`). So a script needs no main guard, and one
that takes a minute to load takes that minute only once.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import math
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from multiprocessing import context, process, resource_tracker, spawn
from multiprocessing.connection import Connection, wait
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from experiments.harness.user_functions import NAMES, ROOT
from instances.private import private_folder

SCRIPT = ("init_main_from_name", "init_main_from_path")
_preparation = spawn.get_preparation_data
_one_at_a_time = threading.Lock()


class _Process(context.SpawnProcess):
    def start(self) -> None:
        """Start, also within a cluster worker, which is a daemon; the process ends when its parent has ended."""
        config = process.current_process()._config  # type: ignore[attr-defined]
        daemon = config.pop("daemon", None)
        try:
            super().start()
        finally:
            if daemon is not None:
                config["daemon"] = daemon

    @staticmethod
    def _Popen(started: Any) -> Any:
        starting = threading.get_ident()

        def drop_script(name: str) -> dict[str, Any]:
            said = _preparation(name)
            mine = threading.get_ident() == starting  # another thread may start a process that does need its script
            return {key: value for key, value in said.items() if not (mine and key in SCRIPT)}

        with _one_at_a_time:
            spawn.get_preparation_data = drop_script
            try:
                return context.SpawnProcess._Popen(started)
            finally:
                spawn.get_preparation_data = _preparation


class _Spawn(context.SpawnContext):
    Process = _Process


def start_method() -> Any:
    """Return the context in which the processes of tasks are started."""
    return _Spawn()


def start_process(made: Any) -> Any:
    """Start the process `made`, which never sees an interrupt, that is for us alone, and may start others."""
    made.daemon = False
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        made.start()
        return made
    _ready_tracker()  # it would unblock the interrupt where it is begun on the way
    return _start_deaf(made)


def _ready_tracker() -> None:
    """Start the process that removes the semaphores of a run that is ended, without a word."""
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    resource_tracker.ensure_running()


def _start_deaf(made: Any) -> Any:
    """Start a process that never sees an interrupt."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        made.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return made


CAN_COPY = sys.platform == "linux"  # system libraries of macOS do not support a fork without exec
LOOK_S = 0.5  # interval at which a silent process is checked to be alive
PATIENCE = 20  # multiples of the wall-clock limit while a run works, because its CPU limit ends it by itself
WORKING = 0.02  # a run works if it has used this share of a core
ANSWER_S = 5.0  # a host that does not answer within this time is ended, too
END = b""
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl
MOST_NAMES = 4000  # bytes, which go through a pipe in one piece

Work = Callable[[bytes], None]


@dataclass(frozen=True)
class Ended:
    """The end of a run: its exit code, negative for a signal, and whether it was ended at its time limit."""

    exitcode: int | None
    at_limit: bool = False


class Host:
    """Run `work(order)` for one order after the other, with `modules` imported, in the folder `place`.

    If this process is killed, the host ends its run and removes `folder`.
    """

    def __init__(self, work: Work, modules: Sequence[str], folder: str, place: str | None) -> None:
        self._about = work, tuple(modules), folder, place
        self._process: Any = None
        self._orders: Any = None
        self._running: int | None = None  # process id of the current run
        self._gone_by = math.inf  # deadline for an answer of the host
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, order: bytes, limit: float | None) -> Ended:
        """Work on `order` and return how the run ended.

        `limit`: wall-clock seconds. The run is ended if it does not work for this time, or after `PATIENCE` times it.
        """
        at_limit = threading.Event()
        try:
            self._send(order)
            self._running = self._receive()
            code: int | None = self._receive(limit, at_limit)
        except (EOFError, OSError):
            code = self._end_processes(ANSWER_S)
        self._running, self._gone_by = None, math.inf
        return Ended(code, at_limit.is_set())

    def end_run(self) -> None:
        """End the current run; any thread may call this."""
        with self._lock:
            self._gone_by = time.monotonic() + ANSWER_S
            if self._process is None:
                return
            if self._running is None or not CAN_COPY:  # the host is busy, and would not read the pipe
                self._process.kill()
            else:
                with suppress(OSError):
                    self._orders.send_bytes(END)

    def stop(self) -> None:
        """End the current run, and prevent further ones."""
        self._stopped = True
        self.end_run()

    def close(self) -> None:
        """End the host process."""
        self._end_processes(0.0)

    def _send(self, order: bytes) -> None:
        """Send an order, to a new host if there is none, or if the host was killed while it was idle."""
        for again in (False, True):
            with self._lock:
                if self._stopped:
                    raise EOFError
                if self._process is None:
                    self._process, self._orders = _adopt_spare(*self._about) or _new_host(*self._about)
            try:
                return self._orders.send_bytes(order)
            except OSError:
                if again:
                    raise
                self._end_processes(0.0)

    def _receive(self, limit: float | None = None, at_limit: threading.Event | None = None) -> int:
        """Receive the next number from the host. Raises EOFError if the host is dead."""
        until = math.inf if limit is None else time.monotonic() + limit
        left, used = PATIENCE, 0.0
        while not self._orders.poll(max(0.0, min(LOOK_S, until - time.monotonic()))):
            if time.monotonic() >= until and limit is not None and at_limit is not None:
                before, used = used, measure_group_cpu_s(self._running)
                left -= 1
                if left and used - before >= WORKING * limit:  # it compiles, or waits for a core
                    until += limit
                else:
                    until = math.inf
                    at_limit.set()
                    self.end_run()
            if time.monotonic() > self._gone_by or not (self._process.is_alive() or self._orders.poll()):
                raise EOFError
        return int(self._orders.recv_bytes())

    def _end_processes(self, wait_s: float) -> int | None:
        """End the host and its run; return the exit code if the host ends by itself within `wait_s`, else `None`."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return None
            process.join(wait_s)
            code: int | None = process.exitcode
            process.kill()
            process.join()
            for group in {process.pid, self._running} - {None}:
                _end_group(group)
            self._orders.close()
            return code


def cpu_and_threads(process: int) -> tuple[float, int] | None:
    """Return the CPU seconds of a process, with those that it has waited for, and its threads; None if unknown."""
    with suppress(OSError, ValueError, IndexError):
        fields = _stat(Path(f"/proc/{process}/stat"))
        return _ticks(fields) / os.sysconf("SC_CLK_TCK"), int(fields[17])
    return None


def measure_group_cpu_s(group: int | None) -> float:
    """Return the CPU seconds that a process group has used so far; 0 if the system does not report them."""
    ticks = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            fields = _stat(file)
            if int(fields[2]) == group:
                ticks += _ticks(fields)
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def _stat(file: Path) -> list[bytes]:
    """Read the fields of proc(5) from the state on; the name before them may be any bytes that the process chooses."""
    return file.read_bytes().rpartition(b")")[2].split()


def _ticks(fields: list[bytes]) -> int:
    return sum(map(int, fields[11:15]))


def die_with_parent() -> None:
    """Request that the system kills this process when its parent ends."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


def _end_group(group: int) -> None:
    """End all processes of a group, even if its leader has ended."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _new_host(*about: Any) -> tuple[Any, Connection]:
    """Start a host in a new interpreter."""
    ours, theirs = multiprocessing.Pipe()
    with theirs:
        return start_process(start_method().Process(target=serve, args=(theirs, *about))), ours


_spares: list[tuple[Any, Connection]] = []


def keep_spare() -> None:
    """Copy this process, to be its first host: that saves the start of an interpreter and its imports.

    A command calls this when it has imported its own modules and nothing else: no file is open, no code of a user is
    loaded, and no thread runs.
    """
    if not CAN_COPY or threading.active_count() > 1 or None in (sys.stdin, sys.stdout, sys.stderr):
        return  # if a stream is closed, the pipe would take its descriptor
    with suppress(OSError):  # no further process is to be had
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            copy = multiprocessing.get_context("fork").Process(target=_wait_as_spare, args=(ours, theirs))
            _spares.append((_start_deaf(copy), ours))
        Finalize(None, ours.close, exitpriority=0)  # before the interpreter waits for its processes


def _wait_as_spare(ours: Connection, orders: Connection) -> None:
    """Wait until this process is needed as a host, or until the command ends."""
    ours.close()
    with suppress(EOFError, ConnectionError):
        environment, folder, sys.path[:], about = orders.recv()
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        _ready_tracker()  # which unblocks the interrupt
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        serve(orders, *about)


def _adopt_spare(*about: Any) -> tuple[Any, Connection] | None:
    """Make a host of the spare process; None if there is none, or if it is dead."""
    with suppress(IndexError, OSError):
        process, orders = _spares.pop()
        orders.send((dict(os.environ), os.getcwd(), sys.path, about))
        return process, orders
    return None


def serve(orders: Connection, work: Work, modules: Sequence[str], folder: str, place: str | None) -> None:
    """Serve orders until the command ends the host, or has ended itself."""
    if hasattr(os, "setsid"):
        os.setsid()  # an interrupt at the terminal is for the command alone
    _prepare(modules, place)
    wanting: list[str] = []
    try:
        while True:
            order = orders.recv_bytes()
            if order == END:  # the run to end has meanwhile ended by itself
                continue
            if CAN_COPY:
                if wanting:  # only now, because most commands have no second run
                    _import(wanting)
                code, wanting = _work_in_copy(orders, work, order)
                orders.send_bytes(b"%d" % code)
            else:
                threading.Thread(target=_outlive_no_parent, args=(os.getppid(), folder), daemon=True).start()
                orders.send_bytes(b"%d" % os.getpid())
                _run(work, order)
    except (EOFError, ConnectionError):
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # no further process is to be had
        os._exit(1)


def _prepare(modules: Sequence[str], place: str | None) -> None:
    """Prepare the host: redirect its output, change to its folder, and import modules outside any time limit.

    Standard output is for results: Python's prints go to standard error, those of solver libraries are discarded.
    """
    sys.stdout = sys.stderr
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    if place is not None and os.path.isdir(place):
        os.chdir(place)
    _import(modules)


def _import(modules: Sequence[str]) -> None:
    gc.disable()
    for module in modules:
        with suppress(Exception):  # the run that needs it will say so
            importlib.import_module(module)
    gc.freeze()  # imported objects stay, so collections need not traverse them, nor copy their memory pages
    gc.enable()


def _work_in_copy(orders: Connection, work: Work, order: bytes) -> tuple[int, list[str]]:
    """Work on `order` in a copy of this process, and end all processes of the copy.

    Return the exit code, and the modules of this project that the copy had to import, for the next one to have them.
    """
    wanting, names_to = os.pipe()
    begin = work, order, names_to, orders, os.getpid()
    copy = multiprocessing.get_context("fork").Process(target=_run_copy, args=begin)
    copy.start()
    os.close(names_to)
    assert copy.pid is not None
    with suppress(OSError):
        os.setpgid(copy.pid, copy.pid)  # both parent and child do this, because either may come first
    try:
        orders.send_bytes(b"%d" % copy.pid)
        while copy.is_alive():
            # a process that the run has begun may keep the sentinel open, hence the time
            if orders in wait([orders, copy.sentinel], LOOK_S):
                orders.recv_bytes()
                break
    finally:
        _end_group(copy.pid)
        copy.join()
    os.set_blocking(wanting, False)  # another process may hold its other end open
    names: list[str] = []
    with suppress(BlockingIOError):
        names = os.read(wanting, MOST_NAMES).decode(errors="replace").split()
    os.close(wanting)
    return copy.exitcode or 0, [name for name in names if name.partition(".")[0] in NAMES]


def _run_copy(work: Work, order: bytes, names_to: int, orders: Connection, host: int) -> None:
    orders.close()
    with suppress(OSError):
        os.setpgid(0, 0)
    die_with_parent()
    if os.getppid() != host:
        os._exit(1)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # else every copy would draw the same random numbers
    _run(work, order, names_to)


def _run(work: Work, order: bytes, names_to: int | None = None) -> None:
    """Work, and exit without waiting for threads that the work may have started."""
    me, code, before = os.getpid(), 1, set(sys.modules)
    sys.stderr = sys.stdout = prints = _Prints(2)
    try:
        work(order)
        code = 0
        if names_to is not None:
            os.write(names_to, " ".join(filter(_ours, set(sys.modules) - before)).encode()[:MOST_NAMES])
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        if os.getpid() == me:  # not what the work has forked
            with suppress(Exception):
                prints.end_line()
        os._exit(code)


def _ours(module: str) -> bool:
    """Return whether a module is this project's, and not a user's module of the same name."""
    file = getattr(sys.modules[module], "__file__", None)
    return module.partition(".")[0] in NAMES and file is not None and Path(file).resolve().is_relative_to(ROOT)


class _Prints(TextIOWrapper):
    """Standard error for the prints of a run; `end_line` completes the last line, so that later output is separate."""

    def __init__(self, handle: int) -> None:
        to = open(handle, "wb", closefd=False)  # noqa: SIM115
        super().__init__(to, errors="backslashreplace", line_buffering=True)
        self._within_line = False

    def write(self, text: str) -> int:
        self._within_line = not text.endswith("\n") if text else self._within_line
        return super().write(text)

    def end_line(self) -> None:
        """End an unfinished last line."""
        if self._within_line:
            self.write("\n")
        self.flush()


def _outlive_no_parent(parent: int, folder: str) -> None:
    process = multiprocessing.parent_process()
    while os.getppid() == parent and (process is None or process.is_alive()):  # Windows keeps the first for ever
        time.sleep(1.0)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None


def try_lock(handle: int) -> bool | None:
    """Lock the open `handle` until it is closed or the process ends; return `False` if another process holds the lock.

    Returns `None` if locks are not available, as on some network file systems.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


PREFIX = "run-"
NAME = re.compile(PREFIX + "[a-z0-9_]{8}")  # as `tempfile` makes them
MARK = "made-by-gapwise"
SIGNED = b"Gapwise keeps here what its runs have found. The folder is removed once its command has ended.\n"
TRIES, PAUSE_S = 40, 0.05  # a process that has just been killed may still create a file in the folder
AS_IT_IS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link, and no wait for a pipe


class TemporaryFolder:
    """Create a new folder of this command at `path`, and remove the folders of dead commands."""

    def __init__(self) -> None:
        place = private_folder()
        remove_abandoned(place)
        self._lock: int | None = None
        self._at_exit = Finalize(None, self.remove, exitpriority=0)  # an interrupt may come before the removal
        while True:
            # without a private folder, a name without our form: only this command may remove it
            self.path = Path(tempfile.mkdtemp(prefix="gapwise-" if place is None else PREFIX, dir=place))
            if place is None or not CAN_LOCK:
                return
            with suppress(FileNotFoundError):  # another command has just removed it before it was locked
                self._lock = os.open(self.path, AS_IT_IS | os.O_DIRECTORY)
                if try_lock(self._lock) is not False:
                    (self.path / MARK).write_bytes(SIGNED)
                    return
                os.close(self._lock)

    def remove(self) -> None:
        """Remove the folder with all its content."""
        self._at_exit.cancel()
        path: Path | None = getattr(self, "path", None)  # None if it could not be made
        for _ in range(TRIES):
            if path is None or not path.exists():
                break
            shutil.rmtree(path, ignore_errors=True)
            if path.exists():
                time.sleep(PAUSE_S)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(place: Path | None) -> None:
    """Remove from `place` the folders of killed commands: they contain our mark, and no process holds their lock."""
    if place is None or not CAN_LOCK:
        return
    with suppress(OSError):
        for name in filter(NAME.fullmatch, os.listdir(place)):
            with suppress(OSError):  # not a folder, or another user's
                _remove_where_abandoned(place / name)


def _remove_where_abandoned(folder: Path) -> None:
    handle = os.open(folder, AS_IT_IS | os.O_DIRECTORY)
    try:
        if _is_signed(handle) and try_lock(handle):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _is_signed(folder: int) -> bool:
    mark = os.open(MARK, AS_IT_IS, dir_fd=folder)
    try:
        return os.read(mark, 2 * len(SIGNED)) == SIGNED
    finally:
        os.close(mark)
