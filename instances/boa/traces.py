"""Instances of `boa-allocation` and workloads of `boa-renting` from a job trace and a table of measured speedups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from instances.boa.allocation import BoaAllocation, Epoch, JobClass
from instances.boa.speedup import Points, Speedup
from instances.envelope import Instance
from instances.errors import InputError
from instances.tables import format_in_one_line, read_numbers, read_packaged
from instances.validation import input_errors, validate

if TYPE_CHECKING:
    import pandas as pd


def table(name: str) -> pd.DataFrame:
    """Return the table `data/<name>.csv`; `data/README.md` describes its columns."""
    return read_packaged("instances.boa", name)


HOUR = 3600.0  # seconds
Seconds = float | Mapping[str, float] | None
"""A time for all applications, or by name."""
SPEEDUP_COLUMNS = ("epoch_index", "epoch_size_gpu_seconds", "k", "speedup")


def from_trace(
    trace: str | Path,
    *,
    budget_over_load: float,
    speedups: str | Path | None = None,
    hours: float | None = None,
    rescale_seconds: Seconds = None,
    max_width: int | None = None,
) -> Instance[BoaAllocation]:
    """Build the instance of a job trace: one class per application, which arrives at its average rate (section 3.1).

    - `trace`: CSV file with the columns `name, time, application`; `time` of submission in seconds.
    - `budget_over_load`: budget as a multiple of the load Σ λ E[X].
    - `speedups`: CSV file with the columns `app, epoch_index, epoch_size_gpu_seconds, k, speedup`; default: the table
      measured on NVIDIA T4 that comes with the package.
    - `hours`: length of the trace, hours; default: until the last submission.
    - `rescale_seconds`: time of a rescaling, seconds, for all or by application; default: the measured times, also of
      the applications that are not named.
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
    """Return the rows of a job trace, whose applications must be among those given. Raises InputError."""
    jobs = read_numbers(trace, ("time",), text=("name", "application"))
    if jobs.empty:
        raise InputError(f"{trace}: has no jobs")
    for line, application in zip(jobs.index + 2, jobs["application"], strict=True):
        if application not in applications:
            known = ", ".join(applications)
            raise InputError(
                f"{trace}: line {line}: application: must be one of {known}, got {format_in_one_line(application)!r}"
            )
    return jobs


def allocation_of(
    counts: Mapping[str, int],
    hours: float,
    epochs: Mapping[str, tuple[Epoch, ...]],
    rescale_seconds: Seconds,
    budget_over_load: float,
    max_width: int | None = None,
) -> BoaAllocation:
    """Build the data of a workload, with one class per application.

    - `counts`: number of jobs of each application.
    - `hours`: length of the workload, hours.
    - `epochs`: epochs of each application.
    - `rescale_seconds`: as in `from_trace`.
    - `budget_over_load`: budget as a multiple of the load Σ λ E[X].
    - `max_width`: most GPUs of a job, if limited.

    Raises InputError.
    """
    if not np.isfinite(hours) or hours <= 0:
        raise InputError(f"hours: must be > 0, got {hours}")
    seconds = rescale_times(counts, rescale_seconds)
    classes = [
        JobClass(name=name, arrivals_per_hour=jobs / hours, rescale_hours=seconds[name] / HOUR, epochs=epochs[name])
        for name, jobs in counts.items()
    ]
    load = sum(c.load for c in classes)
    content = {"budget": budget_over_load * load, "classes": classes, "widths": "integer", "max_width": max_width}
    return validate(BoaAllocation, content)


def rescale_times(applications: Collection[str], said: Seconds) -> dict[str, float]:
    """Return the rescaling time of each application: the given one, or the measured one. Raises InputError."""
    measured = table("applications").set_index("app")["rescale_seconds_sia"].to_dict()
    found = parse_by_application("rescale_seconds", applications, said)
    for name in applications:
        if found.setdefault(name, measured.get(name)) is None:
            raise InputError(f"rescale_seconds: must be given for application {name}")
    return {name: float(found[name] or 0.0) for name in applications}


def parse_by_application(what: str, applications: Collection[str], said: Seconds) -> dict[str, float | None]:
    """Return a value for all applications, or values by name. Raises InputError for an unknown application."""
    if said is None or isinstance(said, int | float):
        return {} if said is None else dict.fromkeys(applications, said)
    for name in said:
        if name not in applications:
            raise InputError(f"{what}: application must be one of {', '.join(applications)}, got {name!r}")
    return dict(said)


def epochs_of(path: str | Path | None = None, column: str = "speedup") -> dict[str, tuple[Epoch, ...]]:
    """Return the epochs of each application of a speedup table; default: the table of the package.

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
            at = f"{where}: {format_in_one_line(app)}, epoch {index:g}"
            sizes = group["epoch_size_gpu_seconds"].unique()
            if len(sizes) != 1 or sizes[0] <= 0:
                raise InputError(f"{at}: epoch_size_gpu_seconds must be one number > 0, got {sizes.tolist()}")
            with input_errors(at):
                made.append(Epoch(size_hours=float(sizes[0]) / HOUR, speedup=Speedup(table=_points(at, group, column))))
        epochs[str(app)] = tuple(made)
    return epochs


def _points(at: str, group: pd.DataFrame, column: str) -> Points:
    """Return the speedups of an epoch, in rows by width. Raises InputError for an invalid width or speedup."""
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
