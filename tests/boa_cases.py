"""Draw small instances of BOA's allocation, with optima by enumeration that share no code with models."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from instances.boa import BoaAllocation, Epoch, GpuType, JobClass, Points, Speedup, compute_min_budget, on_grid_from

WIDE_BUDGET = 1e8


@st.composite
def allocations(
    draw: st.DrawFn, *, types: int = 1, rescale: bool = True, most_epochs: int = 4, most_widths: int = 3
) -> BoaAllocation:
    """Whole widths and measured tables, read either way, convex or not; budgets from the least to four times that.

    - `draw`: of Hypothesis.
    - `types`: number of GPU types.
    - `rescale`: whether classes may have rescaling times.
    - `most_epochs`: most epochs of the first class.
    - `most_widths`: most GPUs of a table.
    """
    sizes = st.integers(1, 40).map(lambda n: n / 20)
    names = [f"type-{h}" for h in range(types)]

    def table() -> dict[str, Any]:
        gains = draw(st.lists(st.integers(-40, 160), min_size=0, max_size=most_widths - 1))
        speedup = [1.0]
        for gain in gains:
            speedup.append(max(0.1, speedup[-1] + gain / 100))
        return {"table": {"gpus": list(range(1, len(speedup) + 1)), "speedup": speedup}}

    def speedup() -> Speedup:
        return Speedup.model_validate(table() if types == 1 else {name: table() for name in names})

    classes = []
    for i in range(draw(st.integers(1, 2))):
        epochs = draw(st.integers(1, most_epochs if i == 0 else 2))
        classes.append(
            JobClass(
                name=f"class-{i}",
                arrivals_per_hour=draw(st.floats(0.2, 3)),
                weight=draw(st.sampled_from([1.0, 2.5])),
                rescale_hours=draw(st.sampled_from([0.0, 0.05, 0.4])) if rescale else 0.0,
                epochs=tuple(Epoch(size_hours=draw(sizes), speedup=speedup()) for _ in range(epochs)),
            )
        )
    prices = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=types, max_size=types))
    gpu_types = tuple(GpuType(name=n, price=p) for n, p in zip(names, prices, strict=True))
    data = BoaAllocation(
        budget=WIDE_BUDGET,
        gpu_types=gpu_types,
        classes=tuple(classes),
        widths="integer",
        speedup_reading=draw(st.sampled_from(["measured", "hull"])),
    )
    least = compute_min_budget(data)
    budget = max(least * draw(st.floats(1, 4)), on_grid_from(least))
    return BoaAllocation.model_validate(data.model_dump() | {"budget": budget})


def policies(data: BoaAllocation) -> Iterator[dict[str, Any]]:
    """Every choice of one width, and one type, for each class and epoch."""
    options = [
        [
            [(t.name, k) for t in data.gpu_types for k in range(1, _last(epoch, t.name) + 1)]
            for epoch in job_class.epochs
        ]
        for job_class in data.classes
    ]
    for chosen in product(*(product(*epochs) for epochs in options)):
        rows = dict(zip((c.name for c in data.classes), chosen, strict=True))
        if data.heterogeneous:
            record = {c: [[{"type": t, "width": k, "fraction": 1.0}] for t, k in row] for c, row in rows.items()}
            yield {"assignment": record}
        else:
            yield {"widths": {c: [k for _, k in row] for c, row in rows.items()}}


def _last(epoch: Epoch, gpu_type: str) -> int:
    table = epoch.speedup.on(gpu_type).table
    assert table is not None
    return table.gpus[-1]


def exact_mean_jct(data: BoaAllocation, solution: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """Mean completion time and cost of a deterministic policy in rational numbers, where every table is concave."""
    total = sum((Fraction(c.weight) * Fraction(c.arrivals_per_hour) for c in data.classes), Fraction(0))
    time = cost = Fraction(0)
    for c in data.classes:
        before = None
        for epoch, width in zip(c.epochs, solution["widths"][c.name], strict=True):
            table = epoch.speedup.table
            assert isinstance(table, Points)
            hours = Fraction(epoch.size_hours) / Fraction(table.speedup[table.gpus.index(width)])
            hours += Fraction(c.rescale_hours) if width != before else 0
            time += Fraction(c.weight) * Fraction(c.arrivals_per_hour) * hours / total
            cost += Fraction(c.arrivals_per_hour) * hours * width * Fraction(data.gpu_types[0].price)
            before = width
    return time, cost


def real_widths(seed: int, types: int = 1, most_classes: int = 2, most_epochs: int = 3) -> BoaAllocation:
    """Formulas and uneven tables, some classes that change at no cost, budgets from the least on."""
    rng = np.random.default_rng(seed)
    names = [f"t{h}" for h in range(types)]

    def curve() -> dict[str, Any]:
        kind = rng.random()
        if kind < 0.35:
            return {"amdahl": float(rng.choice([0, 0.5, 0.99, rng.uniform()]))}
        if kind < 0.6:
            return {"power": float(rng.choice([0, 0.9, rng.uniform()]))}
        gpus = [1, *sorted(rng.choice(np.arange(2, 20), 5, replace=False).tolist())]
        speedup = np.maximum(0.1, np.cumsum([1.0, *rng.uniform(-0.4, 1.6, 5)]))
        return {"table": {"gpus": gpus, "speedup": speedup.tolist()}}

    def epoch() -> Epoch:
        content = curve() if types == 1 else {name: curve() for name in names}
        return Epoch(size_hours=float(rng.uniform(0.05, 2)), speedup=Speedup.model_validate(content))

    classes = tuple(
        JobClass(
            name=f"c{i}",
            arrivals_per_hour=float(rng.uniform(0.2, 3)),
            weight=float(rng.choice([1, 2.5])),
            rescale_hours=float(rng.choice([1e-9, 0.01, 0.05, 0.4] if i == 0 else [0, 0.05, 0.4])),
            epochs=tuple(epoch() for _ in range(rng.integers(1, most_epochs + 1))),
        )
        for i in range(rng.integers(1, most_classes + 1))
    )
    gpu_types = tuple(GpuType(name=name, price=float(rng.choice([0.5, 1, 3]))) for name in names)
    cap = None if rng.random() < 0.5 else int(rng.integers(2, 30))
    data = BoaAllocation(budget=1e8, gpu_types=gpu_types, classes=classes, widths="continuous", max_width=cap)
    least = compute_min_budget(data)
    budget = max(on_grid_from(least), least * float(rng.choice([1.0001, 1.05, 1.3, 2, 4])))
    return BoaAllocation.model_validate(data.model_dump() | {"budget": budget})
