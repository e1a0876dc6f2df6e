"""The data of the surrogate relaxation: usable capacities, weights of inequalities, and the assignment by an LP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from scipy import sparse

from instances import Options
from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from instances.proofs.certificate import NoCertificate
from instances.proofs.eva.multisets import LARGEST_TOTAL
from instances.proofs.eva.totals import Cover, Totals
from models.core.highs import LinearModel, solve_arrays
from models.eva.parameters import TotalsParameters

LARGEST = 2.0**62  # sums of demands are 64-bit integers
WEIGHT = 1 << 40  # weights are scaled so that the weighted demand of all tasks is about this
TILTS = (0.5, 2.0)  # factors on the total of one resource, which give further weights
MOST_SHARED = 40_000  # most pairs of a type and a class in one linear program
SHORT = 1e-7  # a smaller unassigned share of all tasks is a rounding error
CLOSE = 1e-3  # duals closer to each other than this count as equal


@dataclass(frozen=True)
class SharedOut:
    """A fractional assignment of the tasks to types, by a linear program.

    - `objective`: its value.
    - `weight` (K, R): weights of a surrogate inequality, from the duals.
    - `share` (K, N): fractional number of tasks of each class on each type.
    """

    objective: float
    weight: FloatArray
    share: FloatArray


class TypeTotals:
    """The usable capacity of each type and the total demand of the tasks, over the classes of `arrays`.

    Raises NoCertificate if all prices are 0, or the demands are too large.
    """

    def __init__(self, arrays: PackingArrays) -> None:
        if not arrays.price.any():
            raise NoCertificate("no type has a price")
        if (arrays.demand.max(axis=0).T.astype(float) @ arrays.count).max() >= LARGEST:
            raise NoCertificate("the demands of all tasks together are too large")
        self.arrays = arrays
        self.totals = Totals(
            arrays.demand.tolist(), arrays.capacity.tolist(), arrays.family.tolist(), arrays.count.tolist()
        )
        self.price = arrays.price.tolist()
        self.room = np.array(self.totals.room, dtype=np.int64)

    def weights(self, most: Sequence[int | None]) -> list[list[list[int]]]:
        """Return the weights of the first surrogate inequalities: each resource alone, and duals of linear programs.

        `most` (K,): largest number of instances of each type, or `None`.
        """
        kinds, resources = self.room.shape
        unit = [[int(r == s) for s in range(resources)] for r in range(resources)]
        amount = [self.cover([weights] * kinds).amount for weights in unit]
        asked = [r for r in range(resources) if amount[r]]
        found = [[unit[r]] * kinds for r in asked]
        if kinds * self.arrays.classes <= MOST_SHARED:
            found.append(self.whole(self._find_assignment_weights(most)))
        for duals in self._duals(asked, amount, most):
            weight = np.zeros((kinds, resources))
            weight[:, asked] = duals / [amount[r] for r in asked]
            found.append(self.whole(weight))
        return found

    def whole(self, weight: FloatArray) -> list[list[int]]:
        """Scale weights (K, R) and round them down to integers."""
        total = float((self.arrays.count @ np.abs(self.arrays.demand.min(axis=0) @ weight.T)).max())
        scale = WEIGHT / total if total > 0 else 0.0
        whole = [[max(0, int(w * scale)) for w in row] for row in weight.tolist()]
        common = gcd(*(w for row in whole for w in row)) or 1
        return [[w // common for w in row] for row in whole]

    def cover(self, weights: Sequence[Sequence[int]]) -> Cover:
        """Return the surrogate inequality of weights (K, R)."""
        return self.totals.cover(weights, self.totals.values(weights), {})

    def instances(self, most: Sequence[int | None]) -> float:
        """Return the fractional number of instances with enough capacity for all totals at the minimum price."""
        resources = self.room.shape[1]
        unit = np.eye(resources, dtype=np.int64).tolist()
        total = np.array([self.cover([weights] * len(self.price)).amount for weights in unit], dtype=float)
        model = LinearModel(
            cost=self.arrays.price / self.arrays.price.max(),
            matrix=(self.room / np.maximum(1.0, total)).T,
            row_lower=np.minimum(1.0, total),
            row_upper=np.inf,
            upper=np.array([np.inf if m is None else m for m in most]),
        )
        try:
            solved = solve_arrays(model, Options())
        except ValueError as error:  # HiGHS rejects numbers of very different size
            raise NoCertificate(str(error)) from error
        return math.inf if solved.x is None else float(solved.x.sum())

    def holds_many(self, most: Sequence[int | None], parameters: TotalsParameters) -> bool:
        """Return whether instances hold many tasks on average, so that the total capacity decides the cost."""
        return self.instances(most) * parameters.many <= self.arrays.count.sum()

    def _duals(self, asked: Sequence[int], amount: Sequence[int], most: Sequence[int | None]) -> list[FloatArray]:
        """Return duals of the linear program over the totals, and of variants with one larger or smaller total."""
        total = np.array([amount[r] for r in asked], dtype=float)
        rows = (self.room[:, asked] / total).T
        found: list[FloatArray] = []
        upper = np.array([np.inf if m is None else m for m in most])
        for tilt in np.vstack([np.ones(len(asked)), *(1 + (f - 1) * np.eye(len(asked)) for f in TILTS)]):
            model = LinearModel(
                cost=self.arrays.price / self.arrays.price.max(),
                matrix=rows,
                row_lower=tilt,
                row_upper=np.inf,
                upper=upper,
            )
            solved = solve_arrays(model, Options())
            if solved.duals is None or not (y := np.maximum(solved.duals, 0.0)).any():
                continue
            y = y / y.sum()
            if not any(np.abs(y - z).max() < CLOSE for z in found):
                found.append(y)
        return found

    def _find_assignment_weights(self, most: Sequence[int | None]) -> FloatArray:
        """Return weights (K, R): duals of the linear program that assigns fractions of tasks to types."""
        upper = np.array([np.inf if m is None else m for m in most])
        return self._solve_assignment(np.arange(len(self.price)), None, upper).weight

    def share_tasks(self, number: IntArray, options: Options = Options()) -> SharedOut:
        """Assign fractions of the tasks to the types of an instance mix, with a minimum share of unassigned tasks.

        - `number` (K,): instances of each type.
        - `options`: limits. If a limit ends the program, the objective is 0.
        """
        used = np.flatnonzero(number)
        return self._solve_assignment(used, number[used].astype(float), np.zeros(0), options)

    def find_violated(self, number: IntArray, shared: SharedOut) -> list[list[int]] | None:
        """Return weights of a surrogate inequality that an instance mix violates, or `None`.

        - `number` (K,): instances of each type.
        - `shared`: the fractional assignment; if it assigns all tasks, the result is `None`.
        """
        if shared.objective <= SHORT:
            return None
        weights = self.whole(shared.weight)
        cover = self.cover(weights)
        held = sum(int(n) * room for n, room in zip(number, cover.rooms, strict=True))
        return weights if held < cover.amount < LARGEST_TOTAL else None

    def _solve_assignment(
        self, kinds: IntArray, number: FloatArray | None, upper: FloatArray, options: Options = Options()
    ) -> SharedOut:
        """Solve the linear program that assigns fractions of the tasks to the types `kinds` (k,).

        With a `number` (k,) of instances of each type, minimise the share of unassigned tasks. Without it, minimise the
        price of at most `upper` (k,) instances of each type.
        """
        arrays, scale = self.arrays, np.maximum(1, self.room.max(axis=0)).astype(float)
        fits = arrays.fits[kinds]
        place, task = np.nonzero(fits)
        (k, n), r = fits.shape, self.room.shape[1]
        needs = arrays.demand_of_type[kinds][place, task] / scale  # (shares, R)
        rooms = self.room[kinds] / scale
        column = np.arange(len(place))
        row = [task, *(n + s * k + place for s in range(r))]
        value = [np.ones(len(place)), *(-needs[:, s] for s in range(r))]
        shares = sparse.coo_array(
            (np.concatenate(value), (np.concatenate(row), np.tile(column, r + 1))), shape=(n + r * k, len(place))
        )
        count = arrays.count.astype(float)
        if number is None:
            held = sparse.coo_array(
                (rooms.T.ravel(), (n + np.arange(r * k), np.tile(np.arange(k), r))), shape=(n + r * k, k)
            )
            matrix, cost = (
                sparse.hstack([shares, held]),
                np.append(np.zeros(len(place)), arrays.price / arrays.price.max()),
            )
            lower, most = np.append(count, np.zeros(r * k)), np.append(np.full(len(place), np.inf), upper)
        else:
            left = sparse.coo_array((np.ones(n), (np.arange(n), np.arange(n))), shape=(n + r * k, n))
            matrix, cost = sparse.hstack([shares, left]), np.append(np.zeros(len(place)), np.ones(n) / count.sum())
            lower, most = np.append(count, -(number[:, None] * rooms).T.ravel()), np.full(len(place) + n, np.inf)
        solved = solve_arrays(LinearModel(cost, matrix, lower, np.inf, upper=most), options)
        weight, share = np.zeros_like(self.room, dtype=float), np.zeros((len(self.price), n))
        if solved.duals is None or solved.objective is None or solved.x is None:
            return SharedOut(0.0, weight, share)
        weight[kinds] = np.maximum(0.0, solved.duals[n:]).reshape(r, k).T / scale
        others = np.setdiff1d(np.arange(len(weight)), kinds)
        weight[others] = weight[kinds].max(axis=0)  # then no task has a smaller value there
        share[kinds[place], task] = solved.x[: len(place)]
        return SharedOut(float(solved.objective), weight, share)
