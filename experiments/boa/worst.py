"""Spaces of worst cases of BOA, and its task for the judge."""

from __future__ import annotations

from itertools import product

from experiments.boa.methods import METHODS
from experiments.harness.experiment import Quick, Study
from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from experiments.worst_cases.space import RepeatedEntries
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options
from instances.boa import BoaAllocation, Epoch, JobClass, Points, Speedup, random_allocation

SPEEDUPS = ((1.0, 1.0), (1.0, 1.5), (1.0, 3.0), (1.5, 1.5), (1.5, 2.0), (1.5, 3.0), (2.0, 2.0), (2.0, 2.5))
WEIGHTS = (1.0, 5.0)
WIDTHS = (1, 2, 4, 8, 16)
CURVES = {
    "flat": (1.0, 1.0, 1.0, 1.0, 1.0),
    "saturating": (1.0, 1.8, 2.7, 3.2, 3.2),
    "linear": (1.0, 2.0, 4.0, 8.0, 16.0),
}
BUDGET = 1.5  # times the load


def _classes(name: str, source: str, classes: tuple[JobClass, ...], max_width: int) -> RepeatedEntries:
    data = BoaAllocation(budget=BUDGET * len(classes), classes=classes, widths="integer", max_width=max_width)
    return RepeatedEntries(Instance.of(data, name, source), per_entry=(("budget", BUDGET),))


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
        for weight, (two, three) in product(WEIGHTS, SPEEDUPS)
    )
    return _classes("boa-three-widths", "classes by their speedups on two and on three GPUs", classes, 3)


def build_two_epochs() -> RepeatedEntries:
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
        for rescale, weight, first, second in product((0.0, 0.5), (1.0, 25.0), CURVES, CURVES)
    )
    source = "classes by the speedups of two epochs on up to sixteen GPUs"
    return _classes("boa-two-epochs", source, classes, WIDTHS[-1])


SPACES = {"boa-allocation": {"three-widths": three_widths, "two-epochs": build_two_epochs}}
RULES = ("width-calculator", "width-calculator-artifact", "one-width", "equal-share")
SWEEPS = (
    Sweep("boa-allocation", "three-widths", 3, (4,), RULES),
    Sweep("boa-allocation", "two-epochs", 2, (4,), RULES),
)


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the heuristics of BOA."""
    return study_of("boa", SWEEPS, options, quick)


def widths(seed: int) -> JudgeTask:
    """Eight sets of five classes of up to 60 epochs, whose jobs stop for an epoch when they change their width."""
    made = [random_allocation(5, 60, 64, rescale=1.0, seed=s) for s in range(seed, seed + 8)]
    return task_of("boa-widths", "widths of five classes with rescaling", METHODS["boa-allocation"][0], made)


TASKS: dict[str, Drawn] = {"boa-widths": widths}
