"""The exact bound of a node: duals as whole numbers, made feasible by exact pricing, and what they prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from operator import mul

import numpy as np

from instances.eva.arrays import IntArray, PackingArrays
from models.eva.branch_and_price.node_program import NodeProgram, Relaxed, holding, spent_on
from models.eva.branch_and_price.pricer import Holding, Priced, Pricer, Prices
from models.eva.branch_and_price.proof import Decision, Duals

FINE = 2**20  # a scale up to this is not raised, which would cost too much: the duals are lowered


@dataclass(frozen=True)
class Proven:
    """What the duals of a node prove. `prices`: what patterns were priced at, `unit` the scale of these prices.

    `duals.scale` is the unit, raised where a pattern was worth more than its target.
    """

    duals: Duals
    prices: Prices
    unit: int
    priced: Priced

    @property
    def bound(self) -> int:
        """The least whole cost that the duals leave, before sums of prices are looked at."""
        return max(0, -(-self.duals.value // self.duals.scale))


def prove(
    arrays: PackingArrays,
    program: NodeProgram,
    pricer: Pricer,
    decisions: Sequence[Decision],
    relaxed: Relaxed,
    columns_each: int,
    exact: bool = True,
) -> Proven:
    """Price the duals of a linear program, as whole numbers, and give what they prove; see `proof`."""
    types = len(arrays.price)
    floats = _duals(program, relaxed, decisions)
    rough_value, rough_price = np.zeros((types, arrays.classes)), arrays.price.astype(float)
    rough_value += relaxed.cover
    for d, y in zip(decisions, floats, strict=True):
        if d.kind == "placed":
            rough_value[list(d.of[1:]), d.of[0]] += y
        else:
            rough_price += y  # a generous limit for numbers of this size
            rough_price += y * arrays.price.max() if d.kind == "spend" else 0.0
    unit = pricer.scale(rough_value, rough_price)
    cover = np.floor(relaxed.cover * unit).astype(np.int64)
    duals = [int(y * unit) for y in floats]
    value: IntArray = np.repeat(cover[None], types, axis=0)
    prices = arrays.price.tolist()
    mu = [0] * types
    bonuses: list[tuple[Holding, int]] = []
    whole = cover.tolist()
    proven = sum(map(mul, whole, arrays.count.tolist()))
    for d, y in zip(decisions, duals, strict=True):
        if not y:
            continue
        sign = 1 if d.sense == "at least" else -1
        proven += sign * y * d.amount
        if d.kind == "instances":
            mu[d.of[0]] += sign * y
        elif d.kind == "spend":
            for k in np.flatnonzero(spent_on(arrays, d.of)).tolist():
                mu[k] += sign * y * prices[k]
        elif d.kind == "placed":
            value[list(d.of[1:]), d.of[0]] += y
        else:
            bonuses.append((holding(d.of), sign * y))
    asked = Prices(
        value,
        tuple(unit * c - m for c, m in zip(prices, mu, strict=True)),
        tuple((d.of[0], d.of[1]) for d in decisions if d.kind == "together"),
        tuple((d.of[0], d.of[1]) for d in decisions if d.kind == "apart"),
        bonuses=tuple(bonuses),
    )
    priced = pricer.price(asked, columns_each, exact)
    scale = unit
    limit = {d.of[0]: i for i, d in enumerate(decisions) if d.kind == "instances" and d.sense == "at most"}
    limit = {k: i for k, i in limit.items() if arrays.most[k] is not None}
    for k, worth in enumerate(priced.bound):
        if worth > asked.target[k]:
            few = decisions[limit[k]].amount if k in limit else None
            if few is not None and (not prices[k] or few * unit * prices[k] <= proven):
                # No more than so many patterns are worth too much.
                duals[limit[k]] += worth - asked.target[k]
                proven -= (worth - asked.target[k]) * few
            else:
                scale = max(scale, -(-(worth + mu[k]) // prices[k]))
    found = Duals(scale, proven, tuple(whole), tuple(duals))
    if unit < scale and unit <= FINE:
        found = _lowered(arrays, decisions, replace(found, scale=unit), priced.bound, mu)
    return Proven(found, asked, unit, priced)


def _lowered(
    arrays: PackingArrays, decisions: Sequence[Decision], duals: Duals, worth: Sequence[int], mu: Sequence[int]
) -> Duals:
    """Duals that are feasible at their own scale: one that is coarse and raised by one would prove far less."""
    paid = zip(worth, mu, arrays.price.tolist(), strict=True)
    share = max(Fraction(w + m, duals.scale * p) for w, m, p in paid if p)
    cover = tuple(floor(y / share) for y in duals.cover)
    weighed = zip(decisions, duals.decisions, strict=True)
    lowered = tuple(floor(y / share) if d.sense == "at least" else ceil(y / share) for d, y in weighed)
    value = sum(map(mul, cover, arrays.count.tolist()))
    value += sum((y if d.sense == "at least" else -y) * d.amount for d, y in zip(decisions, lowered, strict=True))
    return Duals(duals.scale, value, cover, lowered)


def _duals(program: NodeProgram, relaxed: Relaxed, decisions: Sequence[Decision]) -> list[float]:
    """The duals of decisions, for a unit of their amounts; 0 where another decision or side of the row binds."""
    tightest: dict[tuple[object, ...], Decision] = {}
    for d in decisions:
        key = (d.kind, d.of, d.sense)
        sign = 1 if d.sense == "at least" else -1
        if key not in tightest or sign * d.amount > sign * tightest[key].amount:
            tightest[key] = d
    found = []
    for d in decisions:
        y = 0.0
        if d.kind not in ("together", "apart") and tightest[d.kind, d.of, d.sense] is d:
            y = relaxed.duals.get((d.kind, d.of), 0.0) / program.per_unit((d.kind, d.of))
        found.append(max(0.0, y if d.sense == "at least" else -y))
    return found
