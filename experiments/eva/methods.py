"""Methods for Eva's packing, and for a round of its scheduler."""

from __future__ import annotations

import numpy as np

from experiments.harness.entry import Entry, select_by_name
from instances.eva import EvaPacking, EvaReconfiguration, InstanceType, Task, packing_arrays
from instances.eva.arrays import LARGEST_AMOUNT, WholeAmounts, contents

LITERAL_BINARIES = 250_000  # A literal model with more binaries y is not built.
TIED = 1_000_000  # with more tasks of equal reservation prices, placed one by one, a run takes seconds
ONE_BY_ONE = 100_000  # with more tasks on one instance, placed one by one, a run takes seconds
ONE_TYPE = 5_000  # with more tasks the greedy heuristics of vector packing take seconds
LITERAL_CONTENTS = 2_000  # with more different contents of a type the literal model of a round is not built
LITERAL_TASKS = 16  # with more tasks HiGHS takes over a minute for the literal model


def _unfit_literal(data: EvaPacking) -> str | None:
    tasks = sum(task.count for task in data.tasks)
    if data.objective != "cost":
        return "section 4.1 states the objective cost only"
    if tasks**2 > LITERAL_BINARIES:
        return f"{tasks} tasks make {tasks**2:,} binaries y, more than {LITERAL_BINARIES:,}"
    largest = WholeAmounts.of(data).largest
    if largest > LARGEST_AMOUNT:
        return f"an amount is {largest:,} times its unit, more than HiGHS can tell apart, {LARGEST_AMOUNT:,}"
    return None


def _costly_literal(data: EvaPacking) -> bool:
    return sum(task.count for task in data.tasks) > LITERAL_TASKS


def _unfit_exact(data: EvaPacking) -> str | None:
    """Say why `exact` cannot take an instance: with limited instances, the net saving needs all patterns.

    Without limits, only the patterns that save cost by themselves are needed.
    """
    if data.objective == "cost" or not data.has_limits:
        return None
    from models.eva.net_saving import saving_patterns  # the only import of a model before a method is called
    from models.eva.parameters import DEFAULTS

    if saving_patterns(packing_arrays(data), DEFAULTS.saving_patterns) is not None:
        return None
    return f"net-saving with limits of instances needs all patterns, more than {DEFAULTS.saving_patterns:,}"


def _unfit_one_by_one(data: EvaPacking) -> str | None:
    """Say why Algorithm 1 takes too long, if it puts tasks one after the other on an instance.

    It does if tasks slow each other down, or if tasks of different demands have the same reservation price.
    """
    if data.objective == "cost":
        arrays = packing_arrays(data)
        _, tied, entries = np.unique(arrays.reservation_price, return_inverse=True, return_counts=True)
        tasks = int(arrays.count[entries[tied] > 1].sum())
        return f"{tasks:,} tasks of equal reservation prices, more than {TIED:,}" if tasks > TIED else None
    most = max((_count_fitting(data, task, kind) for task in data.tasks for kind in data.instance_types), default=0)
    return f"an instance holds {most:,} tasks, more than {ONE_BY_ONE:,}" if most > ONE_BY_ONE else None


def _unfit_first(data: EvaPacking) -> str | None:
    """Like `_unfit_one_by_one`, for the variant that fills an instance with tasks of one entry at once."""
    return None if data.objective == "cost" else _unfit_one_by_one(data)


def _count_fitting(data: EvaPacking, task: Task, kind: InstanceType) -> int:
    """Return the number of tasks of one entry that an instance of a type holds."""
    need = task.demand_on(kind.family)
    return int(min([task.count, *(kind.capacity[r] // need[r] for r in data.resources if need[r])]))


def _unfit_round(data: EvaReconfiguration) -> str | None:
    """Say why the literal model of a round has too many variables, if it does."""
    for kind in data.instance_types:
        if contents(data, kind, LITERAL_CONTENTS) is None:
            return f"a {kind.name} can hold more than {LITERAL_CONTENTS:,} different things"
    return None


def _unfit_one_type(data: EvaPacking) -> str | None:
    """Return why heuristics for one instance type without a limit cannot take an instance; `None` if they can."""
    if data.objective != "cost":
        return "it has no interference"
    if len(data.instance_types) > 1 or data.has_limits:
        return "it packs on one instance type without limits"
    tasks = sum(task.count for task in data.tasks)
    return f"it packs {tasks:,} tasks one by one, more than {ONE_TYPE:,}" if tasks > ONE_TYPE else None


_PACKERS = (
    Entry("no-packing", "heuristics.eva:no_packing"),
    Entry("full-reconfiguration", "heuristics.eva:full_reconfiguration", _unfit_one_by_one),
    Entry("full-reconfiguration-artifact", "heuristics.eva:full_reconfiguration_artifact", _unfit_one_by_one),
    Entry("full-reconfiguration-first", "heuristics.eva:full_reconfiguration_first", _unfit_first),
)
# The first never costs more than `full-reconfiguration`, whose sets of tasks it rents cheaper types for.
_STARTS = select_by_name(_PACKERS, "full-reconfiguration-artifact", "full-reconfiguration-first", "no-packing")
_CHOICE = Entry("eva-choice", "heuristics.eva.round:eva_choice")
METHODS: dict[str, tuple[Entry, ...]] = {
    "eva-packing": (
        Entry("exact", "models.eva:exact", _unfit_exact, starts=_STARTS),
        Entry("literal", "models.eva:literal", _unfit_literal, _costly_literal),
        *_PACKERS,
        Entry("first-fit-decreasing", "heuristics.eva.vector_packing:first_fit_decreasing", _unfit_one_type),
        Entry("best-fit-decreasing", "heuristics.eva.vector_packing:best_fit_decreasing", _unfit_one_type),
        Entry("dot-product", "heuristics.eva.vector_packing:dot_product", _unfit_one_type),
    ),
    "eva-reconfiguration": (
        Entry("exact", "models.eva.reconfiguration:exact_reconfiguration", starts=(_CHOICE,)),
        Entry("short-list", "models.eva.reconfiguration:short_list", starts=(_CHOICE,)),
        Entry("literal", "models.eva.reconfiguration:literal_reconfiguration", _unfit_round),
        Entry("stay", "heuristics.eva.round:stay"),
        Entry("full", "heuristics.eva.round:full"),
        Entry("partial", "heuristics.eva.round:partial"),
        _CHOICE,
    ),
}
