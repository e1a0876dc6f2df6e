"""Random instances of `boa-allocation`, each from a seed."""

from __future__ import annotations

import numpy as np

from instances.boa.allocation import BoaAllocation, Epoch, JobClass, compute_min_budget, on_grid_from
from instances.boa.speedup import Points, Speedup
from instances.envelope import Instance
from instances.fields import DIGITS, refuse_outside


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
    """Draw classes whose parallel share drifts over epochs, mostly upwards, as batches grow with convergence.

    Speedups are Amdahl's as tables of 1 ... `widths` GPUs.

    - `classes`: number of classes.
    - `epochs`: number of epochs of each class, or the range that numbers are drawn from.
    - `widths`: last width of the tables, GPUs.
    - `size_hours`: median size of a job, hours on one GPU.
    - `rescale`: mean ratio of the rescaling time to the mean size of an epoch.
    - `budget_over_least`: budget as a multiple of the minimum cost of the jobs.
    - `seed`: seed of all draws.

    Raises InputError for an argument out of range.
    """
    low, high = (epochs, epochs) if isinstance(epochs, int) else epochs
    refuse_outside("classes", classes, 1)
    refuse_outside("epochs", low, 1)
    refuse_outside("epochs", high, low)
    refuse_outside("widths", widths, 1)
    refuse_outside("size_hours", size_hours, 1e-6)
    refuse_outside("rescale", rescale, 0)
    refuse_outside("budget_over_least", budget_over_least, 1)
    rng = np.random.default_rng(seed)
    made = tuple(
        _random_class(rng, f"class-{i}", int(rng.integers(low, high + 1)), widths, size_hours, rescale)
        for i in range(classes)
    )
    data = BoaAllocation(budget=1e9, classes=made, widths="integer")
    least = compute_min_budget(data)
    budget = max(budget_over_least * least, on_grid_from(least))
    data = BoaAllocation(budget=budget, classes=made, widths="integer")
    shape = f"{classes}x{low if low == high else f'{low}-{high}'}x{widths}"
    source = f"generated: rescaling {rescale:g} of an epoch, budget {budget_over_least:g} times the least"
    return Instance.of(data, f"random-{shape}-rescale-{rescale:g}-budget-{budget_over_least:g}-seed-{seed}", source)


def _random_class(
    rng: np.random.Generator, name: str, epochs: int, widths: int, size_hours: float, rescale: float
) -> JobClass:
    """Draw a class of `epochs` epochs, whose parallel share is the logistic function of a noisy line."""
    logit = rng.normal(1.5, 1.0) + rng.uniform(-1, 3) * np.linspace(0, 1, epochs) + rng.normal(0, 0.3, epochs)
    # rounded, because the last digits of numpy's exp differ between processors
    parallel = np.round(1 / (1 + np.exp(-logit)), DIGITS)
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
