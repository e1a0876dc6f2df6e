"""Test that variants of an instance have its optimum or a multiple, and that no bound contradicts it.

`GAPWISE_VARIANTS` sets how many instances of each kind, `GAPWISE_VARIANTS_SEED` which.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from experiments.harness.run import apply
from experiments.plan import methods_for
from instances import Instance, Options, ProblemData, Result, better
from instances.aryl import elastic_jobs, spread_jobs
from instances.boa import random_allocation
from instances.eva import table_7
from instances.kubernetes import random_cluster, shrunk_cluster
from instances.sia import synthetic
from models.eva import exact as least_packing

COUNT = int(os.environ.get("GAPWISE_VARIANTS", "1"))
SEED = int(os.environ.get("GAPWISE_VARIANTS_SEED", "0"))
BRIEF = Options(time_limit=0.5)
Content = dict[str, Any]
Change = Callable[[Content, random.Random], float]
"""Change an instance's content; what the objective is multiplied with."""


def limited(seed: int) -> Instance[Any]:
    """Build a packing on as many instances of each type as its cheapest packing takes."""
    data = table_7(25, seed).data
    found = least_packing(data).solution
    used = {kind.name: 0 for kind in data.instance_types}
    for instance in found["instances"]:
        used[instance["type"]] += instance["count"]
    kinds = tuple(kind.model_copy(update={"max_instances": used[kind.name]}) for kind in data.instance_types)
    return Instance.of(data.with_(instance_types=kinds), f"limited-{seed}")


def scale(content: Content, names: tuple[str, ...], factor: float) -> None:
    """Multiply all numbers below fields of these names."""
    for name, value in content.items():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict) and name not in names:
                scale(inner, names, factor)
        if name in names:
            content[name] = _times(value, factor)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, dict):
        return {name: _times(inner, factor) for name, inner in value.items()}
    if isinstance(value, list):
        return [_times(inner, factor) for inner in value]
    return value if value is None or isinstance(value, bool | str) else round(value * factor, 9)


def scaled(factor: float, objective: float, *names: str) -> Change:
    """Multiply fields, and with them the objective."""

    def change(content: Content, rng: random.Random) -> float:
        scale(content, names, factor)
        return objective

    return change


def permuted(content: Content, rng: random.Random) -> float:
    """Put all lists of objects into another order."""
    for value in content.values():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rng.shuffle(value)
    return 1.0


def permuted_jobs(content: Content, rng: random.Random) -> float:
    """Put jobs into another order, but those that come at once, of which the first is served first."""
    jobs = content["jobs"]
    places = rng.sample(range(len(jobs)), len(jobs))
    for submit in {job["submit"] for job in jobs}:
        same = [k for k, place in enumerate(places) if jobs[place]["submit"] == submit]
        for k, place in zip(same, sorted(places[k] for k in same), strict=True):
            places[k] = place
    content["jobs"] = [jobs[place] for place in places]
    rng.shuffle(content["pools"])
    return 1.0


def split_task(content: Content, rng: random.Random) -> float:
    """Make two entries of one that has several tasks, or none if there is no such entry."""
    several = [task for task in content["tasks"] if task["count"] > 1]
    if several:
        task = rng.choice(several)
        first = rng.randint(1, task["count"] - 1)
        content["tasks"].append(task | {"workload": "another", "count": task["count"] - first})
        task["count"] = first
    return 1.0


def split_pod(content: Content, rng: random.Random) -> float:
    """Make two entries of one that has several pods: those on one of its nodes, and the others."""
    pod = rng.choice(content["pods"])
    on = [node for node in content["nodes"] if pod["name"] in node["pods"]]
    if on and (moved := on[0]["pods"][pod["name"]]) < pod["count"]:
        del on[0]["pods"][pod["name"]]
        on[0]["pods"]["another"] = moved
        pod["count"] -= moved
        content["pods"].append(pod | {"name": "another", "count": moved})
    return 1.0


def dominated_type(content: Content, rng: random.Random) -> float:
    """Add a type that holds as much as another and costs more."""
    kind = rng.choice(content["instance_types"])
    content["instance_types"].append(kind | {"name": "dominated", "usd_per_hour": kind["usd_per_hour"] + 0.5})
    return 1.0


def unused_resource(content: Content, rng: random.Random) -> float:
    """Add a resource that nothing asks for."""
    content["resources"].append("unused")
    for place in (*content.get("instance_types", []), *content.get("nodes", [])):
        place["capacity"]["unused"] = rng.choice((0.0, 3.0))
    for task in content.get("tasks", []):
        for demand in task["demand"].values():
            demand["unused"] = 0.0
    for pod in content.get("pods", []):
        pod["demand"]["unused"] = 0.0
    return 1.0


