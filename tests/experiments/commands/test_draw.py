"""Test `gapwise draw` and its files in the simulator."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from experiments.eva.reference import cloud
from experiments.papers import DRAWINGS
from instances import InputError, load
from instances.boa import poisson_renting
from instances.eva import EvaCloud, synthetic_cloud, trace_cloud
from instances.kubernetes import read_dump
from instances.sia import synthetic
from tests.commands import call, run
from tests.eva_cloud_cases import TRACE

draw = partial(call, "draw")


def test_a_trace_is_written_as_its_reader_has_it(tmp_path):
    file = tmp_path / "some.json.gz"
    flags = ["--trace", TRACE, "--limit", 7, "--durations", "alibaba", "--shuffle", 2, "--interference", "0.9"]
    done = run("draw", "eva-cloud", *flags, "--delay-factor", 2, "--out", file)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("wrote eva-cloud-eva_200_jobs-alibaba-7 to ")
    wanted = trace_cloud(TRACE, limit=7, durations="alibaba", shuffle=2, slowdown=0.9, delay_factor=2.0)
    assert load(file) == wanted
    assert wanted.data.throughput.default == 0.9
    drawn = ["aryl-loaning", "boa-renting", "eva-cloud", "eva-packing", "eva-reconfiguration", "kubernetes-dump"]
    assert sorted(DRAWINGS) == [*drawn, "node-consolidation", "node-placement", "sia-local-oracle", "sia-oracle"]


def test_without_a_flag_what_is_drawn_is_what_help_says(tmp_path):
    cloud, renting = tmp_path / "cloud.json", tmp_path / "renting.json"
    assert draw("eva-cloud", "--out", cloud).returncode == 0
    assert load(cloud) == synthetic_cloud(32, 0)
    assert draw("boa-renting", "--out", renting).returncode == 0
    assert load(renting) == poisson_renting(8.0, seed=0)


def test_jobs_of_table_7_in_the_simulator_with_a_method_in_the_place_of_full(tmp_path):
    file = tmp_path / "drawn.json"
    assert draw("eva-cloud", "--jobs", 5, "--seed", 3, "--out", file).returncode == 0
    assert load(file) == synthetic_cloud(5, 3)
    flags = "--policy", "eva-with-full-reconfiguration", "--format", "json", "--out", tmp_path / "out", "--quiet"
    done = call("simulate", file, *flags)
    assert done.returncode == 0, done.stderr
    rows = {row["policy"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert set(rows) == {"no-packing", "eva-with-full-reconfiguration"}
    assert rows["no-packing"]["cost_share"] == 1
    for row in rows.values():
        assert row["finished"] == row["jobs"] == 5
        assert row["cost_usd"] > 0
        assert row["fallbacks"] == 0
    assert rows["eva-with-full-reconfiguration"]["decisions"] > 4
    assert rows["no-packing"]["decisions"] == 0
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made >= {"summary.csv", "jobs.csv", "decisions.csv", "instances.svg", "tasks.svg", "speedup.svg"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"limit": 2}, "--limit: only --trace takes it, got 2"),
        ({"trace": TRACE, "jobs": 2}, "--jobs: --trace says it itself, got 2"),
        (
            {"trace": TRACE, "interference": "x"},
            "--interference: must be artifact, artifact-generator, figure-1 or a n",
        ),
        ({"trace": TRACE, "multi_task": 1.5}, r"--multi-task: must be a number <= 1, got 1.5"),
        ({"trace": TRACE, "arrival_rate": 0.0}, "--arrival-rate: must be a number > 0, got 0.0"),
        ({"jobs": 3, "tasks_per_job": 0}, "--tasks-per-job: must be a number >= 1, got 0"),
        ({"jobs": 3, "multi_task": 0.5}, "--multi-task: only --trace takes it, got 0.5"),
        ({"jobs": 3, "hash_order": 0}, "--hash-order: only --trace takes it, got 0"),
        ({"trace": TRACE, "hash_order": 0}, "--hash-order: goes with --interference artifact-generator, got artifact"),
        ({"trace": TRACE, "log_uniform": True}, "--log-uniform: --trace says it itself, got True"),
        ({"trace": TRACE, "multi_gpu": -0.1}, r"--multi-gpu: must be a number >= 0, got -0.1"),
        ({"trace": TRACE, "multi_gpu": 0.5}, "--multi-gpu: .*eva_200_jobs.csv has no job with 2 GPUs"),
        ({"trace": TRACE, "multi_gpu": 1.0}, "--multi-gpu: .*eva_200_jobs.csv has 181 jobs with one GPU, too few"),
        ({"trace": TRACE, "interference": "1.5"}, "--interference: .* or a number in .0, 1., got 1.5"),
        ({"jobs": 3, "interference": "nan"}, "--interference: .* or a number in .0, 1., got nan"),
        ({"trace": TRACE, "believed": 2.0}, "--believed: must be <= 1, got 2.0"),
        ({"jobs": 3, "delay_factor": 1e9}, r"--delay-factor: sets build_seconds, which must be <= 1e\+09, got 1000"),
        ({"trace": TRACE, "delay_factor": 1e9}, r"--delay-factor: sets build_seconds, which must be <= 1e\+09, got 1"),
        ({"jobs": 3, "gap_minutes": 1e9}, r"--gap-minutes: sets arrival_seconds, which must be <= 1e\+09, got "),
        ({"trace": TRACE, "arrival_rate": 1e-9}, "--arrival-rate: sets arrival_seconds, which must be <= "),
        ({"jobs": 3, "longest_hours": 1e9}, "--longest-hours: sets duration_seconds, which must be <= "),
        ({"trace": Path("nowhere.csv")}, "nowhere.csv: No such file or directory"),
    ],
)
def test_bad_flags_are_refused_in_one_line(flags, message: str):
    with pytest.raises(InputError, match=f"^{message}") as caught:
        cloud(**flags)
    assert "\n" not in str(caught.value)


def test_a_bad_value_of_a_trace_is_no_fault_of_a_flag(tmp_path: Path):
    lines = Path(TRACE).read_text().splitlines()
    column = lines[0].split(",").index("arrival_s")
    cells = lines[1].split(",")
    cells[column] = "2e9"
    (tmp_path / "late.csv").write_text("\n".join([lines[0], ",".join(cells)]))
    with pytest.raises(InputError, match=r"late\.csv: arrival_seconds: must be <= 1e\+09, got 2000000000\.0"):
        cloud(trace=tmp_path / "late.csv")


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--pods", 99, "must be a number >= 600, got 99"),
        ("--nodes", 1, "must be a number >= 2, got 1"),
        ("--seed", -1, "must be in [0, 2^31), got -1"),
    ],
)
def test_a_bad_number_for_a_dump_names_the_flag(flag: str, value: int, said: str, tmp_path):
    done = draw("kubernetes-dump", flag, value, "--out", tmp_path / "dump")
    assert (done.returncode, done.stderr) == (2, f"gapwise: {flag}: {said}\n")
    assert not (tmp_path / "dump").exists()


def test_more_tasks_and_more_arrivals():
    plain, changed = trace_cloud(TRACE).data, trace_cloud(TRACE, multi_task=0.3, arrival_rate=2.0, seed=1).data
    assert sorted(job.size for job in changed.jobs) == [1] * 140 + [2] * 30 + [4] * 30
    assert [job.arrival_seconds for job in changed.jobs] == [job.arrival_seconds / 2 for job in plain.jobs]
    assert changed != trace_cloud(TRACE, multi_task=0.3, arrival_rate=2.0, seed=2).data
    assert {job.size for job in synthetic_cloud(20, 0, tasks_per_job=4).data.jobs} == {4}


def test_durations_may_be_log_uniform():
    """Half of them lie below the geometric mean of the shortest and the longest."""
    hours = [job.duration_seconds / 3600 for job in synthetic_cloud(400, 0, hours=(0.5, 8), log_uniform=True).data.jobs]
    assert 0.5 <= min(hours) < 0.6
    assert 7 < max(hours) <= 8
    assert 0.4 < sum(h < 2 for h in hours) / 400 < 0.6


def test_some_jobs_get_the_size_of_jobs_with_several_gpus(tmp_path):
    """Ten jobs with 2, 4 and 8 GPUs are added: five, four and one; they keep their times and their durations."""
    lines = TRACE.read_text().splitlines()
    columns = lines[0].split(",")
    kinds = []
    for gpus in (2, 4, 8):
        row = dict(zip(columns, lines[1].split(","), strict=True))
        row |= {"gpus": str(gpus), "workload_class": f"large[{gpus}]", "vcpus": str(8 * gpus), "ram_gb": "60"}
        kinds.append(",".join(row[name] for name in columns))
    trace = tmp_path / "more.csv"
    trace.write_text("\n".join([*lines, *kinds]) + "\n")
    plain, changed = trace_cloud(trace, limit=200).data, trace_cloud(trace, limit=200, multi_gpu=0.05, seed=1).data
    gpus = {c.name: c.demand["default"]["gpu"] for c in changed.classes}
    several = [gpus[name] for job in changed.jobs for name in job.tasks if gpus[name] > 1]
    assert sorted(several) == [2] * 5 + [4] * 4 + [8]
    assert [(j.arrival_seconds, j.duration_seconds) for j in changed.jobs] == [
        (j.arrival_seconds, j.duration_seconds) for j in plain.jobs
    ]


def test_larger_sets_are_listed_in_an_order_by_seed():
    one, other = (
        trace_cloud(TRACE, slowdown="artifact-generator", hash_order=seed).data.larger_sets for seed in (0, 1)
    )
    assert one is not None
    assert other is not None
    assert one.listed != other.listed
    assert sorted(one.listed) == sorted(one.named) == sorted(other.listed)
    assert one.named == other.named
    assert one.throughput == everything("artifact").throughput  # the products are of pairs that are not turned


def test_pairs_of_the_generator_are_turned_and_no_others():
    """12 pairs with two throughputs are in the other order in the artifact's matrix than in the alphabet."""
    matrix, turned = (
        {pair[:2]: pair[2] for pair in cloud.throughput.pairwise}
        for cloud in (everything("artifact"), everything("artifact-generator"))
    )
    assert set(matrix) == set(turned)
    swapped = [(a, b) for a, b in matrix if a < b and (matrix[a, b], matrix[b, a]) != (turned[a, b], turned[b, a])]
    assert len(swapped) == 12
    assert all((turned[a, b], turned[b, a]) == (matrix[b, a], matrix[a, b]) for a, b in swapped)
    assert (matrix["GCN", "A3C"], turned["A3C", "GCN"]) == (0.647, 0.647)


