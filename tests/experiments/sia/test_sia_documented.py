"""Test that every command on the pages of SIA's world runs, on small traces if needed."""

from __future__ import annotations

import re
import shlex

import pandas as pd
import pytest

from instances import save
from instances.sia import five_jobs
from tests.commands import ROOT, call
from tests.sia_traces import write_philly

PAGES = ("sia.md", "sia-world.md", "sia-locality.md", "simulator.md")
LINE = re.compile(r"^gapwise simulate (.*?)(?:\s+#.*)?$", re.MULTILINE)
COMMANDS = sorted({line for page in PAGES for line in LINE.findall((ROOT / "docs" / page).read_text())})


@pytest.fixture
def files(tmp_path):
    save(five_jobs(), tmp_path / "my-cluster.json")
    write_philly(tmp_path / "philly.csv")
    return tmp_path


def test_there_are_commands():
    assert any("--pools 4 --start-day 28" in line for line in COMMANDS)


@pytest.mark.parametrize("line", [line for line in COMMANDS if ".json" not in line])
def test_a_documented_command_runs(line, files):
    words = [str(files / word) if word.endswith((".csv", ".json", "results")) else word for word in shlex.split(line)]
    if "--trace" in words or "--workload" in words:
        words += ["--seeds", "1"]
    done = call("simulate", *words, "--quiet", "--effort", "5")
    assert done.returncode == 0, done.stderr
    assert "fcfs" in done.stdout


def test_pools_report_their_loads_and_their_own_speed_ups(files):
    out = files / "out"
    drawn = ["--pools", "4", "--start-day", "28", "--days", "14", "--seeds", "1"]
    arguments = [*drawn, "--policy", "mmfs", "--format", "csv", "--quiet"]
    done = call("simulate", "--trace", files / "philly.csv", *arguments, "--out", out)
    assert done.returncode == 0, done.stderr
    pools = pd.read_csv(out / "pools.csv")
    assert len(pools) == 8
    mine = pools[pools["policy"] == "mmfs"]
    row = pd.read_csv(out / "summary.csv").set_index("policy").loc["mmfs"]
    assert mine["jobs"].sum() == row["jobs"]
    assert mine["slowed"].sum() == row["slowed"]
    assert row["slowed_share"] == pytest.approx(row["slowed"] / row["jobs"])
    assert row["speedup_p5"] <= row["geometric_speedup"] <= row["speedup_p95"]
    assert mine["load"].between(0.2, 1.2).all()


def test_pools_with_too_few_jobs_are_not_drawn_and_loads_that_miss_are_told(files):
    arguments = ["--start-day", "0", "--seeds", "1", "--policy", "gssf"]
    done = call("simulate", "--trace", files / "philly.csv", "--pools", "6", *arguments)
    assert done.returncode == 2
    assert "pools: must be between 1 and 5, the pools with at least 20 jobs" in done.stderr
    few = call("simulate", "--trace", files / "philly.csv", "--pools", "6", "--least-jobs", "1", *arguments)
    assert few.returncode == 0, few.stderr
    assert "have another load: " in few.stderr
    assert "thin 0.00" in few.stderr


def test_jobs_wider_than_a_pool_sized_for_its_load_are_dropped_where_asked(files):
    small = ["--pools", "3", "--start-day", "28", "--load", "20", "20", "--seeds", "1", "--format", "csv", "--quiet"]
    done = call("simulate", "--trace", files / "philly.csv", *small, "--drop-wide", "--policy", "gssf")
    assert done.returncode == 0, done.stderr
    kept = int(done.stdout.splitlines()[1].split(",")[4])
    assert 0 < kept < 3 * 80
