"""Partial Reconfiguration (section 4.5): keep the instances that pay, place the other tasks anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from heuristics.eva.reconfiguration import ROUNDING, TieBreak, reconfigure
from heuristics.eva.reservation_price import ReservationPrices
from instances import InputError
from instances.eva import EvaPacking, RentedInstance, constraints_of, packing_arrays


def partial_reconfiguration(
    data: EvaPacking, current: Sequence[RentedInstance], tie_break: TieBreak = "alignment"
) -> tuple[RentedInstance, ...]:
    """Partial Reconfiguration (section 4.5): the configuration that keeps the current instances that pay.

    An instance pays while the TNRP of the tasks there reaches the price of the type. The tasks of instances that do not
    pay, and the tasks of `data` that are not in `current`, are placed by Algorithm 1. Kept instances come first, in
    order, with their ids; new ones have none. Tasks that have ended must have been taken out of `current`; an instance
    without tasks is given up. Raises InputError where `current` holds a task or type that `data` does not have, or too
    many of a task, and for limits of instances and prices of running ones, which it does not know.
    """
    for name in constraints_of(data):
        if name in ("max_instances", "running"):
            raise InputError(f"data.{name}: Partial Reconfiguration has no such constraint")
    prices = ReservationPrices(data)
    placed = Counter[str]()
    for hosted in current:
        placed.update(hosted.tasks)
    for key, k in placed.items():
        if k > prices.count(key):
            raise InputError(f"current configuration: {k} tasks {key} on instances, {prices.count(key)} in the cluster")
    kept = [h for h in current if any(h.tasks.values()) and prices.saving(h) >= -ROUNDING]
    staying = Counter[str]()
    for hosted in kept:
        staying.update(hosted.tasks)
    moved = [
        # The job of a task keeps the same size, however few of the tasks of that job are placed anew.
        task.model_copy(update={"count": task.count - staying[task.key], "tasks_in_job": prices.job_size(task)})
        for task in data.tasks
        if task.count > staying[task.key]
    ]
    if not moved:
        return tuple(kept)
    subset = packing_arrays(data.model_copy(update={"tasks": tuple(moved)}))
    placed_anew = subset.solution(reconfigure(subset, tie_break))["instances"]
    new = (RentedInstance(group["type"], group["tasks"]) for group in placed_anew for _ in range(group["count"]))
    return (*kept, *new)
