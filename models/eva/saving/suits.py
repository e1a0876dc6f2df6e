"""Whether column generation for the net saving suits an instance; asked before its compiled loops are loaded."""

from __future__ import annotations

from instances.eva.arrays import PackingArrays
from models.eva.saving.parameters import SavingParameters


def suits(arrays: PackingArrays, parameters: SavingParameters) -> bool:
    """Whether no instance can hold more tasks than the search for patterns, and its rounding, allow for."""
    return all(most_tasks(arrays, k) <= parameters.most_tasks for k in range(len(arrays.price)))


def most_tasks(arrays: PackingArrays, kind: int) -> int:
    """A bound on the tasks that an instance of a type holds."""
    fits = arrays.fits[kind]
    if not fits.any():
        return 0
    least = arrays.demand_of_type[kind][fits].min(axis=0).tolist()
    room = [q // d for q, d in zip(arrays.capacity[kind].tolist(), least, strict=True) if d]
    return int(min([sum(arrays.count[fits].tolist()), *room]))
