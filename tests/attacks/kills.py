"""Kill a command and its processes at random moments, resume it, and check that nothing hangs or is lost.

`python -m tests.attacks.kills [KILLS] [COMMAND ...]` kills each command so often, and prints a line a command. A sixth
is of the command itself: SIGKILL, SIGTERM, SIGINT and Ctrl-C, which the whole group sees, one after the other in one
folder, in which it is then resumed to its end. A run that was told of must be kept; what is kept must be the same to
the last byte ever after, seconds included, so that it cannot have been run again; no process, no temporary folder, no
traceback and, in the end, no result of an interrupted run may be left. The rest is of processes of runs, by SIGKILL,
in other folders: the command must end by itself each time, and tell of every run, of no more as errors than were
killed. Of either kind many are killed while a run hands over, on a disk that is slow: the process that does is stopped,
and what is to be killed is killed if it still does.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from instances import Instance, save
from instances.boa import figure_1
from instances.eva import table_3
from tests.commands import ROOT, interruptible

HEURISTICS = "--method tests.user_heuristics:takes_a_while --method tests.user_heuristics:large"
COMMANDS = {
    "solve": f"solve {{work}}/many {HEURISTICS} --jobs 2",
    "gap_study": f"gap_study {{work}}/many {HEURISTICS} --jobs 2",
    "pareto": "pareto {work}/budget.json --points 60 --method randomised --jobs 2",
    "simulate": "simulate --workload base --days 0.1 --seeds 30 --policy gssf --policy sia-vc --jobs 2",
    "reproduce": "reproduce eva --quick --only table-6 --only table-10 --only table-11 --jobs 2",
    "score": "score tests.user_heuristics:large --problem eva-packing --quick --jobs 2",
}
OF_COMMANDS = "SIGKILL", "SIGTERM", "SIGINT", "Ctrl-C"
STATUS = {"SIGKILL": {-9}, "SIGTERM": {143, -15}, "SIGINT": {130}, "Ctrl-C": {130}}  # -15: while it loads
GONE_S = 10.0  # within which the processes of a killed command have ended
HANGS_S = 300.0  # after which a command that nobody has killed hangs
LOADS_S, WORKS_S = 6.0, 1.0  # a command is killed within so long of its start, or of a run that it has just kept
RUNS_S = 0.5  # the time between two kills of processes of runs is up to twice as long
SLOW_DISK = """import os, pathlib, time
write, replace = pathlib.Path.write_bytes, os.replace
def write_slowly(path, content):
    if path.suffix != ".part":
        return write(path, content)
    with open(path, "wb", buffering=0) as file:
        for half in (content[: len(content) // 2], content[len(content) // 2 :]):
            file.write(half)
            time.sleep(0.1)
def replace_slowly(path, by):
    replace(path, by)
    if str(path).endswith(".part"):
        with open(by, "rb"):
            time.sleep(0.1)
pathlib.Path.write_bytes, os.replace = write_slowly, replace_slowly
"""  # every process imports it: half of what is handed over is there for a while, then all of it, then by its name
SEED = 7
Kept = dict[tuple[str, str], str]  # outcomes by key and options


@dataclass
class Tally:
    """What was seen of one command."""

    kills: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    unexplained: int = 0  # runs that failed without having been killed
    changed: int = 0
    processes: int = 0
    folders: int = 0
    hangs: int = 0
    statuses: list[int] = field(default_factory=list)  # which nobody would expect
    tracebacks: int = 0
    files: list[str] = field(default_factory=list)  # which an undisturbed command would not have left
    kept_at: list[int] = field(default_factory=list)

    @property
    def faultless(self) -> bool:
        counts = self.lost, self.unexplained, self.changed, self.processes, self.folders, self.hangs, self.tracebacks
        return not any(counts) and not self.statuses and not self.files

    def __str__(self) -> str:
        seen = f"{self.lost} lost, {self.unexplained} failed by themselves, {self.changed} repeated"
        seen += f", {self.processes} processes and {self.folders} folders left, {self.hangs} hang"
        seen += f", {self.tracebacks} tracebacks, statuses {self.statuses}, files {self.files}"
        return f"{self.kills.total()} kills, {dict(self.kills)}: {seen}; kept at each: {self.kept_at}"


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for name in sys.argv[2:] or COMMANDS:
        with tempfile.TemporaryDirectory(prefix="kills-") as work:
            prepare(Path(work))
            print(f"{name}: {attacked(COMMANDS[name], Path(work), kills, random.Random(SEED))}", flush=True)


def prepare(work: Path, instances: int = 60) -> None:
    """Instances to solve, and a disk that is slow."""
    for folder in ("many", "temporary", "slow"):
        (work / folder).mkdir()
    (work / "slow" / "sitecustomize.py").write_text(SLOW_DISK)
    for i in range(instances):
        save(Instance.of(table_3().data, f"i{i}"), work / "many" / f"{i}.json")
    save(figure_1(1.0), work / "budget.json")


def attacked(command: str, work: Path, kills: int, rng: random.Random) -> Tally:
    """Kill `command` and its runs so often, at random moments, and let it end at last."""
    tally = Tally()
    of_command = math.ceil(kills / 6)
    for number in itertools.count():  # what is finished has nothing left to be killed
        killed = tally.kills.total()
        if killed >= kills:
            return tally
        folder, kept = f"out-{number}", Kept()
        if killed < of_command:
            while tally.kills.total() < of_command and _kill_command(command, work, folder, tally, rng):
                kept = seen(work, folder, kept, tally)
        else:
            _kill_runs(start(command, work, folder), work, tally, kills, rng)
            kept = seen(work, folder, kept, tally)
            _all_told(work, folder, tally, tally.kills.total() - killed)
        _finish(command, work, folder, tally)
        seen(work, folder, kept, tally)


def _kill_command(command: str, work: Path, folder: str, tally: Tally, rng: random.Random) -> bool:
    """Begin a command and kill it, unless it ends before."""
    process, killed = start(command, work, folder), tally.kills.total()
    how = OF_COMMANDS[killed % len(OF_COMMANDS)]
    _some_moment(process, work, folder, rng)
    writer = _handing_over(process, LOADS_S) if rng.random() < 0.4 else None
    if process.poll() is None:
        tally.kills[how + (" in hand-over" if writer else "")] += 1
        if how == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.Signals[how])
    _go_on(writer)
    if _end(process, tally) not in STATUS[how] | {0, 1}:  # it may have been about to end
        tally.statuses.append(process.returncode)
    _left(work, tally)
    return tally.kills.total() > killed


def _kill_runs(process: subprocess.Popen[bytes], work: Path, tally: Tally, kills: int, rng: random.Random) -> None:
    """Kill processes of the command while it is at it, which does not end it: those of runs, and their hosts."""
    while process.poll() is None and tally.kills.total() < kills:
        time.sleep(rng.uniform(0.0, 2 * RUNS_S))
        writer = _handing_over(process, RUNS_S + LOADS_S) if rng.random() < 0.6 else None
        hosts = _children(process.pid)
        runs = [run for host in hosts for run in _children(host)] if writer is None else [writer]
        if writer is not None:
            hosts = [host for host in hosts if writer in _children(host)]
        kind, found = ("a host", hosts) if rng.random() < 0.15 or not runs else ("a run", runs)
        if found and process.poll() is None and (runs or rng.random() < 0.05):  # a host that loads is there for long
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
                tally.kills[kind + (" in hand-over" if writer else "")] += 1
        _go_on(writer)
    _end(process, tally)
    _left(work, tally)


def _handing_over(process: subprocess.Popen[bytes], within_s: float) -> int | None:
    """Return a process that is handing over its result, stopped while it does so."""
    until = time.monotonic() + within_s
    while process.poll() is None and time.monotonic() < until:
        for one in [run for host in _children(process.pid) for run in _children(host)]:
            if _hands_over(one):
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGSTOP)
                    if _hands_over(one):
                        return one
                _go_on(one)
        time.sleep(0.01)
    return None


def _hands_over(process: int) -> bool:
    """Return whether it holds the file by which it hands over."""
    with suppress(OSError):
        for handle in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                if os.readlink(handle).endswith((".part", ".found")):
                    return True
    return False


def _go_on(process: int | None) -> None:
    """Let a process that was stopped go on, if it is still there."""
    if process is not None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def _children(process: int) -> list[int]:
    """Return the child processes of a process: a command's hosts, or the current run of a host."""
    threads: list[str] = []
    with suppress(OSError):  # it may be gone
        threads = os.listdir(f"/proc/{process}/task")
    found = b" ".join(_read(process, f"task/{thread}/children") for thread in threads)
    return [child for child in map(int, found.split()) if b"resource_tracker import" not in _read(child, "cmdline")]


def _all_told(work: Path, folder: str, tally: Tally, killed: int) -> None:
    """Every run is told of, and no more of them failed than were killed."""
    lines = [line for line in _said(work, folder) if line.startswith("[")]
    of = int(lines[-1].partition("/")[2].partition("]")[0]) if lines else 0
    tally.lost += of - len(lines)
    tally.unexplained += max(0, sum(" error" in line for line in lines) - killed)


def _finish(command: str, work: Path, folder: str, tally: Tally) -> None:
    """Let the command end what is left."""
    if _end(start(command, work, folder), tally) != 0:
        tally.statuses.append(1)
    _left(work, tally)
    for path in (work / folder).glob("*.json"):
        if json.loads(path.read_bytes()).get("termination") == "interrupted":
            tally.files.append(path.name)
    tally.tracebacks += "\n".join(_said(work, folder)).count("Traceback")


def _end(process: subprocess.Popen[bytes], tally: Tally) -> int:
    try:
        return process.wait(HANGS_S)
    except subprocess.TimeoutExpired:
        tally.hangs += 1
        process.kill()
        return process.wait()


def _left(work: Path, tally: Tally) -> None:
    tally.processes += left_processes(work)
    tally.folders += len(list((work / "temporary").glob("gapwise-*/run-*")))


def _some_moment(process: subprocess.Popen[bytes], work: Path, folder: str, rng: random.Random) -> None:
    """Wait until a random moment of the start, one time of four, or of the work once a further run has been kept."""
    until = time.monotonic() + rng.uniform(0.0, LOADS_S)
    if rng.random() < 0.75:
        kept = len(_rows(work, folder))
        while process.poll() is None and len(_rows(work, folder)) <= kept:
            time.sleep(0.05)
        until = time.monotonic() + rng.uniform(0.0, WORKS_S)
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def start(command: str, work: Path, folder: str) -> subprocess.Popen[bytes]:
    words = command.format(work=work).split()
    path = os.pathsep.join([str(work / "slow"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(work / "temporary")}
    arguments = [sys.executable, "-m", "experiments", *words, "--out", work / folder, "--resume"]
    with (work / f"{folder}.txt").open("ab") as told:
        return subprocess.Popen(
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env=environment,
            cwd=work,
            start_new_session=True,
            preexec_fn=interruptible,
        )


def seen(work: Path, folder: str, before: Kept, tally: Tally) -> Kept:
    """Return the kept results, and count those that were lost or changed since `before`."""
    now = _rows(work, folder)
    told = {line.partition("] ")[2] for line in _said(work, folder) if line.startswith("[") and line.count("] ")}
    told = {line for line in told if " error" not in line}
    tally.lost += max(0, len(told) - len(now)) + sum(key not in now for key in before)
    tally.changed += sum(now.get(key, text) != text for key, text in before.items())
    tally.kept_at.append(len(now))
    return now


def _said(work: Path, folder: str) -> list[str]:
    """Return the lines on standard error of all processes that wrote to the folder."""
    return (work / f"{folder}.txt").read_text().splitlines()


def _rows(work: Path, folder: str) -> Kept:
    """Return the outcomes that are kept."""
    file = work / folder / "runs.sqlite"
    if not file.exists():
        return {}
    database = sqlite3.connect(file, timeout=60)
    rows = database.execute("SELECT key, options, outcome FROM runs").fetchall() if _has_runs(database) else []
    database.close()
    return {(key, options): outcome for key, options, outcome in rows}


def _has_runs(database: sqlite3.Connection) -> bool:
    return bool(database.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone())


def left_processes(work: Path) -> int:
    """Count the processes that still hold the command's temporary folder GONE_S after its end."""
    until = time.monotonic() + GONE_S
    while found := _processes(work):
        if time.monotonic() > until:
            return len(found)
        time.sleep(0.1)
    return 0


def _processes(work: Path) -> list[int]:
    mark = f"TMPDIR={work / 'temporary'}".encode()
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if mark in _read(pid, "environ")]


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    main()
