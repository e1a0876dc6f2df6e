"""Spaces of packings: the workloads of Table 7 in any numbers, and full bins cut in pieces, whose packing is known."""

from __future__ import annotations

from collections.abc import Callable

from experiments.eva.cut_bins import RULES, CutBins
from experiments.harness.experiment import Quick, Study
from experiments.worst_cases.space import RepeatedEntries, Space
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options
from instances.eva import table_7
from instances.eva.packing import DEFAULT

WORKLOADS_SEED = 0  # of a draw that is large enough to have all nine workloads


def nine_workloads() -> RepeatedEntries:
    """Build the space of the nine workloads of Table 7 on Eva's 21 instance types, sorted by increasing demand."""
    base = table_7(1000, WORKLOADS_SEED)
    tasks = sorted(base.data.tasks, key=lambda task: [task.demand[DEFAULT][r] for r in base.data.resources])
    return RepeatedEntries(Instance.of(base.data.with_(tasks=tuple(tasks)), "eva-nine", "Eva (EuroSys'25), Table 7"))


SPACES: dict[str, dict[str, Callable[[], Space]]] = {
    "eva-packing": {
        "nine-workloads": nine_workloads,
        "cut-bins-2d": lambda: CutBins(2, 12, 3),
        "cut-bins-3d": lambda: CutBins(3, 6, 3),
        "cut-bins-4d": lambda: CutBins(4, 4, 3),
    },
}
SWEEPS = (
    Sweep("eva-packing", "nine-workloads", 7, (20,)),
    Sweep("eva-packing", "cut-bins-2d", 0, (2, 3, 4, 5, 6, 7, 8), tuple(RULES), seeds=1),
    Sweep("eva-packing", "cut-bins-3d", 0, (2, 3, 5, 8), tuple(RULES), seeds=1),
    Sweep("eva-packing", "cut-bins-4d", 0, (2, 3, 5, 8), tuple(RULES), seeds=1),
)


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the heuristics of Eva."""
    return study_of("eva", SWEEPS, options, quick)
