"""Small random packings, and their optimum by the literal integer program."""

from __future__ import annotations

import highspy
import numpy as np

from models.eva.column_generation.packing import Packing


def random_packing(seed: int) -> Packing:
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
    return Packing.of(counts, prices, capacity, family, demand)


def literal_optimum(packing: Packing) -> int:
    """Minimum cost by one binary per instance and type and one integer per instance and class (Eva, section 4.1)."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    slots = int(packing.counts.sum())
    binary, integer = highspy.HighsVarType.kInteger, highspy.HighsVarType.kInteger
    holds: list[list[list[highspy.highs.highs_var]]] = []
    picks = []
    for _ in range(slots):
        picks.append([highs.addVariable(0, 1, float(p), type=binary) for p in packing.prices])
        holds.append(
            [
                [
                    highs.addVariable(0, float(n) if packing.fits[k, c] else 0.0, 0.0, type=integer)
                    for c, n in enumerate(packing.counts)
                ]
                for k in range(len(packing.prices))
            ]
        )
    for i in range(slots):
        highs.addConstr(sum(picks[i]) <= 1)
        for k in range(len(packing.prices)):
            for r, room in enumerate(packing.capacity[k]):
                demand = packing.demand[packing.family[k], :, r]
                highs.addConstr(
                    sum(int(d) * v for d, v in zip(demand, holds[i][k], strict=True)) <= int(room) * picks[i][k]
                )
            for v, n in zip(holds[i][k], packing.counts, strict=True):
                highs.addConstr(v <= int(n) * picks[i][k])
    for c, n in enumerate(packing.counts):
        highs.addConstr(sum(holds[i][k][c] for i in range(slots) for k in range(len(packing.prices))) == int(n))
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return round(highs.getInfo().objective_function_value)
