"""The choice of packing task by task, which loads no compiled code."""

from __future__ import annotations

from instances.eva.arrays import PackingArrays
from models.eva.item_packing.parameters import DEFAULTS, ItemParameters


def suits(arrays: PackingArrays, parameters: ItemParameters = DEFAULTS) -> bool:
    """Whether to pack item by item: neither very few tasks nor many, hardly any two alike, and few instance types."""
    tasks, types = sum(arrays.count.tolist()), int(arrays.fits.any(axis=1).sum())
    some = parameters.fewest_tasks <= tasks <= parameters.most_tasks and types <= parameters.most_types
    return some and tasks <= parameters.copies * arrays.classes
