"""A dive: a search for a packing that fixes columns of the linear program and generates columns after each step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from instances import Stopwatch
from models.core.column_generation import Try, cheap_first
from models.core.highs import SolveFailed
from models.eva.configuration import Configuration, missing, price
from models.eva.node_program import shift_decisions
from models.eva.pricer import BranchDecision
from models.eva.relaxation import SLACK, Goal, NodeRelaxation


def at_most(counts: Sequence[int]) -> tuple[BranchDecision, ...]:
    """Return decisions that limit the number of instances of each type to `counts` (K,)."""
    return tuple(BranchDecision("instances", (k,), "at most", n) for k, n in enumerate(counts))


def exceeds_decisions(decisions: Sequence[BranchDecision]) -> bool:
    """Return whether the fixed instances are more than the decisions allow."""
    return any(d.amount < 0 for d in decisions if d.sense == "at most")


class ColumnDive:
    """A search for a packing that costs at most `goal`, with limited discrepancies (Harvey and Ginsberg, 1995).

    Each step fixes every column at its value rounded down, and one more copy of the column of the largest fraction.
    Then it generates columns until the linear program reaches the goal again. If it does not, the search goes back, and
    takes another column.

    - `relaxation`: columns, and column generation.
    - `goal`: the cost to reach, in price units.
    - `decisions`: decisions that the packing satisfies.
    - `clock`: limit of the dive.
    - `seed`: seed of the noise.
    - `tries`: how columns are generated (see `ColumnGeneration`).
    """

    def __init__(
        self,
        relaxation: NodeRelaxation,
        goal: int,
        decisions: tuple[BranchDecision, ...],
        clock: Stopwatch,
        seed: int = 0,
        tries: Sequence[Try] = cheap_first(0.0),
    ) -> None:
        self.relaxation, self.goal, self.decisions, self.clock = relaxation, goal, decisions, clock
        self.tries, self._random = tries, np.random.default_rng(seed)

    def run(self, discrepancies: int, depth: int, most: int, noise: float = 0.0) -> Configuration | None:
        """Return a cover that costs at most the goal; `None` if the dive finds none.

        - `discrepancies`: how often a path may take another column than the largest.
        - `depth`: steps from the top in which it may.
        - `most`: limit on the number of steps.
        - `noise`: standard deviation of the noise that is added to the fractions before they are compared.
        """
        open_nodes: list[tuple[Configuration, int, int, tuple[int, ...]]] = [({}, depth, discrepancies, ())]
        with suppress(SolveFailed):
            for _ in range(most):
                if not open_nodes or self.clock.has_expired:
                    break
                fixed, steps, turns, tabu = open_nodes.pop()
                step = self._step(fixed, tabu, 1 + (turns if steps > 0 else 0), noise)
                if step is None:
                    continue
                fixed, choices = step
                if not choices:
                    return fixed
                children = []
                for i, choice in enumerate(choices):
                    column = self.relaxation.program.columns[choice]
                    taken = {**fixed, column: fixed.get(column, 0) + 1}
                    children.append((taken, steps - 1, turns - i, (*tabu, *choices[:i])))
                open_nodes += reversed(children)
        return None

    def _step(
        self, fixed: Configuration, tabu: tuple[int, ...], tries: int, noise: float
    ) -> tuple[Configuration, list[int]] | None:
        """Return the fixed columns after a step, and the columns to fix next; no next column if these are a cover.

        Return `None` if the goal cannot be reached.
        """
        arrays, program = self.relaxation.arrays, self.relaxation.program
        if not self._is_allowed(fixed):
            return None
        if fixed and (missing(arrays, fixed) <= 0).all():
            return fixed, []
        goal = Goal(self.goal + 1, reach=True)
        bounded = self.relaxation.run(self.decisions, goal, self.clock, self.tries, taken=fixed)
        if not bounded.reached or bounded.relaxed is None:
            return None
        whole = np.floor(bounded.relaxed.x + SLACK).astype(np.int64)
        part = bounded.relaxed.x - whole
        fixed = dict(fixed)
        for i in np.flatnonzero(whole).tolist():
            column = program.columns[i]
            fixed[column] = fixed.get(column, 0) + int(whole[i])
        left = missing(arrays, fixed)
        if (left <= 0).all():
            return (fixed, []) if self._is_allowed(fixed) else None
        used = np.flatnonzero(part > SLACK)
        fresh = np.minimum(program.used(used), np.maximum(left, 0)).sum(axis=1)
        value = np.round(part[used] + noise * self._random.standard_normal(len(used)), 6)
        order = np.lexsort((used, -fresh, -value))
        choices = [i for i in used[order[fresh[order] > 0]].tolist() if i not in tabu][:tries]
        return (fixed, choices) if choices else None

    def _is_allowed(self, fixed: Configuration) -> bool:
        """Return whether the fixed columns cost at most the goal and satisfy the decisions."""
        arrays, program = self.relaxation.arrays, self.relaxation.program
        return price(arrays, fixed) <= self.goal and not exceeds_decisions(
            shift_decisions(program, self.decisions, fixed)
        )
