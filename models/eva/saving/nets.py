"""What patterns and packings save: nets in rational numbers where a sign is in doubt, and Algorithm 1's packing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from instances.eva.arrays import FloatArray, Group, IntArray, PackingArrays

COUNTED_TASKS = 64  # Patterns of more tasks are neither listed by their number of tasks nor valued in rational numbers.
NOISE = 1e-12  # A net in floating point may be off by this share of the prices of its tasks and of their jobs.


def exact_signs(arrays: PackingArrays, kind: IntArray, on_it: IntArray, net: FloatArray) -> FloatArray:
    """The nets (P,) of patterns (P, N) on types `kind` (P,), those again whose sign is in doubt: then none is.

    That of a single task is a difference of whole numbers and not in doubt.
    """
    terms = NOISE * (on_it @ (arrays.reservation_price + arrays.job_price).astype(float))
    found = net.copy()
    for p in np.flatnonzero((np.abs(net) <= terms) & (on_it.sum(axis=1) > 1)):
        found[p] = exact_net(arrays, int(kind[p]), on_it[p])
    return found


def exact_net(arrays: PackingArrays, kind: int, on_it: IntArray) -> float:
    """The net of a pattern in price units, computed in rational numbers so that the sign is beyond doubt."""
    tasks = {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}
    net = -Fraction(int(arrays.price[kind]))
    for c, k in tasks.items():
        rate = Fraction(1)
        for other, n in tasks.items():
            rate *= Fraction(repr(float(arrays.pair[c, other]))) ** (n - (other == c))
        net += k * (int(arrays.reservation_price[c]) - (1 - rate) * int(arrays.job_price[c]))
    return float(net)


MOST_STEPS = 10_000  # for a class on one instance, if tasks do not slow each other down
EQUAL = 1e-9  # Values this close to each other, as a share, count as equal.


def pack_greedily(arrays: PackingArrays) -> list[Group]:
    """Instances from the dearest type down, each filled while its value rises and rented where that pays.

    The task of most value comes next, of equal ones the best aligned. Tasks that are left are each alone.
    """
    left, found = arrays.count.copy(), []
    for k in sorted(range(len(arrays.price)), key=lambda k: -int(arrays.price[k])):
        while left.any():
            on_it, value = _filled(arrays, k, left)
            if not on_it.any() or value < int(arrays.price[k]) * (1 - EQUAL):
                break
            copies = int((left[on_it > 0] // on_it[on_it > 0]).min())
            left = left - copies * on_it
            found.append((k, {int(c): int(on_it[c]) for c in np.flatnonzero(on_it)}, copies))
    alone = [(int(arrays.cheapest_type[c]), {int(c): 1}, int(left[c])) for c in np.flatnonzero(left)]
    return [*found, *alone]


def _filled(arrays: PackingArrays, kind: int, left: IntArray) -> tuple[IntArray, float]:
    """The tasks (N,) put on an instance of a type, and their value."""
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
        if not slowed:  # then each of them is worth the same, and very many go in batches
            some = 1 + int(left[c] - on_it[c]) // MOST_STEPS
            some = min([some, *(int(f // d) for f, d in zip(free, demand[c], strict=True) if d)])
        newcomer = outside[c]
        outside, inside = outside * arrays.pair[:, c], inside * arrays.pair[:, c]
        inside[c] = newcomer
        on_it[c] += some
        free, value = free - some * demand[c], value + some * (most - value)
