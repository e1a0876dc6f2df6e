"""Locks of folders: one command at a time, and none that a killed command would leave behind."""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None


def locked(handle: int) -> bool | None:
    """Lock what is open as `handle` until it is closed, or the process ends; `False` where somebody else holds it.

    `None` where there are no locks, as on some network file systems: nobody can tell.
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
