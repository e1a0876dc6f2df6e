"""Reduced costs of the arcs of the network in whole units, from which the gap is closed.

Times and costs are rounded down to whole units, so that every policy within the budget stays within it and none looks
slower than it is: the optimum in units is a rigorous lower bound, and sums of units are exact. One unit is 2^-50 of the
budget and of the first incumbent (less with more than 500 choices). Only the potentials are floating point, and their
rounding is bounded by `margin`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray, IntArray
from models.boa.rescaling.network import Network
from models.boa.rescaling.path_dual import Line, potentials, rounding

BITS = 50  # The budget has at most 2^50 units.


@dataclass(frozen=True)
class ReducedCosts:
    """Arcs in whole units, and reduced costs at a multiplier; L epochs at most, M classes, S choices.

    The reduced costs of a path's arcs are >= 0 and add up to the path's length over the shortest.

    - `time`, `cost` (L, M, S): units of running an epoch at a choice.
    - `change_time` (M, 1), `change_cost` (M, S): units of changing to a choice.
    - `epochs` (M,): number of epochs of each class.
    - `bits`: the budget in units is this power of two.
    - `unit`: hours of a unit of time.
    - `mu`: the multiplier, units of time for a unit of cost.
    - `enter` (L, M, S): reduced cost of changing to a choice before an epoch.
    - `stay` (L, M, S): reduced cost of keeping a choice from the epoch before.
    - `leave` (L, M, S): reduced cost of leaving a choice after the epoch before.
    - `least`: L(μ) in units.
    - `margin`: more than all rounding of floats can amount to, units.
    """

    time: IntArray
    cost: IntArray
    change_time: IntArray
    change_cost: IntArray
    epochs: IntArray
    bits: int
    unit: float
    mu: float
    enter: FloatArray
    stay: FloatArray
    leave: FloatArray
    least: float
    margin: float

    @property
    def budget(self) -> int:
        """The budget, units."""
        return 1 << self.bits


def reduced_costs(net: Network, line: Line, budget: float, incumbent: float) -> ReducedCosts:
    """The reduced costs at the multiplier of `line`; `incumbent`: time of a policy within `budget`, hours."""
    bits = min(BITS, 60 - net.time.shape[2].bit_length())
    unit, unit_cost = incumbent / 2**bits, budget / 2**bits
    whole = Network(
        _down(net.time, unit, bits),
        _down(net.cost, unit_cost, bits),
        _down(net.change_time, unit, bits),
        _down(net.change_cost, unit_cost, bits),
        net.epochs,
    )
    mu = line.mu * unit_cost / unit
    p = potentials(whole, mu)
    ahead = p.run + p.onward
    stay, leave = np.full_like(ahead, np.inf), np.full_like(ahead, np.inf)
    stay[1:] = ahead[1:] - p.onward[:-1]
    leave[1:] = p.switch[1:, :, None] - p.onward[:-1]
    return ReducedCosts(
        time=whole.time.astype(np.int64),
        cost=whole.cost.astype(np.int64),
        change_time=whole.change_time.astype(np.int64),
        change_cost=whole.change_cost.astype(np.int64),
        epochs=net.epochs,
        bits=bits,
        unit=unit,
        mu=mu,
        enter=p.change + ahead - p.switch[:, :, None],
        stay=stay,
        leave=leave,
        least=float(p.switch[0].sum() - mu * 2.0**bits),
        margin=rounding(net) * (1 + mu) * 2.0**bits,
    )


def _down(values: FloatArray, unit: float, bits: int) -> FloatArray:
    """Whole units below `values`, a few roundings of the division included; cut where more than the budget."""
    return np.minimum(np.floor(values * ((1 - 2.0**-49) / unit)), 2.0 ** (bits + 1))
