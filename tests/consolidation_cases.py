"""Build small instances of `node-consolidation`, extremes included, with their minimum cost."""

from __future__ import annotations

import itertools
import random
from typing import Any

from instances import InputError, check
from instances.kubernetes import NodeConsolidation

FEW, PRICES = (0, 0, 1, 1, 2, 3), (0, 1, 2, 3, 5)
ENDS, APART = (0, 1, 2, 3, 0.5, 1e-9, 1.000000001, 1e9), (0, 0.1, 1, 1e-9, 999_999_999.999999999, 1e9)


def small_cluster(seed: int, ends: bool = False) -> NodeConsolidation:
    """Up to three nodes, two types, three entries of pods, and all constraints.

    `ends`: some have the least and largest amounts and prices that there are.
    """
    for again in itertools.count():
        try:
            return NodeConsolidation.model_validate(_drawn(random.Random(f"small-{seed}-{again}"), ends))
        except InputError:  # a pending pod that fits nowhere
            continue
    raise AssertionError


def _drawn(draw: random.Random, ends: bool) -> dict[str, Any]:
    far, dear = (ends and draw.random() < 0.3 for _ in range(2))
    amounts, rooms, prices = ENDS if far else FEW, ENDS if far else range(6), APART if dear else PRICES
    names = [f"n{n}" for n in range(draw.randint(0, 3))]
    kinds = ["a", "b"][: draw.randint(0, 2)]
    pods: list[dict[str, Any]] = []
    held: list[dict[str, int]] = [{} for _ in names]
    for p in range(draw.randint(0, 3)):
        count = draw.randint(1, 2)
        pod: dict[str, Any] = {"name": f"p{p}", "count": count, "pinned": draw.random() < 0.15}
        pod["demand"] = {"cpu": draw.choice(amounts), "memory": draw.choice(amounts)}
        if draw.random() < 0.3:
            pod["allowed_nodes"] = sorted(draw.sample(names, draw.randint(0, len(names))))
        if draw.random() < 0.3:
            pod["allowed_types"] = sorted(draw.sample(kinds, draw.randint(0, len(kinds))))
        if draw.random() < 0.3:
            pod["max_per_node"] = 1
        for _ in range(count if draw.random() < 0.6 else draw.randint(0, count)):
            if names:
                on_it = draw.choice(held)
                on_it[pod["name"]] = on_it.get(pod["name"], 0) + 1
        pods.append(pod)
    nodes = [
        {
            "name": name,
            "capacity": {"cpu": draw.choice(rooms), "memory": draw.choice(rooms)},
            "pods": on_it,
            "usd_per_hour": None if draw.random() < 0.1 else draw.choice(prices),
            "keep": draw.random() < 0.2,
            "cordoned": draw.random() < 0.15,
        }
        for name, on_it in zip(names, held, strict=True)
    ]
    few = len(names) < 3 and len(kinds) == 1 and len(pods) < 3  # or else there are too many plans to go through
    types = [
        {
            "name": name,
            "family": "f",
            "capacity": {"cpu": draw.choice(rooms), "memory": draw.choice(rooms)},
            "usd_per_hour": draw.choice(prices[1:]),
            "max_new": draw.choice((None, None, 2) if few else (0, 1, 1)),
        }
        for name in kinds
    ]
    data: dict[str, Any] = {"resources": ["cpu", "memory"], "nodes": nodes, "instance_types": types, "pods": pods}
    if len(pods) > 1 and draw.random() < 0.3:
        data["spread"] = [{"tasks": ["p0", "p1"], "max_per_instance": draw.randint(1, 2)}]
    data["moves"] = draw.choice(["nodes", "pods"])
    data["max_evictions"] = draw.choice([None, None, 0, 1, 2])
    data["eviction_usd_per_hour"] = draw.choice([0, 0, 1] + [1e-9, 1e9] * dear)
    return data


def apart(data: NodeConsolidation) -> bool:
    """Return whether its prices or amounts are further apart than a solver's digits."""
    prices = [data.eviction_usd_per_hour, *(node.usd_per_hour or 0 for node in data.nodes)]
    prices += [kind.usd_per_hour for kind in data.instance_types]
    places = (*data.nodes, *data.instance_types)
    amounts = [q for held in (*(p.demand for p in data.pods), *(p.capacity for p in places)) for q in held.values()]
    return any(max(some) > 1e6 * min(q for q in some if q) for some in (prices, amounts) if any(some))


def least_cost(data: NodeConsolidation) -> float | None:
    """Return the minimum cost of all plans by the checker, `None` if there is none."""
    return min(least_costs(data).values(), default=None)


def least_costs(data: NodeConsolidation) -> dict[frozenset[str], float]:
    """Return the minimum cost of all plans that keep the same nodes, by their names, by the checker."""
    everybody = sum(pod.count for pod in data.pods)
    new = [k.name for k in data.instance_types for _ in range(everybody if k.max_new is None else k.max_new)]
    places = [*(node.name for node in data.nodes), *new]
    each = [
        [split for split in itertools.product(range(pod.count + 1), repeat=len(places)) if sum(split) == pod.count]
        for pod in data.pods
    ]
    found: dict[frozenset[str], float] = {}
    for splits in itertools.product(*each):
        held = [
            {pod.name: split[i] for pod, split in zip(data.pods, splits, strict=True) if split[i]}
            for i in range(len(places))
        ]
        kept = {n.name: h for n, h in zip(data.nodes, held, strict=False) if h or data.is_kept(n)}
        rented = [{"type": k, "count": 1, "tasks": h} for k, h in zip(new, held[len(data.nodes) :], strict=True) if h]
        verdict = check(data, {"nodes": kept, "instances": rented})
        if not verdict.violations and verdict.objective is not None:
            names = frozenset(kept)
            found[names] = min(verdict.objective, found.get(names, verdict.objective))
    return found
