"""Requests of a cluster's own pods: distinct demands in thousandths of a CPU and in MiB, each from a seed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from instances.arrays import FloatArray
from instances.envelope import Instance
from instances.errors import InputError
from instances.eva.packing import DEFAULT, EvaPacking, Task
from instances.eva.tables import RESOURCES, ec2_types
from instances.tables import read_numbers

# What pods of the production list of cluster-trace-gpu-v2023 ask for, with rounded frequencies in percent (Weng et al.,
# "Beware of Fragmentation", USENIX ATC'23): GPUs, least and most CPUs, GiB per CPU.
SHAPES = (
    (17, 0, 8.0, 32.0, 1.5, 4.5),
    (76, 1, 4.0, 16.0, 1.7, 4.5),
    (6, 1, 1.0, 8.0, 4.0, 8.0),
    (1, 2, 6.0, 17.4, 2.4, 10.7),
)
COLUMNS = ("cpu_milli", "memory_mib", "num_gpu")


def pod_requests(n: int, seed: int, *, path: str | Path | None = None, jitter: float = 0.1) -> Instance[EvaPacking]:
    """A random instance of `n` pods that all ask for something else, to be hosted on EC2, with vCPUs as CPUs.

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
    listed = None if path is None else _listed(path)
    kinds = ec2_types("vcpus")
    rooms = np.array([[k.capacity[r] for r in RESOURCES] for k in kinds]) * (1, 1000, 1024)
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
        if (np.array(amounts) <= rooms).all(axis=1).any():
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
    """GPUs, thousandths of a CPU and MiB of a pod in the ranges of `SHAPES`."""
    often = np.array([shape[0] for shape in SHAPES], dtype=float)
    _, gpus, low, high, least, most = SHAPES[rng.choice(len(SHAPES), p=often / often.sum())]
    cpu = float(rng.uniform(low, high))
    return gpus, 1000 * cpu, 1024 * cpu * float(rng.uniform(least, most))


def _listed(path: str | Path) -> FloatArray:
    """GPUs, thousandths of a CPU and MiB (P, 3) of the pods of a list, without those that failed."""
    pods = read_numbers(path, COLUMNS, least=0)
    if "pod_phase" in pods:
        pods = pods[pods["pod_phase"] != "Failed"]
    if pods.empty:
        raise InputError(f"{path}: no pods")
    return pods[["num_gpu", "cpu_milli", "memory_mib"]].to_numpy(dtype=float)
