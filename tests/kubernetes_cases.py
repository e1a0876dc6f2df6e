"""Draw tiny clusters, and compute their minimum moves by brute force."""

from __future__ import annotations

import itertools
import random
from typing import Any

from instances import check
from instances.kubernetes import NodePlacement


def tiny(seed: int) -> NodePlacement:
    """Up to three nodes and five pods, some in place, perhaps where there is no room for them."""
    draw = random.Random(seed)
    names = [f"n{n}" for n in range(draw.randint(1, 3))]
    rooms = [{"cpu": draw.randint(3, 7), "memory": draw.randint(3, 7)} for _ in names]
    pods: list[dict[str, Any]] = []
    held: list[dict[str, int]] = [{} for _ in names]
    for p in range(draw.randint(1, 3)):
        count = draw.randint(1, 2)
        pod: dict[str, Any] = {"name": f"p{p}", "count": count}
        pod["demand"] = {"cpu": draw.randint(0, 3), "memory": draw.randint(0, 3)}
        if draw.random() < 0.3:
            pod["allowed_nodes"] = sorted({"n0", draw.choice(names)})
        if draw.random() < 0.3:
            pod["max_per_node"] = 1
        for _ in range(draw.randint(0, count)):
            on_it = draw.choice(held)
            on_it[pod["name"]] = on_it.get(pod["name"], 0) + 1
        pods.append(pod)
    nodes = [{"name": n, "capacity": room, "pods": on_it} for n, room, on_it in zip(names, rooms, held, strict=True)]
    data: dict[str, Any] = {"resources": ["cpu", "memory"], "nodes": nodes, "pods": pods}
    if len(pods) > 1 and draw.random() < 0.3:
        data["spread"] = [{"tasks": ["p0", "p1"], "max_per_instance": draw.randint(1, 2)}]
    return NodePlacement.model_validate(data | {"movable": draw.random() < 0.8})


def fewest(data: NodePlacement) -> float | None:
    """Return the minimum moves of all placements by the checker, `None` if there is none."""
    each = [
        [split for split in itertools.product(range(pod.count + 1), repeat=len(data.nodes)) if sum(split) == pod.count]
        for pod in data.pods
    ]
    found = []
    for splits in itertools.product(*each):
        nodes = {
            n.name: {p.name: s[i] for p, s in zip(data.pods, splits, strict=True)} for i, n in enumerate(data.nodes)
        }
        verdict = check(data, {"nodes": nodes})
        if not verdict.violations:
            found.append(verdict.objective)
    return min(found, default=None)
