"""Run tasks on the workers of a Dask scheduler, each in a killable process, and check the returned values here.

A worker has a pool of processes for each session. The processes are warm, so the only overhead of a run is its
transfer to the worker and back. `distributed` is imported when it is used, because it is optional.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from experiments.harness.runner import CutShort, Handover, HostPool, Keep, Lost, modules_of, wait_for_next
from experiments.harness.task import HarnessTask, R, Reported
from instances import InputError
from instances.result import versions
from instances.text import describe_error

CONNECT_S = 10.0
CLOSE_S = 2.0
ATTEMPTS = 2  # a run is begun so often: once more where the worker dies


def as_finished_on(
    address: str,
    tasks: Sequence[HarnessTask[R]],
    keep: Keep[R] | None = None,
    ended: CutShort[R] | None = None,
    lost: Callable[[str], None] = print,
) -> Iterator[tuple[int, R]]:
    """Run all tasks like `as_finished`, on the workers of the scheduler at `address`.

    A worker that dies has its run done again elsewhere, once, and `lost` gets a line of it. Raises InputError where
    there is no scheduler, no worker, or one of other versions, and Lost where the scheduler is gone.
    """
    client = _client(address)
    session = WorkerSession(uuid.uuid4().hex, tuple(modules_of(tasks)), os.getcwd())
    begun: dict[int, list[str]] = {}
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    finished: set[int] = set()
    futures: list[Any] = []
    given_up: set[int] = set()

    def began(event: tuple[float, dict[str, Any]]) -> None:
        """Record that a run begins on a worker, again if an earlier worker has died."""
        i, worker = event[1]["i"], event[1]["worker"]
        before = begun.setdefault(i, [])
        before.append(worker)
        if len(before) > 1:
            name = " ".join(tasks[i].label())
            if len(before) > ATTEMPTS:
                given_up.add(i)
                futures[i].cancel()
            else:
                lost(f"worker {before[-2]} was lost; {name} is run again on {worker}")

    def settle(i: int) -> R:
        if futures[i].status == "cancelled" and i not in given_up:  # the client cancels it if its scheduler is lost
            raise Lost(f"the scheduler at {address} was lost")
        outcome = _hand_over(futures[i], begun.get(i, [])).outcome_of(tasks[i])
        if keep is not None:
            keep(tasks[i], outcome)
        finished.add(i)
        return outcome

    short: dict[int, Handover] = {}
    try:
        client.subscribe_topic(session.topic, began)
        for i, task in enumerate(tasks):
            packed = pickle.dumps(task)
            futures.append(client.submit(work_here, session, i, packed, key=f"{session.topic}-{i}", pure=False))
            futures[i].add_done_callback(lambda _, i=i: done.put(i))
        for _ in tasks:
            i = wait_for_next(done)
            yield i, settle(i)
    except Lost:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it would print the same as a traceback
        raise
    except BaseException:
        with suppress(Exception):  # the scheduler may be gone
            for i, future in enumerate(futures):
                if future.status == "finished" and i not in finished:
                    settle(i)
            for handover in client.run(end_here, session).values():
                short |= handover
            client.cancel([future for i, future in enumerate(futures) if i not in finished])
        raise
    finally:
        with suppress(Exception):
            if client.status == "running":
                client.run(end_here, session)
            client.close(CLOSE_S)
        for i, cut in short.items():
            if ended is not None and i not in finished:
                ended(i, cut.outcome_of(tasks[i]))


def _hand_over(future: Any, workers: Sequence[str]) -> Handover:
    if future.status == "finished":
        handover: Handover | None = future.result()
        if handover is not None:
            return handover
    said = f"the workers died under it: {', '.join(workers)}" if len(workers) > 1 else f"the run was {future.status}"
    return Handover(reported=Reported(), reason=said)


def _client(address: str) -> Any:
    """Connect to the scheduler, and check that all workers have the versions of this process. Raises InputError."""
    try:
        from distributed import Client
        from distributed.versions import VersionMismatchWarning
    except ModuleNotFoundError as error:
        raise InputError(f"--dask: needs the package {error.name}: pip install 'gapwise[cluster]'") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # the check below reports relevant differences
            client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: {address}: no scheduler answers: {error}") from error
    here = versions()
    try:
        found = client.run(versions_here, on_error="return")
        if not found:
            raise InputError(f"--dask: {address}: the scheduler has no workers")
        for worker, there in found.items():
            if isinstance(there, Exception):
                raise InputError(f"--dask: {worker} cannot run Gapwise, which it needs, too: {describe_error(there)}")
            for name in dict.fromkeys([*here, *there]):
                if here.get(name) != there.get(name):
                    raise InputError(f"--dask: {worker} has {name} {there.get(name)}, here it is {here.get(name)}")
    except InputError:
        client.close(CLOSE_S)
        raise
    return client


GIVEN_UP_S = 0.5  # interval at which a run checks whether its command still waits for it
UNUSED_S = 60.0  # the next command ends the processes of a killed command after this time without use


@dataclass(frozen=True)
class WorkerSession:
    """One command on a cluster: its name, the modules that its tasks need, and the folder that it was called in."""

    name: str
    modules: tuple[str, ...]
    place: str

    @property
    def topic(self) -> str:
        """Return the Dask topic on which the workers report the runs that they begin."""
        return f"gapwise-{self.name}"


@dataclass
class _SessionPool:
    """The processes of one session on this worker, and the futures of their tasks."""

    pool: HostPool
    futures: dict[int, Any] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)


_session_pools: dict[WorkerSession, _SessionPool] = {}
_lock = threading.Lock()


def work_here(session: WorkerSession, i: int, packed: bytes) -> Handover | None:
    """Run task `i` and return its handover; `None` if no command waits for it any more."""
    from distributed import get_worker
    from distributed.worker import thread_state

    worker, key = get_worker(), thread_state.key
    worker.log_event(session.topic, {"i": i, "worker": worker.address})
    task = pickle.loads(packed)
    held, future = _schedule(session, worker.state.nthreads, i, task)
    given_up = False
    while not wait([future], GIVEN_UP_S).done:
        waiting = worker.state.tasks.get(key)
        if waiting is None or waiting.state == "cancelled":  # the scheduler has lost the command that asked for it
            held.pool.cancel(i, future)
            given_up = True
            break
    with _lock:
        held.futures.pop(i, None)
        held.used = time.monotonic()
    return None if given_up else held.pool.handover(i, task, future)


def _schedule(session: WorkerSession, processes: int, i: int, task: Any) -> tuple[_SessionPool, Any]:
    """Schedule the task in the pool of its session, and return both. End pools of other sessions that are unused."""
    with _lock:
        for other, held in list(_session_pools.items()):
            if not held.futures and time.monotonic() - held.used > UNUSED_S and other != session:
                _clear(_session_pools.pop(other))
        if session not in _session_pools:
            _session_pools[session] = _SessionPool(HostPool(processes, session.modules, session.place))
        held = _session_pools[session]
        held.futures[i] = held.pool.schedule(i, task)
        return held, held.futures[i]


def end_here(session: WorkerSession) -> dict[int, Handover]:
    """End the processes of a session on this worker, and return the reports of the interrupted runs."""
    with _lock:
        held = _session_pools.pop(session, None)
        if held is None:
            return {}
        found = {i: held.pool.report_interrupted(i) for i, future in held.futures.items() if not future.done()}
        _clear(held)
    return {i: handover for i, handover in found.items() if handover is not None}


def _clear(held: _SessionPool) -> None:
    held.pool.stop()
    held.pool.join()
    held.pool.clear()


def versions_here() -> dict[str, str]:
    """Return the versions of this project, of Python and of the solvers on this worker."""
    return versions()
