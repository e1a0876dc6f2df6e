"""Instances of `boa-allocation` and workloads of `boa-renting` from a job trace and a table of measured speedups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from instances.boa.allocation import BoaAllocation, Epoch, JobClass
from instances.boa.bursts import TwoRates
from instances.boa.renting import BoaRenting, RentingClass, RentingEpoch
from instances.boa.speedup import Points, Speedup
from instances.envelope import Instance
from instances.errors import InputError
from instances.fields import refuse_outside, refuse_seed
from instances.tables import as_numbers, one_line, packaged, read_numbers
from instances.validation import input_errors, validated

if TYPE_CHECKING:
    import pandas as pd


def table(name: str) -> pd.DataFrame:
    """The table `data/<name>.csv`, whose columns `data/README.md` describes."""
    return packaged("instances.boa", name)


HOUR = 3600.0  # seconds
SPEEDUP_COLUMNS = ("epoch_index", "epoch_size_gpu_seconds", "k", "speedup")


def from_trace(
    trace: str | Path,
    *,
    budget_over_load: float,
    speedups: str | Path | None = None,
    hours: float | None = None,
    rescale_seconds: float | Mapping[str, float] | None = None,
    max_width: int | None = None,
) -> Instance[BoaAllocation]:
    """The instance of a job trace: a class for each application, which arrives at its long-run average (section 3.1).

    - `trace`: CSV file with the columns `name, time, application`; `time` of submission in seconds.
    - `budget_over_load`: budget as a multiple of the load Σ λ E[X].
    - `speedups`: CSV file with the columns `app, epoch_index, epoch_size_gpu_seconds, k, speedup`; default: the table
      measured on NVIDIA T4 that comes with the package.
    - `hours`: length of the trace, hours; default: until the last submission.
    - `rescale_seconds`: time of a rescaling, seconds, for all or by application; default: the measured times.
    - `max_width`: most GPUs of a job; default: the last width of each table.

    Raises InputError for a file that cannot be read, a missing column, a bad value or an unknown application.
    """
    epochs = epochs_of(speedups)
    jobs = jobs_of(trace, epochs)
    span = float(jobs["time"].max()) / HOUR if hours is None else hours
    counts = jobs["application"].value_counts(sort=False)
    with input_errors(str(trace), root="data"):
        data = allocation_of(
            {str(a): int(n) for a, n in counts.items()}, span, epochs, rescale_seconds, budget_over_load, max_width
        )
    curves = Path(speedups).name if speedups else "measured on NVIDIA T4"
    source = f"{Path(trace).name}: {len(jobs)} jobs in {span:.4g} h; speedups {curves}"
    with input_errors(str(trace)):
        return Instance.of(data, f"{Path(trace).stem}-budget-{budget_over_load:g}", source)


def jobs_of(trace: str | Path, applications: Collection[str]) -> pd.DataFrame:
    """The rows of a job trace, whose applications must be among those given. Raises InputError."""
    jobs = read_numbers(trace, ("time",), text=("name", "application"))
    if jobs.empty:
        raise InputError(f"{trace}: has no jobs")
    for line, application in zip(jobs.index + 2, jobs["application"], strict=True):
        if application not in applications:
            known = ", ".join(applications)
            raise InputError(
                f"{trace}: line {line}: application: must be one of {known}, got {one_line(application)!r}"
            )
    return jobs


def allocation_of(
    counts: Mapping[str, int],
    hours: float,
    epochs: Mapping[str, tuple[Epoch, ...]],
    rescale_seconds: float | Mapping[str, float] | None,
    budget_over_load: float,
    max_width: int | None = None,
) -> BoaAllocation:
    """The data of a workload, a class for each application.

    - `counts`: number of jobs of each application.
    - `hours`: length of the workload, hours.
    - `epochs`: epochs of each application.
    - `rescale_seconds`: time of a rescaling, seconds, for all or by application; `None` for the measured times.
    - `budget_over_load`: budget as a multiple of the load Σ λ E[X].
    - `max_width`: most GPUs of a job, if limited.

    Raises InputError.
    """
    if not np.isfinite(hours) or hours <= 0:
        raise InputError(f"hours: must be > 0, got {hours}")
    measured = table("applications").set_index("app")["rescale_seconds_sia"].to_dict()
    given = measured if rescale_seconds is None else rescale_seconds
    classes = []
    for name, jobs in counts.items():
        seconds = given.get(name) if isinstance(given, Mapping) else given
        if seconds is None:
            raise InputError(f"rescale_seconds: must be given for application {name}")
        classes.append(
            JobClass(
                name=name, arrivals_per_hour=jobs / hours, rescale_hours=float(seconds) / HOUR, epochs=epochs[name]
            )
        )
    load = sum(c.load for c in classes)
    content = {"budget": budget_over_load * load, "classes": classes, "widths": "integer", "max_width": max_width}
    return validated(BoaAllocation, content)


def epochs_of(path: str | Path | None = None, column: str = "speedup") -> dict[str, tuple[Epoch, ...]]:
    """The epochs of each application of a speedup table; default: the table of the package.

    `column`: where the speedups are. Raises InputError.
    """
    where = "speedups.csv" if path is None else str(path)
    columns = (*SPEEDUP_COLUMNS, column)
    rows = table("speedups") if path is None else read_numbers(path, dict.fromkeys(columns), text=("app",))
    if column not in rows:
        raise InputError(f"{where}: missing column {column}")
    if rows.empty:
        raise InputError(f"{where}: has no rows")
    epochs: dict[str, tuple[Epoch, ...]] = {}
    for app, of_app in rows.groupby("app", sort=False):
        made = []
        for index, group in of_app.groupby("epoch_index", sort=True):
            at = f"{where}: {one_line(app)}, epoch {index:g}"
            sizes = group["epoch_size_gpu_seconds"].unique()
            if len(sizes) != 1 or sizes[0] <= 0:
                raise InputError(f"{at}: epoch_size_gpu_seconds must be one number > 0, got {sizes.tolist()}")
            with input_errors(at):
                made.append(Epoch(size_hours=float(sizes[0]) / HOUR, speedup=Speedup(table=_points(at, group, column))))
        epochs[str(app)] = tuple(made)
    return epochs


def _points(at: str, group: pd.DataFrame, column: str) -> Points:
    """The speedups of an epoch, in rows by width. Raises InputError for a width or a speedup out of place."""
    k, speedup = group["k"].to_numpy(), group[column].to_numpy(dtype=float)
    lines = group.index.to_numpy() + 2
    for i, line in enumerate(lines):
        if k[i] != int(k[i]) or k[i] < 1:
            raise InputError(f"{at}, line {line}: k must be a whole number >= 1, got {k[i]:g}")
        if speedup[i] <= 0:
            raise InputError(f"{at}, line {line}: {column} must be > 0, got {speedup[i]:g}")
        if i and k[i] <= k[i - 1]:
            raise InputError(f"{at}, line {line}: k must be sorted without repetition, got {k[i]:g} after {k[i - 1]:g}")
    if k[0] != 1:
        raise InputError(f"{at}, line {lines[0]}: k must begin with 1, got {k[0]:g}")
    return Points(gpus=tuple(int(v) for v in k), speedup=tuple(speedup.tolist()))


BUDGET_OVER_LOAD = 1.25


def trace_renting(
    trace: str | Path,
    *,
    speedups: str | Path | None = None,
    believed: str | None = None,
    budget: float | None = None,
    limit: int | None = None,
    c2: float | None = None,
    gpus_per_node: int = 4,
    acquisition_seconds: float = 120.0,
    reclamation_seconds: float = 0.0,
    rescale_seconds: float | None = None,
    estimate_seconds: float = 0.0,
    window_seconds: float = 0.0,
    partial_jobs: bool = True,
    seed: int = 0,
) -> Instance[BoaRenting]:
    """The workload of a job trace: a class for each application, all of whose jobs are of one size.

    - `trace`: CSV file with the columns `name, time, application`; `time` of submission in seconds; where there is a
      column `num_replicas`, it is what users ask for.
    - `speedups`: CSV file with the columns `app, epoch_index, epoch_size_gpu_seconds, k, speedup`; default: the table
      measured on NVIDIA T4 that comes with the package.
    - `believed`: column of `speedups` that policies believe; default: the truth.
    - `budget`: GPUs on average; default: 1.25 times the load.
    - `limit`: jobs, the first of the trace; default: all.
    - `c2`: the same jobs in the same order arrive in a Poisson process of two rates with this squared coefficient of
      variation of the times between arrivals, drawn with `seed`; default: as in the trace.
    - `rescale_seconds`: time of a rescaling, for all; default: the measured times.
    - the others: fields of the workload.

    Raises InputError for a file that cannot be read, a missing column, a bad value or an unknown application.
    """
    if believed is not None and speedups is None:
        raise InputError(f"believed: needs a table of speedups with that column, got {believed}")
    true, held = epochs_of(speedups), epochs_of(speedups, believed) if believed else None
    rows = jobs_of(trace, true).sort_values("time", kind="stable")
    rows = rows.iloc[:limit] if limit else rows
    time = rows["time"].to_numpy(dtype=float)
    if len(early := np.flatnonzero(time < 0)):
        raise InputError(
            f"{trace}: line {int(rows.index.to_numpy()[early[0]]) + 2}: time: must be >= 0, got {time[early[0]]:g}"
        )
    refuse_seed(seed)
    hours = float(time.max()) / HOUR
    refuse_outside(f"{trace}: time", float(time.max()), 0)
    if hours <= 0:
        raise InputError(f"{trace}: all jobs arrive at once, at 0: there is no rate of arrival")
    if c2 is not None:
        rng = np.random.default_rng(seed)
        time = np.round(TwoRates.of(len(rows) / hours, c2).path(hours, rng).times(len(rows), rng) * HOUR, 6)
    asked = _requested(trace, rows)
    counts = {str(name): int(number) for name, number in rows["application"].value_counts(sort=False).items()}
    classes = [_class(name, number / hours, rescale_seconds, true[name], held) for name, number in counts.items()]
    load = sum(c.believed.load for c in classes)
    with input_errors(str(trace), root="data"):
        content = {
            "budget_gpus": BUDGET_OVER_LOAD * load if budget is None else budget,
            "gpus_per_node": gpus_per_node,
            "acquisition_seconds": acquisition_seconds,
            "reclamation_seconds": reclamation_seconds,
            "estimate_seconds": estimate_seconds,
            "window_seconds": window_seconds,
            "partial_jobs": partial_jobs,
            "classes": classes,
            "jobs": [
                {"id": job, "job_class": name, "arrival_seconds": at, "requested_gpus": gpus}
                for job, name, at, gpus in zip(
                    rows["name"].tolist(), rows["application"].tolist(), time.tolist(), asked, strict=True
                )
            ],
        }
        data = BoaRenting.model_validate(content)
    name = "-".join(
        [Path(trace).stem, f"{data.budget_gpus:g}-gpus"]
        + ([f"c2-{c2:g}-seed-{seed}"] if c2 is not None else [])
        + ([f"first-{limit}"] if limit else [])
        + ([f"nodes-of-{gpus_per_node}"] if gpus_per_node != 4 else [])
        + ([f"{acquisition_seconds:g}-s"] if acquisition_seconds != 120 else [])
    )
    curves = Path(speedups).name if speedups else "measured on NVIDIA T4"
    source = f"{Path(trace).name}: {len(rows)} jobs in {hours:.4g} h; speedups {curves}"
    source += f", policies are told {believed}" if believed else ""
    return Instance.of(data, name, source)


def _class(
    name: str,
    rate: float,
    rescale_seconds: float | None,
    true: tuple[Epoch, ...],
    believed: dict[str, tuple[Epoch, ...]] | None,
) -> RentingClass:
    """An application, what is true of it and what policies believe."""
    pauses = table("applications").set_index("app")["rescale_seconds_sia"].to_dict()
    pause = pauses.get(name) if rescale_seconds is None else rescale_seconds
    if pause is None:
        raise InputError(f"rescale_seconds: must be given for application {name}")
    epochs = tuple(
        RentingEpoch(
            size_hours=epoch.size_hours,
            speedup=epoch.speedup,
            believed_speedup=believed[name][j].speedup if believed else None,
        )
        for j, epoch in enumerate(true)
    )
    return RentingClass(name=name, arrivals_per_hour=rate, rescale_seconds=float(pause), epochs=epochs)


def _requested(trace: str | Path, rows: pd.DataFrame) -> list[int | None]:
    """What users ask for, where the trace says so."""
    if "num_replicas" not in rows:
        return [None] * len(rows)
    found = as_numbers(rows["num_replicas"])
    for place in np.flatnonzero(~((found >= 1) & (found == np.floor(found)))):
        value = one_line(rows["num_replicas"].iloc[place])
        line = int(rows.index.to_numpy()[place]) + 2
        raise InputError(f"{trace}: line {line}: num_replicas: must be a whole number >= 1, got {value}")
    return [int(value) for value in found]
