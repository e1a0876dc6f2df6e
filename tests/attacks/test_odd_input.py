"""Test a sample of odd flags, bad files and extreme workloads; commands run all of these attacks.

`GAPWISE_ODD` sets how many of each, `GAPWISE_ODD_SEED` which.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.attacks import bad_files, ends, flags
from tests.attacks.forked import load
from tests.sampling import sample

CASES = int(os.environ.get("GAPWISE_ODD", sample(6, 100)))
SEED = int(os.environ.get("GAPWISE_ODD_SEED", "0"))
FOUND = (  # what once hung, or was a traceback
    ("eva-cloud", "--seed", "-1"),
    ("eva-cloud", "--gap-minutes", "-0.0"),
    ("eva-cloud", "--jobs", "2147483648"),
    ("eva-cloud", "--tasks-per-job", "99999999999999999999"),
    ("boa-renting", "--hours", "1e9"),
    ("aryl-loaning", "--load", "1e9"),
    ("sia-oracle", "--days", "1e9"),
)


def test_odd_flags_of_drawings_end_in_a_file_or_in_one_line(tmp_path: Path):
    load()
    cases = [flags.Case(name, "", flag, value) for name, flag, value in FOUND]
    cases += random.Random(SEED).sample(flags.every_case(), CASES)
    found = list(flags.tried(cases, tmp_path))
    assert [(case, symptom) for case, _, symptom in found if symptom] == []
    assert {status for _, status, _ in found} == {0, 2}


def test_a_bad_file_is_one_line_wherever_it_is_named(tmp_path: Path):
    """No place opens a pipe, which would wait for ever, whatever else is sampled."""
    load()
    cases = [bad_files.Case(place, "pipe") for place in bad_files.PLACES]
    cases += random.Random(SEED).sample([c for c in bad_files.every_case() if c.kind != "packed, much"], CASES)
    assert [(case, symptom) for case, _, symptom in bad_files.tried(cases, tmp_path) if symptom] == []


@pytest.mark.long
def test_a_workload_at_the_ends_of_its_ranges_is_refused_or_ends(tmp_path: Path):
    ends.warm()
    found = [(case, *ends.tried(case, tmp_path)) for case in ends.cases(CASES, SEED)]
    assert [(case.name, case.places, case.policy, symptom) for case, _, symptom in found if symptom] == []
    assert {0, 2} <= {done.status for _, done, _ in found}
