"""Test that Figures 4 to 9 of BOA compare curves correctly, and end in claims and a figure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from experiments.boa.curves import (
    AVERAGED,
    MOMENT,
    Point,
    PolicyCurve,
    add_points,
    budget_factors,
    build_budget_curve,
    factors,
    interpolate_at,
    tasks_of,
)
from experiments.boa.pictures import LABEL
from experiments.boa.reproduce import (
    EXPERIMENTS,
    LIMITED,
    NEWTRACE,
    READINGS,
    TWO,
    WORKLOADS,
    build_curves_of_readings,
    bursts_of,
    claim_side,
)
from experiments.harness.evidence import collect_claims
from experiments.harness.experiment import Context
from experiments.harness.task import Digests
from experiments.simulator.simulated import Simulated
from instances import InputError
from tests.commands import call
from tests.sampling import few


def curve(*points: tuple[float, float]) -> PolicyCurve:
    run = Simulated(workload="w", problem="boa-renting", policy="p", status="finished")
    return PolicyCurve("p", (), tuple(Point(rented, mean, 2 * mean, run) for rented, mean in points))


def test_two_curves_are_compared_at_equal_bills_and_only_where_both_are():
    fast, slow = curve((10, 2.0), (20, 1.0), (30, 0.5)), curve((5, 9.0), (15, 3.0), (20, 1.5), (40, 1.0))
    assert factors(slow, fast) == [pytest.approx(6 / 2), pytest.approx(2.0), pytest.approx(1.5), pytest.approx(2.5)]
    assert factors(slow, fast, "p95") == factors(slow, fast)
    assert fast.interpolate_rented(0.75) == pytest.approx(25)
    assert budget_factors(slow, fast) == [pytest.approx(v) for v in (40 / 20, 20 / 15, (15 + 5 / 1.5) / 10)]
    assert fast.at(31) is None
    assert interpolate_at(1.0, []) is None


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Build a folder with traces of the figures, each of a few jobs, and a table of what policies believe."""
    folder = tmp_path_factory.mktemp("traces") / "boa"
    folder.mkdir()
    apps = ("cifar10", "bert", "deepspeech2")
    rows = [f"{apps[i % 3]}-{i},{400 * i + 50 * (i % 7)},{apps[i % 3]},2,128" for i in range(24)]
    for name in {name for one in EXPERIMENTS for name in one.traces if "speedups" not in name}:
        (folder.parent / name).write_text("\n".join(["name,time,application,num_replicas,batch_size", *rows]))
    told = [f"{app},0,1800,{k},{k**0.8:.4f},{k**0.6:.4f}" for app in apps for k in (1, 2, 4, 8, 16)]
    header = "app,epoch_index,epoch_size_gpu_seconds,k,speedup,speedup_policy_model"
    (folder / "speedups_detail.csv").write_text("\n".join([header, *told]))
    return folder.parent


DONE: dict[str, Any] = {}
"""Outcomes of the runs of all experiments: many are shared."""


@pytest.mark.parametrize("experiment", few(EXPERIMENTS, 3), ids=lambda one: one.name)
def test_every_figure_ends_in_claims_and_a_picture(experiment, traces, tmp_path):
    context = Context(traces=traces, quick=True)
    tasks, digests = experiment.tasks(context), Digests()
    keys = [json.dumps([*task.label(), task.content(digests)], sort_keys=True) for task in tasks]
    for key, task in zip(keys, tasks, strict=True):
        if key not in DONE:
            DONE[key] = task.work(None)
    outcomes = [DONE[key] for key in keys]
    claims = experiment.claims(context, outcomes)
    assert collect_claims(claims)  # each under a name of its own
    for claim in claims:
        assert (claim.ours is None) == (claim.verdict == "not run") or claim.verdict == "no figure"
    if experiment.draw is None:
        return
    experiment.draw(tmp_path / "picture.svg", context, outcomes)
    picture = (tmp_path / "picture.svg").read_text()
    assert picture.startswith("<?xml")
    assert (LABEL in picture) == (experiment.name not in ("figure-5", "figure-7", "figure-9"))


