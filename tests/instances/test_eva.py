"""Test Eva's data, examples, generators, trace loaders and checker."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from instances import InputError, MalformedSolution, check
from instances.eva import (
    EvaPacking,
    Task,
    Throughput,
    alibaba,
    alive,
    ec2_types,
    packing_arrays,
    table,
    table_3,
    table_7,
)


def packed(*groups: tuple[str, int, dict[str, int]]) -> dict:
    return {"instances": [{"type": kind, "count": n, "tasks": tasks} for kind, n, tasks in groups]}


BEST = packed(("it1", 1, {"t1": 1, "t2": 1, "t4": 1}), ("it3", 1, {"t3": 1}))


def test_the_paper_s_solution_of_table_3_costs_12_80():
    verdict = check(table_3().data, BEST)
    assert (verdict.objective, verdict.violations) == (12.8, ())


@pytest.mark.parametrize(
    ("solution", "violation"),
    [
        (packed(("it1", 1, {"t1": 1, "t2": 1, "t4": 1})), "task t3 is placed 0 times, not 1"),
        (packed(("it1", 2, {"t1": 1, "t2": 1, "t4": 1}), ("it3", 1, {"t3": 1})), "task t1 is placed 2 times, not 1"),
        (packed(("it1", 1, {"t1": 1, "t2": 1, "t3": 1}), ("it3", 1, {"t4": 1})), "a it1 holds 18 cpu, and has 16"),
    ],
)
def test_the_checker_finds_what_is_broken(solution: dict, violation: str):
    assert violation in check(table_3().data, solution).violations


@pytest.mark.parametrize(
    "solution",
    [
        {},
        {"instances": 3},
        {"instances": [{"type": "it1", "count": 1}]},
        packed(("it9", 1, {"t1": 1})),
        packed(("it1", 1, {"t9": 1})),
        packed(("it1", 1, {"t1": -1})),
        packed(("it1", 1, {"t1": 1.0})),  # type: ignore[dict-item]
        packed(("it1", True, {"t1": 1})),
    ],
)
def test_the_checker_refuses_what_is_no_solution(solution: dict):
    with pytest.raises(MalformedSolution):
        check(table_3().data, solution)


def test_throughput_normalised_prices_by_hand():
    """Section 4.3: t1 and t2 on it1 are worth 12 * 0.8 + 3 * 0.9 = 12.3 USD/h."""
    data = table_3("net-saving").data
    alone = packed(("it3", 1, {"t3": 1}), ("it4", 1, {"t4": 1}))
    together = check(
        data, packed(("it1", 1, {"t1": 1, "t2": 1}), *((g["type"], 1, g["tasks"]) for g in alone["instances"]))
    )
    assert together.objective == pytest.approx(12.3 - 12)


def test_a_slow_task_costs_its_whole_job():
    """Section 4.4: RP - (1 - tput) * 4 RP, for a job of four tasks that each cost RP alone."""
    base = table_3("net-saving").data
    tasks = [t.model_copy(update={"tasks_in_job": 4} if t.workload == "t2" else {}) for t in base.tasks]
    data = EvaPacking.model_validate({**base.model_dump(), "tasks": tasks})
    verdict = check(data, packed(("it1", 1, {"t1": 1, "t2": 1}), ("it3", 1, {"t3": 1}), ("it4", 1, {"t4": 1})))
    assert verdict.objective == pytest.approx(12 * 0.8 + (3 - 0.1 * 4 * 3) - 12)


def test_a_job_listed_in_parts_is_priced_as_one():
    base = table_3("net-saving").data
    t1, t2, *others = base.tasks
    tasks = [t1.model_copy(update={"job": "j"}), t2.model_copy(update={"job": "j"}), *others]
    data = EvaPacking.model_validate({**base.model_dump(), "tasks": tasks})
    both = packed(("it1", 1, {"t1@j": 1, "t2@j": 1}), ("it3", 1, {"t3": 1}), ("it4", 1, {"t4": 1}))
    assert check(data, both).objective == pytest.approx(12 - 0.2 * 15 + 3 - 0.1 * 15 - 12)


@pytest.mark.parametrize("seed", range(4))
def test_arrays_and_checker_agree_on_what_tasks_are_worth(seed: int):
    """Two codes for equations of sections 4.3 and 4.4: floats on arrays, and rational numbers by name."""
    rng = np.random.default_rng(seed)
    base = table_7(60, seed, rows="ten", objective="net-saving").data
    arrays = packing_arrays(base)
    on_it = rng.integers(0, 2, size=arrays.classes)
    kind = int(np.argmax(arrays.price))
    tasks = {base.tasks[m[0]].key: int(k) for m, k in zip(arrays.members, on_it, strict=True) if k}
    verdict = check(base, packed((base.instance_types[kind].name, 1, tasks)))
    assert arrays.usd(1) * (arrays.value(on_it) - arrays.price[kind]) == pytest.approx(verdict.objective)


def test_decimal_sums_are_exact():
    kind = table_3().data.instance_types[0].model_copy(update={"capacity": {"gpu": 0.3, "cpu": 1, "ram_gb": 1}})
    task = Task(workload="t", count=3, demand={"default": {"gpu": 0.1, "cpu": 0, "ram_gb": 0}})
    data = EvaPacking(resources=("gpu", "cpu", "ram_gb"), instance_types=(kind,), tasks=(task,), objective="cost")
    assert check(data, packed(("it1", 1, {"t": 3}))).violations == ()
    arrays = packing_arrays(data)
    assert (3 * arrays.demand[0, 0] <= arrays.capacity[0]).all()


def test_facts_of_the_tables():
    kinds = ec2_types()
    assert len(kinds) == 21
    assert Counter(k.family for k in kinds) == {"p3": 3, "c7i": 9, "r7i": 9}
    assert {k.name: k.usd_per_hour for k in kinds}["p3.2xlarge"] == 3.06
    units = packing_arrays(table_7(10, 0).data)
    assert units.price_unit * 20000 == 3  # prices are multiples of 0.00015 USD
    assert all(k.capacity["cpu"] * 2 == v.capacity["cpu"] for k, v in zip(kinds, ec2_types("vcpus"), strict=True))
    assert len(table("workloads")) == 10
    assert len(table("cloud_delays")) == 4
    with pytest.raises(ValueError, match="cpu"):
        ec2_types("threads")


def test_samples_of_table_7():
    nine, ten = table_7(200, 5), table_7(200, 5, rows="ten", objective="net-saving")
    assert table_7(200, 5) == nine
    assert sum(t.count for t in nine.data.tasks) == sum(t.count for t in ten.data.tasks) == 200
    assert len(table_7(5000, 0).data.tasks) == 9
    assert {t.workload: t.tasks_in_job for t in ten.data.tasks}["ResNet18-4T"] == 4
    assert ten.data.throughput.default == 0.95
    assert ("ResNet18-2T", "A3C", 0.83) in ten.data.throughput.pairwise
    assert not any("ViT" in pair[:2] for pair in ten.data.throughput.pairwise)
    gcn = next(t for t in nine.data.tasks if t.workload == "GCN")
    assert (gcn.demand_on("p3")["cpu"], gcn.demand_on("c7i")["cpu"]) == (12, 6)
    with pytest.raises(ValueError, match="n: must be"):
        table_7(0, 0)


PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,pod_phase
a,12000,16384,1,1000,Running
b,6500,12289,1,460,Succeeded
c,6500,12289,1,460,Failed
d,6500,12289,1,460,Pending
e,1000,1024,0,0,Running
f,900000,1024,0,0,Running
"""


