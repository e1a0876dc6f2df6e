"""Kill a command at random moments, resume it, and see that nothing is lost, repeated or left behind.

`python -m tests.attacks.kills [KILLS] [COMMAND ...]` kills each command so often, one after the other in one folder,
then lets it end, and prints a line a command. A run that was told of must be kept; what is kept must be the same to the
last byte ever after, seconds included, so that it cannot have been run again; and after each kill no process and, once
the next command has begun, no folder may be left.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from instances import Instance, save
from instances.boa import figure_1
from instances.eva import table_3
from tests.commands import ROOT

COMMANDS = {
    "solve": "solve {work}/many --method tests.user_heuristics:takes_a_while --method no-packing --jobs 2",
    "gap_study": "gap_study {work}/many --method tests.user_heuristics:takes_a_while --jobs 2",
    "pareto": "pareto {work}/budget.json --points 400 --method randomised --jobs 2",
    "simulate": "simulate --workload base --days 0.1 --seeds 30 --policy gssf --policy sia-vc --jobs 2",
    "reproduce": "reproduce eva --quick --only table-6 --only table-10 --only table-11 --jobs 2",
}
GONE_S = 10.0  # within which the processes of a killed command have ended
LOADS_S, WORKS_S = 6.0, 1.0  # a command is killed within so long of its start, or of a run that it has just kept
SEED = 7


@dataclass
class Tally:
    """What was seen of one command."""

    kills: int = 0
    lost: int = 0
    changed: int = 0
    processes: int = 0
    folders: int = 0
    kept_at: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        seen = f"{self.lost} lost, {self.changed} repeated, {self.processes} processes and {self.folders} folders left"
        return f"{self.kills} kills, {seen}; kept at each: {self.kept_at}"


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
    """Kill `command` so often, at moments between its start and what is left of its work, and let it end at last."""
    tally = Tally()
    kept: dict[tuple[str, str], str] = {}
    for _ in range(kills):
        process = start(command, work)
        _some_moment(process, work, len(kept), rng)
        process.send_signal(signal.SIGKILL)
        process.wait()
        tally.kills += 1
        kept = seen(work, kept, tally)
        tally.processes += left_processes(work)
    process = start(command, work)
    process.wait()
    seen(work, kept, tally)
    tally.processes += left_processes(work)
    tally.folders += len(list((work / "temporary").glob("gapwise-*/run-*")))
    return tally


def _some_moment(process: subprocess.Popen[bytes], work: Path, kept: int, rng: random.Random) -> None:
    """Wait until a random moment of the start, one time of four, or of the work once a further run has been kept."""
    until = time.monotonic() + rng.uniform(0.0, LOADS_S)
    if rng.random() < 0.75:
        while process.poll() is None and len(_rows(work)) <= kept:
            time.sleep(0.05)
        until = time.monotonic() + rng.uniform(0.0, WORKS_S)
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def start(command: str, work: Path) -> subprocess.Popen[bytes]:
    words = command.format(work=work).split()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(work / "temporary")}
    with (work / "told.txt").open("ab") as told:
        arguments = [sys.executable, "-m", f"experiments.{words[0]}", *words[1:], "--out", work / "out", "--resume"]
        return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=told, env=environment, cwd=work)


def seen(work: Path, before: dict[tuple[str, str], str], tally: Tally) -> dict[tuple[str, str], str]:
    """What is kept now, against what was kept before and what was told of."""
    now = _rows(work)
    lines = (work / "told.txt").read_text().splitlines()
    told = {line.partition("] ")[2] for line in lines if line.startswith("[") and line.count("] ")}
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
    mark, until = f"TMPDIR={work / 'temporary'}".encode(), time.monotonic() + GONE_S
    while found := [p for p in Path("/proc").glob("[0-9]*") if mark in _environment(p)]:
        if time.monotonic() > until:
            return len(found)
        time.sleep(0.1)
    return 0


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    main()
