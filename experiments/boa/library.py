"""More named instances of BOA: random classes of three sizes, under several budgets."""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from instances.boa import random_allocation

SHAPES = ((3, 20, 32), (5, 60, 64), (10, 30, 16))
BUDGETS = (1.2, 2.0, 4.0)


def instance_sets() -> list[InstanceSet]:
    """Return the sets in addition to those of the reference study, whose budget is twice the minimum."""
    return [
        InstanceSet(
            f"{classes}x{epochs}x{widths}, {budget:g} times the least",
            [
                random_allocation(classes, epochs, widths, rescale=0.5, budget_over_least=budget, seed=seed)
                for seed in range(4)
            ],
            ("exact",),
        )
        for classes, epochs, widths in SHAPES
        for budget in BUDGETS
    ]
