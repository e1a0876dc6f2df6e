"""What a command that is cut short leaves: all that was finished, the incumbents of the rest, and nothing else."""

from __future__ import annotations

import os
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.plan import plan
from experiments.harness.pool import FOLDERS, _held_folder, remove_abandoned
from experiments.harness.run import Run
from experiments.harness.runner import as_finished
from experiments.session import Interrupted, Session
from instances import Options, Result
from instances.eva import table_3
from tests.attacks.kills import attacked, prepare
from tests.commands import call, workers_copied

PLAN = {"instances": [{"type": "it1", "count": 4, "tasks": {"t1": 1}}]}
ALONE = {"instances": [{"type": "it1", "count": 1, "tasks": {task: 1}} for task in ("t1", "t2", "t3", "t4")]}


@dataclass(frozen=True)
class Slow(Run):
    """A run that tells of an incumbent and a bound, and then of nothing for long."""

    def work(self, diary: Any) -> Any:
        diary.begin(("exact", frozenset()))
        diary(ALONE, 12.0)
        time.sleep(600)


def _slow_and_fast() -> list[Run]:
    slow, fast = plan([table_3()], ["exact", "no-packing"], Options())
    return [Slow(slow.instance, slow.entry, slow.options), fast]


def _told_of(folder: Path) -> bool:
    return any(b"it1" in path.read_bytes() for path in folder.glob(f"{FOLDERS}*/0.pickle"))


def test_what_an_interrupt_cuts_short_keeps_its_incumbent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    short: dict[int, Result] = {}
    with workers_copied():
        found = as_finished(_slow_and_fast(), 2, ended=short.__setitem__)
        assert next(found)[0] == 1
        while not _told_of(tmp_path):
            time.sleep(0.02)
        found.close()
    (result,) = short.values()
    assert (result.status, result.termination, result.objective, result.bound) == ("feasible", "interrupted", 48, 12)
    assert list(tmp_path.glob(f"{FOLDERS}*")) == []


def test_a_session_tells_of_it_and_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    session = Session(folder=tmp_path / "out", jobs=2, format="json", quiet=False)

    def interrupt(result: Result) -> str:
        if result.termination != "interrupted":
            while not _told_of(tmp_path):
                time.sleep(0.02)
        return result.method

    def line(i: int, result: Result) -> str:
        raise KeyboardInterrupt

    with workers_copied(), session.store() as store, pytest.raises(Interrupted) as interrupted:
        session.outcomes(_slow_and_fast(), store, interrupt, line)
    assert sorted(interrupted.value.found) == [0, 1]
    assert "1 of 2 runs are kept" in capsys.readouterr().err
    kept = Result.model_validate_json((tmp_path / "out" / "eva-table-3.exact.json").read_text())
    assert (kept.objective, kept.termination) == (48, "interrupted")


def test_an_interrupted_solve_prints_what_it_has(table_3_file: Path, monkeypatch: pytest.MonkeyPatch):
    (run,) = plan([table_3()], ["no-packing"], Options())
    ((_, result),) = as_finished_here([run])

    def interrupted(self: Session, *arguments: Any) -> list[Result]:
        raise Interrupted({0: result})

    monkeypatch.setattr(Session, "outcomes", interrupted)
    done = call("solve", table_3_file, "--quiet")
    assert done.returncode == 130
    assert "no-packing" in done.stdout
    assert "bill: 16.2 USD/h" in done.stdout
    assert done.stderr == "gapwise: interrupted\n"


def as_finished_here(runs: list[Run]) -> list[tuple[Run, Result]]:
    from experiments.harness.apply import apply

    return [(run, apply(run.entry, run.instance, run.options)) for run in runs]


def test_folders_that_nobody_holds_are_removed_and_others_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held, handle = _held_folder()
    assert handle is not None
    (tmp_path / f"{FOLDERS}abandoned").mkdir()
    (tmp_path / "else").mkdir()
    remove_abandoned()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([held.name, "else"])
    os.close(handle)
    remove_abandoned()
    assert [p.name for p in tmp_path.iterdir()] == ["else"]


def test_a_killed_command_loses_repeats_and_leaves_nothing(tmp_path: Path):
    prepare(tmp_path, instances=3)
    command = "solve {work}/many --method tests.user_heuristics:takes_a_while --jobs 2"
    tally = attacked(command, tmp_path, 1, random.Random(1))
    assert tally.kept_at[-1] == 3
    assert (tally.lost, tally.changed, tally.processes, tally.folders) == (0, 0, 0, 0)
