"""Packings made in a line or two: one resource `c`, types and tasks by their numbers; and random ones on EC2 types."""

from __future__ import annotations

import random
from typing import Any

from instances.eva import EvaPacking
from instances.eva.catalogue import RESOURCES, ec2_types


def kind(name: str, capacity: float, price: float, family: str = "f") -> dict[str, Any]:
    """An instance type of one resource."""
    return {"name": name, "family": family, "capacity": {"c": capacity}, "usd_per_hour": price}


def task(
    workload: str, count: int, demand: float, family: dict[str, float] | None = None, **more: Any
) -> dict[str, Any]:
    """A task entry of one resource; `family` has demands of their own."""
    own = {f: {"c": amount} for f, amount in (family or {}).items()}
    return {"workload": workload, "count": count, "demand": {"default": {"c": demand}, **own}, **more}


def packing(kinds: list[dict[str, Any]], tasks: list[dict[str, Any]], **more: Any) -> EvaPacking:
    """The data of one resource; the objective is `cost` unless said otherwise."""
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
