"""Test that an interrupted command keeps finished runs and incumbents, and leaves nothing else behind."""

from __future__ import annotations

import _thread
import json
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.host import MARK, SIGNED, TemporaryFolder
from experiments.harness.run import Run
from experiments.harness.runner import as_finished
from experiments.output.folder import write_result_files
from experiments.plan import plan
from experiments.session import Interrupted, Session
from instances import Options, Result
from instances.eva import table_3
from tests.attacks.kills import attacked, prepare
from tests.commands import call, python, run, workers_copied

PLAN = {"instances": [{"type": "it1", "count": 4, "tasks": {"t1": 1}}]}
ALONE = {"instances": [{"type": "it1", "count": 1, "tasks": {task: 1}} for task in ("t1", "t2", "t3", "t4")]}


@dataclass(frozen=True)
class Slow(Run):
    """A run that tells of an incumbent and a bound, and then of nothing for long."""

    def work(self, report: Any) -> Any:
        report.begin(("exact", frozenset()))
        report(ALONE, 12.0)
        time.sleep(600)


def _slow_and_fast() -> list[Run]:
    slow, fast = plan([table_3()], ["exact", "no-packing"], Options())
    return [Slow(slow.instance, slow.entry, slow.options), fast]


def _told_of(folder: Path) -> bool:
    return any(b"it1" in path.read_bytes() for path in folder.glob("gapwise-*/run-*/0.pickle"))


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
    assert list(tmp_path.glob("gapwise-*/*")) == []


def test_an_interrupt_just_before_a_wait_is_heeded():
    """Python handles its signal before the wait begins, so that the wait is not woken."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker of pytest ignores it
    awake = threading.Timer(2.0, _thread.interrupt_main)
    in_the_end = threading.Timer(30.0, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with workers_copied():
            found = as_finished(_slow_and_fast(), 2)
            assert next(found)[0] == 1
            awake.start()
            in_the_end.start()
            with pytest.raises(KeyboardInterrupt):
                next(found)
        assert in_the_end.is_alive()
    finally:
        in_the_end.cancel()
        signal.signal(signal.SIGINT, before)


def test_the_processes_end_with_any_error_of_a_session(tmp_path: Path):
    session = Session(folder=tmp_path / "out", jobs=2, quiet=False)

    def refuse(result: Result) -> str:
        raise BrokenPipeError

    with workers_copied(), session.store() as store, pytest.raises(BrokenPipeError) as broken:
        session.outcomes(_slow_and_fast(), store, refuse)
    assert broken.value.__traceback__ is not None  # which holds all frames of the session
    assert not [thread for thread in threading.enumerate() if "_keep_busy" in thread.name]


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


def test_a_run_that_is_finished_leaves_no_interrupted_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The files of a study that is resumed are those of one that nobody has disturbed."""
    (run,) = plan([table_3()], ["no-packing"], Options())
    (_, result) = as_finished_here([run])[0]
    cut_short = result.model_copy(update={"termination": "interrupted", "objective": 48.0})
    others = result.model_copy(update={"method": "exact"}), result.model_copy(update={"termination": "time_limit"})
    for left, gone in ((cut_short, True), *((other, False) for other in others)):
        out = tmp_path / f"{left.method}-{left.termination}"
        session = Session(folder=out, resume=True)
        with session.store() as store, workers_copied():
            write_result_files(out, [left])
            session.outcomes([run], store, lambda result: "")
        assert len(list(out.glob("*.json"))) == (0 if gone else 1)


@pytest.mark.parametrize("module", ["experiments.cli", "typer", "pydantic", "numpy", "experiments.harness.runner"])
def test_an_interrupt_while_a_command_loads_is_one_line(table_3_file: Path, module: str):
    done = python("-c", INTERRUPTED_AT.format(module=module), "solve", table_3_file)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "gapwise: interrupted\n")


INTERRUPTED_AT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from experiments.__main__ import main
main()
"""


def test_an_interrupt_at_the_terminal_is_never_seen_by_the_processes_of_runs(tmp_path: Path, table_3_file: Path):
    """Neither while they begin nor later: it is blocked, and they are no part of the terminal's group."""
    done = run("solve", table_3_file, "--method", "tests.user_heuristics:tells_of_its_process", "--format", "json")
    info = json.loads(done.stdout)["info"]
    assert info["interrupt_blocked"]
    assert info["session"] != os.getsid(0)


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
    from experiments.harness.run import apply

    return [(run, apply(run.entry, run.instance, run.options)) for run in runs]


