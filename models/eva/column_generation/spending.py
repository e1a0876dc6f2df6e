"""What must be spent where: exact cuts from duals, and the cheapest whole-number spending that meets them all."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import floor, gcd

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from models.eva.column_generation.packing import Packing

Box = tuple[tuple[int, int], ...]
PRECISION = 2**20


@dataclass(frozen=True)
class Cut:
    """``sum_k worth[k] X_k >= demand`` for the numbers X_k of instances of each type.

    For any duals pi >= 0, if no pattern of type k is worth more than ``worth[k]``, then a configuration that holds all
    tasks has ``sum_c n_c pi_c <= sum_k worth[k] X_k`` (with one type: the bounds of Gilmore-Gomory and Farley).
    """

    worth: tuple[int, ...]
    demand: int


@dataclass(frozen=True)
class Purses:
    """A partition of the types: purse ``of[k]`` pays for type k (-1: no task fits the type), in multiples of ``units``.

    ``most`` is the most that an optimal configuration needs to spend from a purse, None where not known.
    """

    of: tuple[int, ...]
    units: tuple[int, ...]
    most: tuple[int | None, ...]

    @staticmethod
    def by_family(packing: Packing) -> Purses:
        """One purse a family; its unit is the greatest common divisor of the prices of its useful types."""
        of = tuple(f if u else -1 for f, u in zip(packing.family, packing.useful, strict=True))
        prices = [[p for p, g in zip(packing.prices, of, strict=True) if g == f] for f in range(packing.families)]
        return Purses(of, tuple(gcd(*p) or 1 for p in prices), (None,) * packing.families)

    @staticmethod
    def by_type(packing: Packing) -> Purses:
        """One purse a type: it counts instances. Where j instances of a type can be replaced by one of another type
        that costs no more than they do, an optimal configuration needs at most j - 1."""
        useful = [k for k, u in enumerate(packing.useful) if u]
        of = tuple(useful.index(k) if k in useful else -1 for k in range(len(packing.prices)))
        most: list[int | None] = []
        for k in useful:
            larger = [
                m
                for m in useful
                if packing.family[m] == packing.family[k]
                and packing.prices[m] > packing.prices[k]
                and (packing.capacity[m] >= packing.capacity[k] * -(-packing.prices[m] // packing.prices[k])).all()
            ]
            most.append(
                min((-(-packing.prices[m] // packing.prices[k]) for m in larger), default=0) - 1 if larger else None
            )
        return Purses(of, tuple(packing.prices[k] for k in useful), tuple(most))


@dataclass(frozen=True)
class Spending:
    """A lower bound on the cost of every configuration, and the whole-number spending that attains it in the cuts."""

    cost: int
    units: tuple[int, ...] | None


class SpendingBound:
    """Minimise ``sum_f g_f z_f`` over integers z >= 0 that meet all cuts: a lower bound on the cost, exact.

    ``z_f`` is what purse f pays, in its units; a cut over types becomes ``sum_f M_f z_f >= N`` with ``M_f = max_k
    worth[k] g_f / C_k`` over the types that f pays for. Branch and bound; a node's bound is Lagrangian: for any y >= 0,
    ``sum_i y_i N_i + sum_f min over the box of (g_f - sum_i y_i M_if) z_f``. The y come from a floating-point LP and
    are then taken as the rationals that they are, so the bound does not rest on the LP's tolerances.
    """

    def __init__(self, packing: Packing, purses: Purses) -> None:
        self.packing, self.purses = packing, purses
        self._cuts: dict[tuple[tuple[int, ...], int], None] = {}

    def row(self, cut: Cut) -> tuple[tuple[int, ...], int]:
        """The cut over spending: integer weights (rounded up, which keeps it valid) and what they must reach."""
        weights = [0] * len(self.purses.units)
        for k, f in enumerate(self.purses.of):
            if f >= 0:
                weights[f] = max(
                    weights[f], -(-cut.worth[k] * self.purses.units[f] * PRECISION // self.packing.prices[k])
                )
        return tuple(weights), cut.demand * PRECISION

    def add(self, cut: Cut) -> None:
        """Add a cut."""
        if cut.demand > 0:
            self._cuts[self.row(cut)] = None

    def violates(self, spending: Sequence[int], cut: Cut) -> bool:
        """Whether a spending is cut off."""
        weights, demand = self.row(cut)
        return sum(w * z for w, z in zip(weights, spending, strict=True)) < demand

    def single(self, cut: Cut) -> int:
        """The bound of one cut alone: ``N min_f g_f / M_f``, rounded up."""
        weights, demand = self.row(cut)
        return min((-(-demand * g // w) for g, w in zip(self.purses.units, weights, strict=True) if w), default=0)

    def solve(self, ceiling: int, node_limit: int, seconds: float) -> Spending:
        """The least cost of a spending, or ``ceiling`` (the cost of a known configuration) if that is less.

        HiGHS proposes a spending and the search proves it; past ``node_limit`` nodes the least bound of the open nodes
        is returned.
        """
        root = self._box(ceiling)
        proposal = self.propose(ceiling, seconds)
        if proposal is not None:
            ceiling = min(ceiling, self.cost(proposal))
        ticket = count()
        bound, point = self._relax(root)
        open_nodes = [(bound, next(ticket), root, point)]
        for _ in range(node_limit):
            if not open_nodes or open_nodes[0][0] >= ceiling:
                return Spending(ceiling, proposal)
            bound, _, box, point = heapq.heappop(open_nodes)
            for child in self._split(box, point):
                child_bound, child_point = self._relax(child)
                if child_bound < ceiling:
                    heapq.heappush(open_nodes, (max(bound, child_bound), next(ticket), child, child_point))
        return Spending(min([ceiling] + [n[0] for n in open_nodes[:1]]), proposal)

    def _rows(self) -> np.ndarray:
        """(cuts, F) weights scaled so that every cut asks for 1."""
        return np.array([[w / n for w in weights] for weights, n in self._cuts])

    def _box(self, ceiling: int) -> Box:
        return tuple(
            (0, ceiling // g if m is None else min(m, ceiling // g))
            for g, m in zip(self.purses.units, self.purses.most, strict=True)
        )

    def cost(self, spending: Sequence[int]) -> int:
        """What a spending costs."""
        return sum(g * z for g, z in zip(self.purses.units, spending, strict=True))

    def propose(self, ceiling: int, seconds: float) -> tuple[int, ...] | None:
        """A cheapest spending by HiGHS that meets all cuts (exactly), None if it found none."""
        if not self._cuts:
            return None
        root = self._box(ceiling)
        low, high = zip(*root, strict=True)
        scale = 1e4
        answer = milp(
            np.array(self.purses.units, dtype=float),
            constraints=LinearConstraint(self._rows() * scale, scale, np.inf),
            integrality=np.ones(len(root)),
            bounds=Bounds(low, high),
            options={"mip_rel_gap": 0.0, "time_limit": seconds},
        )
        if answer.x is None:
            return None
        proposal = tuple(int(v) for v in np.round(answer.x))
        for weights, demand in self._cuts:
            if sum(w * z for w, z in zip(weights, proposal, strict=True)) < demand:
                return None
        return proposal

    def _split(self, box: Box, point: Sequence[float]) -> list[Box]:
        free = [f for f, (low, high) in enumerate(box) if low < high]
        if not free:
            return []
        units = self.purses.units
        f = max(free, key=lambda i: (abs(point[i] - round(point[i])) * units[i] > 1e-7 * units[i], units[i], -i))
        low, high = box[f]
        middle = min(max(floor(point[f] + 1e-7), low), high - 1)
        return [(*box[:f], part, *box[f + 1 :]) for part in ((low, middle), (middle + 1, high))]

    def _relax(self, box: Box) -> tuple[int, list[float]]:
        """An exact bound of a box, rounded up to an integer, and the point of the LP (a surplus makes it feasible)."""
        units = self.purses.units
        weights = [Fraction(0)] * len(self._cuts)
        point = [float(low) for low, _ in box]
        if self._cuts:
            surplus = 10.0 * sum(g * (high + 1) for g, (_, high) in zip(units, box, strict=True))
            answer = linprog(
                np.append(np.array(units, dtype=float), surplus),
                A_ub=-np.c_[self._rows(), np.ones(len(self._cuts))],
                b_ub=-np.ones(len(self._cuts)),
                bounds=[*box, (0, None)],
                method="highs-ds",
            )
            if answer.x is not None:
                point = [float(v) for v in answer.x[: len(box)]]
                marginals = np.maximum(0.0, -np.asarray(answer.ineqlin.marginals))
                weights = [Fraction(float(y)) / demand for y, (_, demand) in zip(marginals, self._cuts, strict=True)]
        used = [(y, row, demand) for y, (row, demand) in zip(weights, self._cuts, strict=True) if y]
        bound = sum((y * demand for y, _, demand in used), Fraction(0))
        for f, (low, high) in enumerate(box):
            slope = units[f] - sum((y * row[f] for y, row, _ in used), Fraction(0))
            bound += slope * (low if slope >= 0 else high)
        return -(-bound.numerator // bound.denominator), point
