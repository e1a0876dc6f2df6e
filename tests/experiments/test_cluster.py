"""Runs on a scheduler with two workers on this machine: as at home, also where a worker dies."""

from __future__ import annotations

import json
import logging
import os
import signal
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from experiments import reproduce
from experiments.harness.apply import apply
from experiments.harness.cluster import as_finished_on
from experiments.harness.experiment import Claim, Context, Experiment, compared
from experiments.harness.plan import plan
from experiments.simulator.simulation import Simulation
from instances import InputError, Options, save
from instances.eva import table_3, table_7
from instances.sia import five_jobs
from tests.commands import call

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
    assert [there[i].reason for i in (4, 5)] == ["RuntimeError: no luck today", "the process died with exit code 7"]
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


def test_simulate_and_reproduce_print_what_they_print_at_home(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save(five_jobs(), tmp_path / "five.json")
    one = Experiment("five", "Five jobs", lambda context: [Simulation(five_jobs(), "sia-vc")], _mean_delay)
    monkeypatch.setattr(reproduce, "reproduced", lambda: ["sia"])
    monkeypatch.setattr(reproduce, "experiments_of", lambda paper: (one,))
    for command in (("simulate", tmp_path / "five.json", "--policy", "gssf"), ("reproduce",)):
        here, there = (
            call(*command, "--format", "json", "--quiet", *where)
            for where in ((), ("--cluster", cluster.scheduler_address))
        )
        assert (here.returncode, there.returncode) == (0, 0), there.stderr
        rows = [[json.loads(line) for line in done.stdout.splitlines()] for done in (here, there)]
        for row in [*rows[0], *rows[1]]:
            row.pop("cpu_s", None)
        assert rows[0] == rows[1] != []


def _mean_delay(context: Context, outcomes: Any) -> list[Claim]:
    return [compared("Section 3", "mean delay, min", 1.0, run.jobs_table()["delay"].mean()) for run in outcomes]


def test_where_no_scheduler_answers_is_one_line(monkeypatch: pytest.MonkeyPatch):
    from experiments.harness import cluster as module

    monkeypatch.setattr(module, "CONNECT_S", 0.2)
    with pytest.raises(InputError, match=r"--cluster: tcp://127\.0\.0\.1:9: no scheduler answers"):
        list(as_finished_on("tcp://127.0.0.1:9", plan([table_3()], ["no-packing"], Options())))
