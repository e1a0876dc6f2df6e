"""Mutated files and traces are refused in one clear line, or every method that fits has an answer that holds.

`GAPWISE_FUZZ_FILES` and `GAPWISE_FUZZ_TRACES` set how many, `GAPWISE_FUZZ_SEED` which.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.attacks.fuzz import LIMIT_S, TRACES, Accepted, Failure, read_files, read_trace, read_traces, run_files
from tests.attacks.mutants import bases, mutant

FILES = int(os.environ.get("GAPWISE_FUZZ_FILES", "60"))
COPIES = int(os.environ.get("GAPWISE_FUZZ_TRACES", "60"))
SEED = int(os.environ.get("GAPWISE_FUZZ_SEED", "1"))


def shown(failures: list[Failure]) -> list[str]:
    return [f"{f.source}, {f.method}: {f.symptom} {f.text[:1000]}" for f in failures]


def overran(failure: Failure) -> bool:
    return failure.symptom.startswith("overran")


def without_overruns_of_a_busy_machine(cases: list[Accepted], failures: list[Failure]) -> list[Failure]:
    """The failures; a method that was ended from outside gets five times as long before it counts."""
    late = {f.source for f in failures if overran(f)}
    again, _ = run_files([case for case in cases if case.source in late], jobs=1, limit_s=5 * LIMIT_S)
    return [f for f in failures if not overran(f)] + [f for f in again if overran(f)]


def test_a_mutated_file_is_refused_in_one_line_or_solved_without_contradiction(tmp_path: Path):
    cases, refused, failures = read_files(FILES, SEED, tmp_path)
    assert shown(failures) == []
    assert refused
    assert cases
    failures, counts = run_files(cases, jobs=1)
    assert counts["optimal"] > 0
    assert shown(without_overruns_of_a_busy_machine(cases, failures)) == []


def test_a_mutated_trace_is_refused_in_one_line_or_makes_a_valid_instance(tmp_path: Path):
    cases, refused, failures = read_traces(COPIES, SEED, tmp_path)
    assert shown(failures) == []
    assert refused
    assert cases


@pytest.mark.parametrize("kind", TRACES)
def test_an_unchanged_trace_makes_an_instance(kind: str, tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(TRACES[kind])
    assert read_trace(kind, path, random.Random(0)).data


def test_an_attack_can_be_repeated_by_its_seed():
    sources = bases()
    assert [mutant(sources, 3, i) for i in range(50)] == [mutant(sources, 3, i) for i in range(50)]
    assert mutant(sources, 3, 0) != mutant(sources, 4, 0)
