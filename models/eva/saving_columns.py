"""Columns, each with the tasks of an existing or of a new instance, and the linear program over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import PackingArrays
from instances.eva.reconfiguration_arrays import NEW, Placed, SavingArrays, spread_rows
from models.core.highs import LinearModel
from models.eva.counts import Listed
from models.eva.saving_kernels import find_first_type, values
from models.eva.saving_nets import NOISE, exact_signs

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class SavingColumns:
    """P columns.

    - `group` (P,): group of existing instances, or NEW.
    - `on_it` (P, N): tasks of each class.
    """

    group: IntArray
    on_it: IntArray

    @staticmethod
    def of(group: int, on_it: IntArray) -> SavingColumns:
        """Return columns of one group from their tasks `on_it` (P, N)."""
        return SavingColumns(np.full(len(on_it), group, dtype=np.int64), on_it)

    @staticmethod
    def join(parts: Iterable[SavingColumns]) -> SavingColumns:
        """Return all columns of some parts, without duplicates."""
        some = list(parts)
        group, on_it = np.concatenate([c.group for c in some]), np.concatenate([c.on_it for c in some])
        known: dict[bytes, int] = {}
        for p, name in enumerate(names(group, on_it)):
            known.setdefault(name, p)
        chosen = np.fromiter(known.values(), dtype=np.int64)
        return SavingColumns(group[chosen], on_it[chosen])

    def chosen(self, which: IntArray) -> SavingColumns:
        """Return the columns at the indices `which`."""
        return SavingColumns(self.group[which], self.on_it[which])

    def copies_of(self, some: SavingColumns, copies: IntArray) -> IntArray:
        """Return the number (P,) of each column, from the `copies` of `some` of the columns."""
        place = {name: p for p, name in enumerate(self.names)}
        found = np.zeros(len(self.group), dtype=np.int64)
        np.add.at(found, [place[name] for name in some.names], copies)
        return found

    @property
    def names(self) -> list[bytes]:
        """Return a key of each column that identifies it."""
        return names(self.group, self.on_it)


def names(group: IntArray, on_it: IntArray) -> list[bytes]:
    """Return a key of each column that identifies it."""
    return [row.tobytes() for row in np.column_stack([group, on_it])]


@dataclass(frozen=True)
class SavingDuals:
    """Duals: `task` (N,) of each class, `group` (G,) of existing instances, `spread` (S,) of rows of spread jobs."""

    task: FloatArray
    group: FloatArray
    spread: FloatArray


class SavingMaster:
    """The program over columns: maximise net'x - migration'z.

    Each task is covered once, and a group has at most its number of instances. Spread jobs have tasks on several
    instances. For each spread job and each of its instances, z plus the columns that keep all its tasks is at least 1.
    """

    exact_signs = False
    """Whether the sign of a net is certain."""

    def __init__(self, arrays: SavingArrays) -> None:
        self.arrays = arrays
        self.rows = spread_rows(arrays.groups)
        self.job_of_row = np.array([job for _, _, job in self.rows], dtype=np.int64)
        self.loss: FloatArray = arrays.scale * arrays.packing.job_price.astype(float)
        self.fixed: FloatArray = arrays.scale * arrays.packing.reservation_price - self.loss
        self.pair: FloatArray = np.ascontiguousarray(arrays.packing.pair)
        self.kinds = [int(k) for k in np.argsort(arrays.new, kind="stable") if arrays.packing.fits[k].any()]

    @property
    def max_paying_instances(self) -> int:
        """Return a limit on the number of used instances with a reduced net above 0: each holds a task."""
        return self.arrays.tasks

    def noise(self) -> float:
        """Return more than the rounding error of the saving of a solution."""
        a, packing = self.arrays, self.arrays.packing
        terms = float(packing.count @ (packing.reservation_price + packing.job_price).astype(float)) * a.scale
        return NOISE * (terms + a.moving_all + float(a.new.max()) * a.tasks + float(a.spread.sum()))

    def kind_of(self, columns: SavingColumns) -> IntArray:
        """Return the type (P,) of each column: for a new instance, the cheapest type that holds the tasks."""
        a = self.arrays.packing
        kind = np.append([group.kind for group in self.arrays.groups], -1)[columns.group].astype(np.int64)
        new = columns.group == NEW
        cheapest_first = np.array(self.kinds, dtype=np.int64)
        kind[new] = find_first_type(columns.on_it[new], cheapest_first, a.demand_of_type, a.capacity, a.fits)
        return kind

    def net(self, columns: SavingColumns) -> FloatArray:
        """Return the nets (P,) of columns."""
        return self.kinds_and_nets(columns)[1]

    def kinds_and_nets(self, columns: SavingColumns) -> tuple[IntArray, FloatArray]:
        """Return the types (P,) of columns, and their nets (P,), which include the avoided costs of moves."""
        a, kind = self.arrays, self.kind_of(columns)
        new = columns.group == NEW
        price = np.where(new, a.new[kind], a.scale * a.packing.price[kind])
        net = values(columns.on_it, self.fixed, self.loss, self.pair) - price
        for g in np.unique(columns.group[~new]).tolist():
            own = np.flatnonzero(columns.group == g)
            net[own] += a.groups[g].staying(columns.on_it[own])
        return kind, np.asarray(net)

    def pays(self, columns: SavingColumns) -> BoolArray:
        """Return whether each column (P,) can improve a solution.

        A new instance with several tasks cannot if the tasks have at least the same net each alone.
        """
        alone = self.net(SavingColumns.of(NEW, np.eye(columns.on_it.shape[1], dtype=np.int64)))
        worth = self.net(columns) > columns.on_it @ alone
        return np.asarray(worth | (columns.group != NEW) | (columns.on_it.sum(axis=1) == 1))

    def entries(self, columns: SavingColumns) -> FloatArray:
        """Return the entries (rows, P) of columns."""
        groups = len(self.arrays.groups)
        own = (columns.group[None, :] == np.arange(groups)[:, None]).astype(float)
        return np.vstack([columns.on_it.T.astype(float), own, self.mark_kept(columns)])

    def mark_kept(self, columns: SavingColumns) -> FloatArray:
        """Return whether a column keeps the tasks of each row of a spread job, as numbers (S, P)."""
        found = np.zeros((len(self.rows), len(columns.group)))
        for s, (g, i, _) in enumerate(self.rows):
            own = np.flatnonzero(columns.group == g)
            found[s, own] = self.arrays.groups[g].whole(i, columns.on_it[own])
        return found

    def model(self, columns: SavingColumns, net: FloatArray, *, integer: bool) -> LinearModel:
        """Build the program over the columns; the last variables are z."""
        a = self.arrays
        jobs = len(a.spread)
        z = np.zeros((len(a.packing.count) + len(a.groups) + len(self.rows), jobs))
        z[len(a.packing.count) + len(a.groups) + np.arange(len(self.rows)), self.job_of_row] = 1.0
        many = np.array([len(group.ids) for group in a.groups], dtype=float)
        every = a.packing.count.astype(float)
        whole = np.concatenate([np.full(len(net), integer), np.zeros(jobs, dtype=bool)])
        return LinearModel(
            cost=np.concatenate([net, -a.spread]),
            matrix=np.hstack([self.entries(columns), z]),
            row_lower=np.concatenate([every, np.zeros(len(many)), np.ones(len(self.rows))]),
            row_upper=np.concatenate([every, many, np.full(len(self.rows), np.inf)]),
            upper=np.concatenate([np.full(len(net), np.inf), np.ones(jobs)]),
            integer=whole,
            sense="maximize",
        )

    def duals(self, row_dual: FloatArray) -> SavingDuals:
        """Return the duals of a solved linear program, with a valid sign for inequalities."""
        classes, groups = len(self.arrays.packing.count), len(self.arrays.groups)
        return SavingDuals(
            row_dual[:classes],
            np.maximum(row_dual[classes : classes + groups], 0.0),
            np.maximum(-row_dual[classes + groups :], 0.0),
        )

    def read_duals(self, row_dual: FloatArray) -> SavingDuals:
        """Return the duals of a solved linear program at which columns are priced."""
        return self.duals(row_dual)

    def build_listed_program(self, columns: SavingColumns, noise: Callable[[SavingDuals], float]) -> Listed:
        """Build the program over a list of columns; `noise(duals)` exceeds the rounding error of a reduced net."""
        arrays = self.arrays
        kind, net = self.kinds_and_nets(columns)
        kept = self.mark_kept(columns)
        own = np.where(columns.group == NEW, len(arrays.groups), columns.group)

        def compute_reduced(row_dual: FloatArray) -> FloatArray:
            duals = self.duals(row_dual)
            paid = columns.on_it @ duals.task + np.append(duals.group, 0.0)[own]
            return np.asarray(net - paid + duals.spread @ kept)

        def worth(copies: IntArray) -> float:
            used = np.flatnonzero(copies)
            return float(net[used] @ copies[used]) - self.moves(columns.chosen(used), copies[used])

        terms = arrays.scale * float(arrays.packing.price_alone) + arrays.moving_all + float(arrays.spread.sum())
        return Listed(
            model=self.model(columns, net, integer=False),
            kind=kind,
            net=net,
            offset=arrays.moving_all,
            dear=2.0 * (terms + 1.0),
            noise=lambda row_dual: noise(self.duals(row_dual)),
            reduced=compute_reduced,
            bound=lambda row_dual, most: self.bound(self.duals(row_dual), most, arrays.tasks),
            worth=worth,
        )

    def bound(self, duals: SavingDuals, reduced: float, instances: int) -> float:
        """Return the bound that duals prove on the saving.

        - `duals`: those of groups and of rows of spread jobs are at least 0; those of tasks have any sign.
        - `reduced`: largest reduced net of a column.
        - `instances`: largest number of used instances with a reduced net above 0.
        """
        arrays = self.arrays

        def total(one: FloatArray, many: list[int]) -> Fraction:
            return sum((Fraction(float(d)) * n for d, n in zip(one, many, strict=True)), Fraction(0))

        bound = total(duals.task, arrays.packing.count.tolist())
        bound += total(duals.group, [len(group.ids) for group in arrays.groups])
        rows = [Fraction(float(d)) for d in duals.spread]
        for job, migration in enumerate(arrays.spread.tolist()):
            given = sum((d for d, of in zip(rows, self.job_of_row, strict=True) if of == job), Fraction(0))
            bound += max(Fraction(0), given - Fraction(migration))
        bound -= sum(rows, Fraction(0))
        return math.nextafter(float(bound + instances * Fraction(max(0.0, reduced))), math.inf)

    def find_moved_jobs(self, columns: SavingColumns, x: IntArray) -> BoolArray:
        """Return the spread jobs (J,) that a solution `x` (P,) over columns moves."""
        stays = (self.mark_kept(columns) @ x) > 0
        moved = np.zeros(len(self.arrays.spread), dtype=bool)
        moved[self.job_of_row[~stays]] = True
        return moved

    def moves(self, columns: SavingColumns, x: IntArray) -> float:
        """Return the cost of the moves of spread jobs in a solution `x` (P,) over columns."""
        return float(self.arrays.spread @ self.find_moved_jobs(columns, x))

    def columns_of(self, placed: Iterable[Placed]) -> tuple[SavingColumns, IntArray]:
        """Return the columns of a solution by classes, and the number (P,) of each."""
        counted: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        for group, _, on_it, copies in placed:
            key = group, tuple(sorted(on_it.items()))
            counted[key] = counted.get(key, 0) + copies
        on = np.zeros((len(counted), self.arrays.packing.classes), dtype=np.int64)
        for row, (_, tasks) in enumerate(counted):
            for c, k in tasks:
                on[row, c] = k
        groups = np.array([g for g, _ in counted], dtype=np.int64)
        return SavingColumns(groups, on), np.array(list(counted.values()), dtype=np.int64)


class PackingMaster(SavingMaster):
    """The program for a packing, in price units. The sign of a net is certain, so an optimum of 0 is exact."""

    exact_signs = True

    def __init__(self, packing: PackingArrays) -> None:
        super().__init__(SavingArrays(packing, (), 1.0, packing.price.astype(float), np.zeros(0)))

    @property
    def max_paying_instances(self) -> int:
        """Return half the number of tasks: at nonnegative duals, no task alone has a reduced net above 0."""
        return self.arrays.tasks // 2

    def kinds_and_nets(self, columns: SavingColumns) -> tuple[IntArray, FloatArray]:
        """Return the types (P,) and nets (P,) of columns, in rational numbers if floats leave the sign uncertain."""
        kind, net = super().kinds_and_nets(columns)
        net[columns.on_it.sum(axis=1) == 1] = 0.0
        return kind, exact_signs(self.arrays.packing, kind, columns.on_it, net)

    def read_duals(self, row_dual: FloatArray) -> SavingDuals:
        """Return nonnegative duals at which columns are priced."""
        return super().duals(np.maximum(row_dual, 0.0))
