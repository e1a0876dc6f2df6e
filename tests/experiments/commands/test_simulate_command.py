"""Test `gapwise simulate` as a command."""

from __future__ import annotations

import json
import sys
from functools import partial

import pandas as pd
import pytest

from experiments.papers import ONLINE
from instances import Instance, save
from instances.sia import Job, Pool, SiaOracle, five_jobs
from tests.commands import ROOT, call


def simulate(*arguments):
    return call("simulate", *arguments)


@pytest.fixture
def five(tmp_path):
    path = tmp_path / "five.json"
    save(five_jobs(), path)
    return path


def test_tables_and_pictures_of_the_policies_that_finish_whatever_the_names(own, five, tmp_path):
    """A dollar begins a formula in a picture, and these formulas are wrong."""
    data = five_jobs().data
    pools = {pool.name: f"$x^{pool.name}$" for pool in data.pools}
    jobs = [job.model_copy(update={"id": f"$_{{{job.id}$", "pool": pools[job.pool]}) for job in data.jobs]
    named = [pool.model_copy(update={"name": pools[pool.name]}) for pool in data.pools]
    save(Instance.of(SiaOracle(slot_minutes=data.slot_minutes, pools=named, jobs=jobs), "$\\frac$"), five)
    policies = "--policy", "sia-vc", "--policy", "oracle"
    run = own("raise SystemExit(0)", *policies, "--out", tmp_path / "out", "--format", "json")
    assert run.returncode == 1, run.stderr
    rows = {row["policy"]: row for row in map(json.loads, run.stdout.splitlines())}
    assert rows["fcfs"]["total_delay_min"] == 6
    assert rows["oracle"]["total_delay_min"] == 3
    assert rows["oracle"]["slowed"] == 0
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made >= {"summary.csv", "jobs.csv", "speedup.svg", "slowdown.svg", "use-oracle.svg", "gantt-oracle.svg"}
    assert "use-own-make.svg" not in made
    assert len(pd.read_csv(tmp_path / "out" / "jobs.csv")) == 15


@pytest.mark.long
def test_without_a_workload_a_small_one_of_each_world_is_run_and_a_finished_simulation_is_not_repeated(tmp_path):
    arguments = "--policy", "exact", "--format", "json", "--out", tmp_path
    one, other = simulate(*arguments), simulate(*arguments, "--resume")
    assert one.returncode == other.returncode == 0, one.stderr + other.stderr
    assert one.stdout == other.stdout  # the CPU seconds are those of the first time
    rows = {(row["problem"], row["policy"]): row for row in map(json.loads, one.stdout.splitlines())}
    worlds = [problem for problem, online in ONLINE.items() if online.example is not None]
    assert list(rows) == [(problem, name) for problem in worlds for name in (ONLINE[problem].baseline, "exact")]
    exact, fcfs = rows["sia-oracle", "exact"], rows["sia-oracle", "fcfs"]
    assert exact["decisions"] > 10
    assert (exact["options"]["effort"], fcfs["options"]["effort"]) == (200, None)
    assert {"runs.sqlite", "decisions.csv", "jobs.csv", *worlds} <= {path.name for path in tmp_path.iterdir()}
    assert all(list((tmp_path / problem).glob("*.svg")) for problem in worlds)


def test_same_seed_same_figures():
    arguments = "--workload", "base", "--days", "0.5", "--seeds", "2", "--policy", "sia-random", "--format", "csv"
    one, other = simulate(*arguments, "--quiet"), simulate(*arguments, "--quiet", "--jobs", "2")
    assert one.returncode == other.returncode == 0
    strip = [",".join(line.split(",")[:-1]) for line in one.stdout.splitlines()]
    assert strip == [",".join(line.split(",")[:-1]) for line in other.stdout.splitlines()]
    assert len(strip) == 5


def test_a_trace(tmp_path):
    rows = "".join(f"{i},{'pq'[i % 2]},{i * 100},{300 + 40 * (i % 7)},{1 + i % 3}\n" for i in range(120))
    path = tmp_path / "t.csv"
    path.write_text("job_id,pool,submit_s,duration_s,gpus\n" + rows)
    run = simulate("--trace", path, "--seeds", 1, "--policy", "sia-perfect", "--format", "json", "--quiet")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[1])["slowed"] == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("any.json", "--workload", "base"), "give instance files, or --workload, or --trace"),
        (("--days", "1"), "go with --workload or --trace"),
        (("--workload", "worse"), "--workload: must be one of base"),
        (("--workload", "base", "--policy", "magic"), "policy: must be all, fcfs"),
        (("--trace", "nowhere.csv"), "nowhere.csv: No such file or directory"),
        (("nowhere.json",), "nowhere.json: No such file or directory"),
        (("--workload", "base", "--policy", "no.module:f"), "No module named"),
        (("--workload", "base", "--days", "0.2", "--warm-up-days", "3"), "has no job after 3 days"),
        (("--workload", "base", "--time-limit", "-1"), "time limit: must be > 0"),
        (("--workload", "base", "--days", "0"), "days: must be a number > 0, got 0"),
        (("--workload", "base", "--slot-minutes", "1e-9"), "data.jobs[0].submit: must be <= 1e+09, got"),
        (("--workload", "base", "--pools", "3"), "--pools: only --trace takes it, got 3"),
        (("--workload", "base", "--start-day", "0"), "--start-day: only --trace takes it, got 0"),
        (("any.json", "--seeds", "5", "--days", "3"), "--seeds: instance files say it themselves, got 5"),
        (("any.json", "--slot-minutes", "5"), "--slot-minutes: instance files say it themselves, got 5"),
        (("any.json", "--trace-format", "gavel"), "--trace-format: instance files say it themselves, got gavel"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, line):
    run = simulate(*arguments, "--quiet")
    assert run.returncode == 2
    assert line in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert run.stdout == ""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return Start(['j0', 'j0'])", "job j0 is started at 0 and was at 0 before"),
        (
            "return Start(list(view.queues['p0']) + list(view.queues['p1']))",
            "job j1 is started at 0 on 1 GPUs, 0 are idle",
        ),
        ("return 1 / 0", "ZeroDivisionError: division by zero (own.py, line 4, in decide)"),
        ("return None", "decide(view) must return Start, got NoneType at 0"),
    ],
)
def test_a_policy_of_ones_own_that_breaks_a_rule_loses_its_own_run_only(own, body, line):
    run = own(body, "--policy", "sia-vc", "--format", "json")
    assert run.returncode == 1
    assert line in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    rows = {row["policy"]: row for row in map(json.loads, run.stdout.splitlines())}
    assert list(rows) == ["fcfs", "own:make", "sia-vc"]
    assert line in rows["own:make"]["error"]
    assert rows["sia-vc"]["slowed"] == 0


