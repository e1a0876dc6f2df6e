"""The first jobs of the traces are enough for quick runs of every experiment: `quick_reproduction` runs them all."""

from __future__ import annotations

import csv
import io

import pytest

from experiments.harness.experiment import Context
from experiments.papers import PAPERS, experiments_of
from tests.commands import call
from tests.quick_reproduction import NO_TRACE, TRACES, faults


@pytest.mark.parametrize("paper", PAPERS)
def test_the_first_jobs_of_every_trace_are_there(paper: str):
    context = Context(TRACES, quick=True)
    missing = {f"{paper}/{one.name}" for one in experiments_of(paper) if one.missing(context) is not None}
    assert missing == {name for name in NO_TRACE if name.startswith(f"{paper}/")}


def test_quick_runs_on_first_jobs_say_nothing_against_a_paper():
    only = ("--only", "figure-5", "--only", "table-12")
    done = call("reproduce", "boa", "aryl", *only, "--quick", "--traces", TRACES, "--format", "csv", "--quiet")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert faults(rows, ["boa/figure-5", "aryl/table-12"]) == []
    assert {row["verdict"] for row in rows} & {"few runs", "reproduced", "near"}


def test_what_is_against_a_paper_and_what_is_not_run_is_seen():
    row = {"experiment": "boa/x", "what": "y", "verdict": "differs", "note": ""}
    assert faults([row], ["boa/x"]) == ["boa/x: y: differs"]
    lost = {**row, "verdict": "not run", "note": "1 of 2 runs failed: why"}
    assert faults([lost], ["boa/x"]) == ["1 of 2 runs failed: why"]
    assert faults([{**lost, "note": f"{TRACES}/t.csv: No such file or directory"}], ["boa/x"]) == ["boa/x: not run"]
