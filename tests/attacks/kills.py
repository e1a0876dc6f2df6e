"""Kill a command and its processes at random moments, resume it, and see that nothing hangs, is lost or left behind.

`python -m tests.attacks.kills [KILLS] [COMMAND ...]` kills each command so often, and prints a line a command. Two
thirds are of the command itself: SIGKILL, SIGTERM, SIGINT and Ctrl-C, which the whole group sees, one after the other
in one folder, which it then resumes to its end. A run that was told of must be kept; what is kept must be the same to
the last byte ever after, seconds included, so that it cannot have been run again; no process, no temporary folder, no
traceback and, in the end, no result of an interrupted run may be left. One third is of the processes of runs, SIGKILL
at random moments or while they hand over, in other folders: the command must end by itself each time.
"""

from __future__ import annotations

import itertools
import json
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
    "pareto": "pareto {work}/budget.json --points 400 --method randomised --jobs 2",
    "simulate": "simulate --workload base --days 0.1 --seeds 30 --policy gssf --policy sia-vc --jobs 2",
    "reproduce": "reproduce eva --quick --only table-6 --only table-10 --only table-11 --jobs 2",
    "score": "score tests.user_heuristics:large --problem eva-packing --quick --jobs 2",
}
OF_COMMANDS = "SIGKILL", "SIGTERM", "SIGINT", "Ctrl-C"
STATUS = {"SIGKILL": {-9}, "SIGTERM": {143, -15}, "SIGINT": {130}, "Ctrl-C": {130}}  # -15: while it loads
GONE_S = 10.0  # within which the processes of a killed command have ended
HANGS_S = 300.0  # after which a command that nobody has killed hangs
LOADS_S, WORKS_S = 6.0, 1.0  # a command is killed within so long of its start, or of a run that it has just kept
SEED = 7


@dataclass
class Tally:
    """What was seen of one command."""

    kills: Counter[str] = field(default_factory=Counter)
    lost: int = 0
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
        counts = self.lost, self.changed, self.processes, self.folders, self.hangs, self.tracebacks
        return not any(counts) and not self.statuses and not self.files

    def __str__(self) -> str:
        seen = f"{self.lost} lost, {self.changed} repeated, {self.processes} processes and {self.folders} folders left"
        seen += f", {self.hangs} hang, {self.tracebacks} tracebacks, statuses {self.statuses}, files {self.files}"
        return f"{dict(self.kills)}: {seen}; kept at each: {self.kept_at}"


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for name in sys.argv[2:] or COMMANDS:
        with tempfile.TemporaryDirectory(prefix="kills-") as work:
            prepare(Path(work))
            print(f"{name}: {attacked(COMMANDS[name], Path(work), kills, random.Random(SEED))}", flush=True)


def prepare(work: Path, instances: int = 60) -> None:
    """Instances to solve."""
    for folder in ("many", "temporary"):
        (work / folder).mkdir()
    for i in range(instances):
        save(Instance.of(table_3().data, f"i{i}"), work / "many" / f"{i}.json")
    save(figure_1(1.0), work / "budget.json")


def attacked(command: str, work: Path, kills: int, rng: random.Random) -> Tally:
    """Kill `command` and its runs so often, at random moments, and let it end at last."""
    tally = Tally()
    of_runs = kills // 3
    kept: dict[tuple[str, str], str] = {}
    for k in range(kills - of_runs):
        process, how = start(command, work, "out"), OF_COMMANDS[k % len(OF_COMMANDS)]
        _some_moment(process, work, len(kept), rng)
        if process.poll() is None:
            tally.kills[how] += 1
            _kill(process, how)
            if _end(process, tally) not in STATUS[how] | {0, 1}:  # it may have been about to end
                tally.statuses.append(process.returncode)
        kept = seen(work, kept, tally)
        _left(work, tally)
    _finish(command, work, "out", tally)
    seen(work, kept, tally)
    attempts = itertools.count()
    while tally.kills.total() < kills:
        out = f"runs-{next(attempts)}"  # anew each time: what is finished has nothing left to be killed
        _kill_runs(start(command, work, out), work, tally, kills, rng)
        _finish(command, work, out, tally)
    return tally


