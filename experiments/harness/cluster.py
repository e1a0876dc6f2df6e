"""Run tasks on the workers of a Dask scheduler, each in a killable process, and check the returned values here."""

from __future__ import annotations

import logging
import os
import pickle
import queue
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from experiments.harness.pool import Handover
from experiments.harness.runner import Ended, Keep, Lost, modules_of, wait_for_next
from experiments.harness.task import HarnessTask, R, Reported
from instances import InputError
from instances.result import versions
from instances.text import said_by

CONNECT_S = 10.0
CLOSE_S = 2.0
ATTEMPTS = 2  # a run is begun so often: once more where the worker dies


def as_finished_on(
    address: str,
    tasks: Sequence[HarnessTask[R]],
    keep: Keep[R] | None = None,
    ended: Ended[R] | None = None,
    lost: Callable[[str], None] = print,
) -> Iterator[tuple[int, R]]:
    """Like `as_finished`, on the workers of the scheduler at `address`.

    A worker that dies has its run done again elsewhere, once, and `lost` gets a line of it. Raises InputError where
    there is no scheduler, no worker, or one of other versions, and Lost where the scheduler is gone.
    """
    remote = _remote()
    client = _client(address)
    session = remote.WorkerSession(uuid.uuid4().hex, tuple(modules_of(tasks)), os.getcwd())
    begun: dict[int, list[str]] = {}
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    finished: set[int] = set()
    futures: list[Any] = []
    given_up: set[int] = set()

    def began(event: tuple[float, dict[str, Any]]) -> None:
        """A run has begun on a worker: not for the first time where another one has died under it."""
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
        outcome = _handed(futures[i], begun.get(i, [])).outcome_of(tasks[i])
        if keep is not None:
            keep(tasks[i], outcome)
        finished.add(i)
        return outcome

    short: dict[int, Handover] = {}
    try:
        client.subscribe_topic(session.topic, began)
        for i, task in enumerate(tasks):
            packed = pickle.dumps(task)
            futures.append(client.submit(remote.work_here, session, i, packed, key=f"{session.topic}-{i}", pure=False))
            futures[i].add_done_callback(partial(_finish, done, i))
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
            for handover in client.run(remote.end_here, session).values():
                short |= handover
            client.cancel([future for i, future in enumerate(futures) if i not in finished])
        raise
    finally:
        with suppress(Exception):
            if client.status == "running":
                client.run(remote.end_here, session)
            client.close(CLOSE_S)
        for i, cut in short.items():
            if ended is not None and i not in finished:
                ended(i, cut.outcome_of(tasks[i]))


def _handed(future: Any, workers: Sequence[str]) -> Handover:
    if future.status == "finished":
        handover: Handover | None = future.result()
        if handover is not None:
            return handover
    said = f"the workers died under it: {', '.join(workers)}" if len(workers) > 1 else f"the run was {future.status}"
    return Handover(reported=Reported(), reason=said)


def _finish(done: queue.SimpleQueue[int], i: int, future: Any) -> None:
    done.put(i)


def _remote() -> Any:
    try:
        from experiments.harness import remote
    except ModuleNotFoundError as error:
        raise InputError(f"--dask: needs the package {error.name}: pip install 'gapwise[cluster]'") from error
    return remote


def _client(address: str) -> Any:
    """Connect to the scheduler, and check that all workers have the versions of this process. Raises InputError."""
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # the check below reports relevant differences
            client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: {address}: no scheduler answers: {error}") from error
    here = versions()
    try:
        found = client.run(_remote().versions_here, on_error="return")
        if not found:
            raise InputError(f"--dask: {address}: the scheduler has no workers")
        for worker, there in found.items():
            if isinstance(there, Exception):
                raise InputError(f"--dask: {worker} cannot run Gapwise, which it needs, too: {said_by(there)}")
            for name in dict.fromkeys([*here, *there]):
                if here.get(name) != there.get(name):
                    raise InputError(f"--dask: {worker} has {name} {there.get(name)}, here it is {here.get(name)}")
    except InputError:
        client.close(CLOSE_S)
        raise
    return client
