"""Spaces of rented GPUs: classes of jobs by their speedups on one to three GPUs, and of two epochs on up to sixteen."""

from __future__ import annotations

from experiments.harness.experiment import Quick, Study
from experiments.worst_cases.space import RepeatedEntries
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options
from instances.boa import BoaAllocation, Epoch, JobClass, Points, Speedup

SPEEDUPS = ((1.0, 1.0), (1.0, 1.5), (1.0, 3.0), (1.5, 1.5), (1.5, 2.0), (1.5, 3.0), (2.0, 2.0), (2.0, 2.5))
WEIGHTS = (1.0, 5.0)
WIDTHS = (1, 2, 4, 8, 16)
CURVES = {
    "flat": (1.0, 1.0, 1.0, 1.0, 1.0),
    "saturating": (1.0, 1.8, 2.7, 3.2, 3.2),
    "linear": (1.0, 2.0, 4.0, 8.0, 16.0),
}
BUDGET = 1.5  # times the load


def three_widths() -> RepeatedEntries:
    """Classes of one job of an hour an hour, on up to three GPUs, at a budget of one and a half times the load."""
    classes = tuple(
        JobClass(
            name=f"{two:g}x-{three:g}x-weight-{weight:g}",
            arrivals_per_hour=1.0,
            weight=weight,
            rescale_hours=0.0,
            epochs=(Epoch(size_hours=1.0, speedup=Speedup(table=Points(gpus=(1, 2, 3), speedup=(1.0, two, three)))),),
        )
        for weight in WEIGHTS
        for two, three in SPEEDUPS
    )
    data = BoaAllocation(budget=BUDGET * len(classes), classes=classes, widths="integer", max_width=3)
    base = Instance.of(data, "boa-three-widths", "classes by their speedups on two and on three GPUs")
    return RepeatedEntries(base, per_entry=(("budget", BUDGET),))


def two_epochs() -> RepeatedEntries:
    """Classes of two epochs on up to sixteen GPUs: each flat, saturating or linear in its speedup.

    An hour of work an hour on one GPU, of jobs of a weight, with or without half an hour of rescaling.
    """
    classes = tuple(
        JobClass(
            name=f"{first}-{second}-weight-{weight:g}-rescaling-{rescale:g}h",
            arrivals_per_hour=1.0,
            weight=weight,
            rescale_hours=rescale,
            epochs=tuple(
                Epoch(size_hours=0.5, speedup=Speedup(table=Points(gpus=WIDTHS, speedup=CURVES[name])))
                for name in (first, second)
            ),
        )
        for rescale in (0.0, 0.5)
        for weight in (1.0, 25.0)
        for first in CURVES
        for second in CURVES
    )
    data = BoaAllocation(budget=BUDGET * len(classes), classes=classes, widths="integer", max_width=WIDTHS[-1])
    base = Instance.of(data, "boa-two-epochs", "classes by the speedups of two epochs on up to sixteen GPUs")
    return RepeatedEntries(base, per_entry=(("budget", BUDGET),))


SPACES = {"boa-allocation": {"three-widths": three_widths, "two-epochs": two_epochs}}
RULES = ("width-calculator", "width-calculator-artifact", "one-width", "equal-share")
SWEEPS = (
    Sweep("boa-allocation", "three-widths", 3, (4,), RULES),
    Sweep("boa-allocation", "two-epochs", 2, (4,), RULES),
)


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the heuristics of BOA."""
    return study_of("boa", SWEEPS, options, quick)
