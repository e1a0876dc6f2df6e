"""Confine a process before it runs an untrusted program.

Linux namespaces remove its access to the network, to other processes and to other files; they need no privilege. A
confined process sees the folders of the system and of Python, but cannot change them. A filter of system calls forbids
further processes, because their memory and time would not be counted, and objects that outlive a process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import resource
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

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
SYSTEM = (
    *("/lib", "/lib32", "/lib64", "/nix/store", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share"),
    *("/usr/local/lib", "/usr/local/lib64", "/usr/local/share"),
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd"),
)
"""Libraries and their data. The rest of /usr and /etc holds programs, sources, settings and secrets."""
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
OWN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")
OWN_MB, OWN_FILES = (
    64,
    4096,
)  # the files of a confined process in all its folders; each takes 1 kB of the kernel's memory
THREADS, FILES = 64, 256
LAST_THREAD = 320  # the smallest number that the system takes; it holds for root too, whose RLIMIT_NPROC is ignored
PID_MAX = "/proc/sys/kernel/pid_max"
PID_MAX_OF_NAMESPACE = 6, 14  # since this Linux the number belongs to a namespace, and to the whole machine before
NOBODY = 65534

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of a filter, see seccomp(2)
NUMBER_AT, MACHINE_AT, FLAGS_AT = 0, 4, 16  # in what it looks at: the call, whose it is, its first argument
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
NEW_THREAD = 0x00010000  # CLONE_THREAD of clone(2)
OTHER_CALLS = 0x40000000  # from this number on: x86's calls of another kind
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
NEWER_CALLS = 424
"""From this number on, all machines number their calls alike. A C library takes an older call if it hears ENOSYS."""
ALLOWED_NEWER = {
    "close_range": 436, "openat2": 437, "faccessat2": 439, "epoll_pwait2": 441, "futex_waitv": 449, "fchmodat2": 452,
    "map_shadow_stack": 453, "futex_wake": 454, "futex_wait": 455, "futex_requeue": 456,
}  # fmt: skip


class Machine(NamedTuple):
    """The numbers of a machine: AUDIT_ARCH, the calls that depend on their first argument, and all that are refused."""

    arch: int
    clone: int
    prctl: int
    socket: int
    socketpair: int
    refused: tuple[int, ...]


REFUSED = {  # name of a call: its numbers on x86_64 and aarch64; None if the machine has no such call
    "fork": (57, None), "vfork": (58, None),  # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "memfd_create": (319, 279), "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),  # memory that no process owns
    "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "io_setup": (206, 0), "userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241),  # large code
    "modify_ldt": (154, None), "unshare": (272, 97), "setns": (308, 268),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
}  # fmt: skip
MACHINES = {
    name: Machine(*numbers, tuple(found for both in REFUSED.values() if (found := both[i]) is not None))
    for i, (name, numbers) in enumerate(
        {"x86_64": (0xC000003E, 56, 157, 41, 53), "aarch64": (0xC00000B7, 220, 167, 198, 199)}.items()
    )
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
    """Move this process to new namespaces; its next child is the first process in the new process namespace."""
    user, group = os.getuid(), os.getgid()
    kinds = NEW_USER | NEW_FILES | NEW_NETWORK | NEW_PROCESSES | NEW_MESSAGES | NEW_NAME
    _done(_libc.unshare(kinds), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")


def confine(visible: Iterable[str], hidden: Iterable[str], memory_mb: int, cpu_s: int) -> None:
    """Confine the first process of new namespaces for good: it sees the system and `visible`, read-only.

    Folders in `hidden` are empty but for the parts that `visible` names. Folders of its own are empty, too. The process
    gets `memory_mb` of memory and `cpu_s` CPU seconds. Raises CannotConfine.
    """
    _mount(None, "/", None, RECURSIVE | PRIVATE)
    _see(visible, hidden)
    for name in os.listdir("/proc/sys/user"):
        with suppress(OSError):
            Path("/proc/sys/user", name).write_text("0")  # no namespaces within
    limit_process_ids(os.uname().release)
    _set_read_only("/proc")  # root may change system settings even without capabilities
    _set_read_only("/")
    _limit(resource.RLIMIT_AS, memory_mb << 20)
    _limit(resource.RLIMIT_FSIZE, OWN_MB << 20)
    _limit(resource.RLIMIT_NPROC, THREADS)
    _limit(resource.RLIMIT_NOFILE, FILES)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, cpu_s)
    for capability in range(MOST_CAPABILITIES):
        _libc.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)  # fails for capabilities that the kernel does not know
    _done(_libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    nothing = (ctypes.c_uint32 * 6)()
    _done(_libc.capset(ctypes.byref(_Header(CAPABILITIES_V3, 0)), ctypes.byref(nothing)), "capset")
    _refuse_calls()


def limit_process_ids(release: str) -> None:
    """Limit the numbers of processes in this namespace, if the Linux of this `release` keeps the limit per namespace.

    An older Linux has one limit for the whole machine, and root may write it.
    """
    version = re.match(r"(\d+)\.(\d+)", release)
    if version is not None and (int(version[1]), int(version[2])) >= PID_MAX_OF_NAMESPACE:
        with suppress(OSError):
            Path(PID_MAX).write_text(str(LAST_THREAD))


def _see(visible: Iterable[str], hidden: Iterable[str]) -> None:
    """Change to a new root with the visible folders, a few devices, processes, and empty folders.

    The empty folders are parts of the file system of the root, so that its limits hold for all of them together.
    """
    about = f"size={OWN_MB}m,nr_inodes={OWN_FILES},mode=0755"
    _mount("tmpfs", NEW_ROOT, "tmpfs", NO_SUID | NO_DEVICES, about)
    seen = {os.path.abspath(name) for path in visible for name in (path, os.path.realpath(path))} - {"/"}
    covers = {os.path.abspath(path) for path in hidden} - seen
    for path in OWN_FOLDERS:  # mounts of their own, because the mount of the root becomes read-only
        _mount(_make_folder(path), NEW_ROOT + path, None, BIND)
    _mount("proc", _make_folder("/proc"), "proc", NO_SUID | NO_DEVICES)
    shown, covered = set[str](), set[str]()
    for path in sorted({*DEVICES, *SYSTEM, *seen, *covers}):  # folders before what is in them
        there = NEW_ROOT + path
        nearest = max((p for p in (*shown, *covered) if path.startswith(f"{p}/")), key=len, default="")
        if path in covers:
            if nearest in shown and os.path.isdir(there):
                _mount("tmpfs", there, "tmpfs", NO_SUID | NO_DEVICES, "size=4k,mode=0500")
                covered.add(path)
        elif os.path.islink(path) and path in SYSTEM:
            os.makedirs(os.path.dirname(there), exist_ok=True)
            os.symlink(os.readlink(path), there)
        elif os.path.exists(path) and nearest not in shown:
            if os.path.isdir(path):
                _make_folder(path)
            else:
                _make_folder(os.path.dirname(path))
                Path(there).touch()
            _mount(path, there, None, BIND | RECURSIVE)
            _set_read_only(there)
            shown.add(path)
    for path in covered:
        _set_read_only(NEW_ROOT + path)
    os.chdir(NEW_ROOT)
    _done(_libc.pivot_root(b".", b"."), "pivot_root")
    _done(_libc.umount2(b".", DETACH), "umount2")
    os.chdir("/")


def _make_folder(path: str) -> str:
    """Make a folder of the new root, and return its path of now."""
    os.makedirs(NEW_ROOT + path, exist_ok=True)
    return NEW_ROOT + path


def _refuse_calls() -> None:
    """Refuse other processes, but not threads; keys and memory that no process owns; sockets but those within."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise CannotConfine(errno.ENOSYS, f"system calls of this machine: {platform.machine()}")
    refuse = RETURN, 0, 0, REFUSE | errno.EPERM
    steps = [(LOAD, 0, 0, MACHINE_AT), (EQUAL, 1, 0, machine.arch), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER_AT)]
    for number in machine.refused:
        steps += [(EQUAL, 0, 1, number), refuse]
    steps += [(AT_LEAST, 0, 1, OTHER_CALLS), refuse]
    for number in ALLOWED_NEWER.values():
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    steps += [(AT_LEAST, 0, 1, NEWER_CALLS), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    steps += [(EQUAL, 0, 3, machine.clone), (LOAD, 0, 0, FLAGS_AT), (ANY_BIT, 1, 0, NEW_THREAD), refuse]
    steps += [(LOAD, 0, 0, NUMBER_AT)]
    steps += [(EQUAL, 0, 3, machine.prctl), (LOAD, 0, 0, FLAGS_AT), (EQUAL, 0, 1, DEATH_SIGNAL), refuse]
    steps += [(LOAD, 0, 0, NUMBER_AT), (EQUAL, 1, 0, machine.socket), (EQUAL, 0, 3, machine.socketpair)]
    steps += [(LOAD, 0, 0, FLAGS_AT), (EQUAL, 1, 0, socket.AF_UNIX), (RETURN, 0, 0, REFUSE | errno.EAFNOSUPPORT)]
    steps += [(RETURN, 0, 0, ALLOW)]
    program = (_CallStep * len(steps))(*(_CallStep(*step) for step in steps))
    _done(_libc.prctl(SET_SECCOMP, BY_FILTER, ctypes.byref(_CallFilter(len(steps), program)), 0, 0), "seccomp")


def _limit(what: int, most: int) -> None:
    """Set a resource limit, at most the hard limit of this process, as both soft and hard limit."""
    given = resource.getrlimit(what)[1]
    least = most if given == resource.RLIM_INFINITY else min(most, given)
    resource.setrlimit(what, (least, least))


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
