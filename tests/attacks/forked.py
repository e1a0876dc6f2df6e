"""Run a command in a copy of this process, about 30 ms each, and end it if it does not end."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pandas as pd

from experiments import cli
from experiments.papers import PAPERS

C = TypeVar("C")
Tried = Callable[[Sequence[C], Path], Iterator[tuple[C, int | None, str | None]]]
"""Each case with its exit status and with what is wrong, tried in a folder."""

WALL_S, CPU_S, MEMORY = 60.0, 20, 6 * 2**30
LONGEST = 900  # characters of a message that is still one line


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, `None` where it had to be ended, and what it said."""

    status: int | None
    out: str
    err: str


def load() -> None:
    """Load what all commands do, so that the copies need not."""
    for command in cli.COMMANDS:
        importlib.import_module(f"experiments.{command}")
    for paper in PAPERS:
        importlib.import_module(f"instances.{paper}")
    pd.read_csv(io.StringIO("a\n1\n"))


def called(arguments: Sequence[str], folder: Path) -> Ended:
    """`gapwise` with `arguments`, in `folder`, with bounded memory and time."""
    return ended(lambda: _main(arguments), folder)


def ended(work: Callable[[], None], folder: Path) -> Ended:
    """How `work` ends in a process of its own, in `folder`."""
    out, err = folder / "said.out", folder / "said.err"
    pid = os.fork()
    if pid == 0:
        _in_the_copy(work, folder, out, err)
    status = _waited(pid)
    texts = [path.read_bytes().decode("utf-8", "replace") for path in (out, err)]
    return Ended(status, *texts)


def wrong(done: Ended, written: Sequence[Path] = (), tolerated: Collection[int] = (2,)) -> str | None:
    """Describe the errors in the end of a command with unusual input.

    It has an end, no traceback and no warning; with a status that is `tolerated` it says why in one line, and nothing
    is `written`.
    """
    if done.status is None:
        return "does not end"
    if "Traceback" in done.err or done.status not in (0, 1, 2, 3):
        return f"status {done.status}: {done.err.strip().splitlines()[-1:]}"
    if done.status not in tolerated:
        return "warns: " + " ".join(done.err.split())[:200] if "Warning" in done.err else None
    if len(done.err.splitlines()) != 1:
        return f"status {done.status}, not in one line: {done.err!r}"
    if len(done.err) > LONGEST:
        return f"{len(done.err)} characters: {done.err[:100]}"
    left = [str(path) for path in written if path.exists()]
    return f"status {done.status}, but {left[0]} was written" if left else None


def _main(arguments: Sequence[str]) -> None:
    sys.argv = ["gapwise", *arguments]
    cli.main()


def _in_the_copy(work: Callable[[], None], folder: Path, out: Path, err: Path) -> None:
    status = 1
    try:
        os.setsid()
        for place, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), place)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin, sys.stdout, sys.stderr = open(0, closefd=False), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        os.chdir(folder)
        work()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with _whatever_happens():
                stream.flush()
        os._exit(status)


@contextmanager
def _whatever_happens() -> Iterator[None]:
    try:
        yield
    except Exception:  # the status is what counts
        return


def _waited(pid: int) -> int | None:
    """Return the exit status of a process, and end it with its children if it takes too long."""
    end = time.monotonic() + WALL_S
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.005)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def campaign(about: str | None, cases: Sequence[C], tried: Tried[C]) -> int:
    """Try all `cases`, or `--cases` of them, print what failed and how many of each status; 1 where anything did."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.cases is not None:
        cases = random.Random(asked.seed).sample(cases, asked.cases)
    statuses: Counter[int | None] = Counter()
    failed = 0
    load()
    with tempfile.TemporaryDirectory() as name:
        for case, status, symptom in tried(cases, Path(name)):
            statuses[status] += 1
            if symptom is not None:
                failed += 1
                print(f"{case}: {symptom[:300]}", flush=True)
    print(f"{len(cases)} cases, by exit status {dict(statuses)}, {failed} failed")
    return 1 if failed else 0
