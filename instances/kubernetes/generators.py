"""Generate random clusters from a seed: for `node-placement`, and for `node-consolidation`.

Nodes for placement have a few sizes, with pods in place and pending pods. For consolidation, pods arrive in groups on
new nodes, and some leave.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from instances.envelope import Instance
from instances.eva.generators import table_7
from instances.eva.packing import EvaPacking, InstanceType, Task
from instances.eva.price_lists import price_list
from instances.fields import MOST_DRAWN, refuse_outside, refuse_seed, steps
from instances.kubernetes.node_consolidation import ConsolidatedPod, NodeConsolidation, RentedType, RunningNode
from instances.kubernetes.placement import ClusterNode, NodePlacement, Pod

RESOURCES = ("cpu_milli", "memory_mib", "pods")
NODES = ((3920, 14_000), (7910, 29_000), (15_890, 59_000))  # CPU and memory for pods
MOST_PODS = 110
CPU_MILLI = (100, 250, 500, 1000, 1500, 2000)
MEMORY_MIB = (256, 512, 1024, 2048, 4096, 6144)


def random_cluster(
    nodes: int, seed: int, *, load: float = 0.98, pending: float = 0.05, planted: bool = True
) -> Instance[NodePlacement]:
    """Draw a cluster whose pods request nearly the whole capacity.

    - `nodes`: number of nodes.
    - `seed`: seed of all draws.
    - `load`: share of the CPU and of the memory of all nodes that the pods request, approximately.
    - `pending`: share of the pods that are pending; pods that fit on no node are pending, too.
    - `planted`: draw the pods node by node, so that all of them fit; otherwise from the total capacity.

    Raises InputError for a number out of range.
    """
    refuse_seed(seed)
    refuse_outside("nodes", nodes, 1, MOST_DRAWN)
    refuse_outside("load", load, 0, 2)
    refuse_outside("pending", pending, 0, 1)
    draw = random.Random(f"{nodes}-{seed}-{planted}")
    rooms = [draw.choice(NODES) for _ in range(nodes)]
    drawn: list[tuple[int, int]] = []
    kinds = [(c, m) for c in CPU_MILLI for m in MEMORY_MIB]
    for cpu, memory in rooms if planted else [(sum(r[0] for r in rooms), sum(r[1] for r in rooms))]:
        drawn += fill_node(draw, int(load * cpu), int(load * memory), kinds)
    draw.shuffle(drawn)
    free = [[*room, MOST_PODS] for room in rooms]
    held = [Counter[str]() for _ in rooms]
    for pod in drawn[round(pending * len(drawn)) :]:
        fitting = [n for n, room in enumerate(free) if room[0] >= pod[0] and room[1] >= pod[1] and room[2]]
        if fitting:
            most = max(fitting, key=lambda n: free[n][0] / rooms[n][0] + free[n][1] / rooms[n][1])
            free[most] = [free[most][0] - pod[0], free[most][1] - pod[1], free[most][2] - 1]
            held[most][_name(pod)] += 1
    data = NodePlacement(
        resources=RESOURCES,
        nodes=tuple(
            ClusterNode(name=f"node-{n}", capacity=amounts(*room, MOST_PODS), pods=dict(sorted(on_it.items())))
            for n, (room, on_it) in enumerate(zip(rooms, held, strict=True))
        ),
        pods=tuple(
            Pod(name=_name(pod), count=count, demand=amounts(*pod, 1))
            for pod, count in sorted(Counter(drawn).items(), reverse=True)
        ),
    )
    kind = "planted" if planted else "drawn"
    name = f"cluster-{nodes}-{kind}-{load:g}-seed-{seed}"
    return Instance.of(data, name, f"{nodes} nodes, pods {kind}, load {load:g}, seed {seed}")


def fill_node(draw: random.Random, cpu: int, memory: int, kinds: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Draw pods of some kinds until none fits into the remaining CPU and memory."""
    found = list[tuple[int, int]]()
    while True:
        fitting = [(c, m) for c, m in kinds if c <= cpu and m <= memory]
        if not fitting:
            return found
        near = sorted(fitting, key=lambda pod: abs(pod[0] * memory - pod[1] * cpu))  # similar in shape to the rest
        pod = draw.choice(near[: max(1, len(near) // 3)])
        cpu, memory = cpu - pod[0], memory - pod[1]
        found.append(pod)


def _name(pod: tuple[int, int]) -> str:
    return f"{pod[0]}m-{pod[1]}mi"


def amounts(*numbers: int) -> dict[str, float]:
    """Return a mapping with an amount of each resource."""
    return dict(zip(RESOURCES, map(float, numbers), strict=True))


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
    demand = {task.key: _demand(packing, task) for task in packing.tasks}
    need = {key: [steps(amounts[r]) for r in packing.resources] for key, amounts in demand.items()}
    room = {kind.name: [steps(kind.capacity[r]) for r in packing.resources] for kind in kinds}
    coming = [task.key for task in packing.tasks for _ in range(task.count)]
    draw.shuffle(coming)
    rented: list[tuple[InstanceType, list[str]]] = []
    while coming:
        size = draw.randint(*GROUP)
        group, coming = coming[:size], coming[size:]
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
            ConsolidatedPod(name=task.key, count=total[task.key], demand=demand[task.key])
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
