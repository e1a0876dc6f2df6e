"""Test round trips and schema of workload files, and one-line errors with path and value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.plan import methods_for, plan
from instances import WORKLOADS, InputError, Instance, Options, dump, json_schema, load, parse, save
from instances.aryl import loaning_days
from instances.boa import poisson_renting
from instances.eva import synthetic_cloud
from tests.contents import changed

FILES: dict[str, Instance] = {
    w.problem: w for w in (synthetic_cloud(20, 0), poisson_renting(1, 0), loaning_days(0.3, 0))
}


@pytest.mark.parametrize("workload", FILES.values(), ids=FILES)
def test_a_workload_survives_its_file(workload: Instance, tmp_path: Path):
    save(workload, tmp_path / "w.json.gz")
    assert load(tmp_path / "w.json.gz") == workload
    assert set(FILES) == set(WORKLOADS)


@pytest.mark.parametrize("make", [synthetic_cloud, poisson_renting, loaning_days])
def test_a_seed_decides_all_draws(make):
    assert make(2, 5) == make(2, 5)
    assert make(2, 5).data != make(2, 6).data


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_schema_has_every_field_of_a_workload(name: str):
    schema = json_schema(name)
    assert schema["properties"]["problem"] == {"const": name}
    fields = schema["properties"]["data"]["properties"]
    assert set(dump(FILES[name])["data"]) <= set(fields)
    assert set(fields) == set(WORKLOADS[name].model_fields)


@pytest.mark.parametrize(
    ("problem", "path", "value", "message"),
    [
        ("eva-cloud", "jobs/1/arrival_seconds", -1, r"jobs\[1\]\.arrival_seconds: must be >= 0, got -1"),
        ("eva-cloud", "jobs/1/duration_seconds", 0, r"jobs\[1\]\.duration_seconds: must be > 0, got 0"),
        ("eva-cloud", "jobs/1/tasks", {"x": 1}, r"jobs\[1\]\.tasks: unknown class, got \"x\""),
        ("eva-cloud", "jobs/1/tasks", {}, r"jobs\[1\]\.tasks: must not be empty"),
        ("eva-cloud", "jobs/1/id", "j0", r"jobs: must be unique, occurs 2 times, got \"j0\""),
        ("eva-cloud", "classes/1/name", "a@b", r"classes\[1\]\.name: must not have the sign @, got \"a@b\""),
        (
            "eva-cloud",
            "classes/0/demand",
            {"default": {"gpu": 99, "cpu": 1, "ram_gb": 1}},
            r"classes\[0\]: ResNet18-2T fits on no",
        ),
        ("eva-cloud", "throughput/pairwise/0/2", 1.5, r"throughput\.pairwise\[0\]\[2\]: must be <= 1, got 1\.5"),
        ("eva-cloud", "throughput/pairwise/0/0", "x", r"throughput\.pairwise\[0\]\[0\]: unknown workload, got \"x\""),
        (
            "eva-cloud",
            "larger_sets",
            {"throughput": {}, "listed": ["x"], "named": []},
            r"larger_sets\.listed: must be all workloads, got \"x\"",
        ),
        ("eva-cloud", "period_seconds", 0, r"period_seconds: must be > 0, got 0"),
        ("eva-cloud", "instance_types/0/family", "default", r"instance_types\[0\]\.family: must not"),
        ("eva-cloud", "instance_types/0/setup_seconds", ..., r"instance_types\[0\]\.setup_seconds: missing"),
        ("boa-renting", "jobs/0/size_hours", [-1], r"jobs\[0\]\.size_hours\[0\]: must be > 0, got -1"),
        ("boa-renting", "jobs/0/size_hours", [1], r"jobs\[0\]\.size_hours: must have one entry for each of .* epochs"),
        ("boa-renting", "jobs/0/job_class", "x", r"jobs\[0\]\.job_class: unknown class, got \"x\""),
        ("boa-renting", "jobs/0/requested_gpus", 0, r"jobs\[0\]\.requested_gpus: must be >= 1, got 0"),
        ("boa-renting", "jobs", [], r"jobs: must not be empty"),
        ("boa-renting", "budget_gpus", 1, r"budget_gpus: must be >= [\d.]+, the least that the jobs cost, got 1\.0"),
        ("boa-renting", "gpus_per_node", 0, r"gpus_per_node: must be >= 1, got 0"),
        (
            "boa-renting",
            "classes/0/epochs/0/believed_speedup",
            {"t4": {"amdahl": 0.5}},
            r"classes\[0\]\.epochs\[0\]\.believed_speedup: must be one function.*got \"t4\"",
        ),
        ("aryl-loaning", "jobs/0/max_workers", 0, r"jobs\[0\]\.max_workers: must be >= 1, got 0"),
        ("aryl-loaning", "jobs/0/min_workers", 99, r"jobs\[0\]\.max_workers: must be >= min_workers, 99"),
        ("aryl-loaning", "jobs/0/gpus_per_worker", 9, r"jobs\[0\]\.gpus_per_worker: must be <= 8, the GPUs of a"),
        ("aryl-loaning", "training_servers", 1, r"jobs\[\d+\]\.min_workers: must be <= \d+, what the training"),
        ("aryl-loaning", "loaned_speed", 0, r"loaned_speed: must be > 0, got 0"),
        ("aryl-loaning", "loaned_speed", 1.1, r"loaned_speed: must be <= 1, got 1\.1"),
        ("aryl-loaning", "inference_load/use/3", 1.01, r"inference_load\.use\[3\]: must be <= 1, got 1\.01"),
        ("aryl-loaning", "orchestrator_period_seconds", 0, r"orchestrator_period_seconds: must be > 0, got 0"),
        ("aryl-loaning", "jobs/0/any_gpu", 1, r"jobs\[0\]\.any_gpu: .*got 1"),
        ("aryl-loaning", "colour", "red", r"colour: unknown field"),
    ],
)
def test_bad_content_is_refused_in_one_line(problem: str, path: str, value: object, message: str, tmp_path: Path):
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(changed(dump(FILES[problem]), f"data/{path}", value)))
    with pytest.raises(InputError, match=rf"^{file}: data\.({message})") as caught:
        load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("workload", FILES.values(), ids=FILES)
def test_no_method_solves_a_workload(workload: Instance):
    for call in (lambda: methods_for(workload, ["all"]), lambda: plan([workload], ["exact"], Options())):
        with pytest.raises(InputError, match=f"{workload.name}: {workload.problem} is a workload, for simulate"):
            call()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: synthetic_cloud(0, 0), "n: must be a number >= 1, got 0"),
        (lambda: synthetic_cloud(1, 0, hours=(2, 1)), "hours: must be a number >= 2, got 1"),
        (lambda: poisson_renting(0, 0), "hours: must be a number > 0, got 0"),
        (lambda: poisson_renting(1e-6, 0), "data.jobs: must not be empty"),
        (lambda: poisson_renting(1, 0, budget_over_load=0.5), "data.budget_gpus: must be >= "),
        (lambda: loaning_days(1, 0, load=0), "load: must be a number > 0, got 0"),
        (lambda: loaning_days(1, 0, loaned_speed=2), "data.loaned_speed: must be <= 1, got 2"),
    ],
)
def test_a_generator_refuses_what_is_out_of_range(make, message: str):
    with pytest.raises(InputError, match=message):
        make()


def test_an_unknown_workload_is_refused_with_the_names_there_are():
    with pytest.raises(
        InputError, match=r"problem: must be one of eva-packing.*, eva-cloud, boa-renting, aryl-loaning"
    ):
        parse({"gapwise": 1, "problem": "eva-clouds", "name": "x", "data": {}})


def test_the_inference_load_has_the_shape_of_the_paper():
    data = loaning_days(5, 0).data
    use = data.inference_load.use
    assert len(use) == (5 + 7) * 288  # a week beyond the last arrival
    assert 0.6 < sum(use) / len(use) < 0.7
    day = [sum(use[step::288]) / 12 for step in range(288)]
    assert 2.0 < max(day) / min(day) < 2.4
    night, dawn = data.lendable(21 * 3600), data.lendable(5 * 3600)
    assert night < dawn <= data.inference_servers
    assert data.lendable(12 * 86_400) == 0
