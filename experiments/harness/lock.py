"""Locks of folders: one command at a time, and none that a killed command would leave behind."""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None


def locked(handle: int) -> bool:
    """Lock what is open as `handle` until it is closed, or the process ends; whether nobody else holds it.

    On a file system without locks nobody ever does.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
