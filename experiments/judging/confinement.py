"""Confinement: what a process gives up before it runs a program that nobody vouches for.

Linux's namespaces take the network, other processes and every file but its own; no privilege is needed for them. What
is confined sees the folders of the system and of Python, and can change nothing in them. It is one process: a filter of
system calls refuses it others, whose memory and time nobody would count, and what outlives a process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

NEW_FILES, NEW_NAME, NEW_MESSAGES, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
"""CLONE_NEWNS and its like, of unshare(2)."""
READ_ONLY, NO_DEVICES, NO_SUID, RECURSIVE, PRIVATE = 1, 4, 2, 0x4000, 0x40000  # of mount(2)
BIND, DETACH = 0x1000, 2  # of mount(2) and umount2(2)
MOUNT_SETATTR, HERE, WITH_ALL_BELOW = 442, -100, 0x8000  # of mount_setattr(2), which has one number on all machines
NO_NEW_PRIVILEGES, DROP_FROM_BOUNDING_SET, SET_SECCOMP, BY_FILTER = 38, 24, 22, 2  # of prctl(2)
CAPABILITIES_V3, MOST_CAPABILITIES = 0x20080522, 64
NEW_ROOT = "/sys"  # where it is put together: a folder that every system has, and no program needs
SYSTEM = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/nix/store", "/sbin", "/usr")
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
OWN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")
OWN_MB = 64  # that files of a confined process take
THREADS, FILES = 64, 256
LAST_THREAD = 320  # the least number that the system takes; it holds for root too, whose threads nobody counts
NOBODY = 65534

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of a filter, see seccomp(2)
NUMBER_AT, MACHINE_AT, FLAGS_AT = 0, 4, 16  # in what it looks at: the call, whose it is, its first argument
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
NEW_THREAD = 0x00010000  # CLONE_THREAD of clone(2)
OTHER_CALLS = 0x40000000  # from this number on: x86's calls of another kind
IO_URING_SETUP, CLONE3, MEMFD_SECRET = 425, 435, 447  # which have one number on all machines
MACHINES = {  # AUDIT_ARCH; clone; fork and vfork, where it has them, memfd_create, shmget, add_key, request_key, keyctl
    "x86_64": (0xC000003E, 56, (57, 58, 319, 29, 248, 249, 250)),
    "aarch64": (0xC00000B7, 220, (279, 194, 217, 218, 219)),
}

_libc = ctypes.CDLL(None, use_errno=True)


class CannotConfine(OSError):
    """This machine does not let its users confine a process."""


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user")]


class _CallStep(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("what", ctypes.c_uint32)]


class _CallFilter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_CallStep))]


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


def confine(visible: Iterable[str], hidden: Iterable[str], memory_mb: int) -> None:
    """In the first process of new namespaces: it sees the system and `visible`, read-only, but of them not `hidden`.

    Folders of its own are empty. It gets so much memory. Nothing that is taken can be had again. Raises CannotConfine.
    """
    _mount(None, "/", None, RECURSIVE | PRIVATE)
    _see(visible)
    for folder in hidden:
        if os.path.isdir(folder):
            _mount("tmpfs", folder, "tmpfs", NO_SUID | NO_DEVICES | READ_ONLY, "size=4k,mode=0500")
    for name in os.listdir("/proc/sys/user"):
        with suppress(OSError):
            Path("/proc/sys/user", name).write_text("0")  # no namespaces within
    with suppress(OSError):  # before Linux 6.14 it is of the whole machine, and not ours to set
        Path("/proc/sys/kernel/pid_max").write_text(str(LAST_THREAD))
    _set_read_only("/proc")  # what the system is set to, which is root's to change, whatever it has given up
    _set_read_only("/")
    _limit(resource.RLIMIT_AS, memory_mb << 20)
    _limit(resource.RLIMIT_FSIZE, OWN_MB << 20)
    _limit(resource.RLIMIT_NPROC, THREADS)
    _limit(resource.RLIMIT_NOFILE, FILES)
    _limit(resource.RLIMIT_CORE, 0)
    for capability in range(MOST_CAPABILITIES):
        _libc.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)  # those that the kernel does not know fail
    _done(_libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    nothing = (ctypes.c_uint32 * 6)()
    _done(_libc.capset(ctypes.byref(_Header(CAPABILITIES_V3, 0)), ctypes.byref(nothing)), "capset")
    _refuse_calls()


def _see(visible: Iterable[str]) -> None:
    """Another root: what is to be seen, a few devices, processes, and empty folders."""
    _mount("tmpfs", NEW_ROOT, "tmpfs", NO_SUID | NO_DEVICES, "size=1m,mode=0755")
    seen = {os.path.abspath(name) for path in visible for name in (path, os.path.realpath(path))} - {"/"}
    ours = dict.fromkeys(OWN_FOLDERS, "tmpfs") | {"/proc": "proc"}
    bound: list[str] = []
    for path in sorted({*ours, *DEVICES, *SYSTEM, *seen}):  # folders before what is in them
        there = NEW_ROOT + path
        if path in ours:
            os.makedirs(there, exist_ok=True)
            data = f"size={OWN_MB}m,mode=0700" if ours[path] == "tmpfs" else None
            _mount(ours[path], there, ours[path], NO_SUID | NO_DEVICES, data)
        elif os.path.islink(path) and path in SYSTEM:
            os.makedirs(os.path.dirname(there), exist_ok=True)
            os.symlink(os.readlink(path), there)
        elif os.path.exists(path) and not any(path.startswith(f"{folder}/") for folder in bound):
            os.makedirs(there if os.path.isdir(path) else os.path.dirname(there), exist_ok=True)
            if not os.path.isdir(path):
                Path(there).touch()
            _mount(path, there, None, BIND | RECURSIVE)
            _set_read_only(there)
            bound.append(path)
    os.chdir(NEW_ROOT)
    _done(_libc.pivot_root(b".", b"."), "pivot_root")
    _done(_libc.umount2(b".", DETACH), "umount2")
    os.chdir("/")


def _refuse_calls() -> None:
    """Refuse other processes, but not threads; keys and memory that belong to none; and work that the system does."""
    machine, clone, refused = MACHINES.get(platform.machine(), (0, 0, ()))
    if not machine:
        raise CannotConfine(errno.ENOSYS, f"system calls of this machine: {platform.machine()}")
    steps = [(LOAD, 0, 0, MACHINE_AT), (EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER_AT)]
    for number in (*refused, IO_URING_SETUP, MEMFD_SECRET):
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    steps += [(AT_LEAST, 0, 1, OTHER_CALLS), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    steps += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]  # whoever hears that takes clone
    steps += [(EQUAL, 0, 3, clone), (LOAD, 0, 0, FLAGS_AT), (ANY_BIT, 1, 0, NEW_THREAD)]
    steps += [(RETURN, 0, 0, REFUSE | errno.EPERM), (RETURN, 0, 0, ALLOW)]
    program = (_CallStep * len(steps))(*(_CallStep(*step) for step in steps))
    _done(_libc.prctl(SET_SECCOMP, BY_FILTER, ctypes.byref(_CallFilter(len(steps), program)), 0, 0), "seccomp")


def _limit(what: int, most: int) -> None:
    resource.setrlimit(what, (most, most))


def _set_read_only(path: str) -> None:
    attributes = _Attributes(set=READ_ONLY)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    below = 0 if path == "/" else WITH_ALL_BELOW
    done = _libc.syscall(MOUNT_SETATTR, HERE, path.encode(), below, ctypes.byref(attributes), size)
    _done(done, f"mount_setattr {path}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    said = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _done(_libc.mount(said[0], said[1], said[2], ctypes.c_ulong(flags), said[3]), f"mount {target}")


def _done(returned: int, what: str) -> None:
    if returned != 0:
        code = ctypes.get_errno()
        raise CannotConfine(code, f"{what}: {os.strerror(code)}")
