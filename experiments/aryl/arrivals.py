"""How arrivals in bursts were fitted: the jobs an hour in Philly's trace, and the demand of Helios as a check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.aryl.scenarios import TRACE
from experiments.harness.experiment import Claim, Context, Experiment
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from instances import Options
from instances.aryl import loaning_days
from instances.aryl.populations import HOUR, Bursts
from instances.tables import read_numbers, read_rows

HELIOS = "traces/helios_earth_vc_demand_10min.csv"
FIRST_DAY = 27
"""October 1, 2017 in Philly's trace, which is thin before."""
LAGS = (0, 1, 2, 3, 6, 24, 48, 72, 168)
SCALES = (0.0, 0.5, 1.0)
SERVERS, DAYS, WARM_DAYS, SEEDS = 98, 31, 5, 10
"""Of Helios' Earth cluster, of 784 GPUs; days until long jobs are there; and seeds."""


def covariances(trace: Path, options: Options) -> dict[str, Any]:
    """Return log(1 + covariance) by lag of the jobs per hour, relative to the means of the hours of the day."""
    hours = read_numbers(trace, ("submit_s",), least=0)["submit_s"].to_numpy(float) // HOUR - FIRST_DAY * 24
    whole = int(hours.max() + 1) // 24 * 24
    counts = np.bincount(hours[(hours >= 0) & (hours < whole)].astype(int), minlength=whole)
    factor = counts / np.tile(counts.reshape(-1, 24).mean(axis=0), whole // 24)
    off = factor / factor.mean() - 1
    found = [float(np.mean(off[: whole - lag] * off[lag:])) for lag in LAGS]
    found[0] -= 1 / float(counts.mean())  # subtract the variance of a Poisson process
    return {"logs": np.log1p(found).tolist()}


def fitted(lag: int) -> float:
    """Return the theoretical value at a lag for the factors that `Bursts` draws."""
    bursts = Bursts()
    return bursts.hour_sd**2 * bursts.memory**lag + bursts.day_sd**2 * max(0.0, 1 - lag / 24)


def demand(path: Path, options: Options) -> dict[str, Any]:
    """Return the coefficient of variation of the demanded GPUs."""
    rows = read_rows(path, ("time",))
    gpus = rows[[name for name in rows if str(name).endswith("_demand_gpus")]].sum(axis=1).to_numpy(float)
    return {"variation": float(gpus.std() / gpus.mean())}


def drawn_demand(trace: Path, seed: int, bursts: float, options: Options) -> dict[str, Any]:
    """The same of a workload whose jobs all run at once on their base demand, by the hour."""
    jobs = loaning_days(DAYS, seed, trace=trace, training_servers=SERVERS, bursts=bursts).data.jobs
    begin = np.array([job.arrival_seconds for job in jobs])
    end = begin + np.array([job.work / job.min_workers for job in jobs])
    gpus = np.array([job.min_workers * job.gpus_per_worker for job in jobs])
    change = np.zeros(DAYS * 24 + 1)
    for times, sign in ((begin, 1), (end, -1)):
        np.add.at(change, np.ceil(times / HOUR).astype(int).clip(0, DAYS * 24), sign * gpus)
    held = np.cumsum(change)[WARM_DAYS * 24 : DAYS * 24]
    return {"variation": float(held.std() / held.mean())}


def _tasks(context: Context) -> list[Measurement]:
    trace, seeds = context.trace(TRACE), range(1 if context.quick else SEEDS)
    return [
        Measurement.of(covariances, context.options, trace=trace),
        Measurement.of(demand, context.options, path=context.trace(HELIOS)),
        *(
            Measurement.of(drawn_demand, context.options, trace=trace, seed=seed, bursts=scale)
            for scale in SCALES
            for seed in seeds
        ),
    ]


def _claims(context: Context, outcomes: Sequence[Measured]) -> list[Claim]:
    where, (philly, helios, *drawn) = "not in the paper", outcomes
    found = [
        Claim(
            where,
            f"Philly: log-covariance of jobs an hour, lag {lag} h",
            None,
            log,
            "no figure",
            f"{fitted(lag):.2f} drawn",
        )
        for lag, log in zip(LAGS, philly.figures["logs"], strict=True)
    ]
    what = "standard deviation of the demand of GPUs, of its mean"
    found.append(Claim(where, f"Helios Earth: {what}", None, helios.figures["variation"], "no figure"))
    size = len(drawn) // len(SCALES)
    for place, scale in enumerate(SCALES):
        sample = Sample.of([one.figures["variation"] for one in drawn[place * size : (place + 1) * size]])
        found.append(Claim(where, f"drawn, bursts {scale:g}: {what}", None, sample.mean, "no figure", sample=sample))
    return found


ARRIVALS = Experiment("arrivals", "Arrivals in bursts, and how they were fitted", _tasks, _claims, (TRACE, HELIOS))
