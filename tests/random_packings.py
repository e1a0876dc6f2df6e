"""Packings from bare numbers, small random ones, and their optimum by the literal integer program."""

from __future__ import annotations

import highspy
import numpy as np

from instances.eva import EvaPacking, InstanceType, PackingArrays, Task, packing_arrays


def packing(counts, prices, capacity, family, demand) -> PackingArrays:
    """The arrays of `counts` (N,) tasks, types of `prices` (K,), `capacity` (K, R), `family` (K,), `demand` (F, N, R).

    Equal classes become one, and sizes and prices multiples of their greatest common divisors.
    """
    demand, capacity = np.asarray(demand), np.asarray(capacity)
    families, resources = [f"f{f}" for f in range(len(demand))], [f"r{r}" for r in range(demand.shape[2])]

    def amounts(row) -> dict[str, float]:
        return dict(zip(resources, map(float, row), strict=True))

    kinds = [
        InstanceType(name=f"k{k}", family=families[f], capacity=amounts(room), usd_per_hour=float(price))
        for k, (f, room, price) in enumerate(zip(family, capacity, prices, strict=True))
    ]
    tasks = [
        Task(
            workload=f"w{c}",
            count=int(n),
            demand={name: amounts(demand[f, c]) for f, name in enumerate(families)}
            | {"default": amounts(demand[0, c])},
        )
        for c, n in enumerate(counts)
    ]
    data = EvaPacking(resources=tuple(resources), instance_types=tuple(kinds), tasks=tuple(tasks), objective="cost")
    return packing_arrays(data)


def random_packing(seed: int) -> PackingArrays:
    """Two or three resources, two or three families with demands of their own, counts above one, odd prices."""
    random = np.random.default_rng(seed)
    resources, families, classes = int(random.integers(1, 4)), int(random.integers(1, 4)), int(random.integers(1, 5))
    capacity, prices, family = [], [], []
    for f in range(families):
        base = random.integers(2, 6, resources)
        price = int(random.integers(5, 40))
        for multiple in (1, 2, 3)[: int(random.integers(1, 4))]:
            capacity.append(base * multiple)
            prices.append(price * multiple - int(random.integers(0, 2)))
            family.append(f)
    counts = random.integers(1, 4, classes)
    demand = random.integers(0, 4, (families, classes, resources))
    room = np.array(capacity)[np.array(family) == 0].max(axis=0)
    demand[0] = np.minimum(demand[0], room)
    return packing(counts, prices, capacity, family, demand)


def literal_optimum(arrays: PackingArrays) -> int:
    """Minimum cost by one binary per instance and type and one integer per instance and class (Eva, section 4.1)."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    slots = int(arrays.count.sum())
    binary, integer = highspy.HighsVarType.kInteger, highspy.HighsVarType.kInteger
    holds: list[list[list[highspy.highs.highs_var]]] = []
    picks = []
    for _ in range(slots):
        picks.append([highs.addVariable(0, 1, float(p), type=binary) for p in arrays.price])
        holds.append(
            [
                [
                    highs.addVariable(0, float(n) if arrays.fits[k, c] else 0.0, 0.0, type=integer)
                    for c, n in enumerate(arrays.count)
                ]
                for k in range(len(arrays.price))
            ]
        )
    for i in range(slots):
        highs.addConstr(sum(picks[i]) <= 1)
        for k in range(len(arrays.price)):
            for r, room in enumerate(arrays.capacity[k]):
                demand = arrays.demand[arrays.family[k], :, r]
                highs.addConstr(
                    sum(int(d) * v for d, v in zip(demand, holds[i][k], strict=True)) <= int(room) * picks[i][k]
                )
            for v, n in zip(holds[i][k], arrays.count, strict=True):
                highs.addConstr(v <= int(n) * picks[i][k])
    for c, n in enumerate(arrays.count):
        highs.addConstr(sum(holds[i][k][c] for i in range(slots) for k in range(len(arrays.price))) == int(n))
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return round(highs.getInfo().objective_function_value)
