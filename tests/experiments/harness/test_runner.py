"""Test that no method can lose its results or end the study."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiments.entry import exit_status
from experiments.harness import host, runner
from experiments.harness.entry import Entry
from experiments.harness.run import Unchecked, apply
from experiments.harness.runner import as_finished, run_all
from experiments.harness.store import Store, read_outcomes
from experiments.harness.task import Digests, Reported, ReportFile
from experiments.papers import METHODS
from experiments.plan import methods_for, plan
from instances import Answer, InputError, Options, Result, load
from instances.eva import table_3, table_7
from tests.commands import ROOT, python, workers_copied
from tests.commands import run as command

BEST = {
    "instances": [
        {"type": "it1", "count": 1, "tasks": {"t1": 1, "t2": 1, "t4": 1}},
        {"type": "it3", "count": 1, "tasks": {"t3": 1}},
    ]
}


def run_one(name: str, options: Options | None = None):
    (run,) = plan([table_3()], [f"tests.user_heuristics:{name}"], options or Options())
    with workers_copied():
        ((_, result),) = run_all([run])
    return result


def test_a_user_s_heuristic_is_checked_like_any():
    result = run_one("one_each")
    assert (result.status, result.objective, result.bound, result.gap) == ("feasible", 48.0, None, None)
    assert result.method == "tests.user_heuristics:one_each"
    bounded = run_one("with_bound")
    assert (bounded.bound, bounded.gap, bounded.info) == (None, None, {"claimed_bound": 1.0})  # nobody can check it


def test_a_broken_constraint_is_said_and_has_no_gap():
    result = run_one("overfull")
    assert result.status == "violates"
    assert result.objective == 12
    assert result.gap is None
    assert result.violations == ("a it1 holds 22 cpu, and has 16",)


def test_a_user_s_heuristic_gets_the_seed_if_it_takes_it():
    (run,) = plan([table_3()], ["tests.user_heuristics:seeded"], Options(seed=3))
    with workers_copied():
        ((_, result),) = run_all([run])
    assert result.objective == 48 + 3 * 12  # as many idle instances as the seed says
    assert result.options["seed"] == 3
    (other,) = plan([table_3()], ["tests.user_heuristics:one_each"], Options(seed=3))
    assert "seed" not in apply(other.entry, other.instance, other.options).options  # it takes no notice of it


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "RuntimeError: no luck today (user_heuristics.py, line "),
        ("dies", "exit code 7"),
        ("nonsense", "must return a solution, got int"),
        ("malformed", "unknown instance type 'nowhere'"),
        ("leaves", "SystemExit: 0"),
        ("interrupts", "KeyboardInterrupt"),
        ("invents", "Strange: whose text cannot be had"),
        ("unpicklable", "info.made: must be JSON, got generator"),
        ("backwards", "solve_s must be CPU seconds >= 0, got -5.0"),
        ("timeless", "solve_s must be CPU seconds >= 0, got nan"),
        ("ends_well", "the process died with exit code 0"),
        ("killed_while_handing_over", "the process died with exit code -9"),
        ("spoils_python", "the process died with exit code 1"),
        ("says_exit", "Strange: whose text cannot be had"),
        ("astronomical", "solution.instances[0].count: must be less than 2^64, got a number of 1329 bits"),
    ],
)
def test_failures_are_results(name: str, reason: str):
    result = run_one(name)
    assert result.status == "error"
    assert reason in result.reason
    assert "\n" not in result.reason
    assert result.solve_s is None


@pytest.mark.parametrize(
    "name",
    ["ends_well", "killed_while_handing_over", "spoils_python", "halves_lengths", "spoils_pipes", "removes_the_folder"],
)
def test_what_becomes_of_one_run_is_nothing_to_the_next(name: str):
    runs = plan([table_3()], [f"tests.user_heuristics:{name}", "no-packing"], Options())
    with workers_copied():
        (_, first), (_, second) = run_all(runs)
    assert (second.status, second.reason) == ("feasible", None)
    if name != "halves_lengths":  # Python's version says what becomes of it
        assert first.status == ("feasible" if name in ("spoils_pipes", "removes_the_folder") else "error")


def test_nothing_that_a_run_does_to_its_process_reaches_the_next():
    runs = plan([table_7(n, 0) for n in (4, 5, 6)], ["tests.user_heuristics:leaks"], Options())
    with workers_copied():
        found = [dict(result.info) for _, result in run_all(runs)]
    drawn = {info.pop("drawn") for info in found}
    assert len(drawn) == 3
    assert found == [found[0]] * 3
    assert (found[0]["cwd"], found[0]["variable"], found[0]["calls"]) == (os.getcwd(), None, 0)


def test_no_process_of_a_run_outlives_it():
    result = run_one("begins_another")
    assert result.status == "feasible"
    until = time.monotonic() + 20
    while _alive(result.info["left"]) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _alive(result.info["left"])


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_where_processes_cannot_be_copied_each_run_has_a_new_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "CAN_COPY", False)
    monkeypatch.setattr(host, "serve", _serve_without_copies)
    names = ["leaks", "ends_well", "dies", "sleeps", "raises"]
    runs = plan([table_3()], [f"tests.user_heuristics:{name}" for name in names], Options(time_limit=0.5))
    runs += plan([table_7(4, 0)], ["tests.user_heuristics:leaks"], Options())
    with workers_copied():
        found = [result for _, result in run_all(runs, 2)]
    assert [re.sub(r"line \d+", "line N", r.reason or "") for r in found[1:5]] == [
        "the process died with exit code 0",
        "the process died with exit code 7",
        "ended from outside: overran the time limit of 0.5 s",
        "RuntimeError: no luck today (user_heuristics.py, line N, in raises)",
    ]
    assert found[0].status == found[5].status == "feasible"
    assert found[5].info["calls"] == 0


def _serve_without_copies(*about: Any) -> None:
    host.CAN_COPY = False  # in the process of the host
    SERVE(*about)


SERVE = host.serve


def test_a_host_that_is_killed_is_replaced():
    runs = plan([table_7(n, 0) for n in (4, 5, 6)], ["tests.user_heuristics:kills_its_host"], Options())
    runs += plan([table_3()], ["no-packing"], Options())
    with workers_copied():
        found = [result for _, result in run_all(runs)]
    assert [result.reason for result in found[:3]] == ["the process died with exit code -9"] * 3
    assert found[3].status == "feasible"


def test_what_a_run_prints_ends_its_line(table_3_file: Path):
    done = command("solve", table_3_file, "--method", "tests.user_heuristics:prints_part_of_a_line")
    assert done.stderr.startswith("half a line\n[1/1] ")


def test_a_result_that_a_user_s_heuristic_makes_up_is_worth_its_solution():
    result = run_one("forged")
    assert (result.status, result.objective, result.bound, result.gap) == ("no_solution", None, None, None)
    assert result.info == {"claimed_bound": 12.8}
    assert result.reason == "returned no solution"


def test_a_user_s_claim_that_there_is_no_solution_proves_nothing():
    result = run_one("claims_infeasible")
    assert (result.status, result.termination) == ("no_solution", "finished")
    assert result.reason == "claims that there is no solution: it is so"


def test_a_bound_that_a_user_s_heuristic_claims_is_shown_as_claimed():
    result = run_one("claims")
    assert (result.status, result.bound, result.gap, result.info) == ("feasible", None, None, {"claimed_bound": 48.0})


def test_what_a_heuristic_does_to_its_data_is_not_what_is_checked():
    result = run_one("tampers")
    assert (result.status, result.violations) == ("violates", ("a it1 holds 22 cpu, and has 16",))
    (method,) = methods_for(table_3(), ["tests.user_heuristics:tampers"])
    instance = table_3()
    here = apply(method, instance, Options())
    assert (here.status, here.objective) == ("violates", 12.0)
    assert instance == table_3()


def test_the_answer_of_a_process_is_checked_against_the_data_of_this_one():
    (run,) = plan([table_3()], ["exact"], Options())
    forged = Answer({"instances": []}, 0.0)  # as from a process whose data have lost all tasks
    result = run.outcome(Unchecked(forged, "exact"))
    assert result.status == "error"
    assert "breaks a constraint" in result.reason


def test_numbers_of_numpy_are_numbers():
    result = run_one("numpy_numbers")
    assert (result.status, result.info) == ("feasible", {"scores": [0.0, 1.0, 2.0], "good": True})
    assert Result.model_validate_json(result.model_dump_json()) == result


def test_a_finished_run_is_kept_while_an_earlier_one_is_still_going():
    runs = plan([table_7(n, 0) for n in (10, 11, 12, 13)], ["tests.user_heuristics:sleeps_on_the_first"], Options())
    kept: list[str] = []
    found = as_finished(runs, 2, lambda run, result: kept.append(result.instance))
    later = [next(found) for _ in range(3)]
    assert [i for i, _ in later] == [1, 2, 3]
    assert kept == [runs[i].instance.name for i in (1, 2, 3)]
    found.close()  # as an interrupt does


def test_what_is_finished_when_an_interrupt_comes_is_kept(monkeypatch: pytest.MonkeyPatch):
    runs = plan([table_7(n, 0) for n in (11, 12)], ["no-packing"], Options())
    kept: list[str] = []
    ended: list[int] = []

    def note(done, i, future):
        ended.append(i)
        done.put(i)

    monkeypatch.setattr(runner, "note_finished", note)
    found = as_finished(runs, 1, lambda run, result: kept.append(result.instance))
    next(found)
    while len(ended) < 2:  # the second ends meanwhile, and nobody has asked for it
        time.sleep(0.05)
    assert len(kept) == 1
    found.close()
    assert len(kept) == 2


def test_a_run_that_overstays_is_ended_from_outside():
    result = run_one("sleeps", Options(time_limit=0.2))
    assert (result.status, result.termination) == ("no_solution", "killed")
    assert "time limit of 0.2 s" in result.reason


def _works(_: bytes) -> None:
    while time.process_time() < 0.5:
        pass


def _sleeps(_: bytes) -> None:
    time.sleep(60)


@pytest.mark.skipif(not host.CAN_COPY, reason="elsewhere nobody says what a process has used")
@pytest.mark.parametrize(("work", "at_limit"), [(_works, False), (_sleeps, True)])
def test_a_run_that_works_is_left_to_its_limit_of_cpu_seconds(work: host.Work, at_limit: bool, tmp_path: Path):
    """Compilation counts in no limit of CPU seconds, and on a busy machine takes many seconds of the wall."""
    one = host.Host(work, (), str(tmp_path / "none"), None)
    ended = one.run(b"order", 0.4)
    one.close()
    assert (ended.at_limit, ended.exitcode == 0) == (at_limit, not at_limit)


ADOPTED = """
import json, multiprocessing, os, pathlib, sys
from experiments.harness import host
def work(order):
    found = os.getppid(), os.environ.get("SAID"), os.getcwd(), sys.path[-1]
    pathlib.Path(order.decode()).write_text(json.dumps(found))
