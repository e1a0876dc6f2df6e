"""Generate the ten classes of two-dimensional vector packing of Caprara and Toth (2001) as `eva-packing` instances.

Alberto Caprara and Paolo Toth, "Lower bounds and algorithms for the 2-dimensional vector packing problem", Discrete
Applied Mathematics 111 (2001). Items are generated from a seed; these are not the files of the authors.
"""

from __future__ import annotations

import random
from typing import Literal

from instances.envelope import Instance
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Task

Types = Literal["one", "three"]
SIZES = (25, 50, 100, 200)
TRIPLETS = (24, 51, 99, 201)
UNIFORM = {1: (100, 400), 2: (1, 1000), 3: (200, 800), 4: (50, 200), 5: (25, 100), 6: (20, 100), 9: (100, 400)}
LARGE, SMALL, TRIPLET = 1000, 150, 100
CORRELATED = (20, 100)
THREE = ((1, 1.0), (2, 1.7), (4, 3.1))  # capacity, as a multiple, and price
RESOURCES = ("first", "second")

Pair = tuple[int, int]


def caprara_toth(number: int, items: int, seed: int, *, types: Types = "one") -> Instance[EvaPacking]:
    """Generate a random instance of class `number` with `items` items, each a separate task.

    - `number`: the class, 1 to 10.
    - `items`: 25, 50, 100 or 200 in the paper, and 24, 51, 99 or 201 for class 10, whose items are triplets.
    - `seed`: seed of the draw.
    - `types`: `one` instance type of price 1, or `three`, of 1, 2 and 4 times the capacity at prices 1, 1.7 and 3.1.

    Raises ValueError for another class, no items, or a number of items that class 10 cannot have.
    """
    if not 1 <= number <= 10:
        raise ValueError(f"class: must be in [1, 10], got {number}")
    if items < 1 or (number == 10 and items % 3):
        raise ValueError(f"items: must be >= 1, and a multiple of 3 in class 10, got {items}")
    sizes, capacity = _draw(number, items, random.Random(f"{number}-{items}-{seed}"))
    kinds = ((1, 1.0),) if types == "one" else THREE
    data = EvaPacking(
        resources=RESOURCES,
        instance_types=tuple(
            InstanceType(
                name=f"bin-{times}",
                family="bin",
                capacity={r: float(times * c) for r, c in zip(RESOURCES, capacity, strict=True)},
                usd_per_hour=price,
            )
            for times, price in kinds
        ),
        tasks=tuple(
            Task(workload=f"item-{i}", count=1, demand={DEFAULT: dict(zip(RESOURCES, map(float, size), strict=True))})
            for i, size in enumerate(sizes)
        ),
        objective="cost",
    )
    name = f"vector-packing-{number}-{items}-seed-{seed}" + ("" if types == "one" else "-three-types")
    return Instance.of(data, name, f"Caprara and Toth (2001), class {number}: {items} items, seed {seed}")


def paper_sizes(number: int) -> tuple[int, ...]:
    """Return the numbers of items of a class in the paper."""
    return TRIPLETS if number == 10 else SIZES


def _draw(number: int, items: int, draw: random.Random) -> tuple[list[Pair], Pair]:
    """Generate the sizes of the items, and return them with the capacity of a bin."""
    if number in UNIFORM:
        low, high = UNIFORM[number]
        sizes = [(draw.randint(low, high), draw.randint(low, high)) for _ in range(items)]
        if number == 9:
            return sizes, _even(sizes)
        return sizes, (SMALL, SMALL) if number == 6 else (LARGE, LARGE)
    if number == 10:
        return _triplets(items // 3, draw), (TRIPLET, TRIPLET)
    sizes = []
    for _ in range(items):
        one = draw.randint(*CORRELATED)
        near = one if number == 7 else sum(CORRELATED) - one
        sizes.append((one, draw.randint(near - 10, near + 10)))
    return sizes, (SMALL, SMALL)


def _even(sizes: list[Pair]) -> Pair:
    """Return the capacities of class 9, with which both sizes need the same number of bins.

    This number is that of the scarcer size with a capacity of 1,000.
    """
    first, second = (sum(size[r] for size in sizes) for r in range(2))
    bins = -(-max(first, second) // LARGE)
    return -(-first // bins), -(-second // bins)


def _triplets(bins: int, draw: random.Random) -> list[Pair]:
    """Generate the items of class 10: three items fill a bin exactly."""
    sizes: list[Pair] = []
    for _ in range(bins):
        one, two = ((draw.randint(25, 50), draw.randint(25, 50)) for _ in range(2))
        sizes += [one, two, (TRIPLET - one[0] - two[0], TRIPLET - one[1] - two[1])]
    return sizes
