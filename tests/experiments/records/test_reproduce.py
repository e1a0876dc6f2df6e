"""Test the experiments of `gapwise reproduce`, and their claims."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from experiments import reproduce as command
from experiments.harness.experiment import Claim, Context, Experiment, SharedTasks, compare_figure
from experiments.papers import PAPERS, experiments_of
from experiments.simulator.simulation import Simulation
from instances import InputError, Instance, Options
from instances.sia import Job, Pool, SiaOracle, five_jobs
from tests.commands import call

PAPER = 6.0  # minutes of delay of the five jobs under FCFS


def delays(policies):
    return lambda context: [Simulation(five_jobs(), name, context.options) for name in policies]


def claimed(context, outcomes):
    found = [run.jobs_table()["delay"].sum() for run in outcomes]
    return [
        compare_figure("Section 3", f"delay of {run.policy}, min", PAPER, d)
        for run, d in zip(outcomes, found, strict=True)
    ]


def drawn(path, context, outcomes):
    path.write_text("<svg/>")


FIRST = Experiment("five", "Five jobs", delays(("fcfs", "sia-vc")), claimed, draw=drawn)
SECOND = Experiment("again", "Five jobs once more", delays(("fcfs",)), claimed)
THIRD = Experiment("traced", "A trace", delays(("fcfs",)), claimed, traces=("there.csv",))
WIDE = Instance.of(
    SiaOracle(
        slot_minutes=1,
        pools=[Pool(name="p", gpus=1), Pool(name="q", gpus=2)],
        jobs=[Job(id="w", pool="p", submit=0, duration=1, gpus=2, latest_start=0)],
    ),
    "wide",
)
BROKEN = Experiment("broken", "A job that no policy can start", lambda context: [Simulation(WIDE, "fcfs")], claimed)


def test_one_folder_holds_the_traces_of_every_paper(tmp_path):
    names = {name for paper in PAPERS for one in experiments_of(paper) for name in one.traces}
    assert len({Path(name).name for name in names}) == len(names) > 10
    for name in names:
        assert "/" in name, "in the folder of its data"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
        for folder in (tmp_path, (tmp_path / name).parent):
            assert Context(folder).trace(name) == tmp_path / name


@pytest.fixture
def papers(monkeypatch):
    monkeypatch.setattr(command, "PAPERS", ("sia",))
    monkeypatch.setattr(command, "experiments_of", lambda paper: (FIRST, SECOND, THIRD, BROKEN))


def test_claims_have_the_papers_figure_ours_and_a_verdict_and_equal_runs_are_made_once(papers, tmp_path):
    run = call("reproduce", "--only", "five", "--only", "again", "--format", "json", "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(row["experiment"], row["ours"], row["verdict"]) for row in rows] == [
        ("sia/five", 6, "reproduced"),
        ("sia/five", 3, "differs"),
        ("sia/again", 6, "reproduced"),
    ]
    assert "[2/2]" in run.stderr
    assert len(pd.read_csv(tmp_path / "claims.csv")) == 3
    assert (tmp_path / "sia-five.svg").exists()
    assert "![Five jobs](sia-five.svg)" in (tmp_path / "report.md").read_text()


def test_an_experiment_without_its_trace_is_named_and_not_run_and_a_failed_run_loses_its_own_claims(papers, tmp_path):
    run = call("reproduce", "sia", "--format", "json", "--traces", tmp_path, "--quiet")
    assert run.returncode == 1
    rows = {row["experiment"]: row for row in map(json.loads, run.stdout.splitlines())}
    assert rows["sia/traced"]["verdict"] == rows["sia/broken"]["verdict"] == "not run"
    assert rows["sia/traced"]["note"] == f"{tmp_path / 'there.csv'}: No such file or directory"
    assert rows["sia/broken"]["note"].startswith("1 of 1 runs failed: ")
    assert rows["sia/again"]["verdict"] == "reproduced"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("nobody",), "paper: must be one of sia, got 'nobody'"),
        (("--only", "figure-0"), "--only: must be one of five, again, traced, broken, got 'figure-0'"),
        (("--only", "traced"), "traced: --traces: needed, for there.csv"),
    ],
)
def test_bad_input_is_one_line_and_status_2(papers, arguments, line):
    run = call("reproduce", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.strip() == f"gapwise: {line}"


def test_equal_tasks_share_a_place_unless_their_options_differ():
    shared = SharedTasks()
    one, other = Simulation(five_jobs(), "fcfs"), Simulation(five_jobs(), "fcfs", Options(seed=1))
    assert shared.add([one, other, one]) == [0, 1, 0]
    assert shared.add([Simulation(five_jobs(), "fcfs")]) == [0]
    assert shared.tasks == [one, other]


@pytest.mark.parametrize(
    ("ours", "verdict"), [(102.9, "reproduced"), (97.1, "reproduced"), (91, "near"), (111, "differs")]
)
def test_a_figure_is_reproduced_near_or_differs_by_its_share_of_the_papers(ours, verdict):
    assert compare_figure("Table 1", "x", 100, ours) == Claim("Table 1", "x", 100, ours, verdict)


def test_a_trace_needs_its_folder_and_its_file(tmp_path):
    (tmp_path / "there.csv").touch()
    assert Context(tmp_path).trace("there.csv") == tmp_path / "there.csv"
    with pytest.raises(InputError, match=r"--traces: needed, for there\.csv"):
        Context().trace("there.csv")
