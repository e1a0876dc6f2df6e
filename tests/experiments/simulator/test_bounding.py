"""Test that rows of a simulation show a bound on every policy, computed once per workload."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.papers import ONLINE
from experiments.simulator import simulation
from experiments.simulator.simulation import Bounds, Simulation, boundings, map_bounds_to_runs, rows_of
from instances.sia import five_jobs


@pytest.fixture
def run():
    """One finished run."""
    task = Simulation(five_jobs(), "fcfs")
    return task, task.work(None)


def with_bound(monkeypatch, bound):
    online = replace(ONLINE["sia-oracle"], bound=bound)
    monkeypatch.setattr(simulation, "online_of", lambda workload: online)


def test_a_bound_and_its_gap_stand_in_the_row(run, monkeypatch):
    task, done = run
    with_bound(monkeypatch, lambda data, totals: [0.01] * len(totals))
    (wanted,) = boundings([task], [done])
    bounds = wanted.work(None)
    assert wanted.parse_outcome(bounds.model_dump_json()) == bounds
    (row,) = rows_of([task], [done], {"sia-oracle": "fcfs"}, bounds=map_bounds_to_runs([bounds]))
    assert row["bound"] == 0.01
    assert row["gap_to_bound"] == pytest.approx((row["mean_jct_h"] - 0.01) / row["mean_jct_h"])


def test_a_bound_is_of_all_jobs_and_so_unknown_after_a_warm_up(run, monkeypatch):
    task, done = run
    bounds = {(task.workload.name, "fcfs"): 0.01}
    (row,) = rows_of([task], [done], {"sia-oracle": "fcfs"}, 1e-9, bounds)
    assert row["bound"] is row["gap_to_bound"] is None


def test_a_bound_that_fails_is_unknown_and_tried_again(run, monkeypatch):
    task, done = run
    with_bound(monkeypatch, lambda data, totals: 1 / 0)
    (wanted,) = boundings([task], [done])
    failed = wanted.conclude_early(None, "error", "ZeroDivisionError")
    assert map_bounds_to_runs([failed]) == {(task.workload.name, "fcfs"): None}
    assert not wanted.is_final(failed)
    assert isinstance(failed, Bounds)


def test_a_world_without_a_bound_and_a_failed_run_ask_for_none(run, monkeypatch):
    task, done = run
    with_bound(monkeypatch, None)
    assert boundings([task], [done]) == []
    with_bound(monkeypatch, lambda data, totals: [0.0])
    assert boundings([task], [done.model_copy(update={"status": "error"})]) == []
