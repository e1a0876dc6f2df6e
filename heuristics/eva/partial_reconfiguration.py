"""Partial Reconfiguration (section 4.5): keep the instances that pay, place the other tasks anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heuristics.eva.reconfiguration import ROUNDING, TieBreak, reconfigure
from heuristics.eva.worth import Worth
from instances import InputError
from instances.eva import EvaPacking, packing_arrays


@dataclass(frozen=True)
class Hosted:
    """One rented instance and its tasks, by their keys (`workload` or `workload@job`)."""

    instance_type: str
    tasks: Mapping[str, int]


def partial_reconfiguration(
    data: EvaPacking, current: Sequence[Hosted], tie_break: TieBreak = "alignment"
) -> tuple[Hosted, ...]:
    """The next configuration: `current` without the instances whose tasks are no longer worth their price, and the
    tasks of those, and the tasks of `data` not in `current`, placed by Algorithm 1.

    Instances that stay come first, in order, and are the same objects. Tasks that have ended must have been taken out
    of `current`; an instance without tasks is given up. Raises InputError where `current` holds a task or type that
    `data` does not have, or too many of a task.
    """
    worth = Worth(data)
    placed = Counter[str]()
    for hosted in current:
        placed.update(hosted.tasks)
    for key, k in placed.items():
        if k > worth.count(key):
            raise InputError(f"current configuration: {k} tasks {key} on instances, {worth.count(key)} in the cluster")
    kept = [h for h in current if any(h.tasks.values()) and worth.saving(h.instance_type, h.tasks) >= -ROUNDING]
    staying = Counter[str]()
    for hosted in kept:
        staying.update(hosted.tasks)
    moved = [
        # a task's job keeps its size, whichever of its tasks are placed anew
        task.model_copy(update={"count": task.count - staying[task.key], "tasks_in_job": worth.job_size(task)})
        for task in data.tasks
        if task.count > staying[task.key]
    ]
    if not moved:
        return tuple(kept)
    subset = packing_arrays(data.model_copy(update={"tasks": tuple(moved)}))
    placed_anew = subset.solution(reconfigure(subset, tie_break))["instances"]
    new = (Hosted(group["type"], group["tasks"]) for group in placed_anew for _ in range(group["count"]))
    return (*kept, *new)
