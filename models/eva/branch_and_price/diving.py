"""Diving: a packing from a linear solution, by fixing columns one after the other (with limited discrepancy)."""

from __future__ import annotations

from collections.abc import Callable
from math import floor

import numpy as np

from instances.eva.arrays import PackingArrays
from models.eva.branch_and_price.node_program import NodeProgram, Relaxed
from models.eva.configuration import Configuration, missing
from models.highs import SolveFailed


def dive(
    arrays: PackingArrays,
    program: NodeProgram,
    generate: Callable[[Relaxed], int],
    relaxed: Relaxed,
    ceiling: int,
    discrepancy: int,
) -> Configuration | None:
    """A cover below the ceiling, or `None`. Column `discrepancy`, in the order of fractions, is fixed first.

    `generate` adds columns to the program at the duals of a linear solution, and gives their number: once a fixing.

    The program is left as it was, but for its basis.
    """
    fixed: dict[int, int] = {}
    first, many = discrepancy, 0
    try:
        while True:
            whole = np.floor(relaxed.x + 1e-6)
            part = relaxed.x - whole
            fixed = {int(i): int(whole[i]) for i in np.flatnonzero(whole > 0)}
            order = np.argsort(-part, kind="stable")
            if part[order[0]] <= 1e-6:
                break
            choice = int(order[min(first, int((part > 1e-6).sum()) - 1)])
            first = 0
            fixed[choice] = fixed.get(choice, 0) + 1
            covered = {program.columns[i]: n for i, n in fixed.items()}
            if (missing(arrays, covered) <= 0).all():
                break
            if sum(fixed.values()) <= many:  # the solver has not kept to what was fixed
                return None
            many = sum(fixed.values())
            program.fix(fixed)
            relaxed = program.solve()
            if generate(relaxed):
                relaxed = program.solve()
            if relaxed.short > 1e-6 or floor(relaxed.value + 0.5) >= ceiling:
                return None
    except SolveFailed:  # the columns fixed are more than a decision allows
        return None
    finally:
        program.fix({})
    cover = {program.columns[i]: n for i, n in fixed.items()}
    return cover if (missing(arrays, cover) <= 0).all() else None
