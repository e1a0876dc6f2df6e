"""Build packings for tests of branch-and-price, and check its proofs with independent code."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import floor

import numpy as np

from instances.eva.arrays import PackingArrays
from models.eva.covering import Patterns, feasible_patterns
from models.eva.parameters import DEFAULTS
from models.eva.pricers import list_patterns
from tests.eva_cases import packing_by_numbers

ALL = 10**7


def linear_prices(seed: int, classes: int = 8, tasks: int = 3):
    """Two families of doubling sizes and doubling prices, three resources, demands of their own on each family."""
    draw = np.random.default_rng(seed)
    base = np.array([[2, 8, 12], [0, 8, 16]])
    capacity = [base[f] * m for f in range(2) for m in (1, 2, 4)]
    prices = [p * m for p in (34, 9) for m in (1, 2, 4)]
    demand = np.stack(
        [draw.integers(0, 2, classes), draw.integers(1, 12, classes), draw.integers(1, 20, classes)], axis=1
    )
    other = demand + draw.integers(0, 3, demand.shape) * (demand > 0)
    return packing_by_numbers(
        draw.integers(1, tasks + 1, classes), prices, capacity, [0, 0, 0, 1, 1, 1], np.stack([demand, other])
    )


def every_pattern(arrays, k):
    """All patterns of a type, maximal or not, by enumeration."""
    most = np.where(arrays.fits[k], arrays.count, 0)
    return feasible_patterns(arrays.capacity[k], arrays.demand_of_type[k], most, ALL)


def maximal(patterns: np.ndarray, capacity: np.ndarray, demand: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the maximal patterns of `patterns` (P, N), to which no task can be added."""
    left = capacity - patterns @ demand
    extendable = np.zeros(len(patterns), dtype=bool)
    for c in range(len(demand)):
        extendable |= (left >= demand[c]).all(axis=1) & (patterns[:, c] < most[c])
    return patterns[~extendable]


def listed(arrays: PackingArrays) -> Patterns:
    """List the maximal patterns of all types, as columns of an integer program."""
    pricer = list_patterns(arrays, DEFAULTS.branch_and_price)
    return Patterns(pricer.kind, pricer.on_it.astype(np.int64))


def price_alone(arrays, pattern, others):
    """Return the minimum price of one of `others` that holds a pattern, `None` if none does."""
    prices = [int(arrays.price[j]) for j in others if (pattern @ arrays.demand_of_type[j] <= arrays.capacity[j]).all()]
    return min(prices, default=None)


def stood_in_for(arrays, k, pattern):
    """Whether another instance that comes first by price, or two cheaper ones at no higher price, hold a pattern."""
    price = arrays.price.tolist()
    first = [j for j in range(len(price)) if (price[j], j) < (price[k], k)]
    if price_alone(arrays, pattern, first) is not None:
        return True
    cheaper = [j for j in first if price[j] < price[k]]
    for part in product(*(range(int(q) + 1) for q in pattern)):
        one, two = (price_alone(arrays, np.array(p), cheaper) for p in (part, pattern - np.array(part)))
        if one is not None and two is not None and one + two <= price[k]:
            return True
    return False


def entry(arrays, decision, k, pattern):
    """Return the coefficient of a pattern of type k in the row of a decision."""
    if decision.kind == "instances":
        return int(k == decision.of[0])
    if decision.kind == "spend":
        family, least = decision.of
        return int(arrays.price[k]) if arrays.family[k] == family and arrays.price[k] >= least else 0
    if decision.kind == "placed":
        return int(pattern[decision.of[0]]) if k in decision.of[1:] else 0
    held = zip(decision.of[1::2], decision.of[2::2], strict=True)
    return int(k == decision.of[0] and all(pattern[c] >= v for c, v in held))


