"""Test the runs, claims and statistics of SIA's section 6 on a small Philly trace."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.harness.experiment import Context
from experiments.harness.task import ReportFile
from experiments.sia import claims
from experiments.sia.accuracy import Accuracy, scores
from experiments.sia.claims import (
    DEMAND,
    OWNED,
    TABLE_10,
    FigureClaims,
    count_wins,
    gain_share,
    middles_over,
    predictions,
    ratios,
)
from experiments.sia.comparison import (
    BESIDE,
    HELIOS_LOG,
    POOL_GPUS,
    POOL_NODES,
    PREEMPTIVE,
    Compared,
    Comparison,
    build_all_pools,
)
from experiments.sia.reproduce import EXPERIMENTS, PHILLY
from instances import InputError, Options
from tests.commands import call
from tests.sia_traces import write_philly

NAMED = {one.name: one for one in EXPERIMENTS}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write_philly(tmp_path_factory.mktemp("data") / Path(PHILLY).name, days=81, a_day=4, pools=3)


@pytest.fixture(scope="module")
def simulated(trace):
    pytest.importorskip("lightgbm")
    one = Comparison("philly", (2, 0), claims.SECTION_6, 2.0, trace).work(ReportFile(trace.parent / "d"))
    return [one, one.model_copy(update={"workload": "philly-4-0"})]


def test_every_table_and_figure_asked_for_is_an_experiment():
    wanted = {"figure-11", "table-12", "figure-13", "figure-14", "figure-15a", "figure-15b", "table-17", "predictions"}
    assert wanted <= set(NAMED)


def test_perfect_predictions_slow_nobody_down_and_figures_are_against_fcfs(simulated):
    for outcome in simulated:
        assert outcome.jobs > 40
        for name in ("sia-perfect", "sia-fine", "sia-vc", "safe-ssf"):
            assert outcome.figures[name]["slowed"] == 0
            assert outcome.figures[name]["speedup_p5"] >= 1
        assert outcome.figures["sia-fine"]["geometric_speedup"] >= 1
        assert set(outcome.cpu_s) == set(outcome.figures)


def test_claims_of_simulations(simulated, tmp_path):
    context = Context(tmp_path)
    for name in ("figure-13", "figure-14", "figure-15a", "value"):
        made = NAMED[name].claims(context, simulated)
        assert made
        for claim in made:
            assert claim.ours is not None
    held = [
        claim for claim in claims.figure_13(context, simulated) if claim.what == "jobs slowed with perfect predictions"
    ]
    assert [(claim.ours, claim.verdict) for claim in held] == [(0, "reproduced")]
    for name in ("figure-13", "figure-14", "figure-15a"):
        NAMED[name].draw(tmp_path / f"{name}.svg", context, simulated)
        assert (tmp_path / f"{name}.svg").stat().st_size > 1000


def test_pools_have_the_nodes_of_the_table_beside_the_trace(trace):
    path = trace.with_name(POOL_NODES)
    path.write_text("pool,nodes\np0,2\np1,1\nelsewhere,5\n")
    data = build_all_pools(trace, 1000, 0).data
    assert {pool.name: pool.gpus for pool in data.pools} == {"p0": 16, "p1": 8}
    path.write_text("pool,nodes\np0,many\n")
    with pytest.raises(InputError, match=f"{POOL_NODES}: line 2: nodes: must be a number >= 0, got many"):
        build_all_pools(trace, 1000, 0)


def test_predictions_are_scored_beside_persistence_and_always_one(trace):
    pytest.importorskip("lightgbm")
    tasks = [Accuracy(trace, (28.0, 40.0), (40.0, 48.0), 180.0), Accuracy(trace, (28.0, 36.0), (36.0, 44.0), 180.0)]
    outcomes = [task.work(ReportFile(trace.parent / "d")) for task in tasks]
    made = predictions(Context(), outcomes)
    assert {claim.where for claim in made} == {"Table 10", "Table 20", "Table 23", "5.4.2"}
    for k in TABLE_10:
        assert outcomes[0].row(k, "always one")[1] == 1
    assert {"mode", "quantile 0.9"} <= set(outcomes[0].durations)
    short = [outcomes[0].durations[name]["too short"] for name in ("mode", "quantile 0.9")]
    assert short[1] <= short[0]


def test_precision_recall_and_f():
    true, said = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    assert scores(true, said) == (0.5, 0.5, 0.5)
    assert scores(true, 0 * said) == (0, 0, 0)


def test_table_12_and_figure_11_from_the_command_line():
    run = call(
        "reproduce", "sia", "--only", "table-12", "--only", "figure-11", "--quick", "--format", "json", "--quiet"
    )
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert {row["experiment"] for row in rows} == {"sia/table-12", "sia/figure-11"}
    (wide,) = (row for row in rows if row["what"] == "sia-perfect: speed-up of queue 1")
    assert wide["ours"] >= 1


def test_shares_of_the_oracle_s_gain(tmp_path):
    outcome = Comparison("base", ("base", 3), claims.ORACLE).work(ReportFile(tmp_path / "d"))
    shares = {name: gain_share(name)([outcome]) for name in ("oracle", "sia-vc", "sia-fine", "sia-perfect")}
    assert shares["oracle"] == 1
    assert 0 <= shares["sia-perfect"] <= shares["sia-fine"] <= shares["sia-vc"] <= 1
    assert {claim.what for claim in claims.figure_15b(Context(), [outcome])} >= {
        "of the oracle's gain over FCFS in delay, base: sia-vc",
        "delay over the oracle's, base: sia-vc",
    }


def made_up(*ratios):
    return [
        Compared(workload=f"w-{i}", status="finished", figures={
            "a": {"geometric_speedup": 2.0 * ratio}, "b": {"geometric_speedup": 2.0}
        })
        for i, ratio in enumerate(ratios)
    ]  # fmt: skip


def test_an_interval_of_paired_ratios():
    same = ratios(made_up(1.1, 1.1, 1.1), "a", "b")
    assert (same.low, same.mean, same.high) == pytest.approx((1.1, 1.1, 1.1))
    wide = ratios(made_up(2.0, 0.5), "a", "b")
    assert wide.mean == pytest.approx(1)
    assert wide.low < 0.01
    assert count_wins(made_up(2.0, 0.5), "a", "b") == "1 of 2"


def test_draws_of_the_same_weeks_and_pools_are_no_independent_draws():
    """Ten draws of two weeks are worth two."""
    alike = [
        outcome.model_copy(update={"week": i // 5, "busiest": "ab"[i // 5]})
        for i, outcome in enumerate(made_up(*[1.0] * 5, *[2.0] * 5))
    ]
    sample = ratios(alike, "a", "b")
    assert (sample.seeds, sample.least, sample.greatest) == (10, 1.0, 2.0)
    assert (sample.low, sample.high) == (1.0, 2.0)
    independent = ratios(made_up(*[1.0] * 5, *[2.0] * 5), "a", "b")
    assert 1.0 < independent.low < independent.mean == pytest.approx(sample.mean)


def test_verdicts_have_two_sides():
    group = FigureClaims("", made_up(*[2.0] * 10))
    measure = middles_over("a", "b")
    kinds = [group.claim_range("", "", measure, *ends).verdict for ends in ((1.5, 2.5), (2.5, 3.0), (1.0, 1.5))]
    assert kinds == ["reproduced", "differs", "differs"]
    assert group.claim_range("", "", measure, 2.5, near=(1.5, 3.0)).verdict == "near"
    assert FigureClaims("", group.outcomes[:9]).claim_range("", "", measure, 2.5).verdict == "few runs"


def test_pools_of_helios_have_the_gpus_of_the_day(tmp_path):
    log = tmp_path / HELIOS_LOG
    times = [f"2020-04-{1 + i:02d} 00:00:00" for i in range(28)] + [f"2020-05-2{i % 5} 01:00:00" for i in range(10)]
    rows = [f"{i},u,vc{'ab'[i % 2]},4,1,1,FAILED,{time},,,600,0" for i, time in enumerate(times)]
    head = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
    log.write_text("\n".join([head, *rows]) + "\n")
    days = [f"2020-{4 + d // 30:02d}-{1 + d % 30:02d},16,{8 if d < 49 else 24},0,40" for d in range(60)]
    (tmp_path / POOL_GPUS).write_text("\n".join(["date,vca,vcb,vcc,total", *days]) + "\n")
    data = build_all_pools(log, 500, 0).data
    assert {pool.name: pool.gpus for pool in data.pools} == {"vca": 8, "vcb": 12}
    assert len(data.jobs) == 10
    with pytest.raises(InputError, match="no row of day 60, there are 60"):
        build_all_pools(log, 500, 11)


def test_a_kept_comparison_is_recalled_with_its_own_options_alone(simulated):
    text = simulated[0].model_dump_json()
    task = Comparison("philly", (2, 0), ("mmfs",), 2.0)
    assert task.parse_outcome(text) == simulated[0]
    assert Comparison("philly", (2, 0), ("mmfs",), 2.0, options=Options(seed=4)).parse_outcome(text) is None


def test_claims_of_preemption(tmp_path):
    names = ["sia-perfect", "sia-sliding", *PREEMPTIVE]
    outcomes = [Comparison("base", ("base", seed), tuple(names)).work(ReportFile(tmp_path / "d")) for seed in (0, 3)]
    made = claims.preemption(Context(), outcomes)
    assert len(made) == 2 * len(PREEMPTIVE) + 3
    assert (made[-1].ours, made[-1].verdict) == (0, "reproduced")


def test_claims_of_locality(trace, tmp_path):
    one = Comparison("philly-local", (2, 0), claims.WITH_LOCALITY, 2.0, trace).work(ReportFile(tmp_path / "d"))
    made = claims.figure_16(Context(), [one])
    assert (made[-1].what, made[-1].ours) == ("jobs slowed by SIA_VC with locality", 0)
    beside, less = (claim for claim in made if claim.sentence)
    assert (beside.verdict, less.what[-4:]) == ("reproduced", "kind")
    local, plain = (one.figures[name]["geometric_speedup"] for name in ("local-sia-perfect", "sia-perfect"))
    assert less.ours == pytest.approx(local / plain, abs=1e-4)
    assert less.verdict == ("reproduced" if local <= plain else "few runs")
    assert one.figures["local-sia-perfect" + BESIDE]["geometric_speedup"] <= local
    assert one.busiest in {"p0", "p1", "p2"}
    assert 7 <= one.week < 14
    NAMED["figure-16"].draw(tmp_path / "figure.svg", Context(), [one])
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_claims_of_helios_demand(tmp_path):
    pytest.importorskip("lightgbm")
    times = pd.date_range("2020-05-01", periods=31 * 24 * 2, freq="30min")
    rng = np.random.default_rng(0)
    jobs = {f"{pool}_jobs": rng.integers(0, 4, len(times)) for pool in "ab"}
    gpus = {f"{pool}_demand_gpus": 4 * jobs[f"{pool}_jobs"] for pool in "ab"}
    pd.DataFrame({"time": times} | jobs | gpus).to_csv(tmp_path / Path(DEMAND).name, index=False)
    days = sorted({f"{time:%Y-%m-%d}" for time in times})
    pd.DataFrame({"date": days, "a": [8] * len(days), "b": [8] * len(days)}).to_csv(
        tmp_path / Path(OWNED).name, index=False
    )
    context = Context(tmp_path, quick=True)
    (task,) = NAMED["helios"].tasks(context)
    made = NAMED["helios"].claims(context, [task.work(ReportFile(tmp_path / "d"))])
    waited = float((jobs["a_jobs"] > 2).mean() + (jobs["b_jobs"] > 2).mean()) / 2
    said = {claim.what: claim.ours for claim in made}
    assert said["share of pools' time in which GPUs are waited for"] == f"{waited:.1%}"
    assert len(made) == 5
