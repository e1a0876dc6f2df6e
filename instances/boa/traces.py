"""Instances of `boa-allocation` from a job trace and a table of measured speedups, both in their public CSV form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

from instances.boa.allocation import BoaAllocation, Epoch, JobClass
from instances.boa.hull import concave_hull
from instances.boa.speedup import Points, Speedup
from instances.envelope import Instance
from instances.errors import InputError
from instances.tables import one_line, read_numbers
from instances.validation import input_errors, validated

HOUR = 3600.0
SPEEDUP_COLUMNS = ("epoch_index", "epoch_size_gpu_seconds", "k", "speedup")


@cache
def table(name: str) -> pd.DataFrame:
    """The table `data/<name>.csv`; its columns are described in `data/README.md`."""
    with (files("instances.boa") / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def from_trace(
    trace: str | Path,
    *,
    budget_over_load: float,
    speedups: str | Path | None = None,
    hours: float | None = None,
    rescale_seconds: float | Mapping[str, float] | None = None,
    max_width: int | None = None,
) -> Instance:
    """One class for each application of a job trace (columns `name, time, application`; `time` in s).

    A class arrives at its number of jobs over the trace's `hours` (default: until the last submission), the paper's
    long-run average (section 3.1). Its epochs, their mean sizes and speedups are those of the table `speedups` (columns
    `app, epoch_index, epoch_size_gpu_seconds, k, speedup`; default: the measured one of this package).
    `rescale_seconds`: one time for all, or by application; default: the measured ones. `budget_over_load`: the budget
    as a multiple of the load Σ λ E[X].

    Raises InputError for a file that cannot be read, a missing column, a bad value or an unknown application.
    """
    jobs = read_numbers(trace, ("time",), text=("name", "application"))
    if jobs.empty:
        raise InputError(f"{trace}: has no jobs")
    epochs = _epochs(speedups)
    for line, application in zip(jobs.index + 2, jobs["application"], strict=True):
        if application not in epochs:
            raise InputError(
                f"{trace}: line {line}: application: must be one of {', '.join(epochs)}, got {one_line(application)!r}"
            )
    span = float(jobs["time"].max()) / HOUR if hours is None else hours
    counts = jobs["application"].value_counts(sort=False)
    with input_errors(str(trace)):
        data = _allocation(
            {str(a): int(n) for a, n in counts.items()}, span, epochs, rescale_seconds, budget_over_load, max_width
        )
    curves = Path(speedups).name if speedups else "measured on NVIDIA T4"
    source = f"{Path(trace).name}: {len(jobs)} jobs in {span:.4g} h; speedups {curves}"
    with input_errors(str(trace)):
        return Instance.of(data, f"{Path(trace).stem}-budget-{budget_over_load:g}", source)


def newtrace(budget_over_load: float = 2.0, *, rescale_seconds: float | None = None) -> Instance:
    """newTrace (960 jobs of five applications in 48 h, Table 1 of BOA) with speedups measured on NVIDIA T4.

    The budget is a multiple of the load; `rescale_seconds` replaces the measured times of a rescaling.
    """
    rows = table("traces").query("trace == 'newtrace'")
    counts = {str(row["application"]): int(row["jobs"]) for row in rows.to_dict("records")}
    hours = float(rows["last_submission_s"].iloc[0]) / HOUR
    data = _allocation(counts, hours, _epochs(None), rescale_seconds, budget_over_load, None)
    source = "newTrace of Sia (SOSP'23), workload-1, as in Table 1 of BOA; speedups measured on NVIDIA T4"
    return Instance.of(data, f"newtrace-budget-{budget_over_load:g}", source)


def hull_deviation(data: BoaAllocation) -> dict[str, float]:
    """For each class the most by which the concave hull of a measured table exceeds it, as a share of the measured."""
    most = {}
    for c in data.classes:
        tables = [curve.table for e in c.epochs for curve in (e.speedup, *e.speedup.by_type.values()) if curve.table]
        raw = [points.raw(data.max_width) for points in tables]
        most[c.name] = max((float((concave_hull(r[None])[0] / r - 1).max()) for r in raw), default=0.0)
    return most


def _allocation(
    counts: Mapping[str, int],
    hours: float,
    epochs: Mapping[str, tuple[Epoch, ...]],
    rescale_seconds: float | Mapping[str, float] | None,
    budget_over_load: float,
    max_width: int | None,
) -> BoaAllocation:
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


def _epochs(path: str | Path | None) -> dict[str, tuple[Epoch, ...]]:
    """The epochs of each application of a speedup table."""
    rows = table("speedups") if path is None else read_numbers(path, SPEEDUP_COLUMNS, text=("app",))
    where = "speedups.csv" if path is None else str(path)
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
                made.append(Epoch(size_hours=float(sizes[0]) / HOUR, speedup=Speedup(table=_points(at, group))))
        epochs[str(app)] = tuple(made)
    return epochs


def _points(at: str, group: pd.DataFrame) -> Points:
    k, speedup = group["k"].to_numpy(), group["speedup"].to_numpy(dtype=float)
    lines = group.index.to_numpy() + 2
    for i, line in enumerate(lines):
        if k[i] != int(k[i]) or k[i] < 1:
            raise InputError(f"{at}, line {line}: k must be a whole number >= 1, got {k[i]:g}")
        if speedup[i] <= 0:
            raise InputError(f"{at}, line {line}: speedup must be > 0, got {speedup[i]:g}")
        if i and k[i] <= k[i - 1]:
            raise InputError(f"{at}, line {line}: k must be sorted without repetition, got {k[i]:g} after {k[i - 1]:g}")
    if k[0] != 1:
        raise InputError(f"{at}, line {lines[0]}: k must begin with 1, got {k[0]:g}")
    return Points(gpus=tuple(int(v) for v in k), speedup=tuple(speedup.tolist()))
