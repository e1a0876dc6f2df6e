"""The temporary folder of a command: signed, locked while the command lives, and removed by the next one at the latest.

A folder is removed only if its name has our form, it contains our mark, and no living command holds its lock. All
folders are in a folder that only this user can enter. Other files are never touched. The system releases the lock of a
killed command.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path

from instances.private import private_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None


def locked(handle: int) -> bool | None:
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
                if locked(self._lock) is not False:
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
        if _signed(handle) and locked(handle):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _signed(folder: int) -> bool:
    mark = os.open(MARK, AS_IT_IS, dir_fd=folder)
    try:
        return os.read(mark, 2 * len(SIGNED)) == SIGNED
    finally:
        os.close(mark)
