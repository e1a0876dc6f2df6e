"""Instances of `eva-packing` from lists of a cluster's pods, and workloads of `eva-cloud` from Eva's own traces."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from instances.arrays import FloatArray
from instances.envelope import Instance
from instances.errors import InputError
from instances.eva.cloud import CloudJob, EvaCloud, LargerSets, TaskClass
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Objective, Task, Throughput
from instances.eva.tables import RESOURCES, cloud_types, ec2_types, interference, table
from instances.fields import refuse_outside, refuse_seed, refuse_unless_positive
from instances.tables import format_in_one_line, read_numbers
from instances.validation import input_errors

if TYPE_CHECKING:
    import pandas as pd

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
    pods = _read_pods(path, POD_COLUMNS)
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
                f"{path}: workload_class {format_in_one_line(name)}: "
                f"jobs of one class must have one demand, got {len(demands)}"
            )
        workload_of[str(name)] = str(group["workload"].iloc[0])
        demand = dict(zip(RESOURCES, map(float, demands.pop()), strict=True))
        with input_errors(f"{path}: workload_class {format_in_one_line(name)}"):
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
    refuse_outside("n", n, 1)
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
        gpu, cpu, memory = _draw_pod(rng) if listed is None else listed[rng.integers(len(listed))].tolist()
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


def _draw_pod(rng: np.random.Generator) -> tuple[int, float, float]:
    """Return the gPUs, thousandths of a CPU and MiB of a pod in the ranges of `SHAPES`."""
    often = np.array([shape[0] for shape in SHAPES], dtype=float)
    _, gpus, low, high, least, most = SHAPES[rng.choice(len(SHAPES), p=often / often.sum())]
    cpu = float(rng.uniform(low, high))
    return gpus, 1000 * cpu, 1024 * cpu * float(rng.uniform(least, most))


def _read_pods(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the pods of a list without those that failed."""
    pods = read_numbers(path, columns, least=0)
    return pods[pods["pod_phase"] != "Failed"] if "pod_phase" in pods else pods


def _read_list(path: str | Path) -> FloatArray:
    """Return the gPUs, thousandths of a CPU and MiB (P, 3) of the pods of a list, without those that failed."""
    pods = _read_pods(path, COLUMNS)
    if pods.empty:
        raise InputError(f"{path}: no pods")
    return pods[["num_gpu", "cpu_milli", "memory_mib"]].to_numpy(dtype=float)


DURATIONS = {"gavel": "duration_s", "alibaba": "duration_alibaba_s"}
DELAYS = {
    "fetch_seconds": "fetch_delay_s",
    "build_seconds": "build_image_delay_s",
    "init_seconds": "init_delay_s",
    "kill_seconds": "kill_delay_s",
    "upload_seconds": "upload_delay_s",
}
SPEED = "full_throughput_iters_per_s"
UNMEASURED = 0.95
SEVERAL_GPUS = (2, 4, 2, 4, 2, 8, 4, 2, 4, 2)  # of the jobs with several, in turn: 5:4:1
PERIOD_SECONDS = 300.0
Durations = Literal["gavel", "alibaba"]
Interference = Literal["artifact", "artifact-generator", "figure-1"]