def test_folders_of_dead_commands_are_removed_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held = TemporaryFolder()
    home = held.path.parent
    for name, mark in (("run-abandone", SIGNED), ("run-unsigned", None), ("run-2forged0", b"x"), ("mine", SIGNED)):
        (home / name).mkdir()
        (home / name / "what").write_text("precious")
        if mark is not None:
            (home / name / MARK).write_bytes(mark)
    another = TemporaryFolder()
    left = {held.path.name, another.path.name, "run-unsigned", "run-2forged0", "mine"}
    assert {path.name for path in home.iterdir()} == left
    held.remove()
    another.remove()
    assert {path.name for path in home.iterdir()} == left - {held.path.name, another.path.name}
    assert home.stat().st_mode & 0o777 == 0o700


def test_an_interrupt_before_the_first_run_leaves_no_folder(tmp_path: Path):
    done = python(
        "-c", "from experiments.harness.runner import HostPool\npool = HostPool(1, [])\nraise KeyboardInterrupt",
        TMPDIR=str(tmp_path),
    )  # fmt: skip
    assert "KeyboardInterrupt" in done.stderr
    assert list(tmp_path.glob("gapwise-*/run-*")) == []
    assert len(list(tmp_path.glob("gapwise-*"))) == 1


WRITES = """
import pathlib, sys
for i in range(10**9):
    pathlib.Path(sys.argv[1], str(i % 50)).write_bytes(b"")
"""


def test_a_folder_to_which_a_dying_process_still_writes_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = TemporaryFolder()
    with subprocess.Popen([sys.executable, "-c", WRITES, made.path], stderr=subprocess.DEVNULL) as writer:
        while not (made.path / "9").exists():
            time.sleep(0.01)
        threading.Timer(0.3, writer.kill).start()
        made.remove()
    assert not made.path.exists()


def test_strangers_things_in_the_temporary_folder_stay_as_they_are(tmp_path: Path, table_3_file: Path):
    """Also inside the folder that is ours, and whatever they are: nothing is changed, and no pipe is waited for."""
    kept, place = tmp_path / "kept", tmp_path / "temporary"
    home = place / f"gapwise-{os.getuid()}"
    for folder in (kept, place):
        folder.mkdir()
    home.mkdir(mode=0o700)
    (kept / "thesis.tex").write_text("precious")
    for around, names in ((place, ("gapwise-", "run-")), (home, ("run-", "gapwise-"))):
        for name in names:
            (around / f"{name}abcdefg0" / ".git").mkdir(parents=True)
            (around / f"{name}abcdefg0" / ".git" / "HEAD").write_text("ref: refs/heads/main")
            (around / f"{name}abcdefg1").symlink_to(kept)
            (around / f"{name}abcdefg2").symlink_to(around / "nowhere")
            os.mkfifo(around / f"{name}abcdefg3")
            (around / f"{name}abcdefg4").write_text("a file")
            os.mknod(around / f"{name}abcdefg5", stat.S_IFSOCK | 0o600)
            (around / f"{name}abcdefg6").mkdir()
            os.mkfifo(around / f"{name}abcdefg6" / MARK)
            (around / f"{name}abcdefg7").mkdir()
            (around / f"{name}abcdefg7" / MARK).symlink_to(_signed(kept))
    before = _all_in(tmp_path)
    done = run("solve", table_3_file, "--method", "no-packing", TMPDIR=str(place))
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert _all_in(tmp_path) == before


def _signed(folder: Path) -> Path:
    (folder / "signed").write_bytes(SIGNED)
    return folder / "signed"


def _all_in(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {str(path): path.lstat() for path in folder.rglob("*")}
    regular = {name for name, about in found.items() if stat.S_ISREG(about.st_mode)}
    return {n: (a.st_mode, a.st_ino, Path(n).read_bytes() if n in regular else b"") for n, a in found.items()}


@pytest.mark.parametrize("taken", ["a link", "a file", "open to others"])
def test_where_our_name_is_taken_only_what_is_one_s_own_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    home = tmp_path / f"gapwise-{os.getuid()}"
    other = tmp_path / "other"
    (other / "run-abandone").mkdir(parents=True)
    (other / "run-abandone" / MARK).write_bytes(SIGNED)
    if taken == "a link":
        home.symlink_to(other)
    elif taken == "a file":
        home.write_text("")
    else:
        other.rename(home)
        home.chmod(0o777)
    before = set(tmp_path.rglob("*"))
    folder = TemporaryFolder()
    assert folder.path.parent == tmp_path
    folder.remove()
    assert set(tmp_path.rglob("*")) == before


def test_a_killed_command_loses_repeats_and_leaves_nothing(tmp_path: Path):
    prepare(tmp_path, instances=3)
    command = (
        "solve {work}/many --method tests.user_heuristics:takes_a_while --method tests.user_heuristics:large --jobs 2"
    )
    tally = attacked(command, tmp_path, 3, random.Random(1))
    assert tally.faultless, tally
    assert tally.kept_at[-1] == 6
