"""Test `gapwise pareto`, and BOA on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from experiments.boa.pictures import budgets, write_plots
from instances import save
from instances.aryl import loaned_servers
from instances.boa import figure_1, random_allocation
from instances.eva import table_3
from tests.commands import call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    save(random_allocation(2, 4, 6, rescale=0.5, seed=1), path)
    return path


def test_every_point_is_proven_and_falls_with_the_budget(small: Path):
    done = call("pareto", small, "--points", 6, "--format", "csv", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    exact = [r for r in rows if r["method"] == "exact"]
    assert len(exact) == 6
    assert {r["status"] for r in exact} == {"optimal"}
    times = [float(r["mean_jct_hours"]) for r in exact]
    assert times == sorted(times, reverse=True)
    assert [r["method"] for r in rows[:4]] == ["exact", "randomised", "width-calculator", "one-width"]
    assert all(
        float(r["excess_over_optimum"]) >= -1e-6 for r in rows if r["method"] in ("width-calculator", "one-width")
    )


def test_files_and_the_wanted_time(small: Path, tmp_path: Path):
    out = tmp_path / "out"
    done = call("pareto", small, "--points", 4, "--mean-jct", 1.0, "--out", out, "--method", "one-width", "--quiet")
    assert done.returncode == 0
    assert "mean JCT 1 h needs budget" in done.stdout
    assert sorted(p.name for p in out.iterdir()) == [
        *(f"frontier.{kind}" for kind in ("csv", "png", "svg")),
        "runs.sqlite",
    ]
    assert (out / "frontier.svg").read_text().startswith("<?xml")
    assert (out / "frontier.png").read_bytes().startswith(b"\x89PNG")
    again = tmp_path / "again"
    call("pareto", small, "--points", 4, "--out", again, "--method", "one-width", "--quiet")
    assert (again / "frontier.svg").read_bytes() == (out / "frontier.svg").read_bytes()


def test_a_heuristic_that_fails_is_a_row_and_the_other_points_are_there(small: Path, tmp_path: Path):
    arguments = (
        "--points",
        2,
        "--method",
        "tests.user_heuristics:raises",
        "--out",
        tmp_path / "out",
        "--format",
        "json",
    )
    done = call("pareto", small, *arguments, "--quiet")
    assert (done.returncode, done.stderr) == (1, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["method"], r["status"]) for r in rows] == 2 * [
        ("exact", "optimal"),
        ("tests.user_heuristics:raises", "error"),
    ]
    assert all(r["instance"].endswith(f"@{r['budget']:.10g}") for r in rows)
    again = call("pareto", small, *arguments, "--quiet", "--resume")
    kept = [line for line in again.stdout.splitlines() if '"exact"' in line]
    assert kept == [line for line in done.stdout.splitlines() if '"exact"' in line]  # times and all


def test_a_title_is_no_mathematics(tmp_path: Path, both_kinds: None):
    write_plots(tmp_path / "frontier", {"exact": [(1.0, 2.0), (2.0, 1.0)]}, {}, "$x^$")  # and is refused as such
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg", ".pdf", ".png"}


def test_an_excess_is_over_proven_optima_alone_and_what_is_not_proven_is_hollow():
    curves = {"exact": [(1.0, 2.0), (2.0, 1.0), (3.0, 0.9)], "one-width": [(1.0, 3.0), (2.0, 1.5), (3.0, None)]}
    above, below = budgets(curves, {1.0: 2.0}, "small").axes
    (excess,) = [line for line in below.lines if len(line.get_xdata()) == 1]
    assert (list(excess.get_xdata()), list(excess.get_ydata())) == ([1.0], [50.0])
    (hollow,) = above.collections
    assert hollow.get_offsets().tolist() == [[2.0, 1.0], [3.0, 0.9]]
    assert to_hex(hollow.get_facecolor()[0]) == "#ffffff"


def test_json_prints_results_and_nothing_else(small: Path):
    done = call("pareto", small, "--points", 2, "--from", 20, "--to", 30, "--format", "json", "--mean-jct", 1.0)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {r["instance"].split("@")[1] for r in rows} == {"20", "30"}
    assert "needs budget" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", 0.1), "--from: must be >= 0.8, the least that the jobs cost, got 0.1"),
        (("--to", 0.5), "--to: must be > 0.8, the first budget, got 0.5"),
        (("--mean-jct", 1e-6), "mean JCT: must be >= 0.206522 hours, the least at budget 4, got 1e-06"),
        (("--mean-jct", -1), "--mean-jct: must be > 0 hours, got -1"),
        (("--method", "fastest"), "method: must be all, heuristics, exact, literal"),
        (("--hours", 3), "--hours: goes with a job trace (.csv), got"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(tmp_path: Path, arguments: tuple[object, ...], message: str):
    save(figure_1(2.0), tmp_path / "f.json")
    done = call("pareto", tmp_path / "f.json", "--points", 3, "--quiet", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"gapwise: {message}")
    assert done.stderr.count("\n") == 1


def test_a_job_trace_makes_a_frontier(tmp_path: Path):
    trace = tmp_path / "trace.csv"
    trace.write_text("name,time,application\na,600,cifar10\nb,3600,bert\n")
    done = call(
        "pareto", trace, "--points", 3, "--format", "csv", "--quiet", "--method", "one-width", "--rescale-seconds", 30
    )
    assert done.returncode == 0
    assert [row.split(",")[2] for row in done.stdout.splitlines()[1::2]] == ["optimal"] * 3
    trace.write_text("name,time,application\na,600,cifar10\nb,3600,doom\n")
    refused = call("pareto", trace)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"gapwise: {trace}: line 3: application: must be one of cifar10, bert")
    assert refused.stderr.rstrip().endswith("got 'doom'")


def test_another_problem_is_refused(tmp_path: Path):
    save(table_3(), tmp_path / "eva.json")
    done = call("pareto", tmp_path / "eva.json")
    assert done.returncode == 2
    assert "problem: must be boa-allocation or aryl-reclaim, got eva-packing" in done.stderr


def test_solve_takes_every_method(small: Path):
    done = call("solve", small, "--method", "all", "--format", "json", "--quiet")
    assert done.returncode == 0
    rows = {r["method"]: r for r in map(json.loads, done.stdout.splitlines())}
    assert rows["exact"]["objective"] == pytest.approx(rows["literal"]["objective"], rel=3e-6)
    assert rows["randomised"]["status"] == "violates"
    assert rows["randomised"]["gap"] is None


def test_the_literal_model_is_written(small: Path, tmp_path: Path):
    done = call("solve", small, "--write-model", tmp_path / "boa.lp", "--quiet")
    assert done.returncode == 0
    assert "budget" in (tmp_path / "boa.lp").read_text()
    save(figure_1(2.0), tmp_path / "f.json")
    refused = call("solve", tmp_path / "f.json", "--write-model", tmp_path / "f.lp", "--quiet")
    assert refused.returncode == 2
    assert not (tmp_path / "f.lp").exists()


def test_the_front_of_a_reclaiming_is_proven_and_no_rule_is_before_it(tmp_path: Path):
    path = tmp_path / "reclaim.json"
    save(loaned_servers(40, 0.7, 0, 10, objective="lost-gpu-hours"), path)
    done = call("pareto", path, "--format", "csv", "--quiet", "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "front.csv").read_text() == done.stdout
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    front = [(int(r["preempted_jobs"]), float(r["lost_gpu_hours"])) for r in rows if r["method"] == "exact"]
    assert len(front) > 1
    assert {r["proven"] for r in rows if r["method"] == "exact"} == {"True"}
    assert front == sorted(front)
    assert [hours for _, hours in front] == sorted((hours for _, hours in front), reverse=True)
    rules = [(int(r["preempted_jobs"]), float(r["lost_gpu_hours"])) for r in rows if r["method"] != "exact"]
    assert len(rules) == 5
    assert all(any(jobs <= rule[0] and hours <= rule[1] for jobs, hours in front) for rule in rules)
    lines = [json.loads(text) for text in call("pareto", path, "--format", "json", "--quiet").stdout.splitlines()]
    assert [(line["preempted_jobs"], line["lost_gpu_hours"]) for line in lines[: len(front)]] == front
    assert len(lines[0]["servers"]) == 10


def test_a_front_without_gpu_hours_and_a_budget_for_servers_are_refused(tmp_path: Path):
    path = tmp_path / "reclaim.json"
    save(loaned_servers(20, 0.7, 0, 5), path)
    done = call("pareto", path, "--quiet")
    assert (done.returncode, done.stderr) == (
        2,
        "gapwise: data.jobs[0].gpu_hours: must be given for a Pareto front\n",
    )
    done = call("pareto", path, "--from", 3, "--quiet")
    assert (done.returncode, done.stderr) == (2, "gapwise: --from: goes with boa-allocation, got aryl-reclaim\n")
