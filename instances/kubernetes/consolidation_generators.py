"""Generate random clusters for `node-consolidation` from a seed: pods arrive in groups on new nodes, and some leave."""

from __future__ import annotations

import random
from collections import Counter
from typing import Literal

from instances.envelope import Instance
from instances.eva.generators import table_7
from instances.eva.packing import EvaPacking, InstanceType, Task
from instances.eva.price_lists import price_list
from instances.fields import MOST_DRAWN, refuse_outside, refuse_seed, steps
from instances.kubernetes.node_consolidation import ConsolidatedPod, NodeConsolidation, RentedType, RunningNode

Source = Literal["eks", "gke", "aks", "drawn", "karpenter", "table-7"]
GROUP = (4, 16)  # minimum and maximum size of an arriving group


def shrunk_cluster(pods: int, seed: int, *, cloud: Source = "eks", gone: float = 0.3) -> Instance[NodeConsolidation]:
    """Draw a cluster with more nodes than its pods need.

    Pods come in groups of 4 to 16. Each goes where it fits, or to a new node: of the types that hold all that came
    to it so far the cheapest is rented in the end, as Karpenter provisions. Then some go.

    - `pods`: number of pods that come.
    - `seed`: seed of all draws.
    - `cloud`: whose price list, and pods to be hosted on it; or the instance types and workloads of Eva's Table 7, each
      workload with the request that it has on the family that it is rented for.
    - `gone`: the share of the pods that go.

    Raises InputError for a number out of range.
    """
    refuse_seed(seed)
    refuse_outside("pods", pods, 1, MOST_DRAWN)
    refuse_outside("gone", gone, 0, 1)
    packing = (table_7(pods, seed) if cloud == "table-7" else price_list(pods, seed, cloud=cloud)).data
    draw = random.Random(f"shrunk-{cloud}-{pods}-{seed}")
    kinds = sorted(packing.instance_types, key=lambda kind: kind.usd_per_hour)
    need = {task.key: _request(packing, task) for task in packing.tasks}
    room = {kind.name: [steps(kind.capacity[r]) for r in packing.resources] for kind in kinds}
    coming = [task.key for task in packing.tasks for _ in range(task.count)]
    draw.shuffle(coming)
    rented: list[tuple[InstanceType, list[str]]] = []
    while coming:
        group, coming = _split(coming, draw.randint(*GROUP))
        rented = _place_group(group, rented, kinds, need, room)
    names = [(n, i) for n, (_, on_it) in enumerate(rented) for i in range(len(on_it))]
    left = set(names) - set(draw.sample(names, round(gone * len(names))))
    held = [Counter(key for i, key in enumerate(on_it) if (n, i) in left) for n, (_, on_it) in enumerate(rented)]
    total = sum(held, Counter[str]())
    data = NodeConsolidation(
        resources=packing.resources,
        nodes=tuple(
            RunningNode(
                name=f"node-{n}",
                capacity=kind.capacity,
                pods=dict(sorted(held[n].items())),
                type=kind.name,
                usd_per_hour=kind.usd_per_hour,
            )
            for n, (kind, _) in enumerate(rented)
        ),
        instance_types=tuple(RentedType(**kind.common) for kind in packing.instance_types),
        pods=tuple(
            ConsolidatedPod(name=task.key, count=total[task.key], demand=_demand(packing, task))
            for task in packing.tasks
            if total[task.key]
        ),
    )
    name = f"shrunk-cluster-{cloud}-{pods}-seed-{seed}"
    return Instance.of(data, name, f"{pods} pods on {cloud}, of which {gone:.0%} have gone, seed {seed}")


def _demand(packing: EvaPacking, task: Task) -> dict[str, float]:
    """Return the request of a pod on all nodes: that on the family of the cheapest type that holds it."""
    kinds = sorted(packing.instance_types, key=lambda kind: kind.usd_per_hour)
    return dict(task.demand_on(next(kind.family for kind in kinds if packing.fits(task, kind))))


def _request(packing: EvaPacking, task: Task) -> list[int]:
    demand = _demand(packing, task)
    return [steps(demand[r]) for r in packing.resources]


def _split(coming: list[str], size: int) -> tuple[list[str], list[str]]:
    return coming[:size], coming[size:]


def _place_group(
    group: list[str],
    rented: list[tuple[InstanceType, list[str]]],
    kinds: list[InstanceType],
    need: dict[str, list[int]],
    room: dict[str, list[int]],
) -> list[tuple[InstanceType, list[str]]]:
    """Return the rented nodes after a group has arrived; the largest pods are placed first."""

    def holds(kind: InstanceType, keys: list[str]) -> bool:
        return all(sum(need[key][r] for key in keys) <= q for r, q in enumerate(room[kind.name]))

    claims: list[list[str]] = []
    for key in sorted(group, key=lambda key: need[key], reverse=True):
        place = next((on_it for kind, on_it in rented if holds(kind, [*on_it, key])), None)
        if place is None:
            claims.sort(key=len)
            place = next((c for c in claims if any(holds(kind, [*c, key]) for kind in kinds)), None)
        if place is None:
            place = []
            claims.append(place)
        place.append(key)
    return [*rented, *((next(kind for kind in kinds if holds(kind, claim)), claim) for claim in claims)]
