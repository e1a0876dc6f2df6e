"""Test the commands of Aryl's world: drawing, simulating, reproducing and rejections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.aryl import reclaims, reproduce
from experiments.aryl.reclaims import Watched
from experiments.aryl.reference import loaning
from experiments.aryl.reproduce import TABLE_5, cannot_be
from experiments.aryl.scenarios import Setting, side_by_side
from experiments.harness.experiment import Claim, Verdict
from experiments.simulator.aryl import LoaningWorld
from experiments.simulator.kernel import simulate
from heuristics.aryl.online import Loaning, flexible_first
from instances import InputError, Options, load, save
from instances.aryl.populations import Bursts, JobPopulation, Moments
from tests.commands import call

HEADER = "job_id,pool,submit_s,duration_s,gpus\n"


def test_jobs_of_a_trace_are_drawn_with_the_moments_of_the_paper(tmp_path: Path):
    trace, drawn = tmp_path / "jobs.csv", tmp_path / "drawn.json.gz"
    rows = [f"{i},p,{97 * i},{30 * 1.7 ** (i % 17)},{(1, 1, 1, 2, 4, 8, 16)[i % 7]}" for i in range(600)]
    trace.write_text(HEADER + "\n".join(rows) + "\n")
    flags = ("--trace", trace, "--days", 4, "--training-servers", 100, "--seed", 3, "--out", drawn)
    done = call("draw", "aryl-loaning", *flags)
    assert done.returncode == 0, done.stderr
    jobs = load(drawn).data.jobs
    held = sum(job.work * job.gpus_per_worker for job in jobs)
    assert held / (100 * 8 * 4 * 86_400) == pytest.approx(0.78, rel=0.25)
    elastic = [job for job in jobs if job.elastic]
    assert len(elastic) / len(jobs) == pytest.approx(0.05, abs=0.02)
    assert sum(job.work * job.gpus_per_worker for job in elastic) / held == pytest.approx(0.36, abs=0.12)
    assert sum(job.any_gpu for job in jobs) / len(jobs) == pytest.approx(0.21, abs=0.03)


def test_the_weights_of_a_pool_give_the_means_that_the_paper_says():
    moments, pool = Moments(), JobPopulation.draw_default()
    assert round(moments.gpu_seconds) == 65_628
    elastic, others = pool.mix(moments)
    assert elastic @ pool.seconds == pytest.approx(moments.elastic_seconds, rel=1e-3)
    assert elastic @ (pool.seconds * pool.gpus) == pytest.approx(moments.elastic_gpu_seconds, rel=1e-3)
    weights = moments.elastic_jobs * elastic + (1 - moments.elastic_jobs) * others
    assert weights @ pool.seconds == pytest.approx(moments.mean_seconds, rel=1e-3)
    assert weights @ (pool.seconds * pool.gpus) == pytest.approx(moments.gpu_seconds, rel=1e-3)
    for seconds, share in moments.quantiles:
        assert weights[pool.seconds <= seconds].sum() == pytest.approx(share, abs=1e-3)


def test_arrivals_come_in_bursts_and_without_them_by_the_hours_of_the_day():
    """The logarithm of what an hour has over others of the day: its variance, and its covariance over one hour."""
    bursts = Bursts()
    logs = np.log(bursts.factors(200_000, 1.0, np.random.default_rng(0)))
    assert logs.var() == pytest.approx(1.53, abs=0.03)
    assert (logs[:-1] * logs[1:]).mean() == pytest.approx(1.0, abs=0.05)
    assert (logs[:-6] * logs[6:]).mean() == pytest.approx(0.23, abs=0.05)
    assert (bursts.factors(48, 0.0, np.random.default_rng(0)) == 1).all()


def test_hours_of_a_workload_differ_more_with_bursts():
    spread = []
    for scale in (0.0, 0.5, 1.0):
        data = loaning(days=8, training_servers=60, bursts=scale).data
        counts = np.bincount([int(job.arrival_seconds // 3600) for job in data.jobs], minlength=192)
        spread.append(counts.std() / counts.mean())
    assert spread == sorted(spread)
    assert spread[2] > 2 * spread[0]


def test_a_small_workload_runs_under_several_policies_and_none_beats_the_bound(tmp_path: Path):
    drawn = tmp_path / "w.json"
    save(loaning(days=1, training_servers=6), drawn)
    names = ("sjf-loans", "aryl-scf", "reclaim-greedy")
    policies = [word for name in names for word in ("--policy", name)]
    done = call("simulate", drawn, *policies, "--format", "json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["policy"] for row in rows] == ["fifo", *names]
    for row in rows:
        assert row["bound"] <= row["mean_jct_h"]
        assert 0 <= row["gap_to_bound"] < 1
        assert {"preemptions", "lost_gpu_h", "use"} <= row.keys()
    assert {f"{name}.svg" for name in ("speedup", "use", "loans", "queueing")} <= {
        file.name for file in (tmp_path / "out").iterdir()
    }


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"loaned_speed": 0.0}, "--loaned-speed: must be > 0, got 0"),
        ({"elastic_share": 1.5}, r"--elastic-share: must be a number <= 1, got 1.5"),
        ({"load": 0.0}, "load: must be a number > 0, got 0"),
        ({"trace": Path("nowhere.csv")}, "nowhere.csv: No such file or directory"),
    ],
)
def test_a_drawing_out_of_range_is_refused(flags: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        loaning(days=1, **flags)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("loaned_speed",), 0.0, "data.loaned_speed: must be > 0, got 0"),
        (("inference_load", "use", 3), 1.01, "data.inference_load.use[3]: must be <= 1, got 1.01"),
        (("jobs", 0, "min_workers"), 99, "data.jobs[0].max_workers: must be >= min_workers, 99, got "),
    ],
)
def test_a_workload_that_cannot_be_is_refused_in_one_line(path: tuple, value: object, message: str, tmp_path: Path):
    file = tmp_path / "w.json"
    save(loaning(days=1, training_servers=6), file)
    content = json.loads(file.read_text())
    place = content["data"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file.write_text(json.dumps(content))
    done = call("simulate", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}: {message}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_rows_of_table_5_whose_means_cannot_both_be_over_all_jobs():
    assert {row for row in TABLE_5 if cannot_be(row)} == {
        "2 Basic",
        "3 Advanced",
        "5 Loans, Random",
        "6 Loans, SCF",
        "7 Loans, Algorithm 1",
        "11 Scaling, Aryl",
    }


def test_covariances_of_arrivals_are_over_the_hours_of_the_day(tmp_path: Path):
    """Every other day has twice the jobs, a third above and a third below the mean; nights have fewer than days."""
    hours = [(day, hour) for day in range(reproduce.FIRST_DAY, reproduce.FIRST_DAY + 40) for hour in range(24)]
    rows = [
        f"0,p,{day * 86_400 + hour * 3600 + i},60,1"
        for day, hour in hours
        for i in range((8 if hour < 8 else 24) * (1 + day % 2))
    ]
    trace = tmp_path / "jobs.csv"
    trace.write_text(HEADER + "\n".join(rows) + "\n")
    logs = dict(zip(reproduce.LAGS, reproduce.covariances(trace, Options())["logs"], strict=True))
    assert logs[0] == pytest.approx(np.log(1 + 1 / 9 - 40 * 24 / len(rows)))
    assert logs[24] == pytest.approx(np.log(1 - 1 / 9))
    assert logs[48] == pytest.approx(np.log(1 + 1 / 9))


def claimed(ours: float, verdict: Verdict) -> Claim:
    return Claim("Table 5", "JCT", 1.0, ours, verdict)


def test_readings_stand_side_by_side_and_one_that_gives_the_figure_takes_back_what_the_other_says():
    found = side_by_side({"wide": [claimed(1.0, "reproduced")], "slow": [claimed(2.0, "differs")]})
    assert [claim.what for claim in found] == ["JCT; wide workers", "JCT; slow workers"]
    assert [claim.verdict for claim in found] == ["reproduced", "not comparable"]
    assert [claim.readings for claim in found] == [("slow workers: 2.0",), ("wide workers: 1.0",)]
    both = side_by_side({"wide": [claimed(3.0, "differs")], "slow": [claimed(2.0, "differs")]})
    assert [claim.verdict for claim in both] == ["differs", "differs"]
    same = side_by_side({"wide": [claimed(3.0, "differs")], "slow": [claimed(3.0, "differs")]})
    assert same == [claimed(3.0, "differs")]


def test_only_rows_that_borrow_slower_gpus_have_two_readings():
    read = {name: Setting.of(name, load=0.5).read("wide") for name in ("fifo", "sjf-two-phase", "sjf-loans", "aryl")}
    assert [("loaned_workers", "wide") in row.more for row in read.values()] == [False, False, True, True]
    equal = Setting.of("aryl", loaned_speed=1.0)
    assert equal.read("wide") == equal


def test_a_table_is_reproduced():
    done = call("reproduce", "aryl", "--quick", "--only", "table-12", "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["verdict"] for row in rows[:3]] == ["not run"] * 3
    assert rows[3]["ours"] >= 0


def test_no_order_preempts_less_than_the_fewest_on_the_reclaims_of_a_run():
    watched = Watched()
    data = loaning(days=3, training_servers=12, load=3.0, any_gpu_share=0.8, workers="small").data
    simulate(LoaningWorld(data), Loaning(data, "sjf", flexible_first(watched)))
    assert watched.proven == len(watched.least) > 0
    for lost in watched.lost.values():
        assert all(a >= b for a, b in zip(lost, watched.least, strict=True))
    assert sum(watched.lost["random"]) > sum(watched.least)


def test_the_tables_of_reclaims_and_of_what_is_unavoidable_have_a_row_for_each_kind(tmp_path: Path):
    flags = ["--servers", "12", "--days", "0.3", "--seeds", "1", "--load", "4"]
    done = call("study", "aryl-snapshots", *flags, "--servers", "16", "--period", "3600", "--quiet")
    assert done.returncode == 0, done.stderr
    assert [row.split(" | ")[:3] for row in done.stdout.splitlines()[2:]] == [
        [f"| {size}", "3600", width] for size in (12, 16) for width in ("whole", "small")
    ]
    done = call("study", "aryl-forced", *flags, "--quiet")
    assert done.returncode == 0, done.stderr
    rows = [row.strip("| ").split(" | ") for row in done.stdout.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[f"{p:g}", name] for p in reclaims.PERIODS for name in reclaims.RUNS]
    assert all(0 <= int(row[3]) <= int(row[2]) for row in rows)
    assert any(int(row[3]) for row in rows)
    assert call("study", "aryl-snapshots", "--workers", "wide").returncode == 2
