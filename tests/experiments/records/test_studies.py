"""Test that every study is a command that prints its table and repeats no finished run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments.harness.experiment import Study
from experiments.harness.task import Measurement
from experiments.harness.user_functions import resolve
from experiments.papers import STUDIES
from instances import Options
from tests.commands import call

RULES = ("aryl-rules", "--seeds", 1, "--instance-jobs", 3)


def slow(options: Options) -> dict[str, float]:
    while True:
        pass


def wrong(options: Options) -> dict[str, float]:
    raise ValueError("nothing to measure")


@pytest.fixture
def one_measurement(monkeypatch: pytest.MonkeyPatch):
    """Make `aryl-rules` the study of one measurement."""

    def study(target: str) -> None:
        def rules(options: Options) -> Study:
            """One measurement."""
            task = Measurement("one", f"tests.experiments.records.test_studies:{target}", {}, options)
            return Study([task], lambda outcomes: ["never printed"])

        monkeypatch.setattr("experiments.aryl.studies.rules", rules)

    return study


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_a_function_of_options_and_flags(name: str):
    assert resolve(STUDIES[name]).__doc__
    done = call("study", name, "--help")
    assert done.returncode == 0
    assert "--resume" in done.stdout


def test_finished_runs_are_kept_and_not_repeated(tmp_path: Path):
    out = tmp_path / "out"
    first = call("study", *RULES, "--out", out, "--format", "json", "--quiet")
    assert first.returncode == 0, first.stderr
    results = [json.loads(line) for line in first.stdout.splitlines()]
    assert len(results) == 3 * 10
    again = call("study", *RULES, "--out", out, "--resume", "--format", "json", "--quiet")
    assert [json.loads(line) for line in again.stdout.splitlines()] == results  # CPU seconds, too
    table = call("study", *RULES, "--out", out, "--resume", "--quiet")
    lines = table.stdout.splitlines()
    assert lines[0].startswith("| above the optimum, 1 instances of 3 jobs")
    assert lines[-1] == "3 of 3 optima proven"
    comma = call("study", *RULES, "--out", out, "--resume", "--quiet", "--format", "csv").stdout.splitlines()
    assert len(comma) == len(lines) - 2  # neither the line below the head nor what is said below


def test_a_measurement_is_ended_at_its_limit(one_measurement):
    one_measurement("slow")
    done = call("study", "aryl-rules", "--time-limit", 0.01, "--quiet")
    assert done.returncode == 1
    assert "never printed" not in done.stdout
    assert "overran the time limit of 0.01 s" in done.stderr


def test_a_measurement_that_fails_is_one_line(one_measurement):
    one_measurement("wrong")
    done = call("study", "aryl-rules", "--quiet")
    assert done.returncode == 1
    place = r"\(test_studies\.py, line \d+, in wrong\)"
    assert re.fullmatch(rf"gapwise: one error \(ValueError: nothing to measure {place}\)\n", done.stderr)
