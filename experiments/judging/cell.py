"""A cell (sandbox): a process that has loaded the data of a task. Every program runs in a confined copy of it.

The cell knows neither solutions nor optima, and does not trust the output of a program. It counts the resources of the
copy, ends it, and passes its output on without reading it.
"""

from __future__ import annotations

import array
import gc
import glob
import importlib.util
import json
import math
import os
import random
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

from experiments.harness.host import cpu_and_threads, die_with_parent
from experiments.harness.user_functions import resolve
from experiments.judging.calls import Calls
from experiments.judging.confinement import SYSTEM, THREADS, CannotConfine, confine, leave

SEEN = "instances"
HIDDEN = ("models", "heuristics", "experiments", "tests", "docs", ".git")
"""Folders of this project: no program sees exact methods, records, and pages, but the types of data alone."""
OF_PREFIX = ("lib", "lib32", "lib64", "share", "pyvenv.cfg")  # parts of an environment that Python needs once it runs
INSTALLED = "python*/*-packages"  # the folders below `lib` in which each Python keeps packages
LARGEST_ANSWER, LARGEST_ANSWERS = 1 << 22, 1 << 26  # bytes of a line, and of all: reading takes 20 times the memory
CPU_LAST_RESORT = 2, 10  # a program's own limit of CPU seconds: those of all cases times the first, and the second
LOOK_S = 0.02  # how often it is looked how much CPU a program has used
WALL = 3.0, 1.0  # wall seconds of a program: its CPU seconds times the first, and the second
SAID = 1000  # characters of an error
NUMBER = array.array("i").itemsize
CONFINED, NOT_CONFINED = b"+", b"-"
PROGRAM = "/tmp/program.py"


def serve(handle: int) -> None:
    """Load the data that the judge sends over a connection, then run program after program until it is gone."""
    judge = Connection(handle)
    with suppress(EOFError, ConnectionError):
        about = json.loads(judge.recv_bytes())
        try:
            calls: Calls = resolve(about["calls"])()
            given = [calls.arguments(content) for content in about["contents"]]
        except Exception as error:
            return judge.send_bytes(_describe_error(error).encode())
        find_folders()  # which the copies need not search again
        gc.collect()
        gc.freeze()
        judge.send_bytes(b"")
        while True:
            order = json.loads(judge.recv_bytes())
            head, answers = _judge(judge, order, calls, given)
            judge.send_bytes(json.dumps(head).encode())
            judge.send_bytes(answers)
    return None


def _judge(
    judge: Connection, order: dict[str, Any], calls: Calls, given: Sequence[Any]
) -> tuple[dict[str, Any], bytes]:
    """Run a program in a copy; return how it ended, the resources that it used, and its output."""
    answers, to_us = os.pipe()
    first, tell = os.pipe()
    begun = time.monotonic()
    outside = os.fork()
    if outside == 0:
        _step_in(judge, order, calls, given, (answers, first), (to_us, tell))
    os.close(to_us)
    os.close(tell)
    with os.fdopen(first, "rb") as said:
        inside, why = array.array("i", said.read(NUMBER)), said.read()
    ended, content = "cannot", NOT_CONFINED + why
    if not why:
        ended, content = _await_output(judge, outside, inside[0], answers, order["seconds"], len(order["order"]))
    os.close(answers)
    _, status, used = os.wait4(outside, 0)  # with all that the first process inside has waited for
    if not content.startswith(CONFINED):
        return {"ended": "cannot", "said": content[1 : 1 + SAID].decode(errors="replace")}, b""
    seconds = {"cpu_s": used.ru_utime + used.ru_stime, "wall_s": time.monotonic() - begun}
    return {"ended": ended, "code": os.waitstatus_to_exitcode(status), **seconds}, content[1:]


def _await_output(
    judge: Connection, outside: int, inside: int, answers: int, seconds: float, lines: int
) -> tuple[str, bytes]:
    """Read the output of a program until it ends or is ended, and return it with the reason.

    Every line has a limit of CPU seconds. Any line counts as the answer to the next case, so that a program cannot gain
    time for a case by writing further lines.
    """
    content, left, line, before, since = bytearray(), lines, 0, 0.0, time.monotonic()
    used, threads = 0.0, 1
    gone = os.pidfd_open(outside)
    open_still: list[int] = [answers]
    try:
        while True:
            ready, _, _ = select.select([*open_still, gone, judge.fileno()], [], [], LOOK_S)
            used, threads = cpu_and_threads(inside) or (used, threads)
            if answers in ready:
                part = os.read(answers, 1 << 16)
                content += part
                if not part:
                    open_still = []
                if b"\n" in part:
                    left, line = left - part.count(b"\n"), content.rfind(b"\n") + 1
                    before, since = used, time.monotonic()
            elif gone in ready:
                return "ended", bytes(content)
            reasons = {
                "ended": left <= 0,  # a further line would say nothing
                "size": len(content) > LARGEST_ANSWERS or len(content) - line > LARGEST_ANSWER,
                "threads": threads > THREADS,
                "nobody asks": judge.fileno() in ready,
                "time": used - before > seconds or time.monotonic() - since > seconds * WALL[0] + WALL[1],
            }
            for why in (why for why, holds in reasons.items() if holds):
                with suppress(ProcessLookupError):
                    os.kill(inside, signal.SIGKILL)
                return why, bytes(content)
    finally:
        os.close(gone)


