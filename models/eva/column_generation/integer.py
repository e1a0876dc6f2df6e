"""The restricted integer master: the best configuration of the columns at hand, by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import highspy
import numpy as np

from models.bounds import whole_bound
from models.eva.column_generation.master import quiet_highs
from models.eva.column_generation.packing import Column, Configuration, Packing
from models.eva.column_generation.spending import Purses


@dataclass(frozen=True)
class Answer:
    """The best cover found, if any. Where HiGHS has ``finished`` no cover by the columns costs less than ``bound``."""

    cover: Configuration | None
    finished: bool
    bound: int = 0


def solve_integer(
    packing: Packing,
    purses: Purses,
    columns: Sequence[Column],
    least: Sequence[int],
    floor: int,
    ceiling: int,
    seconds: float,
    seed: int,
) -> Answer:
    """Minimise the price of a cover by whole numbers of the columns, ``least[p]`` or more of column p.

    ``floor`` is a proven lower bound: the search ends when it is met. Only covers cheaper than ``ceiling`` are sought.
    What is spent from each purse is an integer variable of its own, so that HiGHS can branch on it.
    """
    highs = quiet_highs(presolve="on", time_limit=max(0.0, seconds), mip_rel_gap=0.0, mip_abs_gap=0.5, random_seed=seed)
    classes, groups = len(packing.counts), len(purses.units)
    for count in packing.counts:
        highs.addRow(float(count), highspy.kHighsInf, 0, [], [])
    for _ in purses.units:
        highs.addRow(0.0, highspy.kHighsInf, 0, [], [])
    highs.addRow(float(floor), float(ceiling - 1), 0, [], [])
    for f, (unit, most) in enumerate(zip(purses.units, purses.most, strict=True)):
        highs.addCol(
            float(unit),
            0.0,
            highspy.kHighsInf if most is None else float(most),
            2,
            [classes + f, classes + groups],
            [1.0, float(unit)],
        )
    for column, lower in zip(columns, least, strict=True):
        purse = purses.of[column.type]
        rows = [c for c, _ in column.pattern] + [classes + purse]
        entries = [float(q) for _, q in column.pattern] + [-packing.prices[column.type] / purses.units[purse]]
        highs.addCol(0.0, float(lower), highspy.kHighsInf, len(rows), rows, entries)
    width = groups + len(columns)
    highs.changeColsIntegrality(width, np.arange(width, dtype=np.int32), np.full(width, highspy.HighsVarType.kInteger))
    highs.run()
    status = highs.getModelStatus()
    finished = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)
    if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Answer(None, finished, whole_bound(float(ceiling)))
    bound = highs.getInfo().mip_dual_bound
    amounts = highs.getSolution().col_value[groups:]
    cover = {column: round(x) for column, x in zip(columns, amounts, strict=True) if round(x) > 0}
    if (packing.missing(cover) > 0).any() or not isfinite(bound):
        return Answer(None, False)
    return Answer(cover, finished, whole_bound(bound))
