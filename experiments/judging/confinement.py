"""Confinement: what a process gives up before it runs a program that nobody vouches for.

Linux's namespaces take the network, other processes and every file but its own; no privilege is needed for them. What
is confined sees the system's files, and can change none of them.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

NEW_FILES, NEW_NAME, NEW_MESSAGES, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
"""CLONE_NEWNS and its like, of unshare(2)."""
READ_ONLY, NO_DEVICES, NO_SUID, RECURSIVE, PRIVATE = 1, 4, 2, 0x4000, 0x40000  # of mount(2)
MOUNT_SETATTR, HERE, WITH_ALL_BELOW = 442, -100, 0x8000  # of mount_setattr(2), which has one number on all machines
NO_NEW_PRIVILEGES, DROP_FROM_BOUNDING_SET, DIE_WITH_PARENT = 38, 24, 1  # of prctl(2)
CAPABILITIES_V3, MOST_CAPABILITIES = 0x20080522, 64
OWN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")
OWN_MB = 64  # that files of a confined process take
PROCESSES, FILES = 64, 256
LAST_PROCESS = 320  # the least number that the system takes; it holds for root too, whose processes nobody counts
NOBODY = 65534

_libc = ctypes.CDLL(None, use_errno=True)


class CannotConfine(OSError):
    """This machine does not let its users confine a process."""


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user")]


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def leave() -> None:
    """Into namespaces of its own; what it begins from here on is the first process in one of them."""
    user, group = os.getuid(), os.getgid()
    kinds = NEW_USER | NEW_FILES | NEW_NETWORK | NEW_PROCESSES | NEW_MESSAGES | NEW_NAME
    _done(_libc.unshare(kinds), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")


def confine(hidden: Iterable[str], memory_mb: int) -> None:
    """In the first process of new namespaces: all folders read-only, those of its own empty, `hidden` ones too.

    Of memory each of its processes gets so much. Nothing that is taken can be had again. Raises CannotConfine.
    """
    _mount(None, "/", None, RECURSIVE | PRIVATE)
    attributes = _Attributes(set=READ_ONLY)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _done(_libc.syscall(MOUNT_SETATTR, HERE, b"/", WITH_ALL_BELOW, ctypes.byref(attributes), size), "mount_setattr")
    _mount("proc", "/proc", "proc", NO_SUID | NO_DEVICES)
    for folder in OWN_FOLDERS:
        if os.path.isdir(folder) and not os.path.islink(folder):
            _mount("tmpfs", folder, "tmpfs", NO_SUID | NO_DEVICES, f"size={OWN_MB}m,mode=0700")
    for folder in hidden:
        _mount("tmpfs", folder, "tmpfs", NO_SUID | NO_DEVICES | READ_ONLY, "size=4k,mode=0500")
    for name in os.listdir("/proc/sys/user"):
        with suppress(OSError):
            Path("/proc/sys/user", name).write_text("0")  # no namespaces within
    with suppress(OSError):  # before Linux 6.14 it is of the whole machine, and not ours to set
        Path("/proc/sys/kernel/pid_max").write_text(str(LAST_PROCESS))
    _limit(resource.RLIMIT_AS, memory_mb << 20)
    _limit(resource.RLIMIT_FSIZE, OWN_MB << 20)
    _limit(resource.RLIMIT_NPROC, PROCESSES)
    _limit(resource.RLIMIT_NOFILE, FILES)
    _limit(resource.RLIMIT_CORE, 0)
    for capability in range(MOST_CAPABILITIES):
        _libc.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)  # those that the kernel does not know fail
    _done(_libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    nothing = (ctypes.c_uint32 * 6)()
    _done(_libc.capset(ctypes.byref(_Header(CAPABILITIES_V3, 0)), ctypes.byref(nothing)), "capset")


def die_with_parent() -> None:
    """The system kills this process where its parent ends."""
    _libc.prctl(DIE_WITH_PARENT, 9, 0, 0, 0)


def _limit(what: int, most: int) -> None:
    resource.setrlimit(what, (most, most))


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    said = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _done(_libc.mount(said[0], said[1], said[2], ctypes.c_ulong(flags), said[3]), f"mount {target}")


def _done(returned: int, what: str) -> None:
    if returned != 0:
        code = ctypes.get_errno()
        raise CannotConfine(code, f"{what}: {os.strerror(code)}")
