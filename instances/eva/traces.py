"""Instances of `eva-packing` from lists of a cluster's pods: whole lists, and distinct requests drawn from a seed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from instances.arrays import FloatArray
from instances.envelope import Instance
from instances.errors import InputError
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Objective, Task
from instances.eva.tables import RESOURCES, ec2_types, interference
from instances.tables import one_line, read_numbers
from instances.validation import input_errors

POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
JOB_COLUMNS = ("arrival_s", "duration_s", "gpus", "vcpus", "ram_gb")
PERTURBED = 10  # Perturbed demands are rounded up to multiples of 1 / PERTURBED CPU.
Demand = tuple[float, ...]


def alibaba(
    path: str | Path, *, gpus: Literal["rounded", "fractional"] = "rounded", perturb: float = 0.0, seed: int = 0
) -> Instance[EvaPacking]:
    """Read all pods of an Alibaba pod list (cluster-trace-gpu-v2023), to be hosted at once on EC2.

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
    fractions = PERTURBED if perturb else 1
    demands: list[Demand] = []
    for (cpu, memory, num_gpu, share), factor in zip(pods[list(POD_COLUMNS)].to_numpy(), factors, strict=True):
        gpu = share / 1000 if gpus == "fractional" and num_gpu == 1 else num_gpu
        cpu, memory = cpu / 1000 * factor[0], memory / 1024 * factor[1]
        demands.append((gpu, math.ceil(cpu * fractions) / fractions, float(math.ceil(memory))))
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
    """Read the jobs of an Eva trace that are alive at `at_s` seconds: after arrival, within the stand-alone duration.

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
    """Return a task entry for each distinct demand, the largest demands first."""
    return tuple(
        Task(
            workload="-".join(f"{d:g}{unit}" for d, unit in zip(demand, ("gpu", "cpu", "gib"), strict=True)),
            count=count[demand],
            demand={DEFAULT: dict(zip(RESOURCES, demand, strict=True))},
        )
        for demand in sorted(count, reverse=True)
    )


# Requests of pods in the production list of cluster-trace-gpu-v2023, with rounded frequencies in percent (Weng et al.,
# "Beware of Fragmentation", USENIX ATC'23): GPUs, minimum and maximum CPUs, GiB per CPU.
SHAPES = (
    (17, 0, 8.0, 32.0, 1.5, 4.5),
    (76, 1, 4.0, 16.0, 1.7, 4.5),
    (6, 1, 1.0, 8.0, 4.0, 8.0),
    (1, 2, 6.0, 17.4, 2.4, 10.7),
)
COLUMNS = ("cpu_milli", "memory_mib", "num_gpu")


def pod_requests(n: int, seed: int, *, path: str | Path | None = None, jitter: float = 0.1) -> Instance[EvaPacking]:
    """Draw an instance of `n` pods with distinct requests, to be hosted on EC2, with vCPUs as CPUs.

    Pods are drawn uniformly from a list, or without one from ranges of the Alibaba list's columns. CPUs and memory are
    multiplied by factors from [1 - jitter, 1 + jitter], then rounded to thousandths of a CPU and to MiB, and drawn
    again where the pod fits on no instance type or is there already.

    - `n`, `seed`: number of pods, and the seed of all draws.
    - `path`: a pod list with the columns `cpu_milli`, `memory_mib`, `num_gpu`, and perhaps `pod_phase`.
    - `jitter`: how far CPUs and memory may be from the pod drawn, as a share.

    Raises InputError for n < 1, a jitter outside (0, 1), and for a list of bad values or of pods that do not fit.
    """
    if n < 1:
        raise InputError(f"n: must be >= 1, got {n}")
    if not 0 < jitter < 1:
        raise InputError(f"jitter: must be in (0, 1), got {jitter}")
    rng = np.random.default_rng(seed)
    listed = None if path is None else _read_list(path)
    kinds = ec2_types("vcpus")
    capacity = np.array([[k.capacity[r] for r in RESOURCES] for k in kinds]) * (1, 1000, 1024)
    seen: dict[tuple[int, int, int], None] = {}
    tries = 0
    while len(seen) < n:
        tries += 1
        if tries > 100 * n:
            raise InputError(
                f"{path}: pods too much alike, or too large: {len(seen)} of {n} found in {tries - 1} draws"
            )
        gpu, cpu, memory = _drawn(rng) if listed is None else listed[rng.integers(len(listed))].tolist()
        factors = rng.uniform(1 - jitter, 1 + jitter, 2).tolist()
        milli, mib = math.ceil(cpu * factors[0]), math.ceil(memory * factors[1])
        amounts = (int(gpu), milli, mib)
        if (np.array(amounts) <= capacity).all(axis=1).any():
            seen[amounts] = None
    tasks = tuple(
        Task(
            workload=f"{gpu}gpu-{milli}m-{mib}mi",
            count=1,
            demand={DEFAULT: dict(zip(RESOURCES, (float(gpu), milli / 1000, mib / 1024), strict=True))},
        )
        for gpu, milli, mib in sorted(seen, reverse=True)
    )
    data = EvaPacking(resources=RESOURCES, instance_types=kinds, tasks=tasks, objective="cost")
    what = "ranges of the Alibaba pod list" if path is None else Path(path).name
    source = f"{n} pods from the {what}, jitter {jitter:g}, seed {seed}"
    return Instance.of(data, f"pod-requests-{n}-seed-{seed}", source)


def _drawn(rng: np.random.Generator) -> tuple[int, float, float]:
    """Return the gPUs, thousandths of a CPU and MiB of a pod in the ranges of `SHAPES`."""
    often = np.array([shape[0] for shape in SHAPES], dtype=float)
    _, gpus, low, high, least, most = SHAPES[rng.choice(len(SHAPES), p=often / often.sum())]
    cpu = float(rng.uniform(low, high))
    return gpus, 1000 * cpu, 1024 * cpu * float(rng.uniform(least, most))


def _read_list(path: str | Path) -> FloatArray:
    """Return the gPUs, thousandths of a CPU and MiB (P, 3) of the pods of a list, without those that failed."""
    pods = read_numbers(path, COLUMNS, least=0)
    if "pod_phase" in pods:
        pods = pods[pods["pod_phase"] != "Failed"]
    if pods.empty:
        raise InputError(f"{path}: no pods")
    return pods[["num_gpu", "cpu_milli", "memory_mib"]].to_numpy(dtype=float)
