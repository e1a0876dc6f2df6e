"""Run and end tasks on a worker of a Dask scheduler, in killable processes of the worker's machine.

A worker has a pool of processes for each session. The processes are warm, so the only overhead of a run is its
transfer to the worker and back.
"""

from __future__ import annotations

import pickle
import threading
import time
from concurrent.futures import wait
from dataclasses import dataclass, field
from typing import Any

from distributed import get_worker
from distributed.worker import thread_state

from experiments.harness.pool import Handover, HostPool
from instances.result import versions

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
    worker, key = get_worker(), thread_state.key
    worker.log_event(session.topic, {"i": i, "worker": worker.address})
    task = pickle.loads(packed)
    held, future = _begun(session, worker.state.nthreads, i, task)
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


def _begun(session: WorkerSession, processes: int, i: int, task: Any) -> tuple[_SessionPool, Any]:
    """Schedule the task in the pool of its session, and return both. End pools of other sessions that are unused."""
    with _lock:
        for other, held in list(_session_pools.items()):
            if not held.futures and time.monotonic() - held.used > UNUSED_S and other != session:
                _cleared(_session_pools.pop(other))
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
        found = {i: held.pool.interrupted(i) for i, future in held.futures.items() if not future.done()}
        _cleared(held)
    return {i: handover for i, handover in found.items() if handover is not None}


def _cleared(held: _SessionPool) -> None:
    held.pool.stop()
    held.pool.join()
    held.pool.clear()


def versions_here() -> dict[str, str]:
    """Return the versions of this project, of Python and of the solvers on this worker."""
    return versions()
