"""Workloads of `eva-cloud` from Eva's own traces in CSV form, with the interference of the artifact's simulations."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from instances.envelope import Instance
from instances.errors import InputError
from instances.eva.cloud import CloudJob, EvaCloud, LargerSets, TaskClass
from instances.eva.packing import DEFAULT, Throughput
from instances.eva.tables import RESOURCES, cloud_types, interference, table
from instances.fields import refuse_outside, refuse_seed, refuse_unless_positive
from instances.tables import one_line, read_numbers
from instances.validation import input_errors

if TYPE_CHECKING:
    import pandas as pd

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
    if not 0 <= multi_task <= 1:
        raise InputError(f"multi_task: must be in [0, 1], got {multi_task}")
    if multi_gpu is not None and not 0 <= multi_gpu <= 1:
        raise InputError(f"multi_gpu: must be in [0, 1], got {multi_gpu}")
    if limit is not None and limit < 1:
        raise InputError(f"limit: must be >= 1, got {limit}")
    if first < 0:
        raise InputError(f"first: must be >= 0, got {first}")
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
        where = f"{path}: workload_class {one_line(name)}"
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