def _kill(process: subprocess.Popen[bytes], how: str) -> None:
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.Signals[how])


def _kill_runs(process: subprocess.Popen[bytes], work: Path, tally: Tally, kills: int, rng: random.Random) -> None:
    """Kill processes of the command while it is at it, which does not end it."""
    while process.poll() is None and tally.kills.total() < kills:
        until, how = time.monotonic() + rng.uniform(0.0, WORKS_S), "a run"
        if rng.random() < 0.5:
            until += WORKS_S
            while how == "a run" and time.monotonic() < until:
                with suppress(FileNotFoundError):  # the folder may go while it is looked through
                    if any((work / "temporary").glob("gapwise-*/run-*/*.part")):
                        how = "while it hands over"
        else:
            time.sleep(until - time.monotonic())
        found = [p for p in _processes(work) if p != process.pid and b"resource_tracker" not in _read(p, "cmdline")]
        if found:
            os.kill(rng.choice(found), signal.SIGKILL)
            tally.kills[how] += 1
    _end(process, tally)
    _left(work, tally)


def _finish(command: str, work: Path, out: str, tally: Tally) -> None:
    """Let the command end what is left."""
    if _end(start(command, work, out), tally) != 0:
        tally.statuses.append(1)
    _left(work, tally)
    for path in (work / out).glob("*.json"):
        if json.loads(path.read_bytes()).get("termination") == "interrupted":
            tally.files.append(path.name)
    tally.tracebacks = (work / "told.txt").read_text().count("Traceback")


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


def _some_moment(process: subprocess.Popen[bytes], work: Path, kept: int, rng: random.Random) -> None:
    """Wait until a random moment of the start, one time of four, or of the work once a further run has been kept."""
    until = time.monotonic() + rng.uniform(0.0, LOADS_S)
    if rng.random() < 0.75:
        while process.poll() is None and len(_rows(work)) <= kept:
            time.sleep(0.05)
        until = time.monotonic() + rng.uniform(0.0, WORKS_S)
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def start(command: str, work: Path, out: str) -> subprocess.Popen[bytes]:
    words = command.format(work=work).split()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(work / "temporary")}
    arguments = [sys.executable, "-m", "experiments", *words, "--out", work / out, "--resume"]
    with (work / "told.txt").open("ab") as told:
        return subprocess.Popen(
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env=environment,
            cwd=work,
            start_new_session=True,
            preexec_fn=interruptible,
        )


def seen(work: Path, before: dict[tuple[str, str], str], tally: Tally) -> dict[tuple[str, str], str]:
    """What is kept now, against what was kept before and what was told of."""
    now = _rows(work)
    lines = (work / "told.txt").read_text().splitlines()
    told = {line.partition("] ")[2] for line in lines if line.startswith("[") and line.count("] ")}
    told = {line for line in told if " error" not in line}
    tally.lost += max(0, len(told) - len(now)) + sum(key not in now for key in before)
    tally.changed += sum(now.get(key, text) != text for key, text in before.items())
    tally.kept_at.append(len(now))
    return now


def _rows(work: Path) -> dict[tuple[str, str], str]:
    """The outcomes that are kept."""
    file = work / "out" / "runs.sqlite"
    if not file.exists():
        return {}
    database = sqlite3.connect(file, timeout=60)
    rows = database.execute("SELECT key, options, outcome FROM runs").fetchall() if _has_runs(database) else []
    database.close()
    return {(key, options): outcome for key, options, outcome in rows}


def _has_runs(database: sqlite3.Connection) -> bool:
    return bool(database.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone())


def left_processes(work: Path) -> int:
    """Processes that still have the temporary folder of the command, once it has been dead for GONE_S."""
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
