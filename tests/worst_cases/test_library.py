"""The worst cases of the library: heuristic, optimum and certificate of each are what the record says."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

from experiments.harness.records import read_records
from experiments.harness.run import apply
from experiments.papers import METHODS
from experiments.worst_cases.library import CERTIFICATES, cases_of_records, certificate_of, known_cases, worst_sets
from experiments.worst_cases.study import CASE
from instances import Options
from instances.registry import PROBLEMS

CASES = known_cases()
EVERY = int(os.environ.get("GAPWISE_CASES", "4"))
"""One of so many cases is solved again; 1 solves all."""


def test_the_library_holds_the_cases_of_the_records():
    rows = [[getattr(case, name) for name in CASE] for case in CASES]
    kept = [[row[0], row[1], row[2], str(row[3]), " ".join(map(str, row[4]))] for row in rows]
    assert kept == [row[:5] for row in cases_of_records()]
    assert len(kept) > 30


def test_every_instance_has_one_certificate_and_each_proves_the_recorded_optimum():
    known = read_records()
    instances = [instance for s in worst_sets() for instance in s.instances]
    assert {certificate_of(instance) for instance in instances} == set(CERTIFICATES.iterdir())
    for instance in instances:
        file = certificate_of(instance)
        assert file is not None
        prove = PROBLEMS[instance.problem].prove
        assert prove is not None
        proven = prove(instance.data, file.read_text()).bound
        optimum = known[instance.problem, instance.name].objective
        assert optimum is not None
        assert float(abs(proven - Fraction(optimum))) <= 1e-6 * abs(optimum)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method}-{case.space}-{case.size}")
def test_a_heuristic_is_as_bad_as_it_was(case):
    (entry,) = [entry for entry in METHODS[case.problem] if entry.name == case.method]
    found = apply(entry, case.instance, Options())
    assert found.objective == pytest.approx(case.heuristic, rel=1e-9)
    assert read_records()[case.problem, case.instance.name].objective == pytest.approx(case.optimum, rel=1e-9)


@pytest.mark.parametrize("case", CASES[::EVERY], ids=lambda case: f"{case.method}-{case.space}-{case.size}")
def test_its_optimum_is_proven_again(case):
    found = apply(METHODS[case.problem][0], case.instance, Options(time_limit=60.0))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(case.optimum, rel=1e-6)
