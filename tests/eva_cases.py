"""Build packings for Eva's tests by hand, at random and by Hypothesis, with independent optima.

Two optima are found here: by enumeration, judged by the checker alone, and by a literal integer program on arrays.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import highspy
import numpy as np
from hypothesis import strategies as st

from instances import check
from instances.eva import EvaPacking, InstanceType, PackingArrays, Task, Throughput, packing_arrays
from instances.eva.tables import RESOURCES, ec2_types

GPU_AND_CPU = ("gpu", "cpu")


def kind(name: str, capacity: float, price: float, family: str = "f") -> dict[str, Any]:
    """Build an instance type of one resource."""
    return {"name": name, "family": family, "capacity": {"c": capacity}, "usd_per_hour": price}


def task(
    workload: str, count: int, demand: float, family: dict[str, float] | None = None, **more: Any
) -> dict[str, Any]:
    """Build a task entry of one resource; `family` has demands of its own."""
    own = {f: {"c": amount} for f, amount in (family or {}).items()}
    return {"workload": workload, "count": count, "demand": {"default": {"c": demand}, **own}, **more}


def packing(kinds: list[dict[str, Any]], tasks: list[dict[str, Any]], **more: Any) -> EvaPacking:
    """Build the data of one resource; the objective is `cost` by default."""
    return EvaPacking.model_validate(
        {"resources": ["c"], "objective": "cost", "instance_types": kinds, "tasks": tasks, **more}
    )


def requests(entries: int, seed: int, objective: str = "cost") -> EvaPacking:
    """Distinct requests of 1 to 3 tasks each on the EC2 types, as a user's own list has them."""
    draw = random.Random(seed)
    tasks = []
    for i in range(entries):
        amounts = (float(draw.choice((0, 1, 1, 2, 4))), float(draw.randint(1, 16)), float(draw.randint(1, 64)))
        demand = {"default": dict(zip(RESOURCES, amounts, strict=True))}
        tasks.append({"workload": f"w{i}", "count": draw.randint(1, 3), "demand": demand})
    return EvaPacking.model_validate(
        {
            "resources": RESOURCES,
            "objective": objective,
            "instance_types": [k.model_dump() for k in ec2_types("vcpus")],
            "tasks": tasks,
            "throughput": {"default": 0.95} if objective == "net-saving" else None,
        }
    )


def packing_by_numbers(counts, prices, capacity, family, demand) -> PackingArrays:
    """Build arrays of `counts` (N,), types of `prices` (K,), `capacity` (K, R), `family` (K,), `demand` (F, N, R).

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
    draw = np.random.default_rng(seed)
    resources, families, classes = int(draw.integers(1, 4)), int(draw.integers(1, 4)), int(draw.integers(1, 5))
    capacity, prices, family = [], [], []
    for f in range(families):
        base = draw.integers(2, 6, resources)
        price = int(draw.integers(5, 40))
        for multiple in (1, 2, 3)[: int(draw.integers(1, 4))]:
            capacity.append(base * multiple)
            prices.append(price * multiple - int(draw.integers(0, 2)))
            family.append(f)
    counts = draw.integers(1, 4, classes)
    demand = draw.integers(0, 4, (families, classes, resources))
    room = np.array(capacity)[np.array(family) == 0].max(axis=0)
    demand[0] = np.minimum(demand[0], room)
    return packing_by_numbers(counts, prices, capacity, family, demand)


@cache
def literal_optimum_of_seed(seed: int) -> int:
    """Return the literal optimum of `random_packing(seed)`, computed once per process."""
    return literal_optimum(random_packing(seed))


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


@st.composite
def packings(draw: st.DrawFn, objective: str = "cost", most_tasks: int = 5) -> EvaPacking:
    """Draw a packing of up to `most_tasks` tasks in two families, with one type that holds any task."""
    whole = st.integers(0, 6)
    kinds = [
        InstanceType(name="big", family="f", capacity={"gpu": 6, "cpu": 6}, usd_per_hour=draw(st.integers(4, 12)))
    ] + [
        InstanceType(
            name=f"k{i}",
            family=draw(st.sampled_from(["f", "g"])),
            capacity={"gpu": draw(whole), "cpu": draw(whole)},
            usd_per_hour=draw(st.integers(1, 60)) / 5,
        )
        for i in range(draw(st.integers(0, 3)))
    ]
    families = {k.family for k in kinds}
    tasks, left = [], most_tasks
    while left and (not tasks or draw(st.booleans())):
        count = draw(st.integers(1, min(left, 3)))
        demand = {"default": {"gpu": draw(whole), "cpu": draw(st.integers(1, 6))}}
        if "g" in families and draw(st.booleans()):
            demand["g"] = {"gpu": draw(whole), "cpu": draw(whole)}
        job = draw(st.sampled_from([None, "j"]))
        tasks.append(Task(workload=f"w{len(tasks)}", count=count, demand=demand, job=job))
        left -= count
    throughput = None
    if objective == "net-saving":
        names = [t.workload for t in tasks]
        shares = st.sampled_from([0.0, 0.5, 0.8, 0.9, 0.95, 1.0])
        pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), unique=True, max_size=6))
        throughput = Throughput(default=draw(shares), pairwise=tuple((a, b, draw(shares)) for a, b in pairs))
    return EvaPacking(
        resources=GPU_AND_CPU,
        instance_types=tuple(kinds),
        tasks=tuple(tasks),
        throughput=throughput,
        objective=objective,
    )


def partitions(items: list[str]) -> Iterator[list[list[str]]]:
    """All partitions of `items` into non-empty parts."""
    if not items:
        yield []
        return
    for smaller in partitions(items[1:]):
        yield [[items[0]], *smaller]
        for i, part in enumerate(smaller):
            yield [*smaller[:i], [items[0], *part], *smaller[i + 1 :]]


def best_packing(data: EvaPacking) -> float:
    """Return the optimum over all partitions of the tasks and all types of their parts, by the checker alone.

    Parts do not influence one another, so the best type of each part is found once.
    """
    items = [task.key for task in data.tasks for _ in range(task.count)]
    best_of: dict[tuple[str, ...], float | None] = {}

    def of_part(part: list[str]) -> float | None:
        key = tuple(sorted(part))
        if key not in best_of:
            values = []
            for kind in data.instance_types:
                group = {"type": kind.name, "count": 1, "tasks": dict(Counter(part))}
                verdict = check(data, {"instances": [group]})
                if not any("holds" in violation for violation in verdict.violations):
                    values.append(verdict.objective)
            best = min if data.sense == "minimize" else max
            best_of[key] = best(values) if values else None
        return best_of[key]

    totals = []
    for parts in partitions(items):
        values = [of_part(part) for part in parts]
        if None not in values:
            totals.append(sum(values))
    return min(totals) if data.sense == "minimize" else max(totals)
