"""Price groups: instance types whose prices are added up together, in multiples of a common unit."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from instances.eva.arrays import PackingArrays


@dataclass(frozen=True)
class PriceGroups:
    """Price groups, a partition of the types: type k is in group `group_of[k]`, or in none (-1) where no task fits.

    What is spent on a group is a whole multiple of `unit[g]`, a common divisor of its prices. An optimal configuration
    spends no more than `upper[g]` units on it; `None` where no such number is known.
    """

    group_of: tuple[int, ...]
    unit: tuple[int, ...]
    upper: tuple[int | None, ...]

    @staticmethod
    def by_family(arrays: PackingArrays) -> PriceGroups:
        """A group for each family, with the greatest common divisor of the prices of the useful types as unit."""
        useful, prices, families = _useful(arrays), arrays.price.tolist(), len(arrays.demand)
        group_of = tuple(f if u else -1 for f, u in zip(arrays.family.tolist(), useful, strict=True))
        of_group = [[p for p, g in zip(prices, group_of, strict=True) if g == f] for f in range(families)]
        return PriceGroups(group_of, tuple(gcd(*p) or 1 for p in of_group), (None,) * families)

    @staticmethod
    def by_type(arrays: PackingArrays) -> PriceGroups:
        """A group for each type, so that the spend is a number of instances.

        Where j instances of a type can be replaced by one of another type that costs no more than they do, an optimal
        configuration needs at most j - 1.
        """
        price, capacity, family = arrays.price.tolist(), arrays.capacity, arrays.family.tolist()
        useful = [k for k, u in enumerate(_useful(arrays)) if u]
        group_of = tuple(useful.index(k) if k in useful else -1 for k in range(len(price)))
        upper: list[int | None] = []
        for k in useful:
            ratios = [
                -(-price[m] // price[k])
                for m in useful
                if family[m] == family[k]
                and price[m] > price[k]
                and (capacity[m] >= capacity[k] * -(-price[m] // price[k])).all()
            ]
            upper.append(min(ratios) - 1 if ratios else None)
        return PriceGroups(group_of, tuple(price[k] for k in useful), tuple(upper))

    def of_group(self, g: int) -> list[int]:
        """The types of a group."""
        return [k for k, other in enumerate(self.group_of) if other == g]


def _useful(arrays: PackingArrays) -> list[bool]:
    return np.any(arrays.fits, axis=1).tolist()
