"""Test that mutated files and traces are rejected in one line, or solved correctly by every method.

`GAPWISE_FUZZ_FILES` and `GAPWISE_FUZZ_TRACES` set how many, `GAPWISE_FUZZ_SEED` which.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from instances import WORKLOADS
from tests.attacks.fuzz import (
    TRACES,
    Failure,
    lasting,
    read_files,
    read_texts,
    read_trace,
    read_traces,
    run_files,
    try_trace,
)
from tests.attacks.mutants import bases, mutant, workload_bases
from tests.commands import workers_copied
from tests.sampling import sample

FOUND = Path(__file__).with_name("found")
FILES = int(os.environ.get("GAPWISE_FUZZ_FILES", sample(15, 40)))
COPIES = int(os.environ.get("GAPWISE_FUZZ_TRACES", "60"))
SEED = int(os.environ.get("GAPWISE_FUZZ_SEED", "1"))


@pytest.fixture(autouse=True)
def copied() -> Iterator[None]:
    with workers_copied():
        yield


def shown(failures: list[Failure]) -> list[str]:
    return [f"{f.source}, {f.method}: {f.symptom} {f.text[:1000]}" for f in failures]


def test_a_mutated_file_is_refused_in_one_line_or_solved_without_contradiction(tmp_path: Path):
    cases, refused, failures = read_files(FILES, SEED, tmp_path)
    assert shown(failures) == []
    assert refused
    assert cases
    failures, counts = run_files(cases, jobs=1, limit_s=0.5)
    assert counts["optimal"] > 0
    assert shown(lasting(cases, failures, jobs=1)) == []


def test_a_mutated_workload_is_refused_in_one_line_or_read(tmp_path: Path):
    sources = workload_bases()
    texts = {f"workload {i}": mutant(sources, SEED, i) for i in range(3 * FILES)}
    cases, refused, failures = read_texts(texts, tmp_path)
    assert shown(failures) == []
    assert refused
    assert {case.instance.problem for case in cases} == set(WORKLOADS)


def test_a_mutated_trace_is_refused_in_one_line_or_makes_a_valid_instance(tmp_path: Path):
    cases, refused, failures = read_traces(COPIES, SEED, tmp_path)
    assert shown(failures) == []
    assert refused
    assert cases


def test_files_that_once_failed_are_refused_or_solved(tmp_path: Path):
    """The name of each says what was wrong with it; a file of its own for each cause that an attack has found."""
    files = sorted(FOUND.glob("*.json"))
    assert files
    cases, _, failures = read_texts({file.stem: file.read_text() for file in files}, tmp_path)
    found, _ = run_files(cases, jobs=1, limit_s=sample(1, 5) / 10)
    assert shown(failures + lasting(cases, found, jobs=1)) == []


@pytest.mark.parametrize("file", sorted(FOUND.glob("*.csv")), ids=lambda file: file.stem)
def test_a_trace_that_once_failed_is_refused_or_read(file: Path, tmp_path: Path):
    kind = file.stem.split("-")[0].replace("_", " ")
    text = file.read_text(encoding="utf-8")
    assert [try_trace(kind, text, tmp_path, random.Random(seed))[2] for seed in range(4)] == [None] * 4


@pytest.mark.parametrize("kind", TRACES)
def test_an_unchanged_trace_makes_an_instance(kind: str, tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(TRACES[kind])
    assert read_trace(kind, path, tmp_path, random.Random(0)).data


def test_an_attack_can_be_repeated_by_its_seed():
    sources = bases()
    assert [mutant(sources, 3, i) for i in range(50)] == [mutant(sources, 3, i) for i in range(50)]
    assert mutant(sources, 3, 0) != mutant(sources, 4, 0)
