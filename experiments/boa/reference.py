"""Reference sets of BOA: Figure 1 of the short paper, newTrace at several budgets, and random classes.

The random sets differ in the ratio of the rescaling time to the length of an epoch, on which the heuristics' gaps turn.
"""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from experiments.harness.overview import OverviewRow
from instances.boa import figure_1, newtrace, random_allocation

FIGURE_1_BUDGETS = (1.0, 1.5, 2.0, 3.0)
NEWTRACE_BUDGETS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
COMPARED = ("exact", "width-calculator", "width-calculator-whole-job", "one-width", "equal-share")

OVERVIEW_ROW = OverviewRow(
    "BOA",
    "how many GPUs each job gets",
    "boa-allocation",
    "newTrace, 1.1 to 5 x load",
    "5 applications, 42 epochs",
    "width-calculator",
    "Width Calculator",
)


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """`literal too` is small enough for the literal model; the others compare heuristics with the fast exact method."""
    seeds = range(2 if quick else 8)
    small = [random_allocation(2, 5, 8, rescale=0.5, seed=seed) for seed in range(1 if quick else 3)]
    budgets = NEWTRACE_BUDGETS[1:4] if quick else NEWTRACE_BUDGETS
    sets = [
        InstanceSet("figure 1", [figure_1(b) for b in FIGURE_1_BUDGETS], ("all",)),
        InstanceSet("2x5x8, literal too", small, ("all",)),
        InstanceSet("newTrace, 1.1 to 5 x load", [newtrace(b) for b in budgets], (*COMPARED, "randomised")),
    ]
    for rescale in (0.1, 1.0, 3.0):
        made = [random_allocation(5, 60, 64, rescale=rescale, seed=seed) for seed in seeds]
        sets.append(InstanceSet(f"5x60x64, rescaling {rescale:g} epochs", made, COMPARED))
    return sets
