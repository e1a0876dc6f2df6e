"""Test that the first jobs of the traces suffice for every probe, and contradict no paper."""

from __future__ import annotations

import csv
import io

import pytest

from experiments.harness.experiment import AGAINST, Context
from experiments.papers import PAPERS, experiments_of
from experiments.recorded import FIRST_JOBS
from tests.commands import call

NO_TRACE = {"sia/figure-18"}
"""Helios' job log is in no copy that is left."""


@pytest.mark.parametrize("paper", PAPERS)
def test_the_first_jobs_of_every_trace_are_there(paper: str):
    context = Context(FIRST_JOBS, quick=True)
    missing = {f"{paper}/{one.name}" for one in experiments_of(paper) if one.missing(context) is not None}
    assert missing == {name for name in NO_TRACE if name.startswith(f"{paper}/")}


def test_quick_runs_on_first_jobs_say_nothing_against_a_paper():
    only = ("--only", "figure-5", "--only", "table-12")
    done = call("reproduce", "boa", "aryl", *only, "--quick", "--traces", FIRST_JOBS, "--format", "csv", "--quiet")
    assert done.returncode == 0, done.stderr
    verdicts = {row["verdict"] for row in csv.DictReader(io.StringIO(done.stdout))}
    assert not verdicts & set(AGAINST)
    assert verdicts & {"few runs", "reproduced", "near"}
