"""Draw packings with limits, running instances, allowed types and spreading, with optima by enumeration."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from instances import check
from instances.eva import EvaPacking
from tests.eva_cases import partitions

FIELDS = ("max_instances", "running", "allowed_types", "max_per_instance", "spread")


def random_constrained(
    seed: int, fields: Sequence[str] = FIELDS, objective: str = "cost", most_tasks: int = 4
) -> EvaPacking:
    """Draw an instance of two resources, up to three types in two families, and up to `most_tasks` tasks."""
    draw = random.Random(f"{seed}-{objective}")
    names = [f"k{k}" for k in range(draw.randint(1, 3))]
    kinds: list[dict[str, Any]] = [
        {
            "name": name,
            "family": draw.choice("fg") if k else "f",
            "capacity": {"gpu": 6 if not k else draw.randint(2, 8), "cpu": 6 if not k else draw.randint(2, 8)},
            "usd_per_hour": draw.randint(2, 30) / 2,
        }
        for k, name in enumerate(names)
    ]
    if "max_instances" in fields:
        for kind in kinds:
            if draw.random() < 0.7:
                kind["max_instances"] = draw.choice((0, 1, 1, 2, 2, 3))
    tasks: list[dict[str, Any]] = []
    left = draw.randint(1, most_tasks)
    while left:
        count = draw.randint(1, min(left, 3))
        demand = {"default": {"gpu": draw.randint(0, 3), "cpu": draw.randint(0, 3)}}
        if draw.random() < 0.3 and any(kind["family"] == "g" for kind in kinds):
            demand["g"] = {"gpu": draw.randint(0, 3), "cpu": draw.randint(0, 3)}
        task: dict[str, Any] = {"workload": f"w{len(tasks)}", "count": count, "demand": demand}
        if draw.random() < 0.5:
            task["job"] = "j"
        if "max_per_instance" in fields and draw.random() < 0.5:
            task["max_per_instance"] = draw.randint(1, 2)
        if "allowed_types" in fields and draw.random() < 0.4:
            task["allowed_types"] = sorted({"k0", *draw.sample(names, draw.randint(0, len(names)))})
        tasks.append(task)
        left -= count
    keys = [t["workload"] + ("@j" if "job" in t else "") for t in tasks]
    data: dict[str, Any] = {
        "resources": ["gpu", "cpu"],
        "objective": objective,
        "instance_types": kinds,
        "tasks": tasks,
    }
    if objective == "net-saving":
        data["throughput"] = {"default": draw.choice((0.7, 0.9, 0.95, 1.0))}
    if "running" in fields and draw.random() < 0.8:
        data["running"] = [
            {"type": draw.choice(names), "count": draw.randint(1, 2), "usd_per_hour": draw.choice((0, 0, 1, 2.5))}
            for _ in range(draw.randint(1, 2))
        ]
        if draw.random() < 0.2:
            data["running"].append({"type": names[0], "count": 1})
    if "spread" in fields and draw.random() < 0.7:
        members = draw.sample(keys, draw.randint(1, len(keys)))
        data["spread"] = [{"tasks": members, "max_per_instance": draw.randint(1, 2)}]
    return EvaPacking.model_validate(data)


def best_by_enumeration(data: EvaPacking) -> float | None:
    """Return the optimum over all partitions of the tasks and all types of their parts, by the checker alone.

    `None` where there is no feasible plan. A part that an instance cannot hold alone is passed over early.
    """
    items = tuple(task.key for task in data.tasks for _ in range(task.count))
    whole = "is placed", "instances of"  # what a part by itself says nothing of
    able: dict[tuple[str, ...], list[str]] = {}
    values: list[float] = []
    seen: set[tuple[tuple[str, ...], ...]] = set()
    for parts in partitions(list(items)):
        key = tuple(sorted(tuple(sorted(part)) for part in parts))
        if key in seen:
            continue
        seen.add(key)
        for part in key:
            if part not in able:
                able[part] = [
                    kind.name
                    for kind in data.instance_types
                    if all(
                        any(word in said for word in whole)
                        for said in check(data, _plan([part], [kind.name])).violations
                    )
                ]
        for types in set(itertools.product(*(able[part] for part in key))):
            verdict = check(data, _plan(key, types))
            if not verdict.violations:
                values.append(verdict.objective)
    if not values:
        return None
    return min(values) if data.sense == "minimize" else max(values)


def _plan(parts: Sequence[Sequence[str]], types: Sequence[str]) -> dict[str, Any]:
    return {
        "instances": [
            {"type": name, "count": 1, "tasks": dict(Counter(part))} for part, name in zip(parts, types, strict=True)
        ]
    }
