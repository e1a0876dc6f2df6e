"""The nets of patterns, in rational numbers if a sign is uncertain, and the packing of Algorithm 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from instances.eva.arrays import FloatArray, Group, IntArray, PackingArrays

COUNTED_TASKS = 64  # patterns with more tasks are not listed by number of tasks, nor evaluated in rational numbers
NOISE = 1e-12  # error of a net in floating point, as a share of the prices of its tasks and of their jobs


def exact_signs(arrays: PackingArrays, kind: IntArray, on_it: IntArray, net: FloatArray) -> FloatArray:
    """Return the nets (P,) with certain signs: a net of uncertain sign is computed again in rational numbers.

    The net of a single task is a difference of integers, so its sign is certain.

    - `kind` (P,): types of the patterns.
    - `on_it` (P, N): tasks of each class.
    - `net` (P,): nets in floating point, in price units.
    """
    terms = NOISE * (on_it @ (arrays.reservation_price + arrays.job_price).astype(float))
    found = net.copy()
    for p in np.flatnonzero((np.abs(net) <= terms) & (on_it.sum(axis=1) > 1)):
        found[p] = exact_net(arrays, int(kind[p]), on_it[p])
    return found


def exact_net(arrays: PackingArrays, kind: int, on_it: IntArray) -> float:
    """Return the net of a pattern in price units, computed in rational numbers so that its sign is certain."""
    tasks = {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}
    net = -Fraction(int(arrays.price[kind]))
    for c, k in tasks.items():
        rate = Fraction(1)
        for other, n in tasks.items():
            rate *= Fraction(repr(float(arrays.pair[c, other]))) ** (n - (other == c))
        net += k * (int(arrays.reservation_price[c]) - (1 - rate) * int(arrays.job_price[c]))
    return float(net)


MOST_STEPS = 10_000  # most steps for a class on one instance, if tasks do not slow each other down
EQUAL = 1e-9  # values within this share of each other count as equal


def pack_greedily(arrays: PackingArrays) -> list[Group]:
    """Pack greedily from the most expensive type down (Algorithm 1), and return the instances.

    An instance is filled while its value rises, and used if its value is at least its price. The next task is the one
    of largest value; among equals, the one best aligned with the free capacity. Each remaining task is alone.
    """
    left, found = arrays.count.copy(), []
    for k in sorted(range(len(arrays.price)), key=lambda k: -int(arrays.price[k])):
        while left.any():
            on_it, value = _fill(arrays, k, left)
            if not on_it.any() or value < int(arrays.price[k]) * (1 - EQUAL):
                break
            copies = int((left[on_it > 0] // on_it[on_it > 0]).min())
            left = left - copies * on_it
            found.append((k, {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}, copies))
    alone = [(int(arrays.cheapest_type[c]), {int(c): 1}, int(left[c])) for c in np.flatnonzero(left)]
    return [*found, *alone]


def _fill(arrays: PackingArrays, kind: int, left: IntArray) -> tuple[IntArray, float]:
    """Fill an instance of a type with tasks from `left` (N,); return its tasks (N,) and their value."""
    demand, size = arrays.demand_of_type[kind], arrays.capacity[kind].astype(float)
    fixed, scaled = arrays.reservation_price - arrays.job_price, arrays.job_price.astype(float)
    weight = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0) ** 2
    free, on_it, value = arrays.capacity[kind].copy(), np.zeros_like(left), 0.0
    outside: FloatArray = np.ones(len(left))  # the throughput of one more task of each class
    inside: FloatArray = np.ones(len(left))  # the throughput of a task that is there
    slowed = bool((arrays.pair != 1).any())
    while True:
        open_ = np.flatnonzero((demand <= free).all(axis=1) & (left > on_it))
        if not len(open_):
            return on_it, value
        there = np.flatnonzero(on_it)
        worth = on_it[there] * inside[there] * scaled[there]
        then = on_it @ fixed + worth @ arrays.pair[np.ix_(there, open_)]
        then = then + fixed[open_] + outside[open_] * scaled[open_]
        most = float(then.max())
        if most < value - EQUAL * abs(value):
            return on_it, value
        tied = open_[then >= most - EQUAL * max(1.0, abs(most))]
        c = int(tied[int(((demand[tied] * free) @ weight).argmax())])
        some = 1
        if not slowed:  # then all of them have the same value, and large numbers go in batches
            some = 1 + int(left[c] - on_it[c]) // MOST_STEPS
            some = min([some, *(int(f // d) for f, d in zip(free, demand[c], strict=True) if d)])
        newcomer = outside[c]
        outside, inside = outside * arrays.pair[:, c], inside * arrays.pair[:, c]
        inside[c] = newcomer
        on_it[c] += some
        free, value = free - some * demand[c], value + some * (most - value)
