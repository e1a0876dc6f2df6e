"""The net of a pattern in rational numbers, where floating point leaves its sign in doubt."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from instances.eva.arrays import IntArray, PackingArrays

COUNTED_TASKS = 64  # Patterns of more tasks are neither listed by their number of tasks nor valued in rational numbers.
NOISE = 1e-12  # A net in floating point may be off by this share of the reservation prices of its tasks.


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