def everything(slowdown) -> EvaCloud:
    return trace_cloud(TRACE, slowdown=slowdown).data


def test_sia_s_oracle_with_and_without_locality_is_drawn_and_solved(tmp_path):
    for name, flags in (("sia-oracle", ["--days", 0.1]), ("sia-local-oracle", ["--days", 0.1, "--seed", 3])):
        assert draw(name, *flags, "--out", tmp_path / f"{name}.json").returncode == 0
    assert load(tmp_path / "sia-oracle.json") == synthetic("base", 0, days=0.1)
    done = call("solve", tmp_path / "sia-local-oracle.json", "--method", "exact", "--format", "json", "--quiet")
    (row,) = map(json.loads, done.stdout.splitlines())
    assert (row["problem"], row["status"]) == ("sia-local-oracle", "optimal")
    done = draw("sia-oracle", "--variant", "other", "--out", tmp_path / "x.json")
    assert (done.returncode, "--variant: must be one of base" in done.stderr) == (2, True)


def test_a_dump_and_its_prices_are_files_of_a_folder_the_same_for_the_same_seed(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        done = draw("kubernetes-dump", "--nodes", 6, "--pods", 80, "--seed", seed, "--out", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, f"wrote dump.json and types.csv to {tmp_path / name}\n")
    a, b, c = ((tmp_path / name / "dump.json").read_bytes() for name in "abc")
    assert a == b != c
    kinds = Counter(item["kind"] for item in json.loads(a)["items"] if item.get("status") != {"phase": "Succeeded"})
    assert (kinds["Node"], kinds["Pod"], kinds["DaemonSet"]) == (6, 80, 4)
    assert read_dump([tmp_path / "a" / "dump.json"]).nodes.keys() == {f"node-{i:03}" for i in range(6)}
    assert draw("kubernetes-dump", "--nodes", 6, "--pods", 5, "--out", tmp_path / "d").returncode == 2
