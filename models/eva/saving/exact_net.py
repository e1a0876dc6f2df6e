"""The net of a pattern in rational numbers, where floating point leaves its sign in doubt."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from instances.eva.arrays import FloatArray, IntArray, PackingArrays

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
