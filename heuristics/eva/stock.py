"""Instances that are left of each type where there are limits, and a place for what Algorithm 1 leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from instances import Answer
from instances.eva import PackingArrays
from instances.eva.arrays import Group

Fill = Callable[[int, list[int]], tuple[dict[int, int], float]]
"""`fill(type, tasks left of each class)`: the tasks put on an instance of the type, and their price."""


class OutOfInstances(Exception):
    """No instance is left for a task."""


class Stock:
    """How many instances are left of each type."""

    def __init__(self, arrays: PackingArrays) -> None:
        self.arrays = arrays
        tasks = sum(arrays.count.tolist())  # no plan has more instances
        self.left = [tasks if most is None else most for most in arrays.most]

    @cached_property
    def _amounts(self) -> tuple[list[list[list[int]]], list[list[int]]]:
        """Demands and capacities, of whole numbers of any size."""
        return self.arrays.demand.tolist(), self.arrays.capacity.tolist()

    def take(self, kind: int, on_it: Mapping[int, int], copies: int) -> Group:
        """Take instances of a type."""
        self.left[kind] -= copies
        return kind, dict(on_it), copies

    def room(self, kind: int, on_it: Mapping[int, int], c: int) -> int | None:
        """How many tasks of a class fit on an instance beside the tasks `on_it`; `None` for any number."""
        demands, capacities = self._amounts
        demand = demands[int(self.arrays.family[kind])]
        rooms = [
            (q - sum(k * demand[other][r] for other, k in on_it.items())) // demand[c][r]
            for r, q in enumerate(capacities[kind])
            if demand[c][r]
        ]
        return min(rooms, default=None)

    def cheapest(self, on_it: Mapping[int, int]) -> int:
        """The cheapest type with an instance left that holds some tasks, the first of several; some type must."""
        arrays, classes, counts = self.arrays, list(on_it), np.array(list(on_it.values()))
        needed = (arrays.demand_of_type[:, classes, :] * counts[None, :, None]).sum(axis=1)
        holds = (needed <= arrays.capacity).all(axis=1) & (np.array(self.left) > 0)
        return int(np.where(holds, arrays.price, np.iinfo(np.int64).max).argmin())


def place_rest(stock: Stock, fill: Fill, groups: list[Group], left: list[int]) -> list[Group]:
    """The instances `groups` with the tasks `left` as well, beside others or on further instances.

    The tasks with the fewest types come first. Raises OutOfInstances where one finds no place.
    """
    fits = stock.arrays.fits
    for c in sorted((c for c, n in enumerate(left) if n), key=lambda c: (int(fits[:, c].sum()), c)):
        groups = _beside(stock, groups, c, left)
        while left[c]:
            best = _best_type(stock, fill, c, left)
            if best is None:
                raise OutOfInstances
            kind, on_it = best
            copies = min(stock.left[kind], *(left[other] // k for other, k in on_it.items()))
            groups.append(stock.take(kind, on_it, copies))
            for other, k in on_it.items():
                left[other] -= k * copies
    return groups


def _beside(stock: Stock, groups: list[Group], c: int, left: list[int]) -> list[Group]:
    """The instances with as many of the tasks of a class as there is room for."""
    found: list[Group] = []
    for kind, on_it, copies in groups:
        room = stock.room(kind, on_it, c)
        while copies and left[c] and room != 0:
            more = left[c] if room is None else min(room, left[c])
            alike = min(copies, left[c] // more)
            found.append((kind, {**on_it, c: on_it.get(c, 0) + more}, alike))
            copies -= alike
            left[c] -= more * alike
        if copies:
            found.append((kind, on_it, copies))
    return found


def _best_type(stock: Stock, fill: Fill, c: int, left: list[int]) -> tuple[int, dict[int, int]] | None:
    """The type with an instance left whose price is least beside that of the tasks there, a task of class `c` first."""
    best: tuple[float, int, dict[int, int]] | None = None
    for kind, free in enumerate(stock.left):
        if free and stock.arrays.fits[kind, c]:
            on_it, value = fill(kind, left)
            if c not in on_it:
                on_it, value = {c: 1}, float(stock.arrays.reservation_price[c])
            score = int(stock.arrays.price[kind]) - value
            if best is None or score < best[0]:
                best = score, kind, on_it
    return None if best is None else best[1:]


def planned(arrays: PackingArrays, groups: Callable[[], list[Group]]) -> Answer:
    """The answer of a heuristic, which may run out of instances."""
    try:
        return Answer(arrays.solution(groups()))
    except OutOfInstances:
        return Answer(None, reason="the limits of instances leave a task without a place")
