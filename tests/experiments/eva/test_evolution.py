"""Test that the evolved heuristic packs validly and has the weights of its record."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.eva import evolved
from experiments.eva.methods import METHODS
from experiments.eva.studies import RANGES, search_weights
from experiments.harness.evidence import read
from experiments.judging.judge import ProgramJudge
from experiments.judging.problems import task_of
from instances import InputError, Options, check
from instances.eva import price_list, table_3, table_7
from tests.sampling import sample


def test_its_weights_are_those_that_were_found():
    record = read("eva/evolution")
    assert record is not None
    assert [record.value(f"weight {i}").mean for i in range(len(evolved.WEIGHTS))] == list(evolved.WEIGHTS)


@settings(max_examples=sample(10, 25), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.tuples(*(st.floats(*ends) for ends in RANGES)))
def test_whatever_the_weights_all_tasks_are_placed(seed: int, tasks: int, weights: tuple[float, ...]):
    for data in (table_7(tasks, seed).data, price_list(min(tasks, 8), seed, cloud="gke").data):
        verdict = check(data, evolved.pack(data, weights))
        assert not verdict.violations


def test_it_refuses_what_it_is_not_for():
    with pytest.raises(ValueError, match="least cost"):
        evolved.solve(table_3("net-saving").data)


def test_the_judge_takes_its_file_as_it_is():
    task = task_of("few", "two packings", METHODS["eva-packing"][0], [table_3(), table_7(40, 0)])
    with ProgramJudge(task, seconds=5.0) as judge:
        try:
            found = judge(Path(evolved.__file__))
        except InputError as error:
            pytest.skip(str(error))  # a machine whose users cannot have namespaces
    assert found.failed == 0
    assert found.mean_gap is not None
    assert found.mean_gap < 0.05


def test_a_short_search_is_the_same_twice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("experiments.eva.studies.GENERATIONS", 1)
    monkeypatch.setattr("experiments.eva.studies.POPULATION", 2)
    monkeypatch.setattr("experiments.eva.studies.table_7", lambda tasks, seed: table_7(tasks // 8, seed))
    first = search_weights(0, 1, Options(seed=3))
    assert first == search_weights(0, 1, Options(seed=3))
    assert first["tried"] > 10