def trace_cloud(
    path: str | Path,
    *,
    durations: Durations = "gavel",
    shuffle: int | None = None,
    first: int = 0,
    limit: int | None = None,
    cpu: str = "vcpus",
    slowdown: Interference | float = "artifact",
    believed: float = UNMEASURED,
    hash_order: int | None = None,
    delay_factor: float = 1.0,
    arrival_rate: float = 1.0,
    multi_task: float = 0.0,
    multi_gpu: float | None = None,
    seed: int = 0,
    name: str | None = None,
) -> Instance[EvaCloud]:
    """Read the jobs of an Eva trace (section 6.1), each of one task, on the instance types of EC2.

    - `durations`: those drawn as in Gavel, or the pods' own lives; the latter count as a second at least.
    - `shuffle`: seed that shuffles the durations among the jobs; 2 gives Table 13.
    - `first`: number of jobs to skip; time begins with the period in which the next one arrives.
    - `limit`: maximum number of jobs.
    - `cpu`: `vcpus`, or `physical_cores` as the artifact's driver of 200 jobs has it.
    - `slowdown`: throughput as in the artifact's matrix, as its generator turns it, as in Figure 1, or one for all.
    - `believed`: throughput that a pair is believed to have before it was on an instance together.
    - `hash_order`: seed of the order of workloads in which the artifact's generator lists sets of three and more tasks,
      which the artifact leaves to Python's hashes; `None`: sets run at the product of their pairs.
    - `delay_factor`: factor on the jobs' delays, as in Figure 5; delays are rounded to seconds.
    - `arrival_rate`: factor on the arrival rate, as in Figure 8.
    - `multi_task`: share of the jobs that get 2 or 4 tasks, half of them each, as in Figure 7; drawn with `seed`.
    - `multi_gpu`: share of the jobs with 2, 4 or 8 GPUs, in the ratio of 5:4:1, as in Figure 6; drawn with `seed`.
      Jobs with one GPU take all but arrival and duration from a job of the trace with the drawn number of GPUs.

    Raises InputError for a file that cannot be read, a missing column or a bad value.
    """
    if durations not in DURATIONS:
        raise InputError(f"durations: must be one of {', '.join(DURATIONS)}, got {durations!r}")
    refuse_outside("delay_factor", delay_factor, 0)
    for seeds, value in (("seed", seed), ("shuffle", shuffle), ("hash_order", hash_order)):
        if value is not None:
            refuse_seed(value, seeds)
    refuse_unless_positive("arrival_rate", arrival_rate)
    refuse_outside("multi_task", multi_task, 0, 1)
    refuse_outside("multi_gpu", 0 if multi_gpu is None else multi_gpu, 0, 1)
    refuse_outside("limit", 1 if limit is None else limit, 1)
    refuse_outside("first", first, 0)
    column = DURATIONS[durations]
    numbers = ["arrival_s", column, "gpus", "vcpus", "ram_gb", SPEED, *DELAYS.values()]
    rows = read_numbers(path, numbers, text=("workload", "workload_class"), least=0)
    lengths: list[float] = rows[column].tolist()
    if shuffle is not None:
        place = list(range(len(lengths)))
        random.Random(shuffle).shuffle(place)
        lengths = [lengths[i] for i in place]
    if first >= len(rows):
        raise InputError(f"first: must be < {len(rows)}, the jobs of {path}, got {first}")
    end = None if limit is None else first + limit
    rows, lengths = _add_gpus(path, rows, slice(first, end), multi_gpu, seed), lengths[first:end]
    begin = rows["arrival_s"].iloc[0] // PERIOD_SECONDS * PERIOD_SECONDS if first else 0.0
    classes = _classes(path, rows, delay_factor)
    tasks = _tasks_of_jobs(len(rows), multi_task, seed)
    workloads = sorted({c.workload for c in classes})
    if hash_order is not None and slowdown != "artifact-generator":
        raise InputError(f"hash_order: goes with `slowdown` artifact-generator, got {slowdown}")
    with input_errors(str(path)):
        jobs = tuple(
            CloudJob(
                id=f"j{i}",
                arrival_seconds=(arrival - begin) / arrival_rate,
                duration_seconds=max(1.0, length),
                tasks={kind: k},
            )
            for i, (arrival, length, kind, k) in enumerate(
                zip(rows["arrival_s"].tolist(), lengths, rows["workload_class"], tasks, strict=True)
            )
        )
        data = EvaCloud(
            resources=RESOURCES,
            instance_types=cloud_types(cpu),
            classes=classes,
            jobs=jobs,
            throughput=_throughput(slowdown, workloads),
            larger_sets=None if hash_order is None else _larger_sets(workloads, hash_order),
            believed_throughput=believed,
            period_seconds=PERIOD_SECONDS,
        )
    what = (
        f"{len(jobs)} jobs"
        + (f" after the first {first}" if first else "")
        + f", {durations} durations"
        + (f" shuffled with seed {shuffle}" if shuffle is not None else "")
    )
    source = f"Eva trace {Path(path).name}: {what}, {cpu}, interference {slowdown}"
    source += f", delays x{delay_factor:g}, arrivals x{arrival_rate:g}"
    source += f", believed {believed:g}" if believed != UNMEASURED else ""
    source += "" if hash_order is None else f", sets listed in the order of seed {hash_order}"
    source += f", {multi_task:g} of several tasks, seed {seed}" if multi_task else ""
    source += f", {multi_gpu:g} of several GPUs, seed {seed}" if multi_gpu is not None else ""
    after = f"-from-{first}" if first else ""
    return Instance.of(data, name or f"eva-cloud-{Path(path).stem}-{durations}-{len(jobs)}{after}", source)


def _tasks_of_jobs(n: int, multi_task: float, seed: int) -> list[int]:
    """Draw the number of tasks of `n` jobs: a random share of them has alternately 2 or 4, the others 1."""
    tasks = [1] * n
    chosen = random.Random(seed).sample(range(n), round(multi_task * n))
    for i, place in enumerate(chosen):
        tasks[place] = (2, 4)[i % 2]
    return tasks