def left_of(arrays, duals, decisions, k, patterns):
    """`S C_k - mu - worth` of each pattern, as whole numbers."""
    left = duals.scale * int(arrays.price[k]) - patterns.astype(object) @ np.array(duals.cover, dtype=object)
    for d, y in zip(decisions, duals.decisions, strict=True):
        sign = 1 if d.sense == "at least" else -1
        if y:
            left = left - sign * y * np.array([entry(arrays, d, k, p) for p in patterns], dtype=object)
    return left


def proven(arrays, duals, decisions):
    """Return the right-hand side D of a leaf."""
    found = sum(y * n for y, n in zip(duals.cover, arrays.count.tolist(), strict=True))
    for d, y in zip(decisions, duals.decisions, strict=True):
        found += (1 if d.sense == "at least" else -1) * y * d.amount
    return found


def sums(arrays, limit):
    """Return whether each whole number up to a limit is a sum of prices."""
    reached = [True] + [False] * limit
    for total in range(limit + 1):
        reached[total] = reached[total] or any(total >= p and reached[total - p] for p in arrays.price.tolist())
    return reached


def opposite(arrays, one, other):
    """Return whether no packing disobeys both of two decisions."""
    if one.kind == other.kind == "placed" and one.of[0] == other.of[0]:
        kinds = sorted(one.of[1:] + other.of[1:])
        return kinds == list(range(len(arrays.price))) and (
            one.amount + other.amount == int(arrays.count[one.of[0]]) + 1
        )
    if (one.kind, one.of) != (other.kind, other.of) or {one.sense, other.sense} != {"at least", "at most"}:
        return False
    low, high = (one, other) if one.sense == "at most" else (other, one)
    unit = 1
    if one.kind == "spend":
        family, least = one.of
        kinds = zip(arrays.price, arrays.family, strict=True)
        unit = int(np.gcd.reduce([p for p, f in kinds if f == family and p >= least]))
        assert low.amount % unit == 0
    return high.amount - low.amount == unit


def is_complete(arrays, paths, depth=0):
    """Return whether the decisions of leaves leave no packing out: each branch has two sides, and both are there."""
    if any(len(path) == depth for path in paths):
        return len(paths) == 1
    heads = list(dict.fromkeys(path[depth] for path in paths))
    return (
        len(heads) == 2
        and opposite(arrays, *heads)
        and all(is_complete(arrays, [p for p in paths if p[depth] == head], depth + 1) for head in heads)
    )


def check_proof(arrays, proof):
    """Assert a proof against all patterns, in whole numbers."""
    kept = {k: every_pattern(arrays, k) for k in np.flatnonzero(arrays.fits.any(axis=1)).tolist()}
    for k, patterns in kept.items():
        most = np.where(arrays.fits[k], arrays.count, 0)
        kept[k] = maximal(patterns, arrays.capacity[k], arrays.demand_of_type[k], most)
        if proof.dominated:
            kept[k] = kept[k][[not stood_in_for(arrays, k, row) for row in kept[k]]]
    for duals in proof.fixings:
        value = proven(arrays, duals, ())
        for k, patterns in kept.items():
            left = left_of(arrays, duals, (), k, patterns)
            assert (left >= 0).all() or not len(left)
            kept[k] = patterns[(value + left <= duals.scale * (proof.ceiling - 1)).astype(bool)]
    reached = sums(arrays, proof.ceiling)
    for leaf in proof.leaves:
        for k, patterns in kept.items():
            assert all(v >= 0 for v in left_of(arrays, leaf.duals, leaf.decisions, k, patterns))
        least = max(0, -floor(Fraction(-proven(arrays, leaf.duals, leaf.decisions), leaf.duals.scale)))
        while least <= proof.ceiling and not reached[least]:
            least += 1
        assert min(leaf.bound, proof.ceiling) <= least
    assert proof.bound == min([proof.ceiling, *(leaf.bound for leaf in proof.leaves)])
    assert is_complete(arrays, [leaf.decisions for leaf in proof.leaves])
