"""Instances of `eva-packing` from traces in public CSV form: the Alibaba pod list and Eva's own traces."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from instances.envelope import Instance
from instances.errors import InputError
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Objective, Task
from instances.eva.tables import RESOURCES, ec2_types, interference
from instances.tables import one_line, read_numbers
from instances.validation import input_errors

POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
JOB_COLUMNS = ("arrival_s", "duration_s", "gpus", "vcpus", "ram_gb")
PERTURBED_PARTS = 10  # Perturbed demands are rounded up to so many parts of a CPU.
Demand = tuple[float, ...]


def alibaba(
    path: str | Path, *, gpus: Literal["rounded", "fractional"] = "rounded", perturb: float = 0.0, seed: int = 0
) -> Instance[EvaPacking]:
    """All the pods of an Alibaba pod list (cluster-trace-gpu-v2023), to be hosted at once on EC2.

    Columns read: `cpu_milli`, `memory_mib`, `num_gpu`, `gpu_milli`, and `pod_phase` where there is one. Failed pods
    and pods that fit on no instance type are dropped. CPUs and GiB are rounded up to whole units, as are GPUs in the
    `rounded` form, as in Eva. In the `fractional` form the pods with one GPU ask for the share `gpu_milli`; the shares
    on an instance are added up, a relaxation, since a share has to fit on a single device.

    With `perturb` > 0 the CPUs and GiB of every pod are multiplied by seeded factors from [1 - perturb, 1 + perturb]
    before they are rounded up, the CPUs then to tenths, which makes about four in ten demands distinct.

    Raises InputError for a file that cannot be read, a missing column or a bad value.
    """
    if gpus not in ("rounded", "fractional"):
        raise InputError(f"gpus: must be rounded or fractional, got {gpus!r}")
    if not 0 <= perturb < 1:
        raise InputError(f"perturb: must be in [0, 1), got {perturb}")
    pods = read_numbers(path, POD_COLUMNS, least=0)
    if "pod_phase" in pods:
        pods = pods[pods["pod_phase"] != "Failed"]
    factors = np.random.default_rng(seed).uniform(1 - perturb, 1 + perturb, size=(len(pods), 2))
    parts = PERTURBED_PARTS if perturb else 1
    demands: list[Demand] = []
    for (cpu, memory, num_gpu, share), factor in zip(pods[list(POD_COLUMNS)].to_numpy(), factors, strict=True):
        gpu = share / 1000 if gpus == "fractional" and num_gpu == 1 else num_gpu
        cpu, memory = cpu / 1000 * factor[0], memory / 1024 * factor[1]
        demands.append((gpu, math.ceil(cpu * parts) / parts, float(math.ceil(memory))))
    kinds = ec2_types("vcpus")
    fitting = [demand for demand in demands if any(_fits(demand, kind) for kind in kinds)]
    if not fitting:
        raise InputError(f"{path}: no pod fits on an instance type")
    with input_errors(str(path)):
        data = EvaPacking(resources=RESOURCES, instance_types=kinds, tasks=_tasks(Counter(fitting)), objective="cost")
    what = f"{gpus} GPUs" + (f", perturbed by {perturb:g}, seed {seed}" if perturb else "")
    source = (
        f"Alibaba cluster-trace-gpu-v2023, {Path(path).name}, {what}; {len(demands) - len(fitting)} pods fit nowhere"
    )
    perturbed = f"-perturbed-{perturb:g}-seed-{seed}" if perturb else ""
    with input_errors(str(path)):
        return Instance.of(data, f"alibaba-{Path(path).stem}-{gpus}{perturbed}", source)


def alive(path: str | Path, at_s: float, *, objective: Objective = "cost") -> Instance[EvaPacking]:
    """The jobs of an Eva trace that are alive at `at_s` seconds: after arrival, within the stand-alone duration.

    Columns read: `arrival_s`, `duration_s`, `workload` (of Table 7), `workload_class`, `gpus`, `vcpus`, `ram_gb`. Jobs
    of one class are one task entry. With `net-saving` classes interfere as their workloads do in Figure 1.

    Raises InputError for a file that cannot be read, a missing column, a bad value, or where no job is alive.
    """
    if not math.isfinite(at_s):
        raise InputError(f"time: must be a finite number of seconds, got {at_s}")
    jobs = read_numbers(path, JOB_COLUMNS, text=("workload", "workload_class"), least=0)
    jobs = jobs[(jobs["arrival_s"] <= at_s) & (at_s < jobs["arrival_s"] + jobs["duration_s"])]
    if jobs.empty:
        raise InputError(f"{path}: no job is alive at {at_s:g} s")
    workload_of: dict[str, str] = {}
    tasks = []
    for name, group in jobs.groupby("workload_class", sort=True):
        demands = {tuple(row) for row in group[["gpus", "vcpus", "ram_gb"]].to_numpy(dtype=float)}
        if len(demands) > 1:
            raise InputError(
                f"{path}: workload_class {one_line(name)}: jobs of one class must have one demand, got {len(demands)}"
            )
        workload_of[str(name)] = str(group["workload"].iloc[0])
        demand = dict(zip(RESOURCES, map(float, demands.pop()), strict=True))
        with input_errors(f"{path}: workload_class {one_line(name)}"):
            tasks.append(Task(workload=str(name), count=len(group), demand={DEFAULT: demand}))
    source = f"Eva trace {Path(path).name}: jobs alive at {at_s:g} s"
    with input_errors(str(path)):
        data = EvaPacking(
            resources=RESOURCES,
            instance_types=ec2_types("vcpus"),
            tasks=tuple(tasks),
            throughput=interference(workload_of) if objective == "net-saving" else None,
            objective=objective,
        )
        return Instance.of(data, f"eva-{Path(path).stem}-alive-{at_s:g}-{objective}", source)


def _fits(demand: Demand, kind: InstanceType) -> bool:
    return all(d <= kind.capacity[r] for r, d in zip(RESOURCES, demand, strict=True))


def _tasks(count: Mapping[Demand, int]) -> tuple[Task, ...]:
    """A task entry for each distinct demand, the largest demands first."""
    return tuple(
        Task(
            workload="-".join(f"{d:g}{unit}" for d, unit in zip(demand, ("gpu", "cpu", "gib"), strict=True)),
            count=count[demand],
            demand={DEFAULT: dict(zip(RESOURCES, demand, strict=True))},
        )
        for demand in sorted(count, reverse=True)
    )
