"""`gapwise simulate` from the outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from instances import save
from instances.sia import five_jobs

ROOT = Path(__file__).parents[2]


def simulate(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "experiments.simulate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.fixture
def five(tmp_path):
    path = tmp_path / "five.json"
    save(five_jobs(), path)
    return path


def test_tables_and_pictures(five, tmp_path):
    run = simulate(five, "--policy", "sia-vc", "--policy", "oracle", "--out", tmp_path / "out", "--format", "json")
    assert run.returncode == 0, run.stderr
    rows = {row["policy"]: row for row in map(json.loads, run.stdout.splitlines())}
    assert rows["fcfs"]["total_delay_min"] == 6
    assert rows["oracle"]["total_delay_min"] == 3
    assert rows["oracle"]["slowed"] == 0
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made >= {"summary.csv", "jobs.csv", "speedup.svg", "slowdown.svg", "use-oracle.svg", "gantt-oracle.svg"}
    assert len(pd.read_csv(tmp_path / "out" / "jobs.csv")) == 15


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
        ((), "give instance files, or --workload, or --trace"),
        (("--workload", "worse"), "variant: must be one of base"),
        (("--workload", "base", "--policy", "magic"), "policy: must be all, fcfs"),
        (("--trace", "nowhere.csv"), "nowhere.csv: No such file or directory"),
        (("nowhere.json",), "nowhere.json: No such file or directory"),
        (("--workload", "base", "--policy", "no.module:f"), "No module named"),
        (("--workload", "base", "--days", "0.2", "--warm-up-days", "3"), "has no job after 3 days"),
        (("--workload", "base", "--time-limit", "-1"), "time limit: must be > 0"),
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
        ("return Decision(['j0', 'j0'])", "job j0 is started at 0 and was at 0 before"),
        (
            "return Decision(list(view.queues['p0']) + list(view.queues['p1']))",
            "job j1 is started at 0 on 1 GPUs, 0 are idle",
        ),
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_policy_of_ones_own_that_breaks_a_rule(five, tmp_path, body, line):
    (tmp_path / "own.py").write_text(
        "from heuristics.sia import Decision\n"
        "class P:\n    def decide(self, view):\n"
        f"        {body}\n"
        "def make(data):\n    return P()\n"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[1:] = "
               f"[{str(five)!r}, '--policy', 'own:make', '--quiet']; "
               "from experiments.cli import main; main('simulate')"]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert run.returncode == 2
    assert line in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
