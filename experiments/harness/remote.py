"""What runs on a worker of a Dask scheduler: tasks in killable processes of that machine, and their end.

A worker has a pool of processes for each session that it works for. They are warm: what a run costs beside its own
work is to be handed over and back.
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

from experiments.harness.pool import Handed, Pool
from instances.result import versions

GIVEN_UP_S = 0.5  # how often a run asks whether anybody still waits for it
UNUSED_S = 60.0  # processes of a command that was killed are ended by the next one after so long


@dataclass(frozen=True)
class Session:
    """One command on a cluster: its name, what its tasks want imported, the folder it was called in."""

    name: str
    modules: tuple[str, ...]
    place: str

    @property
    def topic(self) -> str:
        """Where its workers tell which run they begin."""
        return f"gapwise-{self.name}"


@dataclass
class _Desk:
    """The processes of one session on this worker, and what they work on."""

    pool: Pool
    futures: dict[int, Any] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)


_desks: dict[Session, _Desk] = {}
_lock = threading.Lock()


def work_here(session: Session, i: int, packed: bytes) -> Handed | None:
    """What the task at place `i` hands over; `None` where nobody waits for it any more."""
    worker, key = get_worker(), thread_state.key
    worker.log_event(session.topic, {"i": i, "worker": worker.address})
    task = pickle.loads(packed)
    desk, future = _begun(session, worker.state.nthreads, i, task)
    given_up = False
    while not wait([future], GIVEN_UP_S).done:
        waiting = worker.state.tasks.get(key)
        if waiting is None or waiting.state == "cancelled":  # the scheduler has lost the command that asked for it
            desk.pool.cancel(i, future)
            given_up = True
            break
    with _lock:
        desk.futures.pop(i, None)
        desk.used = time.monotonic()
    return None if given_up else desk.pool.handed(i, task, future)


def _begun(session: Session, processes: int, i: int, task: Any) -> tuple[_Desk, Any]:
    """The desk of the session, where the task is begun. Those of sessions that nobody has used for long are ended."""
    with _lock:
        for other, desk in list(_desks.items()):
            if not desk.futures and time.monotonic() - desk.used > UNUSED_S and other != session:
                _cleared(_desks.pop(other))
        if session not in _desks:
            _desks[session] = _Desk(Pool(processes, session.modules, session.place))
        desk = _desks[session]
        desk.futures[i] = desk.pool.schedule(i, task)
        return desk, desk.futures[i]


def end_here(session: Session) -> dict[int, Handed]:
    """End the processes of a session on this worker, and hand over what the runs that this cuts short had told of."""
    with _lock:
        desk = _desks.pop(session, None)
        if desk is None:
            return {}
        found = {i: desk.pool.interrupted(i) for i, future in desk.futures.items() if not future.done()}
        _cleared(desk)
    return {i: handed for i, handed in found.items() if handed is not None}


def _cleared(desk: _Desk) -> None:
    desk.pool.stop()
    desk.pool.join()
    desk.pool.clear()


def versions_here() -> dict[str, str]:
    """The versions of this project, of Python and of the solvers on this worker."""
    return versions()