host.keep_spare()
(spare,) = (process.pid for process in multiprocessing.active_children())
os.environ["SAID"] = "later"
os.chdir(sys.argv[1])
sys.path.append("later")
one = host.Host(work, (), "none", None)
ended = one.run(b"found", None)
one.close()
print(ended.exitcode, json.loads(pathlib.Path("found").read_text()) == [spare, "later", sys.argv[1], "later"])
"""


@pytest.mark.skipif(not host.CAN_COPY, reason="processes cannot be copied")
def test_the_first_host_is_a_copy_of_the_command_and_takes_on_its_environment_folder_and_path(tmp_path: Path):
    done = python("-c", ADOPTED, tmp_path)
    assert (done.stdout, done.stderr) == ("0 True\n", "")


@pytest.mark.skipif(not host.CAN_COPY, reason="processes cannot be copied")
@pytest.mark.parametrize(("end", "status"), [("pass", 0), ("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", -9)])
def test_a_spare_process_that_is_not_needed_ends_with_its_command(end: str, status: int):
    """The spare process holds the standard output of the command open while it lives."""
    spare = (
        "import os\nfrom multiprocessing import active_children\nfrom experiments.harness import host\n"
        "host.keep_spare()\nprint(len(active_children()), flush=True)\n"
    )
    done = python("-c", spare + end)
    assert (done.stdout, done.returncode) == ("1\n", status)


@pytest.mark.skipif(not host.CAN_COPY, reason="processes cannot be copied")
@pytest.mark.parametrize(("closed", "spares"), [("", 1), (">&-", 0), ("2>&-", 0), ("<&-", 0)])
def test_no_pipe_of_a_spare_process_takes_the_number_of_a_closed_stream(closed: str, spares: int):
    count = "from multiprocessing import active_children\nfrom experiments.harness import host\n"
    count += "host.keep_spare()\nraise SystemExit(len(active_children()))"
    command = f"exec {shlex.join([sys.executable, '-c', count])} {closed}"
    assert subprocess.run(["sh", "-c", command], cwd=ROOT, stdout=subprocess.DEVNULL).returncode == spares


@pytest.mark.skipif(not host.CAN_COPY, reason="elsewhere nobody says what a process has used")
def test_a_process_name_that_is_no_text_hides_no_time():
    name = "import ctypes, os, time\nctypes.CDLL(None).prctl(15, bytes([255, 41, 32, 254]), 0, 0, 0)\n"
    burn = "while time.process_time() < 0.2: pass\nprint(flush=True)\ntime.sleep(60)"
    command = [sys.executable, "-c", name + burn]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        used_s = host.measure_group_cpu_s(process.pid)
        process.kill()
    assert used_s > 0.1  # it has used 0.2, which the system counts in ticks


@pytest.mark.skipif(not host.CAN_COPY, reason="no limit of the size of files")
def test_a_full_temporary_folder_is_no_fault_of_the_method(table_3_file: Path, tmp_path: Path):
    """A limit of the size of files does as a full folder does: no outcome can be written down."""
    most = "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
    solve = "from experiments.__main__ import main\nsys.argv = ['gapwise', *sys.argv[1:]]\nmain()"
    flags = ["solve", table_3_file, "--method", "no-packing", "--format", "json"]
    done = python("-c", most + solve, *flags, TMPDIR=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"]) == (1, "error"), done.stderr
    assert re.fullmatch(rf"the temporary folder {tmp_path}/gapwise-\d+/run-\w+: File too large", found["reason"])


def test_what_was_reported_last_survives_the_end(tmp_path: Path):
    (run,) = plan([table_3()], ["exact"], Options(time_limit=5))
    report = ReportFile(tmp_path / "report")
    report(BEST, None)
    report(None, 12.0)  # too soon after the last to be written down
    report(BEST, 11.5)
    result = run.conclude_early(Reported.read(report.path), "killed", "ended")
    assert (result.status, result.objective, result.bound) == ("feasible", 12.8, 11.5)
    assert result.solution == BEST
    assert result.gap == pytest.approx(1.3 / 12.8)


def test_results_come_in_the_order_of_the_runs():
    runs = plan([table_7(60, seed) for seed in range(4)], ["exact", "no-packing"], Options())
    with workers_copied():
        found = list(run_all(runs, jobs=2))
    assert [run for run, _ in found] == runs
    assert [(r.instance, r.method) for _, r in found] == [(run.instance.name, run.entry.name) for run in runs]
    assert {r.status for _, r in found} == {"optimal", "feasible"}


ON_ONE_TYPE = ("first-fit-decreasing", "best-fit-decreasing", "dot-product")


def test_all_methods_that_fit():
    data = table_3().data
    fitting = [m.name for m in METHODS["eva-packing"] if m.unfit(data) is None]
    assert [m.name for m in methods_for(table_3(), ["all"])] == fitting
    assert {m.name for m in METHODS["eva-packing"]} - set(fitting) == set(ON_ONE_TYPE)
    names = [m.name for m in methods_for(table_3("net-saving"), ["all"])]
    assert "literal" not in names
    assert "literal" not in [m.name for m in methods_for(table_7(100, 0), ["all"])]  # it would take hours
    assert [m.name for m in methods_for(table_7(100, 0), ["literal"])] == ["literal"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("magic", "must be all, heuristics, exact, literal"),
        ("tests.nowhere:f", "No module named"),
        ("tests.user_heuristics:none", "has no function 'none'"),
        ("tests.user_heuristics:__name__", "must be a function, got a value of type str"),
        ("literal", "8000 tasks make 64,000,000 binaries"),
        (":f", "must be package.module:function, got ':f'"),
        ("::", "must be package.module:function"),
        (".a:f", "must be package.module:function"),
        ("../a:f", "must be package.module:function"),
        ("a:f:g", "must be package.module:function"),
    ],
)
def test_unknown_and_unfit_methods_are_refused(name: str, message: str):
    with pytest.raises(InputError, match=message):
        methods_for(table_7(8000, 0), [name])


@pytest.mark.parametrize(
    ("source", "message"),
    [("def f(data:", "SyntaxError: "), ("raise SystemExit(3)", "SystemExit: 3"), ("1 / 0", "ZeroDivisionError: ")],
)
def test_a_module_that_cannot_be_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "not_importable.py").write_text(source)
    with pytest.raises(InputError, match=f"method: not_importable:f: {message}"):
        methods_for(table_3(), ["not_importable:f"])


def test_a_function_of_compiled_code_is_called_with_the_data():
    (method,) = methods_for(table_3(), ["builtins:min"])
    with pytest.raises(InputError, match="must return a solution, got tuple"):
        apply(method, table_3(), Options())


def test_a_limit_is_never_an_error_and_a_result_says_what_was_in_effect():
    asked = Options(gap=0.1, threads=2, seed=3, time_limit=30.0)
    effective = {
        run.entry.name: apply(run.entry, run.instance, asked).options
        for run in plan([table_3()], ["no-packing", "exact"], asked)
    }
    assert effective["no-packing"] == {"time_limit": 30.0}
    assert effective["exact"] == {"time_limit": 30.0, "gap": 0.1, "threads": 2, "seed": 3, "effort": None}


@pytest.mark.parametrize(
    "wrong", [{"time_limit": 0}, {"time_limit": float("nan")}, {"gap": -1}, {"gap": 1}, {"threads": 0}, {"seed": -1}]
)
def test_options_out_of_range(wrong: dict):
    with pytest.raises(InputError):
        Options(**wrong)


def test_the_store_keeps_results_apart_by_what_they_depend_on(tmp_path: Path, table_3_file: Path):
    instance = load(table_3_file)
    (run,) = plan([instance], ["exact"], Options())
    with workers_copied():
        ((_, result),) = run_all([run])
    with Store(tmp_path / "s.sqlite", resume=True) as store:
        assert store.get(run) is None
        store.put(run, result)
        assert store.get(run) == result
    changed = plan([instance], ["exact"], Options(gap=0.01))[0]
    other = plan([table_7(5, 0)], ["exact"], Options())[0]
    plain, wider = (plan([instance], ["no-packing"], Options(gap=gap))[0] for gap in (1e-6, 0.1))
    with Store(tmp_path / "s.sqlite", resume=True) as store:
        assert store.get(changed) is None
        assert store.get(other) is None
        store.put(plain, apply(plain.entry, plain.instance, plain.options))
        assert store.get(wider) is not None  # an option that a method takes no notice of does not matter
        again = apply(changed.entry, changed.instance, changed.options)
        store.put(changed, again)
        assert (store.get(run), store.get(changed)) == (result, again)
    with Store(tmp_path / "s.sqlite", resume=True) as store:
        assert store.get(run) == result
    with Store(tmp_path / "s.sqlite", resume=False) as store:
        assert store.get(run) is None
    assert (tmp_path / "s.sqlite.previous").exists()


def test_a_folder_belongs_to_one_command_at_a_time(tmp_path: Path):
    with Store(tmp_path / "s.sqlite", resume=False), pytest.raises(InputError, match="another command is writing"):
        Store(tmp_path / "s.sqlite", resume=False)
    Store(tmp_path / "s.sqlite", resume=True).__exit__(None, None, None)
    assert not (tmp_path / "s.sqlite.previous").exists()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET outcome = replace(outcome, '\"objective\":16.2', '\"objective\":1.5')",
        "UPDATE runs SET outcome = replace(outcome, '\"count\":1', '\"count\":2')",
        "UPDATE runs SET outcome = replace(outcome, '\"feasible\"', '\"optimal\"')",
        "UPDATE runs SET outcome = 'no JSON'",
        "UPDATE runs SET outcome = '{}'",
        "UPDATE runs SET outcome = x'00ff00'",
    ],
)
def test_a_kept_result_that_the_checker_does_not_confirm_is_run_again(tmp_path: Path, damage: str):
    path = tmp_path / "s.sqlite"
    (run,) = plan([table_3()], ["no-packing"], Options())
    with Store(path, resume=False) as store:
        store.put(run, apply(run.entry, run.instance, run.options))
        assert store.get(run) is not None
    with sqlite3.connect(path) as database:
        assert database.execute(damage).rowcount == 1
    database.close()
    with Store(path, resume=True) as store:
        assert store.get(run) is None


def test_a_store_of_another_form_or_full_of_zeros_is_refused_in_one_line(tmp_path: Path):
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE runs (key TEXT, other TEXT)")
    database.close()
    with pytest.raises(InputError, match="cannot be used as a store"):
        Store(path, resume=True)
    path.unlink()
    (run,) = plan([table_3()], ["no-packing"], Options())
    with Store(path, resume=False) as store:
        store.put(run, apply(run.entry, run.instance, run.options))
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + bytes(len(raw) - 4096))
    with pytest.raises(InputError, match="cannot be used as a store"), Store(path, resume=True) as store:
        store.get(run)


def test_a_full_disk_is_told_once_and_ends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (run,) = plan([table_3()], ["no-packing"], Options())
    result = apply(run.entry, run.instance, run.options)
    with Store(tmp_path / "s.sqlite", resume=False) as store:
        with sqlite3.connect(store.path) as other:  # takes no more from here on, as with a full disk
            other.execute("DROP TABLE runs")
        other.close()
        store.keep(run, result)
        store.keep(run, result)
        assert exit_status([result], store) == 1
        assert store.count_held([run]) == 0
    said = capsys.readouterr().err
    assert said.count("cannot be written") == said.count("results are not kept") == 1


def test_a_heuristic_that_has_been_edited_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "edited_by_its_author.py"
    module.write_text("def f(data):\n    return {}\n")
    (run,) = plan([table_3()], ["edited_by_its_author:f"], Options())

    def key() -> str:
        with Store(tmp_path / "s.sqlite", resume=True) as store:
            return store.key(run)

    before = key()
    assert key() == before
    module.write_text("def f(data):\n    return {'instances': []}\n")
    changed = key()
    assert changed != before
    (tmp_path / "helper.py").write_text("")
    assert key() != changed


def test_the_store_of_a_killed_command_is_read(tmp_path: Path):
    """What was being written is undone, by `--resume` and by `library record` alike."""
    (run,) = plan([table_3()], ["no-packing"], Options())
    result = apply(run.entry, run.instance, run.options)
    with Store(tmp_path / "s.sqlite", resume=False) as store:
        store.put(run, result)
    killed = (
        "import os, signal, sqlite3, sys; database = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "database.execute('PRAGMA cache_size = 1'); database.execute('BEGIN'); "
        "[database.execute('INSERT INTO runs VALUES (?, 1, 1, 1, ?)', (str(i), 'x' * 9000)) for i in range(50)]; "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", killed, tmp_path / "s.sqlite"], check=False)
    assert (tmp_path / "s.sqlite-journal").exists()
    assert read_outcomes(tmp_path / "s.sqlite") == [result.model_dump_json()]


def test_a_store_takes_no_file_of_the_user_s_for_one_half_written(tmp_path: Path):
    for name in (".gapwise-notes", ".gapwise-a_longer_name", ".gapwise-abcdefg0"):
        (tmp_path / name).write_text("precious")
    (tmp_path / ".gapwise-abcdefg1").mkdir()
    Store(tmp_path / "s.sqlite", resume=False).__exit__(None, None, None)
    left = {path.name for path in tmp_path.glob(".gapwise-*")}
    assert left == {".gapwise-notes", ".gapwise-a_longer_name", ".gapwise-abcdefg1"}


def test_what_is_kept_is_counted_among_the_runs_asked_for(tmp_path: Path):
    first, second = plan([table_3()], ["no-packing", "full-reconfiguration"], Options())
    with Store(tmp_path / "s.sqlite", resume=False) as store:
        store.put(first, apply(first.entry, first.instance, first.options))
        assert (store.count_held([first, second]), store.count_held([second])) == (1, 0)


def test_failed_runs_are_not_kept(tmp_path: Path):
    (run,) = plan([table_3()], ["tests.user_heuristics:raises"], Options())
    with workers_copied():
        ((_, result),) = run_all([run])
    with Store(tmp_path / "s.sqlite", resume=False) as store:
        store.put(run, result)
        assert store.get(run) is None


def test_a_store_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "s.sqlite").write_text("not a database, not at all, no")
    with pytest.raises(InputError, match="cannot be used as a store"):
        Store(tmp_path / "s.sqlite", resume=True)


def test_methods_are_compared_by_what_they_are():
    assert Entry("a", "b:c") == Entry("a", "b:c", lambda data: "no")


def test_an_instance_of_many_runs_is_put_into_words_once_for_all_their_keys(monkeypatch):
    instance, dumped = table_3(), []
    dump = type(instance).model_dump_json
    monkeypatch.setattr(
        type(instance), "model_dump_json", lambda self, **options: (dumped.append(1), dump(self, **options))[1]
    )
    digests = Digests()
    assert len({digests.instance(instance) for _ in range(5)}) == 1
    assert len(dumped) == 1
