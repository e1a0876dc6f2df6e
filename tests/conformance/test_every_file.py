"""Test that each method of each problem accepts the same flags."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.eva.worst import CutBins
from experiments.papers import METHODS
from instances import Result, save
from instances.aryl import figure_5, five_servers, table_4
from instances.boa import figure_1
from instances.eva import table_3, table_3_round
from instances.kubernetes import build_two_halves, shrunk_cluster
from instances.sia import five_jobs, six_jobs
from tests.commands import call

ONE_TYPE = CutBins(2, 12, 3).instance((403, 1073))  # for what packs on one type alone
FILES = (
    table_3(),
    ONE_TYPE,
    table_3_round(),
    figure_1(1.5),
    table_4(),
    figure_5(),
    five_servers(),
    five_jobs(),
    six_jobs(),
    build_two_halves(),
    shrunk_cluster(12, 0),
)


def test_every_method_of_every_problem_takes_the_flags_of_a_script(tmp_path: Path):
    for instance in FILES:
        save(instance, tmp_path / f"{instance.name}.json")
    flags = ("--threads", 1, "--time-limit", 30, "--seed", 1, "--gap", 1e-4, "--format", "json", "--quiet")
    done = call("solve", tmp_path, "--method", "all", *flags)
    assert done.returncode == 0, done.stderr
    results = [Result.model_validate(json.loads(line)) for line in done.stdout.splitlines()]
    ran = {problem: {r.method for r in results if r.problem == problem} for problem in METHODS}
    assert ran == {problem: {entry.name for entry in METHODS[problem]} for problem in METHODS}
    assert {result.options["time_limit"] for result in results} == {30}
    assert {result.termination for result in results} == {"finished"}
    assert {result.status for result in results if result.method == "exact"} == {"optimal"}


def test_a_method_by_name_takes_them_too(tmp_path: Path):
    save(FILES[0], tmp_path / "file.json")
    done = call(
        "solve", tmp_path / "file.json", "--threads", 1, "--time-limit", 30, "--method", "no-packing", "--quiet"
    )
    assert done.returncode == 0, done.stderr
