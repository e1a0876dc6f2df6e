"""The aggregated relaxation of `node-consolidation` (`TotalsProgram`) as a model for HiGHS."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from instances.arrays import BoolArray, FloatArray, IntArray
from instances.kubernetes.arrays import New
from instances.proofs.kubernetes.totals_program import TotalsProgram
from models.core.highs import LinearModel
from models.core.safe_bounds import DIGITS, whole_bound

MAX_INTEGER = 100_000  # pods: larger counts are continuous, because HiGHS loses digits of integers by the million


class AggregatedModel:
    """A program with M nodes, N classes and K types, scaled for HiGHS.

    - `totals`: the program.
    - `best`: the cost of a known plan, or `None`. The model then has only plans that cost at most as much. Its prices
      are closer together, and HiGHS loses fewer digits.
    """

    def __init__(self, totals: TotalsProgram, best: int | None) -> None:
        self.totals, a = totals, totals.arrays
        limits: tuple[list[int], list[int]] = totals.lower, totals.upper
        self.lower, self.upper = limits if best is None else tighten_limits(totals, best)
        place = totals.place
        self.keep = np.array([place[f"keep_{m}"] for m in range(len(a.leaves))], dtype=np.int64)
        self.rent = np.array([place[f"rent_{name}"] for name, _ in totals.batches], dtype=np.int64)
        # Large counts are shares of their upper limits. HiGHS called suboptimal plans optimal with unscaled counts.
        self.unit = np.where(np.array(totals.upper) > MAX_INTEGER, np.array(totals.upper, dtype=float), 1.0)
        self.unit[self.keep] = self.unit[self.rent] = 1.0

    def build(self, is_relaxed: bool) -> LinearModel:
        """Build the model. If `is_relaxed`, only the variables of nodes are integers, and those of pods are not."""
        totals, program = self.totals, self.totals.program()
        rows = program.rows[program.bounds :]
        values = [{i: float(a) * self.unit[i] for i, a in row.coefficients.items()} for row in rows]
        # Equalities keep their scale, because HiGHS drops entries that become too small and so relaxes the row.
        scale = [
            1.0 if row.direction == "E" else max(1.0, *map(abs, of_row.values()))
            for row, of_row in zip(rows, values, strict=True)
        ]
        right = np.array([float(row.right) / s for row, s in zip(rows, scale, strict=True)])
        entries = [
            (k, i, a / s) for k, (of_row, s) in enumerate(zip(values, scale, strict=True)) for i, a in of_row.items()
        ]
        matrix = sparse.coo_array(
            ([a for _, _, a in entries], ([k for k, _, _ in entries], [i for _, i, _ in entries])),
            shape=(len(rows), len(program.variables)),
        )
        cost, constant = np.zeros(len(program.variables)), totals.constant
        for i, c in totals.cost.items():
            if self.lower[i] == self.upper[i]:
                constant += c * self.lower[i]
            else:
                cost[i] = float(c) * self.unit[i]
        is_integer = np.full(len(cost), not is_relaxed) & (self.unit == 1.0)
        is_integer[self.keep] = is_integer[self.rent] = True
        return LinearModel(
            cost=cost,
            matrix=sparse.csc_array(matrix),
            row_lower=np.where([row.direction == "L" for row in rows], -math.inf, right),
            row_upper=np.where([row.direction == "G" for row in rows], math.inf, right),
            lower=np.array(self.lower) / self.unit,
            upper=np.array(self.upper) / self.unit,
            integer=is_integer,
            offset=float(constant),
        )

    def restrict(self, model: LinearModel, kept: BoolArray, best: int | None) -> LinearModel:
        """Restrict the model to plans that keep exactly the nodes `kept` (M,) and cost less than `best`."""
        lower, upper = np.array(model.lower, dtype=float), np.array(model.upper, dtype=float)
        lower[self.keep] = upper[self.keep] = kept
        model = replace(model, lower=lower, upper=upper)
        if best is None:
            return model
        cost = np.asarray(model.cost, dtype=float)
        scale = max(1.0, float(np.abs(cost).max(initial=0.0)))
        return replace(
            model,
            matrix=sparse.vstack([model.matrix, sparse.csc_array(cost[None] / scale)]),
            row_lower=np.append(model.row_lower, -math.inf),
            row_upper=np.append(model.row_upper, (best - 0.5 - float(np.asarray(model.offset))) / scale),
        )

    def round_bound(self, bound: float) -> int:
        """Return the integer bound that HiGHS's `bound` proves; cancellation of large terms costs HiGHS digits."""
        totals, a = self.totals, self.totals.arrays
        free = [m for m, i in enumerate(self.keep.tolist()) if self.lower[i] < self.upper[i]]
        types = [k for (_, k), i in zip(totals.batches, self.rent.tolist(), strict=True) if self.upper[i]]
        if totals.whole_nodes:
            evictions = int(a.on_node[free].sum())
        else:
            stays = [i for name, i in totals.place.items() if name.startswith("stay_")]
            evictions = sum(self.upper[i] - self.lower[i] for i in stays)
        largest = max((*a.held_price[free].tolist(), *a.price[types].tolist()), default=0)
        return max(0, whole_bound(bound - DIGITS * (a.eviction_price * evictions + largest)))

    def read_kept(self, x: FloatArray) -> BoolArray:
        """Return which nodes (M,) are kept."""
        return np.asarray(x[self.keep] > 0.5)

    def read_rented(self, x: FloatArray) -> IntArray:
        """Return the number of rented nodes of each type (K,)."""
        number = np.zeros(len(self.totals.arrays.price), dtype=np.int64)
        np.add.at(number, [k for _, k in self.totals.batches], np.round(x[self.rent]).astype(np.int64))
        return number

    def read_placed(self, x: FloatArray) -> IntArray:
        """Return the pods on each existing node (M, N); the program must have variables for each node."""
        a = self.totals.arrays
        placed = a.now * self.read_kept(x)[:, None] if self.totals.whole_nodes else np.zeros_like(a.now)
        for name, i in self.totals.place.items():
            variable, *index = name.split("_")
            if variable in ("come", "stay"):
                placed[int(index[0]), int(index[1])] += round(x[i] * self.unit[i])
        return placed

    def read_batches(self, x: FloatArray) -> Iterator[tuple[int, int, IntArray]]:
        """Yield the type, the number of nodes and the pods on all of them (N,) for each batch of rented nodes."""
        a, place = self.totals.arrays, self.totals.place
        for (name, k), rent in zip(self.totals.batches, self.rent, strict=True):
            number = round(x[rent])
            if number:
                index = [place[f"new_{name}_{c}"] if a.fits_type[k, c] else -1 for c in range(len(a.count))]
                held = [0 if i < 0 else round(x[i] * self.unit[i]) for i in index]
                yield k, number, np.array(held, dtype=np.int64)

    def encode(self, kept: BoolArray, placed: IntArray, new: Sequence[New]) -> FloatArray:
        """Return the values of all variables for a plan that keeps nodes (M,), places pods (M, N) and rents nodes."""
        totals, a = self.totals, self.totals.arrays
        stay = a.now * kept[:, None]
        stay = stay if totals.whole_nodes else np.minimum(stay, placed)
        come = placed * kept[:, None] - stay
        value = {f"keep_{m}": 1 for m in np.flatnonzero(kept).tolist()}
        value |= {f"stay_{m}_{c}": int(stay[m, c]) for m, c in np.argwhere(stay).tolist() if not totals.whole_nodes}
        value |= {f"come_{c}": n for c, n in enumerate(come.sum(axis=0).tolist())}
        value |= {f"come_{m}_{c}": int(come[m, c]) for m, c in np.argwhere(come).tolist()}
        nodes = [[pods for other, pods in new if other == k] for k in range(len(a.price))]
        for name, k in totals.batches:  # the single nodes of a type come before the batch of all its other nodes
            held, nodes[k] = (nodes[k][:1], nodes[k][1:]) if "_" in name else (nodes[k], [])
            value[f"rent_{name}"] = len(held)
            value |= {f"new_{name}_{c}": sum(pods.get(c, 0) for pods in held) for c in range(len(a.count))}
        return np.array([value.get(name, 0) for name in totals.place], dtype=float) / self.unit


def tighten_limits(totals: TotalsProgram, best: int) -> tuple[list[int], list[int]]:
    """Return the lower and the upper limits of all variables in plans that cost at most `best`.

    Every plan pays for the nodes that must stay. A single node, type or eviction costs at most the rest of `best`.
    """
    a, place = totals.arrays, totals.place
    lower, upper = list(totals.lower), list(totals.upper)
    rest = best - int(a.held_price[~a.leaves].sum())
    for m in np.flatnonzero(a.leaves).tolist():
        if a.held_price[m] > rest:
            upper[place[f"keep_{m}"]] = 0
        if totals.whole_nodes and a.eviction_price * int(a.on_node[m]) > rest:
            lower[place[f"keep_{m}"]] = 1
    for name, k in totals.batches:
        if a.price[k]:
            i = place[f"rent_{name}"]
            upper[i] = min(upper[i], rest // int(a.price[k]))
    if not totals.whole_nodes and a.eviction_price:
        for i in (i for name, i in place.items() if name.startswith("stay_")):
            lower[i] = max(lower[i], upper[i] - rest // a.eviction_price)
    return lower, upper
