"""Pricing: the columns of largest reduced net for each type and each existing instance, by branch and bound.

The tasks of an existing instance also appear as tasks that stay. Their value is larger by the cost of a move. For a job
of several tasks, each task that stays gets its share of this cost. The saving is real only if all of them stay, so the
search never underestimates a value.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva.reconfiguration_arrays import NEW
from models.eva.parameters import SavingParameters
from models.eva.saving_columns import SavingColumns, SavingDuals, SavingMaster
from models.eva.saving_kernels import search_in_order

MOST_DECAY = 40.0  # a larger -ln of a throughput counts as this, because a bound may underestimate a loss
ROUNDING = 2.0**-40  # a net in floating point errs by less than this share of its terms; see `SavingPricer.noise`


@dataclass(frozen=True)
class FoundColumns:
    """The result of pricing: columns, a bound on the reduced net of all others, and whether the search is complete."""

    columns: SavingColumns
    bound: float
    complete: bool


@dataclass(frozen=True)
class Searched:
    """A type, or a group of existing instances of it, with the n items of a search.

    An item is a class, and those of its tasks with the same value. The items of a class that stay come first, because
    their value is at least that of the others.

    - `group`, `kind`: the group, or NEW, and the type.
    - `loose`: whether the search overestimates some of the tasks that stay.
    - `item` (n,): class of each item.
    - `extra` (n,): value of a task in addition to its own, because it stays.
    - `bundle` (n,): row of the spread job that the item belongs to, or -1.
    - `share` (n,): share of a task in the dual of this row.
    - `price`: price of the instance.
    - `every`: see `search_in_order`.
    """

    group: int
    kind: int
    loose: bool
    item: IntArray
    extra: FloatArray
    bundle: IntArray
    share: FloatArray
    price: float
    every: tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray, IntArray]


class SavingPricer:
    """A search for columns with at most `most_tasks` tasks per instance, until the limit of the clock."""

    def __init__(self, master: SavingMaster, parameters: SavingParameters, clock: Stopwatch) -> None:
        self.master, self.parameters, self.clock = master, parameters, clock
        self.arrays = master.arrays
        packing = self.arrays.packing
        with np.errstate(divide="ignore"):
            self.decay = np.minimum(-np.log1p(-packing.pair_loss), MOST_DECAY)
        self.loss, self.fixed = master.loss, master.fixed
        self.searched = [self._make_type_columns(k) for k in master.kinds]
        self.searched += [self._make_group_columns(g) for g in range(len(self.arrays.groups))]

    def noise(self, duals: SavingDuals) -> float:
        """Return more than the rounding error in the reduced net of a column, or in its bound.

        A column has at most 256 tasks. A throughput is a product of at most 256 rounded numbers, and net and bound are
        sums of a few times 256 terms. So they err by less than 2^13 roundings of 2^-53 of the terms.
        """
        extra = max((float(s.extra.max(initial=0.0)) for s in self.searched), default=0.0)
        term = np.abs(self.fixed - duals.task) + self.loss + np.abs(duals.task)
        once = float(self.arrays.new.max()) + float(duals.group.max(initial=0.0)) + float(duals.spread.sum())
        most = min(self.arrays.tasks, self.parameters.most_tasks)
        return ROUNDING * (once + most * (float(term.max()) + extra))

    def improving(self, duals: SavingDuals, least: float, nodes: int) -> FoundColumns:
        """Return columns of reduced net above `least` at these duals: some of the best for each type and group."""
        return self._price_all(duals, least, self.parameters.share, self.parameters.found, nodes)

    def list_columns(self, duals: SavingDuals, delta: float, most: int) -> SavingColumns | None:
        """Return all columns with a reduced net of at least -`delta`; `None` if there are more than `most`.

        Also return `None` if the search reaches its node limit or the clock its limit.
        """
        found = self._price_all(duals, -delta - self.noise(duals), 0.0, most, self.parameters.listing_nodes)
        return found.columns if found.complete and len(found.columns.group) <= most else None

    def compute_reduced(self, columns: SavingColumns, net: FloatArray, duals: SavingDuals) -> FloatArray:
        """Return the reduced nets (P,) of columns with nets `net` (P,)."""
        own = np.append(duals.group, 0.0)[columns.group]  # NEW is the last place
        return np.asarray(net - columns.on_it @ duals.task - own + duals.spread @ self.master.mark_kept(columns))

    def _price_all(
        self, duals: SavingDuals, threshold: float, share: float, most: int, most_nodes: int
    ) -> FoundColumns:
        classes = self.arrays.packing.classes
        parts = [SavingColumns.of(NEW, np.zeros((0, classes), dtype=np.int64))]
        bound, complete, listed = threshold, True, 0
        for searched in self.searched:
            if self.clock.has_expired:
                return FoundColumns(parts[0], math.inf, False)
            order, fixed, price = self._order(searched, duals, threshold)
            every = share == 0.0 or searched.loose
            limits = (0.0, self.parameters.listed if share else most + 1) if every else (share, most)
            number, items, nets, limit, nodes = search_in_order(
                order, fixed, searched.every, price, threshold, *limits, most_nodes
            )
            cut = nodes >= most_nodes or (every and number >= limits[1])
            complete = complete and not cut
            found = SavingColumns.of(searched.group, self._classes(searched.item[order], items.astype(np.int64)))
            if share == 0.0 and searched.group == NEW:  # if several types hold a content, it is listed once
                found = found.chosen(np.flatnonzero(self.master.kind_of(found) == searched.kind))
            listed += len(found.group)
            if share == 0.0 and (cut or listed > most):
                return FoundColumns(parts[0], math.inf, False)
            if len(found.group):
                if searched.loose:
                    nets = self.compute_reduced(found, self.master.net(found), duals)
                    found = found.chosen(np.argsort(-nets, kind="stable")[:most])
                parts.append(found)
            bound = max(bound, limit, float(nets.max(initial=threshold)))
        return FoundColumns(SavingColumns.join(parts), bound, complete)

    def _order(self, searched: Searched, duals: SavingDuals, threshold: float) -> tuple[IntArray, FloatArray, float]:
        """Return the usable items in order, the values of all items at throughput 0, and the price of the instance.

        The order is by decreasing value of a task alone on an instance.
        """
        extra = searched.extra
        if len(duals.spread):
            extra = extra + np.where(searched.bundle >= 0, duals.spread[searched.bundle] * searched.share, 0.0)
        fixed = self.fixed[searched.item] - duals.task[searched.item] + extra
        alone = fixed + self.loss[searched.item]
        order = np.argsort(-alone, kind="stable")
        if threshold >= 0 and not searched.loose:  # otherwise an item of no value may keep a job together
            order = order[alone[order] > 0]
        price = searched.price
        if searched.group != NEW:
            price += float(duals.group[searched.group])
        return order, fixed, price

    def _classes(self, item: IntArray, found: IntArray) -> IntArray:
        """Return the tasks of each class (P, N) of patterns (P, n) of items with classes `item` (n,)."""
        sums = np.zeros((len(item), self.arrays.packing.classes), dtype=np.int64)
        sums[np.arange(len(item)), item] = 1
        return np.asarray(found @ sums)

    def _make_type_columns(self, kind: int) -> Searched:
        classes = np.flatnonzero(self.arrays.packing.fits[kind])
        return self._search(NEW, kind, [(int(c), int(self.arrays.packing.count[c]), 0.0, -1, 0.0) for c in classes])

    def _make_group_columns(self, g: int) -> Searched:
        packing, group = self.arrays.packing, self.arrays.groups[g]
        row = {i: s for s, (h, i, _) in enumerate(self.master.rows) if h == g}
        items: list[tuple[int, int, float, int, float]] = []
        for i, bundle in enumerate(group.together):
            share = 1.0 / sum(k for _, k in bundle.tasks)
            extra = bundle.migration * share if bundle.spread is None else 0.0
            items += [(c, k, extra, row.get(i, -1), share) for c, k in bundle.tasks]
        for c, worth in enumerate(group.stay):
            items += [(c, k, usd, -1, 0.0) for usd, k in Counter(worth).items()]
        for c in np.flatnonzero(packing.fits[group.kind]).tolist():
            more = int(packing.count[c] - group.on_it[c])
            if more:
                items.append((c, more, 0.0, -1, 0.0))
        loose = any(sum(k for _, k in bundle.tasks) > 1 for bundle in group.together)
        return self._search(g, group.kind, items, loose)

    def _search(
        self, group: int, kind: int, items: list[tuple[int, int, float, int, float]], loose: bool = False
    ) -> Searched:
        packing = self.arrays.packing
        item = np.array([c for c, *_ in items], dtype=np.int64)
        most = np.array([k for _, k, *_ in items], dtype=np.int64)
        pairs = np.ix_(item, item)
        return Searched(
            group=group,
            kind=kind,
            loose=loose,
            item=item,
            extra=np.array([extra for *_, extra, _, _ in items], dtype=float),
            bundle=np.array([row for *_, row, _ in items], dtype=np.int64),
            share=np.array([share for *_, share in items], dtype=float),
            price=float(self.arrays.new[kind] if group == NEW else self.arrays.scale * packing.price[kind]),
            every=(
                packing.demand_of_type[kind][item],
                packing.capacity[kind],
                most,
                self.loss[item],
                packing.pair[pairs],
                self.decay[pairs],
                item,
            ),
        )