def late_job(content: Content, rng: random.Random) -> float:
    """Add a job that comes when all others have ended, and waits for nobody."""
    end = max(job["submit"] for job in content["jobs"]) + sum(job["duration"] for job in content["jobs"])
    content["jobs"].append({"id": "late", "pool": content["pools"][0]["name"], "submit": end, "duration": 1, "gpus": 1})
    return 1.0


def wider(content: Content, rng: random.Random) -> float:
    """Give jobs and pools three times the GPUs."""
    for part in (*content["pools"], *content["jobs"]):
        part["gpus"] *= 3
    return 1.0


AMOUNTS = ("capacity", "demand")
PACKING = {
    "amounts": scaled(7.0, 1.0, *AMOUNTS),
    "prices": scaled(3.0, 3.0, "usd_per_hour"),
    "permuted": permuted,
    "split": split_task,
    "dominated": dominated_type,
    "unused": unused_resource,
}
CLUSTER = {"amounts": scaled(7.0, 1.0, *AMOUNTS), "permuted": permuted, "unused": unused_resource}
KINDS: dict[str, tuple[Callable[[int], Instance[Any]], dict[str, Change]]] = {
    "eva-packing cost": (lambda seed: table_7(60, seed), PACKING),
    "eva-packing limits": (limited, {name: change for name, change in PACKING.items() if name != "dominated"}),
    "eva-packing net-saving": (
        lambda seed: table_7(15, seed, objective="net-saving"),
        {name: change for name, change in PACKING.items() if name != "split"},
    ),
    "node-consolidation": (
        lambda seed: shrunk_cluster(60, seed),
        CLUSTER
        | {
            "prices": scaled(3.0, 3.0, "usd_per_hour", "eviction_usd_per_hour"),
            "split": split_pod,
            "dominated": dominated_type,
        },
    ),
    "node-placement": (lambda seed: random_cluster(12, seed, load=0.95), CLUSTER),
    "sia-oracle": (
        lambda seed: synthetic("base", seed, days=0.4),
        {
            "permuted": permuted_jobs,
            "late": late_job,
            "wider": wider,
        },
    ),
    "aryl-elastic": (lambda seed: elastic_jobs(40, seed), {"permuted": permuted}),
    "aryl-reclaim": (lambda seed: spread_jobs(30, 40, seed, 12), {"permuted": permuted}),
    "boa-allocation": (
        lambda seed: random_allocation(4, 3, 6, seed=seed),
        {"permuted": permuted, "prices": scaled(2.0, 1.0, "price", "budget")},
    ),
}


def solved(data: ProblemData) -> Result:
    """Solve the data within a second as `gapwise solve` does."""
    instance = Instance.of(data, "variant")
    return apply(methods_for(instance, ["exact"])[0], instance, BRIEF)


def variants(name: str, instance: Instance[Any], seed: int) -> Iterator[tuple[str, ProblemData, float]]:
    """Return the variants of an instance, each with the factor of its objective."""
    for what, change in KINDS[name][1].items():
        content = instance.data.model_dump(mode="json")
        factor = change(content, random.Random(f"{what} {seed}"))
        yield what, type(instance.data).model_validate(content), factor


def contradictions(first: Result, other: Result, factor: float) -> Iterator[str]:
    """Bounds that the other one's solution beats, and statuses that contradict one another."""
    for one, two, times in ((first, other, 1 / factor), (other, first, factor)):
        if one.bound is not None and two.objective is not None and better(two.objective * times, one.bound, one.sense):
            yield f"the bound {one.bound!r} is beaten by {two.objective * times!r}"
        if one.status == "infeasible" and two.solved:
            yield "one is infeasible, the other solved"
    if first.status == other.status == "optimal":
        assert first.objective is not None
        assert other.objective is not None
        if abs(first.objective * factor - other.objective) > 1e-6 * max(1.0, abs(other.objective)):
            yield f"two optima, {first.objective * factor!r} and {other.objective!r}"


@pytest.mark.parametrize("name", KINDS)
def test_no_bound_beats_the_solution_of_a_variant(name: str):
    for seed in range(SEED, SEED + COUNT):
        instance = KINDS[name][0](seed)
        first = solved(instance.data)
        assert first.status in ("optimal", "feasible", "infeasible")
        for what, data, factor in variants(name, instance, seed):
            assert list(contradictions(first, solved(data), factor)) == [], (instance.name, what)
