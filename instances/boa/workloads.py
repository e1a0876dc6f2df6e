"""Workloads of `boa-renting`: of a job trace and a table of speedups in public CSV forms, or drawn from a seed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from instances.arrays import FloatArray
from instances.boa.allocation import Epoch
from instances.boa.examples import newtrace
from instances.boa.renting import BoaRenting, RentingClass, RentingEpoch, RentingJob
from instances.boa.traces import HOUR, Seconds, epochs_of, jobs_of, parse_by_application, rescale_times
from instances.envelope import Instance
from instances.errors import InputError
from instances.fields import LONGEST_DAYS, refuse_outside, refuse_seed, refuse_too_many, refuse_unless_positive
from instances.tables import as_numbers, format_in_one_line
from instances.validation import input_errors, validate

if TYPE_CHECKING:
    import pandas as pd

SHORTEST = 2.0**-60  # smallest share of the time in a burst that floating-point sums can represent


@dataclass(frozen=True)
class BurstParameters:
    """Parameters of the synthetic trace of section 6.4 that the paper does not state.

    - `low`: the low rate as a share of the mean rate.
    - `cycle_hours`: mean time from a burst to the next.
    """

    low: float = 0.04
    cycle_hours: float = 1.0


@dataclass(frozen=True)
class TwoRates:
    """A Poisson process with two `rates` per hour; `leaving` are the rates at which it leaves each state."""

    rates: tuple[float, float]
    leaving: tuple[float, float]

    @property
    def c2(self) -> float:
        """Return the squared coefficient of variation of the times between arrivals."""
        (l1, l2), (s1, s2) = self.rates, self.leaving
        return 1 + 2 * s1 * s2 * (l1 - l2) ** 2 / ((s1 + s2) ** 2 * (l1 * l2 + l1 * s2 + l2 * s1))

    @classmethod
    def of(cls, rate: float, c2: float, parameters: BurstParameters = BurstParameters()) -> TwoRates:
        """Return the process with a mean rate and a C²: the larger C², the shorter and more intense the bursts.

        Raises InputError if C² is below 1 or above that of every process.
        """
        if not np.isfinite(c2) or c2 < 1:
            raise InputError(f"c2: must be a number >= 1, got {c2}")
        if c2 > (greatest := cls.greatest_c2(rate, parameters)):
            raise InputError(f"c2: must be <= {greatest:.4g} at {rate:g} arrivals an hour, got {c2}")
        least, most = 0.0, 1.0  # share of the time in a burst
        for _ in range(200):
            share = (least + most) / 2
            if _fit_share(rate, share, parameters).c2 > c2:
                least = share
            else:
                most = share
        return _fit_share(rate, most, parameters)

    @staticmethod
    def greatest_c2(rate: float, parameters: BurstParameters = BurstParameters()) -> float:
        """Return the supremum of C² for a mean rate, which belongs to bursts of zero length."""
        return _fit_share(rate, SHORTEST, parameters).c2

    def path(self, hours: float, rng: np.random.Generator) -> RatePath:
        """Draw the path of the rate over `hours` hours."""
        s1, s2 = self.leaving
        state, now = int(rng.random() < s1 / (s1 + s2)), 0.0  # drawn from the stationary distribution
        edges, mass = [0.0], [0.0]
        while now < hours:
            passed = min(rng.exponential(1 / self.leaving[state]), hours - now)
            now += passed
            edges.append(now)
            mass.append(mass[-1] + self.rates[state] * passed)
            state = 1 - state
        return RatePath(np.array(edges), np.array(mass))


@dataclass(frozen=True, eq=False)
class RatePath:
    """A path of the rate: the expected arrivals `masses` up to each of the hours `edges`, linear in between."""

    edges: FloatArray
    masses: FloatArray

    @property
    def mass(self) -> float:
        """Return the expected number of arrivals."""
        return float(self.masses[-1])

    def times(self, number: int, rng: np.random.Generator) -> FloatArray:
        """Draw `number` sorted arrivals in hours: the Poisson process conditional on this number."""
        return np.interp(np.sort(rng.uniform(0, self.mass, number)), self.masses, self.edges)


def _fit_share(rate: float, share: float, p: BurstParameters) -> TwoRates:
    low = p.low * rate
    high = low + (rate - low) / share
    return TwoRates((high, low), (1 / (share * p.cycle_hours), 1 / ((1 - share) * p.cycle_hours + 1e-12)))


BUDGET_OVER_LOAD = 1.25


def trace_renting(
    trace: str | Path,
    *,
    speedups: str | Path | None = None,
    believed: str | None = None,
    budget: float | None = None,
    applications: Collection[str] = (),
    limit: int | None = None,
    c2: float | None = None,
    gpus_per_node: int = 4,
    acquisition_seconds: float = 120.0,
    reclamation_seconds: float = 0.0,
    rescale_seconds: Seconds = None,
    cold_rescale_seconds: Seconds = None,
    period_seconds: float = 0.0,
    estimate_seconds: float = 0.0,
    window_seconds: float = 0.0,
    max_width: int | None = None,
    partial_jobs: bool = True,
    seed: int = 0,
) -> Instance[BoaRenting]:
    """Build the workload of a job trace: one class per application, with all its jobs of one size.

    - `trace`: CSV file with the columns `name, time, application`; `time` of submission in seconds; where there is a
      column `num_replicas`, it is what users ask for.
    - `speedups`: CSV file with the columns `app, epoch_index, epoch_size_gpu_seconds, k, speedup`; default: the table
      measured on NVIDIA T4 that comes with the package.
    - `believed`: column of `speedups` that policies believe; default: the truth.
    - `budget`: GPUs on average; default: 1.25 times the load.
    - `applications`: whose jobs are taken, as the paper filters traces (section 6.1); default: all.
    - `limit`: jobs, the first of those; default: all.
    - `c2`: the same jobs in the same order arrive in a Poisson process of two rates with this squared coefficient of
      variation of the times between arrivals, drawn with `seed`; default: as in the trace.
    - `rescale_seconds`: time of a rescaling, for all or by application; default: the measured times.
    - `cold_rescale_seconds`: time of one on a node that has hosted none of the class yet, for all or by application;
      default: as on any other.
    - the others: fields of the workload.

    Raises InputError for a file that cannot be read, a missing column, a bad value or an unknown application.
    """
    if believed is not None and speedups is None:
        raise InputError(f"believed: needs a table of speedups with that column, got {believed}")
    true, belief = epochs_of(speedups), epochs_of(speedups, believed) if believed else None
    rows = jobs_of(trace, true).sort_values("time", kind="stable")
    for name in applications:
        if name not in set(rows["application"]):
            raise InputError(f"applications: there must be jobs of each in {trace}, got {format_in_one_line(name)!r}")
    rows = rows[rows["application"].isin(list(applications))] if applications else rows
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
    asked = _find_requests(trace, rows)
    counts = {str(name): int(number) for name, number in rows["application"].value_counts(sort=False).items()}
    pauses, cold = rescale_times(counts, rescale_seconds), _cold(counts, cold_rescale_seconds)
    classes = [_class(name, n / hours, pauses[name], cold.get(name), true[name], belief) for name, n in counts.items()]
    load = sum(c.believed.load for c in classes)
    with input_errors(str(trace), root="data"):
        content = {
            "budget_gpus": BUDGET_OVER_LOAD * load if budget is None else budget,
            "gpus_per_node": gpus_per_node,
            "acquisition_seconds": acquisition_seconds,
            "reclamation_seconds": reclamation_seconds,
            "period_seconds": period_seconds,
            "max_width": max_width,
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
        + list(applications)
        + ([f"every-{period_seconds:g}-s"] if period_seconds else [])
        + ([f"at-most-{max_width}"] if max_width else [])
    )
    curves = Path(speedups).name if speedups else "measured on NVIDIA T4"
    source = f"{Path(trace).name}: {len(rows)} jobs in {hours:.4g} h; speedups {curves}"
    source += f", policies believe {believed}" if believed else ""
    return Instance.of(data, name, source)


def _cold(names: Collection[str], said: Seconds) -> dict[str, float | None]:
    return parse_by_application("cold_rescale_seconds", names, said)


def _class(
    name: str,
    rate: float,
    pause: float,
    cold: float | None,
    true: tuple[Epoch, ...],
    belief: dict[str, tuple[Epoch, ...]] | None,
) -> RentingClass:
    """Return the class of an application with its true values and those that policies estimate."""
    epochs = tuple(
        RentingEpoch(
            size_hours=epoch.size_hours,
            speedup=epoch.speedup,
            believed_speedup=belief[name][j].speedup if belief else None,
        )
        for j, epoch in enumerate(true)
    )
    return RentingClass(
        name=name, arrivals_per_hour=rate, rescale_seconds=pause, cold_rescale_seconds=cold, epochs=epochs
    )


def _find_requests(trace: str | Path, rows: pd.DataFrame) -> list[int | None]:
    """Return the requests of users, if the trace contains them."""
    if "num_replicas" not in rows:
        return [None] * len(rows)
    found = as_numbers(rows["num_replicas"])
    for place in np.flatnonzero(~((found >= 1) & (found == np.floor(found)))):
        value = format_in_one_line(rows["num_replicas"].iloc[place])
        line = int(rows.index.to_numpy()[place]) + 2
        raise InputError(f"{trace}: line {line}: num_replicas: must be a whole number >= 1, got {value}")
    return [int(value) for value in found]


def poisson_renting(
    hours: float,
    seed: int,
    *,
    rate: float = 1.0,
    c2: float | None = None,
    budget: float | None = None,
    budget_over_load: float = 1.25,
    gpus_per_node: int = 4,
    acquisition_seconds: float = 120.0,
    reclamation_seconds: float = 0.0,
    rescale_seconds: Seconds = None,
    cold_rescale_seconds: Seconds = None,
    period_seconds: float = 0.0,
    estimate_seconds: float = 0.0,
    window_seconds: float = 0.0,
    max_width: int | None = None,
) -> Instance[BoaRenting]:
    """Draw a workload of the five classes of newTrace, with Poisson arrivals at the trace's mean rates.

    - `hours`: hours within which jobs arrive.
    - `seed`: seed of all draws.
    - `rate`: factor on the arrival rates.
    - `c2`: squared coefficient of variation of the times between arrivals, with bursts that all classes share; `None`
      for none.
    - `budget`: GPUs on average, or `budget_over_load` as a multiple of the load.
    - `rescale_seconds`, `cold_rescale_seconds`: as in `trace_renting`.
    - the others: fields of the workload.

    Raises InputError for an argument out of range, or if no job arrives.
    """
    refuse_seed(seed)
    refuse_unless_positive("hours", hours, 24 * LONGEST_DAYS)
    refuse_unless_positive("rate", rate)
    kinds = {c.name: c for c in newtrace().data.classes}
    refuse_too_many("hours", hours * rate * sum(c.arrivals_per_hour for c in kinds.values()))
    pauses, cold = rescale_times(kinds, rescale_seconds), _cold(kinds, cold_rescale_seconds)
    classes = tuple(
        _class(name, rate * c.arrivals_per_hour, pauses[name], cold.get(name), c.epochs, None)
        for name, c in kinds.items()
    )
    load = sum(c.believed.load for c in classes)
    content = {
        "budget_gpus": budget_over_load * load if budget is None else budget,
        "gpus_per_node": gpus_per_node,
        "acquisition_seconds": acquisition_seconds,
        "reclamation_seconds": reclamation_seconds,
        "period_seconds": period_seconds,
        "max_width": max_width,
        "estimate_seconds": estimate_seconds,
        "window_seconds": window_seconds,
        "classes": classes,
        "jobs": _poisson_jobs(classes, hours, c2, np.random.default_rng(seed)),
    }
    arrivals = "Poisson arrivals" if c2 is None else f"arrivals in bursts, C2 {c2:g},"
    source = f"newTrace's classes, {arrivals} over {hours:g} h, rates times {rate:g}, seed {seed}"
    return Instance.of(validate(BoaRenting, content), f"boa-renting-{hours:g}h-seed-{seed}", source)


def _poisson_jobs(
    classes: tuple[RentingClass, ...], hours: float, c2: float | None, rng: np.random.Generator
) -> list[RentingJob]:
    arrivals = []
    total = sum(c.arrivals_per_hour for c in classes)
    bursts = None if c2 is None else TwoRates.of(total, c2).path(hours, rng)
    for c in classes:
        number = rng.poisson(c.arrivals_per_hour * (hours if bursts is None else bursts.mass / total))
        times = np.sort(rng.uniform(0, 3600 * hours, number)) if bursts is None else 3600 * bursts.times(number, rng)
        arrivals += [(time, f"{c.name}-{k}", c.name) for k, time in enumerate(np.round(times, 3).tolist())]
    return [RentingJob(id=job, job_class=name, arrival_seconds=time) for time, job, name in sorted(arrivals)]
