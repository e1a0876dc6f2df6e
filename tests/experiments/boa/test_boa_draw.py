"""Test `gapwise draw boa-renting` on public traces and bursts, and that `simulate` accepts its output."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments.boa.pictures import LABEL, jct_against_bill
from experiments.boa.reference import renting
from experiments.simulator.simulation import Simulation
from instances import InputError, Instance, load
from instances.boa import newtrace, poisson_renting, trace_renting
from instances.boa.traces import epochs_of
from instances.boa.workloads import TwoRates
from tests.boa_renting_cases import HOUR
from tests.commands import call

ROWS = [
    "name,time,application,num_replicas,batch_size",
    "a-0,30.5,cifar10,8,2048",
    "b-1,100,bert,12,384",
    "c-2,90,cifar10,2,128",
    "d-3,1800,deepspeech2,4,40",
]
TABLE = ["app,epoch_index,epoch_size_gpu_seconds,k,speedup,told"]
TABLE += [f"{app},0,600,{k},{k**0.8:.4f},{k**0.6:.4f}" for app in ("cifar10", "bert", "deepspeech2") for k in (1, 2, 8)]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("\n".join(ROWS))
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "curves.csv"
    path.write_text("\n".join(TABLE))
    return path


def test_a_trace_becomes_a_workload_at_one_and_a_quarter_of_its_load(trace):
    data = trace_renting(trace).data
    assert [(job.id, job.job_class, job.arrival_seconds, job.requested_gpus) for job in data.jobs] == [
        ("a-0", "cifar10", 30.5, 8),
        ("c-2", "cifar10", 90.0, 2),
        ("b-1", "bert", 100.0, 12),
        ("d-3", "deepspeech2", 1800.0, 4),
    ]
    assert {c.name: (c.arrivals_per_hour, c.rescale_seconds) for c in data.classes} == {
        "cifar10": (4, 50),
        "bert": (2, 120),
        "deepspeech2": (2, 25),
    }
    sizes = {c.name: sum(e.size_hours for e in c.epochs) for c in data.classes}
    assert data.budget_gpus == pytest.approx(
        1.25 * (4 * sizes["cifar10"] + 2 * sizes["bert"] + 2 * sizes["deepspeech2"])
    )
    assert [e.speedup for e in data.classes[0].epochs] == [e.speedup for e in epochs_of()["cifar10"]]


def test_rescaling_by_application_cold_starts_a_period_and_a_widest_job_come_from_the_command_line(trace, tmp_path):
    file = tmp_path / "w.json"
    flags = "--rescale", "bert=300", "--rescale", "cifar10=40.5", "--cold-rescale", 400, "--period", 60
    done = call("draw", "boa-renting", "--trace", trace, *flags, "--max-width", 16, "--budget", 30, "--out", file)
    assert done.returncode == 0, done.stderr
    data = load(file).data
    times = {c.name: (c.rescale_seconds, c.cold_rescale_seconds) for c in data.classes}
    assert times == {"cifar10": (40.5, 400), "bert": (300, 400), "deepspeech2": (25, 400)}
    assert (data.period_seconds, data.max_width) == (60, 16)
    done = call("draw", "boa-renting", "--hours", 1, "--rescale", 20, "--max-width", 8, "--out", file)
    assert done.returncode == 0, done.stderr
    assert {(c.rescale_seconds, c.cold_rescale_seconds) for c in load(file).data.classes} == {(20, None)}
    assert load(file).data.max_width == 8


def test_the_jobs_of_some_applications_are_taken_as_the_paper_filters_its_traces(trace):
    data = trace_renting(trace, applications=("bert", "cifar10")).data
    assert [job.id for job in data.jobs] == ["a-0", "c-2", "b-1"]
    assert data.classes[0].arrivals_per_hour == pytest.approx(2 * HOUR / 100)
    assert trace_renting(trace, applications=("cifar10",), limit=1).data.jobs == data.jobs[:1]


def test_a_column_of_the_table_is_what_policies_are_told(trace, table):
    epoch = trace_renting(trace, speedups=table, believed="told").data.classes[0].epochs[0]
    assert epoch.speedup.table.speedup == (1.0, 1.7411, 5.278)
    assert epoch.believed_speedup.table.speedup == (1.0, 1.5157, 3.4822)


def test_a_drawn_file_is_the_readers_and_runs_with_tables_and_pictures(trace, table, tmp_path):
    file, out = tmp_path / "w.json", tmp_path / "out"
    flags = "--trace", trace, "--speedups", table, "--budget", 5, "--seed", 4, "--out", file
    done = call("draw", "boa-renting", *flags)
    assert (done.returncode, done.stdout) == (0, "")
    assert load(file) == trace_renting(trace, speedups=table, budget=5.0)
    done = call("simulate", file, "--policy", "exact", "--policy", "fifo", "--format", "json", "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    rows = {row["policy"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert set(rows) == {"equal-split", "exact", "fifo"}
    for row in rows.values():
        assert row["finished"] == row["jobs"] == 4
        assert row["billed_gpu_h"] > 0
        assert row["rescalings"] >= 4
    pictures = {"jct_against_bill.svg", "gpus.svg", "jobs-exact.svg", "jobs-fifo.svg", "summary.csv", "jobs.csv"}
    assert pictures <= {path.name for path in out.iterdir()}
    assert LABEL in (out / "jct_against_bill.svg").read_text()


@pytest.mark.parametrize(
    ("edit", "flags", "message"),
    [
        ((1, "a-0,x,cifar10,8,1"), {}, ".*some.csv: line 2: time: must be a number, got x"),
        ((1, "a-0,-5,cifar10,8,1"), {}, ".*some.csv: line 2: time: must be >= 0, got -5"),
        ((1, "a-0,5,what,8,1"), {}, ".*some.csv: line 2: application: must be one of .*, got 'what'"),
        ((1, "a-0,5,cifar10,0,1"), {}, ".*some.csv: line 2: num_replicas: must be a whole number >= 1, got 0"),
        ((1, "b-1,5,cifar10,1,1"), {}, ".*some.csv: data.jobs: must be unique, occurs 2 times, got .b-1"),
        (
            None,
            {"budget": 1.0},
            r"--budget: must be >= [\d.]+, the least that the jobs cost, got 1.0",
        ),
        (None, {"believed": "told"}, "--believed: needs a table of speedups with that column, got told"),
        (None, {"hours": 3.0}, "--hours: --trace says it itself, got 3.0"),
        (None, {"c2": 0.5}, "--c2: must be a number >= 1, got 0.5"),
        (None, {"application": ["ncf"]}, "--application: there must be jobs of each in .*some.csv, got 'ncf'"),
        (None, {"rescale": ["ncf=3"]}, "--rescale: application must be one of cifar10, .*, got 'ncf'"),
    ],
)
def test_bad_traces_and_flags_are_refused_in_one_line(trace, edit, flags, message: str):
    if edit:
        rows = list(ROWS)
        rows[edit[0]] = edit[1]
        trace.write_text("\n".join(rows))
    with pytest.raises(InputError, match=f"^{message}") as caught:
        renting(trace=trace, **flags)
    assert "\n" not in str(caught.value)


def test_an_empty_trace_and_a_bad_table_are_refused(trace, table):
    trace.write_text(ROWS[0])
    with pytest.raises(InputError, match=r"some.csv: has no jobs"):
        renting(trace=trace)
    trace.write_text("\n".join(ROWS))
    table.write_text("\n".join(TABLE).replace("cifar10,0,600,2", "cifar10,0,600,0"))
    with pytest.raises(InputError, match=r"curves.csv: cifar10, epoch 0, line 3: k must be .*got 0"):
        renting(trace=trace, speedups=table)
    table.write_text("\n".join(TABLE).replace("cifar10,0,600", "cifar10,0,-600"))
    with pytest.raises(InputError, match="epoch_size_gpu_seconds must be one number > 0, got"):
        renting(trace=trace, speedups=table)


def test_a_bad_workload_ends_the_command_with_one_line_and_status_2(trace, tmp_path):
    file = tmp_path / "w.json"
    assert call("draw", "boa-renting", "--trace", trace, "--out", file).returncode == 0
    content = json.loads(file.read_text())
    content["data"]["classes"][0]["epochs"][0]["size_hours"] = -1
    file.write_text(json.dumps(content))
    done = call("simulate", file)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "data.classes[0].epochs[0].size_hours: must be > 0, got -1" in done.stderr


@pytest.mark.parametrize("c2", [1.0, 2.65, 20.0])
def test_two_rates_have_the_variation_asked_for_and_the_mean_rate(c2: float):
    process = TwoRates.of(20.0, c2)
    assert process.c2 == pytest.approx(c2, rel=1e-6)
    (l1, l2), (s1, s2) = process.rates, process.leaving
    assert (l1 * s2 + l2 * s1) / (s1 + s2) == pytest.approx(20.0)
    path = process.path(20_000.0, np.random.default_rng(1))
    gaps = np.diff(path.times(int(path.mass), np.random.default_rng(2)))
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(c2, rel=0.1)


@pytest.mark.parametrize("rate", [0.01, 1.0, 9.0, 15.2935, 1e4])
def test_two_rates_have_every_variation_up_to_the_greatest_of_their_rate(rate: float):
    greatest = TwoRates.greatest_c2(rate)
    for share in (0.0, 0.5, 0.9, 1.0):
        c2 = 1 + share * (greatest - 1)
        assert TwoRates.of(rate, c2).c2 == pytest.approx(c2, rel=1e-6)
    with pytest.raises(InputError, match=f"c2: must be <= {greatest:.4g} at {rate:g} arrivals an hour"):
        TwoRates.of(rate, 1.001 * greatest)


def test_the_jobs_of_a_trace_in_bursts_are_the_same_jobs_in_the_same_order(trace):
    plain, bursts = trace_renting(trace).data, trace_renting(trace, c2=2.0, seed=5).data
    assert [job.id for job in bursts.jobs] == [job.id for job in plain.jobs]
    assert [job.arrival_seconds for job in bursts.jobs] != [job.arrival_seconds for job in plain.jobs]
    assert bursts != trace_renting(trace, c2=2.0, seed=6).data
    assert bursts.budget_gpus == plain.budget_gpus


def test_poisson_workloads_are_of_newtraces_classes():
    data = poisson_renting(4, 0, rate=0.5, budget=60.0, gpus_per_node=1, acquisition_seconds=20.0).data
    assert (data.budget_gpus, data.gpus_per_node, data.acquisition_seconds) == (60, 1, 20)
    assert [c.arrivals_per_hour for c in data.classes] == pytest.approx(
        [c.arrivals_per_hour / 2 for c in newtrace().data.classes]
    )


def runs_at(workloads, policies=("exact", "fifo")):
    """Return the workloads by name, and a run of each policy on each."""
    named = {one.name: one for one in workloads}
    return named, [Simulation(one, policy).work(None) for one in workloads for policy in policies]


def test_the_picture_has_one_curve_of_the_bound_for_the_same_jobs_and_no_run_is_below_it(trace, table):
    named, runs = runs_at([at_budget(trace, table, budget) for budget in (3.0, 4.0)])
    figure = jct_against_bill(runs, {name: one.data for name, one in named.items()})
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert list(lines) == ["exact", "fifo", "no policy is below"]
    bills, hours = lines.pop("no policy is below").get_data()
    for run in runs:
        rented = run.totals["rented_gpus"]
        assert bills[0] < rented < bills[-1]
        assert np.interp(rented, bills, hours) <= run.jobs_table()["jct"].mean() / 3600
    assert len(figure.axes[0].get_lines()) == 3


def test_workloads_of_other_jobs_have_curves_of_their_own_and_what_has_no_bound_has_none(trace, table):
    first = at_budget(trace, table, 3.0)
    trace.write_text("\n".join(ROWS).replace("c-2,90", "c-2,95"))
    named, runs = runs_at([first, at_budget(trace, table, 3.5)], ["exact"])
    figure = jct_against_bill(runs, {name: one.data for name, one in named.items()})
    labels = [line.get_label() for line in figure.axes[0].get_lines()]
    assert labels == ["exact", *(f"no policy is below, {name}" for name in named)]
    assert [line.get_label() for line in jct_against_bill(runs).axes[0].get_lines()] == ["exact"]


def at_budget(trace, table, budget: float):
    drawn = trace_renting(trace, speedups=table, budget=budget)
    return Instance.of(drawn.data, f"{len(drawn.data.jobs)} jobs, {budget:g} GPUs", drawn.source)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("jobs", 0, "size_hours"), [-1], "data.jobs[0].size_hours[0]: must be > 0, got -1"),
        (("jobs", 0, "requested_gpus"), 0, "data.jobs[0].requested_gpus: must be >= 1, got 0"),
        (("jobs", 1, "job_class"), "what", 'data.jobs[1].job_class: unknown class, got "what"'),
        (("jobs",), [], "data.jobs: must not be empty"),
        (("budget_gpus",), 0.1, "data.budget_gpus: must be >= "),
        (("classes", 0, "epochs", 0, "speedup", "table", "gpus", 0), 0, "speedup.table.gpus[0]: must be >= 1, got 0"),
    ],
)
def test_a_bad_field_of_a_workload_is_one_line_and_status_2(trace, table, tmp_path, path, value, message: str):
    file = tmp_path / "w.json"
    file.write_text(at_budget(trace, table, 3.0).model_dump_json())
    content = json.loads(file.read_text())
    part = content["data"]
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    file.write_text(json.dumps(content))
    refused(call("simulate", file), f"{file}: ", message)


@pytest.mark.parametrize(
    ("rows", "flags", "message"),
    [
        (ROWS[:1], (), "some.csv: has no jobs"),
        ([], (), "some.csv: "),
        ([*ROWS[:3], "c-2,90,resnet,2,128"], (), "some.csv: line 4: application: must be one of "),
        ([*ROWS[:3], "c-2,90,bert,0,128"], (), "some.csv: line 4: num_replicas: must be a whole number >= 1, got 0"),
        (ROWS, ("--budget", 0.5), "--budget: must be >= "),
        (ROWS, ("--budget", -1), "--budget"),
    ],
)
def test_a_bad_trace_ends_the_command_with_one_line_and_status_2(trace, tmp_path, rows, flags, message: str):
    trace.write_text("\n".join(rows))
    refused(call("draw", "boa-renting", "--trace", trace, *flags, "--out", tmp_path / "w.json"), message)
    assert not (tmp_path / "w.json").exists()


def refused(done, *parts: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr
