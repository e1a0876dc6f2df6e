"""How processes are started: afresh, and without running the caller's script once more.

A process that Python spawns imports the script it was started from, to find functions there. Tasks need nothing of it:
functions of the user's are passed by what they are (`harness.user_functions`). So a script needs no main guard, and
one that takes a minute to load costs that minute once.
"""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import context, process, resource_tracker, spawn
from typing import Any

SCRIPT = ("init_main_from_name", "init_main_from_path")
_preparation = spawn.get_preparation_data
_one_at_a_time = threading.Lock()


class _Process(context.SpawnProcess):
    def start(self) -> None:
        """Start, also within a worker of a cluster, which is a daemon: the process ends when its parent is gone."""
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

        def without_script(name: str) -> dict[str, Any]:
            said = _preparation(name)
            mine = threading.get_ident() == starting  # another thread may start a process that does need its script
            return {key: value for key, value in said.items() if not (mine and key in SCRIPT)}

        with _one_at_a_time:
            spawn.get_preparation_data = without_script
            try:
                return context.SpawnProcess._Popen(started)
            finally:
                spawn.get_preparation_data = _preparation


class _Spawn(context.SpawnContext):
    Process = _Process


def start_method() -> Any:
    """The context in which the processes of tasks are started."""
    return _Spawn()


def started(made: Any) -> Any:
    """Start the process `made`, which never sees an interrupt, that is for us alone, and may start others."""
    made.daemon = False
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        made.start()
        return made
    # a run that is ended leaves to the tracker what semaphores it had made, which is no matter to tell of
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    resource_tracker.ensure_running()  # it would unblock the interrupt where it is begun on the way
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        made.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return made