def _add_gpus(path: str | Path, rows: pd.DataFrame, taken: slice, multi_gpu: float | None, seed: int) -> pd.DataFrame:
    """Select the rows `taken`, and give several GPUs to a share of them; arrivals and durations stay."""
    chosen = rows[taken].reset_index(drop=True)
    if multi_gpu is None:
        return chosen
    draw = random.Random(seed)
    ones = [i for i, gpus in enumerate(chosen["gpus"]) if gpus == 1]
    wanted = round(multi_gpu * len(chosen)) - int((chosen["gpus"] > 1).sum())
    if wanted > len(ones):
        raise InputError(f"multi_gpu: {path} has {len(ones)} jobs with one GPU, too few for a share of {multi_gpu:g}")
    own = ["arrival_s", *DURATIONS.values()]
    others = [name for name in rows.columns if name not in own]
    for i, place in enumerate(draw.sample(ones, max(0, wanted))):
        gpus = SEVERAL_GPUS[i % len(SEVERAL_GPUS)]
        like = [j for j, number in enumerate(rows["gpus"]) if number == gpus]
        if not like:
            raise InputError(f"multi_gpu: {path} has no job with {gpus} GPUs")
        chosen.loc[place, others] = rows.iloc[draw.choice(like)][others]
    return chosen


def _classes(path: str | Path, rows: pd.DataFrame, delay_factor: float) -> tuple[TaskClass, ...]:
    """Return the classes of the jobs, in order of appearance.

    Raises InputError if two jobs of one class differ.
    """
    columns = ["workload", "gpus", "vcpus", "ram_gb", SPEED, *DELAYS.values()]
    found: dict[str, TaskClass] = {}
    for name, group in rows.groupby("workload_class", sort=False):
        kinds = group[columns].drop_duplicates()
        where = f"{path}: workload_class {format_in_one_line(name)}"
        if len(kinds) > 1:
            raise InputError(f"{where}: jobs of one class must be alike, got {len(kinds)} kinds")
        row = kinds.iloc[0]
        demand = zip(RESOURCES, (float(row["gpus"]), float(row["vcpus"]), float(row["ram_gb"])), strict=True)
        with input_errors(where):
            found[str(name)] = TaskClass(
                name=str(name),
                workload=str(row["workload"]),
                demand={DEFAULT: dict(demand)},
                iterations_per_second=float(row[SPEED]) or None,
                **{field: float(round(delay_factor * row[column])) for field, column in DELAYS.items()},
            )
    return tuple(found.values())


def _throughput(slowdown: Interference | float, workloads: list[str]) -> Throughput:
    if isinstance(slowdown, float | int):
        with input_errors("slowdown"):
            return Throughput(default=float(slowdown))
    if slowdown == "figure-1":
        return interference({name: name for name in workloads})
    if slowdown not in ("artifact", "artifact-generator"):
        raise InputError(f"slowdown: must be artifact, artifact-generator, figure-1 or a number, got {slowdown!r}")
    pairs = _read_matrix(turned=slowdown == "artifact-generator")
    known = set(workloads)
    pairwise = tuple((a, b, value) for (a, b), value in pairs.items() if {a, b} <= known)
    return Throughput(default=UNMEASURED, pairwise=pairwise)


def _read_matrix(*, turned: bool) -> dict[tuple[str, str], float]:
    """Read the pairs of the artifact's matrix; `turned`: as the artifact's generator of its interference map does.

    The generator sorts the two names of a pair but not their throughputs. If the matrix has the pair in the other
    order, each workload gets the throughput of the other.
    """
    rows = table("colocation_throughput_artifact").set_index("workload")
    pairs = {(str(a), str(b)): float(rows.loc[a, b]) for a in rows.index for b in rows.columns if rows.loc[a, b] > 0}
    if not turned:
        return pairs
    names = _artifact_names()
    order = {name: i for i, name in enumerate(rows.index)}
    return {
        (a, b): pairs[b, a] if (order[a] < order[b]) != (names[a] < names[b]) and a != b else value
        for (a, b), value in pairs.items()
    }


def _larger_sets(workloads: list[str], seed: int) -> LargerSets:
    """Return the throughputs that the artifact's generator computes for sets of three to ten tasks.

    It lists a set in the order of a hash set of all workloads, takes the products in this order, and enters them for
    the set in the order of names. The order of the hash set is another one in every run of Python.
    """
    names = _artifact_names()
    listed = list(names)
    random.Random(seed).shuffle(listed)
    known = set(workloads)
    pairwise = tuple((a, b, value) for (a, b), value in _read_matrix(turned=False).items() if {a, b} <= known)
    return LargerSets(
        throughput=Throughput(default=UNMEASURED, pairwise=pairwise),
        listed=tuple(name for name in listed if name in known),
        named=tuple(sorted(workloads, key=names.__getitem__)),
    )


def _artifact_names() -> dict[str, str]:
    """Return the artifact's names of the workloads."""
    own = table("workloads").set_index("name")["artifact_name"].to_dict()
    return {str(name).split("-")[0]: str(artifact) for name, artifact in own.items()}
