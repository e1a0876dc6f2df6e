"""Test that heuristic, optimum and certificate of each library worst case match its record."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import pytest

from experiments.harness.records import read_records
from experiments.harness.run import apply
from experiments.papers import METHODS
from experiments.worst_cases.library import (
    CERTIFICATES,
    as_bad,
    cases_of_records,
    certificate_of,
    list_cases,
    worst_sets,
)
from instances import Options
from instances.registry import PROBLEMS

CASES = list_cases()
EVERY = int(os.environ.get("GAPWISE_CASES", "8"))
"""One of so many cases is solved again; 1 solves all."""


def test_the_library_holds_the_cases_of_the_records_or_worse_ones():
    records = cases_of_records()
    assert [case.place for case in CASES] == [case.place for case in records]
    assert len(CASES) > 30
    for kept, recorded in zip(CASES, records, strict=True):
        assert kept.over_all == recorded.over_all
        assert kept.gap == pytest.approx(recorded.gap, rel=1e-9) if kept.over_all else kept.gap >= recorded.gap - 1e-9


def test_a_known_case_stays_where_a_search_finds_none_that_is_worse():
    known = next(case for case in CASES if not case.over_all and case.problem == "eva-packing" and case.gap > 0.5)
    less = replace(known, heuristic=(known.heuristic + known.optimum) / 2)
    assert as_bad([less], [known]) == [known]
    assert as_bad([known], [less]) == [known]
    assert as_bad([less], []) == [less]
    whole = replace(less, over_all=True)
    assert as_bad([whole], [known]) == [whole]
    better = replace(known, heuristic=known.heuristic * 2)  # a value that the heuristic does not give any more
    assert as_bad([less], [better]) == [less]


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
