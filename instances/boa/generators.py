"""Random instances of `boa-allocation` and workloads of `boa-renting`, each from a seed."""

from __future__ import annotations

import numpy as np

from instances.boa.allocation import BoaAllocation, Epoch, JobClass, least_budget, on_grid_from
from instances.boa.bursts import TwoRates
from instances.boa.examples import newtrace
from instances.boa.renting import BoaRenting, RentingClass, RentingEpoch, RentingJob
from instances.boa.speedup import Points, Speedup
from instances.boa.traces import table
from instances.envelope import Instance
from instances.errors import InputError
from instances.fields import LONGEST_DAYS, refuse_seed, refuse_too_many, refuse_unless_positive
from instances.validation import validated


def random_allocation(
    classes: int,
    epochs: int | tuple[int, int],
    widths: int,
    *,
    size_hours: float = 1.0,
    rescale: float = 0.1,
    budget_over_least: float = 2.0,
    seed: int = 0,
) -> Instance[BoaAllocation]:
    """Random classes whose parallel share drifts over their epochs, mostly upwards, as batches grow with convergence.

    Speedups are Amdahl's as tables of 1 ... `widths` GPUs.

    - `classes`: number of classes.
    - `epochs`: number of epochs of each class, or the range that numbers are drawn from.
    - `widths`: last width of the tables, GPUs.
    - `size_hours`: median size of a job, hours on one GPU.
    - `rescale`: mean ratio of the rescaling time to the mean size of an epoch.
    - `budget_over_least`: budget as a multiple of the least that the jobs cost.
    - `seed`: seed of all draws.

    Raises InputError for an argument out of range.
    """
    low, high = (epochs, epochs) if isinstance(epochs, int) else epochs
    limits: list[tuple[str, float, float]] = [
        ("classes", classes, 1),
        ("epochs", low, 1),
        ("epochs", high, low),
        ("widths", widths, 1),
        ("size_hours", size_hours, 1e-6),
        ("rescale", rescale, 0),
        ("budget_over_least", budget_over_least, 1),
    ]
    for name, value, least in limits:
        if not np.isfinite(value) or value < least:
            raise InputError(f"{name}: must be a number >= {least:g}, got {value}")
    rng = np.random.default_rng(seed)
    made = tuple(
        _random_class(rng, f"class-{i}", int(rng.integers(low, high + 1)), widths, size_hours, rescale)
        for i in range(classes)
    )
    data = BoaAllocation(budget=1e9, classes=made, widths="integer")
    least = least_budget(data)
    budget = max(budget_over_least * least, on_grid_from(least))
    data = BoaAllocation(budget=budget, classes=made, widths="integer")
    shape = f"{classes}x{low if low == high else f'{low}-{high}'}x{widths}"
    source = f"generated: rescaling {rescale:g} of an epoch, budget {budget_over_least:g} times the least"
    return Instance.of(data, f"random-{shape}-rescale-{rescale:g}-budget-{budget_over_least:g}-seed-{seed}", source)


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
    estimate_seconds: float = 0.0,
    window_seconds: float = 0.0,
) -> Instance[BoaRenting]:
    """A workload of the five classes of newTrace, whose jobs arrive as Poisson processes at the trace's mean rates.

    - `hours`: hours within which jobs arrive.
    - `seed`: seed of all draws.
    - `rate`: what the rates of arrival are multiplied with.
    - `c2`: squared coefficient of variation of the times between arrivals, with bursts that all classes share; `None`
      for none.
    - `budget`: GPUs on average, or `budget_over_load` as a multiple of the load.
    - the others: fields of the workload.

    Raises InputError for an argument out of range, or where no job arrives.
    """
    refuse_seed(seed)
    refuse_unless_positive("hours", hours, 24 * LONGEST_DAYS)
    refuse_unless_positive("rate", rate)
    refuse_too_many("hours", hours * rate * sum(c.arrivals_per_hour for c in newtrace().data.classes))
    pause = table("applications").set_index("app")["rescale_seconds_sia"].to_dict()
    classes = tuple(
        RentingClass(
            name=c.name,
            arrivals_per_hour=rate * c.arrivals_per_hour,
            rescale_seconds=float(pause[c.name]),
            epochs=tuple(RentingEpoch(size_hours=e.size_hours, speedup=e.speedup) for e in c.epochs),
        )
        for c in newtrace().data.classes
    )
    load = sum(c.believed.load for c in classes)
    content = {
        "budget_gpus": budget_over_load * load if budget is None else budget,
        "gpus_per_node": gpus_per_node,
        "acquisition_seconds": acquisition_seconds,
        "reclamation_seconds": reclamation_seconds,
        "estimate_seconds": estimate_seconds,
        "window_seconds": window_seconds,
        "classes": classes,
        "jobs": _poisson_jobs(classes, hours, c2, np.random.default_rng(seed)),
    }
    arrivals = "Poisson arrivals" if c2 is None else f"arrivals in bursts, C2 {c2:g},"
    source = f"newTrace's classes, {arrivals} over {hours:g} h, rates times {rate:g}, seed {seed}"
    return Instance.of(validated(BoaRenting, content), f"boa-renting-{hours:g}h-seed-{seed}", source)


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


def _random_class(
    rng: np.random.Generator, name: str, epochs: int, widths: int, size_hours: float, rescale: float
) -> JobClass:
    """A random class of `epochs` epochs, whose parallel share is the logistic function of a noisy line."""
    logit = rng.normal(1.5, 1.0) + rng.uniform(-1, 3) * np.linspace(0, 1, epochs) + rng.normal(0, 0.3, epochs)
    parallel = 1 / (1 + np.exp(-logit))
    sizes = size_hours / epochs * rng.lognormal(0, 1) * rng.lognormal(0, 0.5, epochs)
    k = np.arange(1, widths + 1)
    speedups = 1 / (1 - parallel[:, None] + parallel[:, None] / k)
    gpus = tuple(k.tolist())
    return JobClass(
        name=name,
        arrivals_per_hour=float(rng.uniform(0.5, 4)),
        rescale_hours=float(rescale * rng.uniform(0.5, 1.5) * sizes.mean()),
        epochs=tuple(
            Epoch(size_hours=size, speedup=Speedup(table=Points(gpus=gpus, speedup=tuple(row))))
            for size, row in zip(sizes.tolist(), speedups.tolist(), strict=True)
        ),
    )