@pytest.fixture
def own(five, tmp_path, monkeypatch):
    """`simulate` with a policy `own:make` whose `decide` has a body."""
    monkeypatch.syspath_prepend(tmp_path)
    yield partial(_own, five, tmp_path)
    sys.modules.pop("own", None)


def _own(five, tmp_path, body, *arguments):
    (tmp_path / "own.py").write_text(
        "from instances.sia.online import Start\n"
        "class P:\n    def decide(self, view):\n"
        f"        {body}\n"
        "def make(data):\n    return P()\n"
    )
    return simulate(five, "--policy", "own:make", "--quiet", *arguments)


def test_a_policy_may_be_a_class_with_or_without_data(five, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "classes.py").write_text(
        "from instances.sia.online import Start\n"
        "class Alone:\n    def decide(self, view):\n        return Start(list(view.queues['p0'])[:1])\n"
        "class WithData(Alone):\n    def __init__(self, data):\n        self.data = data\n"
    )
    policies = "--policy", "classes:Alone", "--policy", "classes:WithData"
    run = simulate(five, *policies, "--quiet", "--format", "json")
    rows = {row["policy"]: row for row in map(json.loads, run.stdout.splitlines())}
    errors = [rows[f"classes:{name}"]["error"] for name in ("Alone", "WithData")]
    assert errors == ["job j1 is left waiting at 7 with nothing to come"] * 2  # so both have decided
    sys.modules.pop("classes", None)


def test_a_policy_that_is_woken_for_ever_is_an_error_that_names_job_policy_and_time(own):
    run = own("return Start((), view.now + 5)", "--jobs", 2)
    assert run.returncode == 1
    assert run.stderr == "gapwise: sia-five-jobs: policy own:make: job j0 is left waiting at 7 with nothing to come\n"
    assert [line.split()[0] for line in run.stdout.splitlines()[-3:-1]] == ["fcfs", "own:make"]


def test_a_file_with_a_job_wider_than_its_pool(tmp_path):
    jobs = (
        Job(id="w", pool="a", submit=0, duration=800, gpus=4, latest_start=50),
        Job(id="x", pool="a", submit=1, duration=5, gpus=1),
    )
    data = SiaOracle(slot_minutes=1.0, pools=(Pool(name="a", gpus=2), Pool(name="b", gpus=4)), jobs=jobs)
    save(Instance.of(data, "wide"), tmp_path / "wide.json")
    run = simulate(tmp_path / "wide.json", "--format", "json", "--quiet")
    assert run.returncode == 1
    rows = {row["policy"]: row for row in map(json.loads, run.stdout.splitlines())}
    refused = {name for name, row in rows.items() if "wider than its pool" in row.get("error", "")}
    assert refused == {"fcfs", "ssf", "sia-perfect", "sia-sliding"}
    assert all(rows[name]["jobs"] == 2 for name in rows if name not in refused)


def test_the_documented_trace_command_runs_on_a_trace_that_is_thin_at_first(tmp_path):
    """Section 6.1's sampling: like the public trace, two pools are there from the first day, the others from day 28."""
    rows = [(pool, day * 86400 + 1800 * k, 900 + 60 * k) for day in range(28, 44) for k in range(8) for pool in "cdef"]
    rows += [(pool, day * 86400, 600) for day in range(44) for pool in "ab"]
    lines = [f"{i},{pool},{submit},{length},{1 + i % 2}" for i, (pool, submit, length) in enumerate(rows)]
    (tmp_path / "philly.csv").write_text("\n".join(["job_id,pool,submit_s,duration_s,gpus", *lines]) + "\n")
    page = (ROOT / "docs" / "simulator.md").read_text()
    command = next(line for line in page.splitlines() if "# section 6.1" in line)
    words = command.partition("#")[0].split()[2:]
    words = [str(tmp_path / word) if word == "philly.csv" else word for word in words]
    run = simulate(*words, "--seeds", 1, "--policy", "sia-perfect", "--quiet", "--format", "json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[1])["slowed"] == 0
    del words[words.index("--start-day") : words.index("--start-day") + 2]
    run = simulate(*words)
    assert run.returncode == 2
    assert "no pool has at least 20 jobs in 14 days from day 0 on; the trace has jobs on days 0 to 43" in run.stderr
