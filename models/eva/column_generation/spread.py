"""Instances whose tasks are spread over many classes."""

from __future__ import annotations

from dataclasses import dataclass

from instances.eva.arrays import PackingArrays
from models.eva.column_generation.parameters import ColumnGenerationParameters


@dataclass(frozen=True)
class Spread:
    """Whether classes are `many` and of few tasks each, so that ruin and recreate finds more than pricing does.

    `few`: whether the tasks are then so few that it begins from every task alone, instead of from a greedy packing.
    """

    many: bool
    few: bool

    @staticmethod
    def of(arrays: PackingArrays, parameters: ColumnGenerationParameters) -> Spread:
        """What the tasks of an instance are like."""
        tasks = sum(arrays.count.tolist())
        few_each = tasks <= min(parameters.ruin_tasks, parameters.spread_copies * arrays.classes)
        many = few_each and arrays.classes >= parameters.spread_classes
        return Spread(many, many and tasks <= parameters.ruin_alone)