def test_the_alibaba_pod_list(tmp_path: Path):
    path = tmp_path / "pods.csv"
    path.write_text(PODS)
    rounded = alibaba(path)
    assert {t.workload: t.count for t in rounded.data.tasks} == {
        "1gpu-12cpu-16gib": 1,
        "1gpu-7cpu-13gib": 2,
        "0gpu-1cpu-1gib": 1,
    }
    assert "1 pods fit nowhere" in rounded.source
    shares = alibaba(path, gpus="fractional")
    assert {t.demand["default"]["gpu"] for t in shares.data.tasks} == {1.0, 0.46, 0.0}
    assert alibaba(path, perturb=0.1, seed=1) == alibaba(path, perturb=0.1, seed=1)
    assert alibaba(path, perturb=0.1, seed=1) != alibaba(path, perturb=0.1, seed=2)
    with pytest.raises(InputError, match="gpus"):
        alibaba(path, gpus="half")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a CSV table"),
        (PODS.replace("num_gpu", "gpus"), "missing column num_gpu"),
        (PODS.replace("6500", "-1"), "line 3: cpu_milli: must be a number >= 0, got -1"),
        (PODS.replace("460", "x"), "line 3: gpu_milli: must be a number >= 0, got x"),
        ("cpu_milli,memory_mib,num_gpu,gpu_milli\n900000,1,0,0\n", "no pod fits"),
    ],
)
def test_bad_pod_lists_are_refused(tmp_path: Path, text: str, message: str):
    path = tmp_path / "pods.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        alibaba(path)


TRACE = """job_id,arrival_s,duration_s,workload_class,workload,gpus,vcpus,ram_gb
0,0,100,resnet18[0],ResNet18,1,12,16
1,50,100,resnet18[0],ResNet18,1,12,16
2,60,10,a3c[0],A3C,0,4,8
"""


def test_jobs_alive_at_a_time(tmp_path: Path):
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    assert {t.workload: t.count for t in alive(path, 65).data.tasks} == {"resnet18[0]": 2, "a3c[0]": 1}
    assert {t.workload: t.count for t in alive(path, 100).data.tasks} == {"resnet18[0]": 1}
    pairwise = {p[:2]: p[2] for p in alive(path, 65, objective="net-saving").data.throughput.pairwise}
    assert pairwise["resnet18[0]", "a3c[0]"] == 0.83
    with pytest.raises(InputError, match="no job is alive at 200 s"):
        alive(path, 200)
    with pytest.raises(InputError, match="time"):
        alive(path, float("nan"))
    path.write_text(TRACE.replace("1,50,100,resnet18[0],ResNet18,1,12", "1,50,100,resnet18[0],ResNet18,2,12"))
    with pytest.raises(InputError, match="one demand"):
        alive(path, 65)


def test_throughput_defaults_to_no_interference():
    assert Throughput().default == 1.0