def _step_in(
    judge: Connection, order: dict[str, Any], calls: Calls, given: Sequence[Any],
    ours: Sequence[int], theirs: tuple[int, int],
) -> None:  # fmt: skip
    """In the copy: leave for other namespaces, begin their first process, and wait for its end."""
    answers, tell = theirs
    code = 1
    try:
        die_with_parent()
        for handle in (judge.fileno(), *ours):
            os.close(handle)
        leave()
        inside = os.fork()
        if inside == 0:
            _run(order, calls, given, answers)
        os.write(tell, array.array("i", [inside]).tobytes())
        os.close(tell)
        os.close(answers)
        code = os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1])
    except CannotConfine as error:
        os.write(tell, array.array("i", [0]).tobytes() + str(error).encode()[:SAID])
    finally:
        os._exit(code & 0xFF)


def _run(order: dict[str, Any], calls: Calls, given: Sequence[Any], answers: int) -> None:
    """In the first process inside: give up all that is to be given up, and call the program."""
    try:
        die_with_parent()
        try:
            cpu_s = CPU_LAST_RESORT[0] * order["seconds"] * len(order["order"]) + CPU_LAST_RESORT[1]
            confine(*find_folders(), order["memory_mb"], math.ceil(min(cpu_s, threading.TIMEOUT_MAX)))
        except OSError as error:
            os.write(answers, NOT_CONFINED + str(error).encode()[:SAID])
            return
        os.write(answers, CONFINED)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for handle in range(3):
            os.dup2(nowhere, handle)
        os.closerange(3, answers)
        os.closerange(answers + 1, 1 << 12)
        os.chdir(os.path.dirname(PROGRAM))
        sys.meta_path.insert(0, _Hidden())
        _call(order, calls, given, answers)
    finally:
        os._exit(0)


@cache
def find_folders() -> tuple[list[str], list[str]]:
    """Return the folders of Python that a program sees, and the hidden folders in them.

    From this project, a program sees only the data types. Every copy of the project is hidden that is on the module
    path or among the packages of any visible Python.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    visible = [os.path.join(prefix, name) for prefix in sorted(prefixes) for name in OF_PREFIX]
    libraries = [folder for folder in (*SYSTEM, *visible) if os.path.basename(folder).startswith("lib")]
    packages = [found for folder in libraries for found in glob.glob(os.path.join(folder, INSTALLED))]
    hidden = []
    for path in dict.fromkeys([*filter(None, sys.path), *packages]):
        if os.path.isfile(os.path.join(path, SEEN, "registry.py")):
            visible.append(os.path.join(path, SEEN))
            installed = not os.path.isfile(os.path.join(path, "pyproject.toml"))
            hidden += [os.path.join(path, name) for name in HIDDEN] if installed else [path]
        elif path in sys.path:
            visible.append(path)
    return visible, hidden


class _Hidden:
    """Block the import of hidden modules, which may have been imported in this process."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"{name} is not for programs that are judged")


def _call(order: dict[str, Any], calls: Calls, given: Sequence[Any], answers: int) -> None:
    random.seed(0)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)
    try:
        function = _load(order["program"], order.get("function") or calls.function)
    except BaseException as error:  # whatever a program does when it is loaded
        return _write(answers, {"fault": _describe_error(error)})
    for i in order["order"]:
        try:
            answer = calls.answer(given[i], function(*given[i]))
        except BaseException as error:  # SystemExit too
            _write(answers, {"error": _describe_error(error)})
        else:
            _write(answers, {"answer": answer})
    return None


def _load(text: str, name: str) -> Any:
    with open(PROGRAM, "w", encoding="utf-8") as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location("program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["program"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise TypeError(f"the program has no function {name!r}")
    return function


def _write(answers: int, said: dict[str, Any]) -> None:
    line = json.dumps(said).encode() + b"\n"
    while line:
        line = line[os.write(answers, line) :]


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:SAID]
