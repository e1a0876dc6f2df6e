"""Instances of `boa-allocation` made up or taken from a paper's example."""

from __future__ import annotations

import numpy as np

from instances.boa.allocation import BoaAllocation, Epoch, JobClass
from instances.boa.budget import on_grid_from
from instances.boa.least import least_budget
from instances.boa.speedup import Points, Speedup
from instances.envelope import Instance, Reference
from instances.errors import InputError

FIGURE_1_LEAST = 0.88  # from this budget on, both widths of Figure 1 are above 1


def figure_1(budget: float) -> Instance:
    """The two job types of Figure 1 of "How to Rent GPUs on a Budget", with the closed form of their optimum.

    Type 1 follows Amdahl's law with 0.8 parallel, type 2 the square root; arrival rates 0.4, sizes 1. With the
    multiplier 1/t² the widths are 2t and t², which cost 0.32 + 0.56 t and take 0.1 + 0.7/t on average.
    """
    epoch = {"amdahl": Speedup(amdahl=0.8), "root": Speedup(power=0.5)}
    classes = tuple(
        JobClass(name=name, arrivals_per_hour=0.4, rescale_hours=0.0, epochs=(Epoch(size_hours=1.0, speedup=speedup),))
        for name, speedup in epoch.items()
    )
    data = BoaAllocation(budget=budget, classes=classes, widths="continuous")
    known = None
    if budget >= FIGURE_1_LEAST:
        optimum = 0.1 + 0.7 * 0.56 / (budget - 0.32)
        known = Reference(objective=optimum, bound=optimum, proved_by="closed form t = (b - 0.32)/0.56, 0.1 + 0.7/t")
    return Instance.of(data, f"figure-1-budget-{budget:g}", "How to Rent GPUs on a Budget, Figure 1", known)


def random_allocation(
    classes: int,
    epochs: int | tuple[int, int],
    widths: int,
    *,
    size_hours: float = 1.0,
    rescale: float = 0.1,
    budget_over_least: float = 2.0,
    seed: int = 0,
) -> Instance:
    """Classes whose parallel share drifts over their epochs, mostly upwards, as batches grow while a model converges.

    Speedups are Amdahl's as tables of 1 ... `widths` GPUs.

    `epochs`: how many each class has, or the range it is drawn from. `size_hours`: median size of a job.
    `rescale`: the mean ratio of the rescaling time to the mean size of an epoch. `budget_over_least`: the budget as a
    multiple of the least that the jobs cost. Raises InputError for an argument out of range.
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


def _random_class(
    rng: np.random.Generator, name: str, epochs: int, widths: int, size_hours: float, rescale: float
) -> JobClass:
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