def test_a_curve_has_a_run_for_every_budget_and_says_where_no_trace_is(traces):
    context = Context(traces=traces)
    made = build_budget_curve(context, context.trace(WORKLOADS[0]), over=(1.5, 2.0))
    assert [task.workload.data.budget_gpus for task in made.tasks] == pytest.approx(
        [made.tasks[0].workload.data.budget_gpus, made.tasks[0].workload.data.budget_gpus * 2 / 1.5], rel=1e-8
    )
    assert len(tasks_of([made, made])) == 4
    outcomes = [task.work(None) for task in made.tasks]
    (found,) = add_points([made], outcomes)
    assert found.points[0].rented < found.points[1].rented
    assert found.points[0].mean > found.points[1].mean
    with pytest.raises(InputError, match="--traces: needed"):
        Context().trace(WORKLOADS[0])


def test_a_genetic_search_is_compared_with_the_exact_split_over_a_run():
    pytest.importorskip("pymoo")
    flags = "--hours", 0.1, "--drawn-with", 1, "--objective", "sum", "--individuals", 4, "--generations", 1, "--quiet"
    done = call("study", "boa-genetic", *flags)
    assert done.returncode == 0, done.stderr
    (row,) = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert row[0] == "`sum`, seed 1"
    assert all(float(cell) >= 0 for cell in row[1:])


@pytest.mark.parametrize(("an_hour", "reached"), [(15.2935, [1, 2.65, 10]), (20.0, [1, 2.65, 10, 20])])
def test_bursts_are_those_that_the_rate_of_the_jobs_can_have(tmp_path, an_hour: float, reached: list[float]):
    """The first 60 jobs of newTrace arrive at a rate that no process has a C² of 20 at; all 960 do not."""
    rows = [f"bert-{i},{3600 * i / an_hour:.3f},bert,2,128" for i in range(1, 61)]
    (tmp_path / "newtrace.csv").write_text("\n".join(["name,time,application,num_replicas,batch_size", *rows]))
    whole = bursts_of(Context(traces=tmp_path))
    assert list(dict.fromkeys(c2 for c2, _ in whole)) == reached
    assert len(whole) == 20 * len(reached)
    assert bursts_of(Context(traces=tmp_path, quick=True)) == [(1.0, 0), (reached[-1], 0)]


def test_a_claim_of_a_side_is_for_it_or_against_it_by_the_interval_and_against_it_on_ten_seeds_alone():
    def verdict(ratios: list[float], above: bool = True) -> str:
        return claim_side("Figure 9", "growth", "grows", ratios, above=above).verdict

    up, down = [1.1, 1.2, 1.15] * 4, [0.8, 0.9, 0.85] * 4
    assert (verdict(up), verdict(down)) == ("reproduced", "differs")
    assert (verdict(up, above=False), verdict(down, above=False)) == ("differs", "reproduced")
    assert verdict(down[:9]) == "few runs"
    assert verdict([0.8, 1.3] * 6) == "few runs"
    assert verdict([]) == "not run"


def test_each_reading_of_pollux_is_another_policy_or_another_belief(traces):
    context = Context(traces=traces)
    one = replace(NEWTRACE, files=NEWTRACE.files[:1], aims=(0.7,))
    curves = build_curves_of_readings(context, one)
    (name,) = one.files
    assert {reading: curves[name, reading, "sum"].tasks[0].policy for reading in READINGS[:4]} == {
        MOMENT: "pollux-as-sum-0.7",
        TWO: "pollux-as-sum-0.7-window-2",
        AVERAGED: "pollux-as-sum-0.7-window-15",
        LIMITED: "pollux-as-sum-0.7-profiled",
    }
    for reading in READINGS:
        boa, pollux = (curves[name, reading, who].tasks[0].workload.data for who in ("boa", "sum"))
        for data, who in ((boa, "boa"), (pollux, "pollux")):
            epoch = data.classes[0].epochs[0]
            assert (epoch.believed_speedup is not None) == reading.fitted
            assert data.estimate_seconds == (900 if who in reading.learning else 0)
    assert len({(r.window, r.profiled, r.fitted, r.learning) for r in READINGS}) == len(READINGS)
