"""Test that runs on a local Dask scheduler equal local runs, also if a worker dies."""

from __future__ import annotations

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from experiments import reproduce
from experiments.harness.dask import as_finished_on
from experiments.harness.experiment import Claim, Context, Experiment, compare_figure
from experiments.harness.run import apply
from experiments.harness.runner import Lost
from experiments.plan import plan
from experiments.session import Session
from experiments.simulator.simulation import Simulation
from instances import InputError, Options, save
from instances.eva import table_3, table_7
from instances.sia import five_jobs
from tests.commands import ROOT, call

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, silence_logs=logging.CRITICAL, dashboard_address=None, host="127.0.0.1"
    ) as made:
        yield made


def without_times(result: Any) -> dict[str, Any]:
    content: dict[str, Any] = result.model_dump()
    return {name: value for name, value in content.items() if name not in ("build_s", "solve_s", "trace")}


def test_results_are_those_of_this_machine_and_killed_runs_keep_what_they_found(cluster: Any):
    runs = plan([table_3(), table_7(8, seed=1)], ["full-reconfiguration", "no-packing"], Options())
    runs += plan([table_3()], ["tests.user_heuristics:raises", "tests.user_heuristics:dies"], Options())
    here = [apply(run.entry, run.instance, run.options) for run in runs[:4]]
    kept: list[str] = []
    there = dict(as_finished_on(cluster.scheduler_address, runs, lambda run, result: kept.append(result.method)))
    assert [without_times(there[i]) for i in range(4)] == [without_times(result) for result in here]
    assert there[4].reason.startswith("RuntimeError: no luck today (user_heuristics.py, line ")
    assert there[5].reason == "the process died with exit code 7"
    assert sorted(kept) == sorted(run.entry.name for run in runs)


def test_a_worker_that_dies_has_its_run_done_again_elsewhere_and_is_named(cluster: Any, tmp_path: Path):
    import distributed

    runs = plan([table_3()], ["tests.user_heuristics:waits_for_a_file"], Options())
    os.environ["GAPWISE_TEST_FILE"] = str(tmp_path / "go")
    said: list[str] = []
    with distributed.Client(cluster, set_as_default=False) as client:
        place = tmp_path / "go"
        client.run(os.environ.__setitem__, "GAPWISE_TEST_FILE", str(place))
        processes = client.run(os.getpid)
        found = as_finished_on(cluster.scheduler_address, runs, lost=lambda line: (said.append(line), place.touch()))

        def kill_the_first(dask_scheduler: Any) -> str:
            return next((w.address for w in dask_scheduler.workers.values() if w.processing), "")

        def kill() -> None:
            while not (address := client.run_on_scheduler(kill_the_first)) or not list(tmp_path.glob("begun-*")):
                time.sleep(0.1)
            os.kill(processes[address], signal.SIGKILL)
            said.append(address)

        killer = Thread(target=kill)
        killer.start()
        ((_, result),) = found
        killer.join()
    assert result.status == "feasible"
    assert len(said) == 2
    assert f"worker {said[0]} was lost; eva-table-3 tests.user_heuristics:waits_for_a_file is run again on" in said[1]
    assert len(list(tmp_path.glob("begun-*"))) == 2


FORMER_NAME = "gapwise: --cluster is now called --dask; the former name still works\n"


def test_simulate_and_reproduce_print_what_they_print_at_home(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save(five_jobs(), tmp_path / "five.json")
    one = Experiment("five", "Five jobs", lambda context: [Simulation(five_jobs(), "sia-vc")], _mean_delay)
    monkeypatch.setattr(reproduce, "PAPERS", ("sia",))
    monkeypatch.setattr(reproduce, "experiments_of", lambda paper: (one,))
    for command in (("simulate", tmp_path / "five.json", "--policy", "gssf"), ("reproduce",)):
        here, there, alias = (
            call(*command, "--format", "json", "--quiet", *where)
            for where in ((), ("--dask", cluster.scheduler_address), ("--cluster", cluster.scheduler_address))
        )
        assert (here.returncode, there.returncode, alias.returncode) == (0, 0, 0), there.stderr
        assert (there.stderr, alias.stderr) == ("", FORMER_NAME)
        rows = [[json.loads(line) for line in done.stdout.splitlines()] for done in (here, there, alias)]
        for row in itertools.chain(*rows):
            row.pop("cpu_s", None)
        assert rows[0] == rows[1] == rows[2] != []
    both = call("reproduce", "--dask", "tcp://127.0.0.1:9", "--cluster", "tcp://127.0.0.1:9")
    assert (both.returncode, both.stderr) == (
        2,
        "gapwise: --cluster: is the former name of --dask; give --dask alone\n",
    )


def _mean_delay(context: Context, outcomes: Any) -> list[Claim]:
    return [compare_figure("Section 3", "mean delay, min", 1.0, run.jobs_table()["delay"].mean()) for run in outcomes]


def test_where_no_scheduler_answers_is_one_line(monkeypatch: pytest.MonkeyPatch):
    from experiments.harness import dask as module

    monkeypatch.setattr(module, "CONNECT_S", 0.2)
    with pytest.raises(InputError, match=r"--dask: tcp://127\.0\.0\.1:9: no scheduler answers"):
        list(as_finished_on("tcp://127.0.0.1:9", plan([table_3()], ["no-packing"], Options())))


WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name == "experiments":
            raise ModuleNotFoundError("No module named 'experiments'", name="experiments")
sys.meta_path.insert(0, Without())
"""


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a scheduler or a worker in a process of its own; they find each other by `scheduler.json`."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(kind: str, *flags: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", tmp_path / "scheduler.json"]
        place = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__DAEMON": "false"}
        with (tmp_path / "log").open("ab") as log:
            begun.append(subprocess.Popen([*words, *flags], stdout=log, stderr=log, env=place, cwd=tmp_path))
        return begun[-1]

    yield start
    for process in reversed(begun):
        process.kill()
        process.wait()


def _address(folder: Path) -> str:
    """Wait for the file that a scheduler writes, which is empty or half written for a moment."""
    while True:
        with suppress(FileNotFoundError, json.JSONDecodeError):
            address: str = json.loads((folder / "scheduler.json").read_text())["address"]
            return address
        time.sleep(0.05)


SCHEDULER = "--host", "127.0.0.1", "--port", "0", "--no-dashboard"
WORKER = "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"


def test_a_worker_without_the_package_is_named_and_a_lost_scheduler_with_what_is_kept(apart: Any, tmp_path: Path):
    (tmp_path / "without.py").write_text(WITHOUT)
    scheduler = apart("scheduler", *SCHEDULER)
    address = _address(tmp_path)
    without = apart("worker", *WORKER, "--preload", "without.py")
    _wait_for_a_worker(address)
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:\d+ cannot run Gapwise.*No module named 'experiments'"):
        list(as_finished_on(address, plan([table_3()], ["no-packing"], Options())))
    without.terminate()
    without.wait()
    apart("worker", *WORKER)
    _wait_for_a_worker(address)
    runs = plan([table_3()], ["no-packing", "tests.user_heuristics:sleeps"], Options())
    session = Session(folder=tmp_path / "out", cluster=address, quiet=False)

    def told(result: Any) -> str:
        scheduler.kill()
        return str(result.method)

    with session.store() as store, pytest.raises(Lost) as lost:
        session.outcomes(runs, store, told)
    kept = f"1 of 2 runs are kept in {tmp_path / 'out'}; go on with --resume"
    assert str(lost.value) == f"the scheduler at {address} was lost; {kept}"


def _wait_for_a_worker(address: str) -> None:
    import distributed

    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(1)
